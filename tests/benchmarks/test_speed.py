"""The program that measures speed: what it times, what it writes, that failures stop nothing."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.speed import __main__ as program
from benchmarks.speed import anchors, contestants, summary, tables
from benchmarks.speed.tables import KMEANS, OURS, Result, Table, written
from benchmarks.speed.timing import Job, Options, alternate
from scstream.datasets import gaussian_stream


def test_jobs_take_turns_and_each_comes_first_in_its_turn():
    order = []
    jobs = {name: Job(lambda turn, name=name: order.append((turn, name))) for name in "ab"}
    took = alternate(jobs, 2)
    assert order == [(0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b"), (3, "b"), (3, "a")]
    assert set(took) == {"a", "b"}


def test_the_page_of_tables_has_a_place_for_every_section():
    page = tables.TABLES.read_text()
    for name in (*program.SECTIONS, "cores"):
        written(page, name, "new")


def test_the_page_on_speed_sums_up_the_tables_and_is_one_page():
    page = tables.PAGE.read_text()
    assert set(summary.JUDGED) == {*program.SECTIONS, "cores"}
    assert page == written(page, "summary", summary.summary(tables.TABLES.read_text()))
    assert len(re.sub(r"^\|.*$", "", page, flags=re.MULTILINE).split()) < 500
    assert page.count("\n") < 100


@pytest.fixture
def sections(monkeypatch):
    """Put two sections in place of the real ones, of which the first fails."""

    def fails(options):
        raise RuntimeError("had enough")

    def works(options):
        return Result([Table(("size",), [[str(options.points)]])], {"x": np.float64(0.5)})

    sections = {"first": ("one that fails", fails), "stream": ("one that works", works)}
    monkeypatch.setattr(program, "SECTIONS", sections)


@pytest.mark.usefixtures("sections")
def test_a_section_that_fails_says_so_and_the_rest_goes_on(tmp_path, capsys, monkeypatch):
    page, short = tmp_path / "tables.md", tmp_path / "page.md"
    page.write_text("<!-- stream -->\n<!-- end of stream -->\n")
    short.write_text("<!-- summary -->\n<!-- end of summary -->\n")
    monkeypatch.setattr(summary, "TABLES", page)
    monkeypatch.setattr(summary, "PAGE", short)
    size = lambda found: [[found.tables[0][0]["size"], *[""] * 5]]  # noqa: E731
    monkeypatch.setattr(summary, "JUDGED", {"stream": size})
    file = tmp_path / "figures.json"
    assert program.main(["--points", "7", "--json", str(file), "--docs"]) == 1
    out, err = capsys.readouterr()
    assert "failed: RuntimeError: had enough" in out
    assert "Failed: first." in err
    assert "| 7 |" in out
    assert "| 7 |" in page.read_text()
    assert "| 7 |  |" in short.read_text()
    held = json.loads(file.read_text())
    assert held["failed"] == ["first"]
    assert held["sections"]["stream"]["figures"] == {"x": 0.5}
    assert held["where"]["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize("name", ["first", "stream", "high", "growth", "plain"])
def test_sections_run(name, capsys):
    result = program.SECTIONS[name][1](Options(quick=True, repeat=1))
    for table in result.tables:
        assert len(table.rows) > 0
        assert {len(row) for row in table.rows} == {len(table.columns)}


@pytest.mark.slow
def test_each_is_timed_alone():
    batches = [batch.X for batch in gaussian_stream(5, 100, 3, random_state=0)]
    assert 0.0 < contestants.alone(KMEANS, batches, 3, threads=1) < 60.0


def test_mini_batch_k_means_is_timed_without_scstream():
    text = (
        "import sys\n"
        "import numpy as np\n"
        "from benchmarks.speed.contestants import median_step\n"
        f"median_step({KMEANS!r}, np.random.default_rng(0).random((5, 50, 2)), 3, 1)\n"
        "assert not [name for name in sys.modules if name.startswith('scstream')]\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, cwd=contestants.ROOT)


@pytest.mark.parametrize(
    "name", [OURS, KMEANS, "DBSTREAM, row by row", "CluStream, batch by batch"]
)
def test_contestants_learn_and_predict(name):
    if name not in (OURS, KMEANS):
        pytest.importorskip("river", reason="river is not installed")
    batches = [batch.X for batch in gaussian_stream(4, 60, 3, random_state=0)]
    assert contestants.median_step(name, np.stack(batches), 3, 1) > 0.0


def test_the_files_of_the_other_implementation(tmp_path):
    stream = gaussian_stream(3, 1000, 3, drift="none", random_state=0)
    X, y = (np.concatenate([getattr(batch, name) for batch in stream]) for name in "Xy")
    np.savez(tmp_path / "a.npz", X=X.astype(np.float32), y=y)
    settings = {"kappa": 1, "m": 0, "nu": 4, "Psi": 1.0, "alpha": 1, "lambda": 0.5}
    anchor = {
        "file": "a.npz", "batches": 3, "settings": settings, "predict_s": 1e9,
        "update_s": {"early": 2e9, "all 3": 9e9}, "factor_to_reach": 50,
        "quality": {"alpha 1": {"ari": [0.5, 0.75]}},
    }  # fmt: skip
    path = tmp_path / "anchors.json"
    path.write_text(json.dumps({"what": "words", "a": anchor, "b": {"no": "file"}}))
    result = anchors.anchors(Options(anchors=path))
    (row,) = result.tables[0].rows
    assert row[0] == "a"
    assert row[7] == "yes"
    assert row[-1] == "0.500, 0.750"
    found = result.figures["a"]
    assert found["factor"] == pytest.approx(3e9 / (found["predict"] + found["update"]))
    assert found["over all"] == pytest.approx(10e9 / (found["predict"] + found["update"]))
    assert 0.9 < found["ari"] <= 1.0
