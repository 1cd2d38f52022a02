"""A run notices that its outputs, its input or its checkpoint are not what they were."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from scstream import ScStream
from scstream.cli import main
from scstream.datasets import gaussian_stream
from scstream.pipeline import find_checkpoint, run
from scstream.sinks import open_sink
from scstream.sources import SourceOptions, open_source

RUN = ("--batch-size", 50, "--random-state", 0, "--family", "gaussian", "--quiet")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Return a folder with 400 rows, of which 200 were learned with a checkpoint."""
    folder = tmp_path_factory.mktemp("template")
    X = np.concatenate([batch.X for batch in gaussian_stream(8, 50, n_clusters=2, random_state=0)])
    np.savetxt(folder / "d.csv", X, delimiter=",", header="x,y", comments="")
    lines = (folder / "d.csv").read_text().splitlines(keepends=True)
    (folder / "d.csv").write_text("".join(lines[:201]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call(*RUN, "-o", "labels", *OUT) == 0
    (folder / "d.csv").write_text("".join(lines))
    return folder


@pytest.fixture
def rows(template, tmp_path, monkeypatch):
    """Stand in a copy of that folder; return the lines of the input."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("d.csv").read_text().splitlines(keepends=True)


OUT = ("--output-format", "csv", "--checkpoint", "state", "--every", 1)


def call(*more, source="d.csv"):
    return main([str(word) for word in ("run", source, *more)])


@pytest.mark.parametrize("kind", ["jsonl", "tsv", "parquet"])
def test_another_output_format_is_refused(rows, kind, capsys):
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    before = Path("labels").read_bytes()
    more = ("--output-format", kind, "--checkpoint", "state", "--every", 1)
    assert call(*RUN, "-o", "labels", *more) == 1
    assert f"was begun as 'csv', and now it is to be '{kind}'" in capsys.readouterr().err
    assert Path("labels").read_bytes() == before
    assert call(*RUN, "-o", "labels", *OUT) == 0
    assert len(Path("labels").read_text().splitlines()) == 401


@pytest.mark.parametrize("change", ["cut", "removed", "replaced"])
def test_an_output_that_was_changed_between_runs_is_refused(rows, change, capsys):
    before = Path("labels").read_bytes()
    if change == "cut":
        os.truncate("labels", 100)
    elif change == "removed":
        os.remove("labels")
    else:
        Path("labels").write_bytes(b"something else\n" * 1000)
    assert call(*RUN, "-o", "labels", *OUT) == 1
    told = capsys.readouterr().err
    assert {"cut": "has 100 bytes", "removed": "is gone", "replaced": "does not match"}[
        change
    ] in told
    assert os.path.exists("labels") == (change != "removed")
    Path("labels").write_bytes(before)
    assert call(*RUN, "-o", "labels", *OUT) == 0


@pytest.mark.parametrize("change", ["cut", "removed", "replaced", "added to"])
@pytest.mark.parametrize("checkpoint", [None, "kept"])
@pytest.mark.parametrize("batch", [2, 8])
def test_an_output_that_is_changed_in_mid_run_is_noticed(rows, change, checkpoint, batch):
    out = Path("out.csv")

    def disturb(result):
        if result.totals.batches != batch:
            return
        if change == "cut":
            os.truncate(out, 10)
        elif change == "added to":
            with open(out, "a") as file:
                file.write("x")
        else:
            out.rename("elsewhere")
            if change == "replaced":
                out.write_text("another")

    with (
        open_source("d.csv", SourceOptions(50)) as source,
        pytest.raises(ValueError, match=r"removed or replaced|something else changed it"),
    ):
        run(
            source, ScStream(random_state=0), {"out": open_sink(out)}, checkpoint=checkpoint,
            every=3, progress=disturb,
        )  # fmt: skip
    if out.exists():
        assert b"\0" not in out.read_bytes()


def test_a_part_that_is_removed_in_mid_run_is_noticed(rows, capsys):
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    part = "out.parquet/part-000000.parquet"
    with (
        open_source("d.csv", SourceOptions(50)) as source,
        pytest.raises(ValueError, match="is missing"),
    ):
        run(
            source, ScStream(random_state=0), {"out": open_sink("out.parquet", parts=True)},
            checkpoint="kept", every=2,
            progress=lambda r: r.totals.batches == 5 and os.remove(part),
        )  # fmt: skip


def test_an_input_that_was_replaced_is_refused_and_nothing_is_cut(rows, capsys):
    before = Path("labels").read_bytes() + b"half a line"
    Path("labels").write_bytes(before)
    Path("d.csv").write_text("".join([rows[0], *rows[:0:-1]]))
    assert call(*RUN, "-o", "labels", *OUT) == 1
    assert "does not match what was read before" in capsys.readouterr().err
    assert Path("labels").read_bytes() == before
    Path("d.csv").write_text("".join(rows))
    assert call(*RUN, "-o", "labels", *OUT) == 0


PLACES = [
    ("source", 5), ("outputs", []), ("totals", None), ("settings", "x"), ("outputs", {"output": 3}),
    ("totals", {"rows": -1}), ("totals", {"rows": "1"}), ("totals", {"other": 1}),
    ("source", {"offset": 10**6}), ("source", {"offset": None}), ("source", {"used": [9]}),
    ("source", {"names": None}), ("source", {"names": ["x"], "used": [0], "kinds": ["number"]}),
    ("source", {"kinds": [["number"], "number"]}), ("source", {"seen": []}),
    ("outputs", {"output": {"bytes": -1}}), ("outputs", {"output": {"bytes": "all"}}),
    ("outputs", {"output": {"rows": 1.5}}), ("outputs", {"output": {"format": ["csv"]}}),
    ("outputs", {"output": {"bytes": 5, "tail": 7}}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "value"), PLACES)
def test_a_forged_extra_is_told_in_a_line(rows, part, value, capsys):
    kept = find_checkpoint("state")
    extra = dict(kept.extra)
    if isinstance(value, dict) and isinstance(extra[part], dict) and part != "outputs":
        value = {**extra[part], **value}
    elif part == "outputs" and isinstance(value, dict) and isinstance(value["output"], dict):
        value = {"output": {**extra["outputs"]["output"], **value["output"]}}
    kept.model.save(kept.path, extra={**extra, part: value})
    assert call(*RUN, "-o", "labels", *OUT) == 1
    told = capsys.readouterr().err
    assert told.startswith("scstream run: error: ")
    assert len(told.splitlines()) == 1
    for more in ((), ("--json",)):
        assert main(["show", "state", *more]) == 0
    assert "2 columns" in capsys.readouterr().out


def test_forged_places_of_parts_are_told_in_a_line(rows, capsys):
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    argv = (*RUN, "-o", "out.parquet", "--checkpoint", "kept", "--every", 4)
    assert call(*argv) == 0
    kept = find_checkpoint("kept")
    for forged in (
        {"parts": -1}, {"parts": 3}, {"schema": 5}, {"schema": [["a"]]}, {"schema": [["a", "b"]]},
        {"schema": [[1, 2]]}, {"bytes": 0}, {"parts": "two"},
    ):  # fmt: skip
        place = {**kept.extra["outputs"]["output"], **forged}
        kept.model.save(kept.path, extra={**kept.extra, "outputs": {"output": place}})
        assert call(*argv) == 1, forged
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_scores_in_the_output_such_a_checkpoint_goes_on(tmp_path):
    np.save(tmp_path / "d.npy", np.random.default_rng(0).normal(size=(100, 2)))
    state = tmp_path / "state"

    def go(n):
        np.save(tmp_path / "d.npy", np.random.default_rng(0).normal(size=(n, 2)))
        with open_source(tmp_path / "d.npy", SourceOptions(50)) as source:
            sink = open_sink(tmp_path / "labels.csv", fields=["label"])
            run(source, ScStream(random_state=0), {"labels": sink}, checkpoint=state)

    go(100)
    kept = find_checkpoint(state)
    old = {name: value for name, value in kept.extra.items() if name != "score"}
    kept.model.save(kept.path, extra=old)
    go(200)
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 201
