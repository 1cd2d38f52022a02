"""The command line as a user meets it."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from scstream import ScStream, __version__, core, sinks, sources
from scstream.cli import COMMANDS, main, make_parser, names
from scstream.datasets import gaussian_stream

COMMAND = [sys.executable, "-m", "scstream"]


@pytest.fixture(scope="module")
def X():
    stream = gaussian_stream(12, 50, n_clusters=3, speed=1.0, random_state=0)
    return np.concatenate([batch.X for batch in stream])


@pytest.fixture
def rows(X, tmp_path, monkeypatch):
    """Stand in a folder that has a file with 600 rows."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", X, delimiter=",", header="x,y", comments="")
    return tmp_path / "rows.csv"


def call(*argv):
    return main([str(word) for word in argv])


RUN = ("--batch-size", 50, "--family", "gaussian")


def labels(path):
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, 1].astype(int)


# -- run ----------------------------------------------------------------------------------------


def test_run_gives_the_labels_that_python_gives(rows, X, capsys):
    assert call("run", rows, *RUN, "-o", "out.csv", "--half-life", 3, "--alpha", 2.5) == 0
    model = ScStream(half_life=3.0, alpha=2.5, random_state=0)
    found = [model.partial_fit(part).labels_ for part in np.split(X, 12)]
    np.testing.assert_array_equal(labels("out.csv"), np.concatenate(found))
    told = capsys.readouterr().err
    assert "600 rows in 12 batches" in told
    assert f"{model.n_clusters_} clusters" in told


def test_run_writes_to_standard_output(rows):
    argv = [*COMMAND, "run", "-", *map(str, RUN), "--quiet"]
    done = subprocess.run(argv, input=rows.read_bytes(), capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "row,label,group,probability,score"
    assert len(lines) == 601
    assert done.stderr == b""


def test_names_are_those_of_the_rooms_that_own_them():
    assert names.SOURCE_FORMATS == sources.FORMATS
    assert names.OUTPUT_FORMATS == sinks.FORMATS
    assert names.FIELDS == sinks.FIELDS


def test_every_parameter_of_the_model_is_an_option():
    parser = next(
        action for action in make_parser("run")._actions
        if isinstance(action, argparse._SubParsersAction)
    ).choices["run"]  # fmt: skip
    options = {option for action in parser._actions for option in action.option_strings}
    for name in set(ScStream().get_params()) - {"on_event", "rules"}:  # which only Python can give
        assert f"--{name.replace('_', '-')}" in options
    for action in parser._actions:
        assert action.help, action.option_strings


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"scstream {command}" in capsys.readouterr().out


def test_parameters_reach_the_model(rows, capsys):
    numbers = ("--epsilon", 0.1, "--sweeps", 2, "--max-sweeps", 7, "--max-clusters", 5)
    others = ("--kernel", "linear:4", "--no-splits", "--outlier-weight", 0.01, "--n-jobs", 1)
    others += ("--verbose", "--half-life", "none")
    assert call("run", rows, *RUN, *numbers, *others, "-o", "none", "--checkpoint", "state") == 0
    capsys.readouterr()
    assert call("show", "state", "--json") == 0
    saved = json.loads(capsys.readouterr().out)["parameters"]
    expected = {
        "epsilon": 0.1, "sweeps": 2, "max_sweeps": 7, "max_clusters": 5, "splits": False,
        "merges": True, "outlier_weight": 0.01, "n_jobs": 1, "verbose": True, "half_life": None,
    }  # fmt: skip
    assert {name: saved[name] for name in expected} == expected


def test_a_kernel_is_the_same_after_a_resume(rows):
    argv = ("run", rows, *RUN, "--kernel", "window:3", "--quiet")
    assert call(*argv, "-o", "whole.csv") == 0
    text = rows.read_bytes()
    rows.write_bytes(text[: text.index(b"\n", len(text) // 2) + 1])
    more = ("-o", "parts.csv", "--checkpoint", "state")
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(lines[:301]))
    assert call(*argv, *more) == 0
    rows.write_bytes(text)
    assert call(*argv, *more) == 0
    np.testing.assert_array_equal(labels("parts.csv"), labels("whole.csv"))


def test_families_by_blocks(rows, X, capsys):
    argv = ("run", rows, "--family", "gaussian=x;poisson=y", "-o", "out.csv")
    assert call(*argv) == 1
    assert "Column 'y'" in capsys.readouterr().err  # which holds no counts
    assert call("run", rows, "--family", "gaussian=x;diagonal=1", "-o", "none") == 0


def test_rejected_rows_go_to_their_file(rows, capsys):
    with open(rows, "a") as file:
        file.write("one,2\n3\n")
    assert call("run", rows, *RUN, "-o", "out.csv") == 1
    told = capsys.readouterr().err
    assert "rows.csv: 2 rows cannot be read" in told
    assert "line 602: column 'x' holds 'one', which is not a number" in told
    assert "line 603: 1 fields where 2 are expected" in told
    more = ("--on-error", "reject", "--rejects", "bad.jsonl", "--overwrite")
    assert call("run", rows, *RUN, "-o", "out.csv", *more) == 0
    with open("bad.jsonl") as file:
        assert [json.loads(line)["line"] for line in file] == [602, 603]
    assert "2 rows rejected" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--every", 5),
        ("--checkpoint", "state"),
        ("--rejects", "bad.jsonl"),
        ("--on-error", "reject"),
        ("--time-column", "x", "--period", "5", "--batch-size", "7"),
        ("--live",),
        ("--wait", "5s"),
        ("--output", "labels.xls"),
        ("--output", "none", "--append"),
        ("--alpha", "-1"),
        ("--separator", "ab"),
        ("--events", "a", "--chronicle", "a"),
        ("--output", "rows.csv"),
    ],
)
def test_wrong_use_is_told(rows, wrong, capsys):
    assert call("run", "rows.csv", *wrong) == 2
    told = capsys.readouterr().err
    assert told.startswith("scstream run: ")
    assert "scstream run --help" in told


@pytest.mark.parametrize(
    "wrong", [("--family", "square"), ("--batch-size", 0), ("--half-life", "x"), ("--fields", "a")]
)
def test_wrong_values_are_told(rows, wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        call("run", rows, *wrong)
    assert ended.value.code == 2


def test_errors_of_files_are_told(rows, capsys):
    assert call("run", "none.csv") == 1
    assert "none.csv: No such file" in capsys.readouterr().err
    assert call("show", rows) == 1
    assert call("run", rows, *RUN, "-o", "/dev/full", "--output-format", "csv") == 1
    assert "/dev/full: No space left" in capsys.readouterr().err


# -- being stopped ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_stopped_run_keeps_a_checkpoint_and_says_how_to_go_on(rows, number):
    assert call("run", rows, *RUN, "-o", "whole.csv", "--quiet") == 0
    argv = ["run", "rows.csv", *map(str, RUN), "-o", "out.csv", "--checkpoint", "state"]
    process = subprocess.Popen([*COMMAND, *argv, "--follow"], stderr=subprocess.PIPE, text=True)
    try:
        limit = time.monotonic() + 120
        while not os.path.exists("out.csv") or Path("out.csv").read_text().count("\n") < 601:
            assert time.monotonic() < limit
            time.sleep(0.05)
        process.send_signal(number)
        told = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 128 + number
    assert f"stopped by {number.name}" in told
    assert "to resume: scstream run rows.csv" in told
    with open("rows.csv", "a") as file:
        file.write("1.0,2.0\n")
    assert call(*argv) == 0
    np.testing.assert_array_equal(labels("out.csv")[:600], labels("whole.csv"))
    assert len(labels("out.csv")) == 601


def test_a_reader_that_has_seen_enough_is_no_error(rows):
    argv = " ".join([*COMMAND, "run", "rows.csv", *map(str, RUN), "--quiet"])
    done = subprocess.run(f"{argv} | head -1; exit ${{PIPESTATUS[0]}}", shell=True,
                          executable="/bin/bash", capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0
    assert done.stdout == "row,label,group,probability,score\n"
    assert done.stderr == ""


def test_the_same_commands_give_the_same_bytes(rows):
    written = [{}, {}]
    for files in written:
        more = ("--events", "e", "--chronicle", "c", "--checkpoint", "k", "--quiet")
        assert call("run", rows, "--batch-size", 50, *more, "-o", "labels.csv") == 0
        assert call("report", "c", "-o", "page.html") == 0
        assert call("fit", rows, "--model", "m", "-o", "fit.parquet", "--quiet") == 0
        for path in (*Path().glob("[ecm]"), *Path().glob("k/*"), *Path().glob("*.*")):
            if path.name != rows.name:
                files[path.name] = path.read_bytes()
                path.unlink()
    assert written[0].keys() >= {"e", "c", "m", "labels.csv", "page.html", "fit.parquet"}
    assert written[0] == written[1]


# -- the other commands -------------------------------------------------------------------------


def test_fit_and_predict(rows, X, capsys):
    argv = ("fit", rows, "--family", "gaussian", "--model", "m.scstream")
    assert call(*argv, "-o", "fit.csv") == 0
    model = ScStream(random_state=0).fit(X)
    np.testing.assert_array_equal(labels("fit.csv"), model.labels_)
    assert call("predict", "m.scstream", rows, "-o", "predicted.csv", "--batch-size", 70) == 0
    np.testing.assert_array_equal(labels("predicted.csv"), model.predict(X))
    capsys.readouterr()
    assert call("predict", "m.scstream", rows, "--columns", "x", "-o", "none") == 1
    assert "learned from 2 columns, but the table has 1" in capsys.readouterr().err
    assert call("predict", "m.scstream", rows, "--exclude", "x", "-o", "none") == 2
    assert "--exclude: the model learned from 'x'" in capsys.readouterr().err


def test_show(rows, capsys):
    assert call("run", rows, *RUN, "-o", "none", "--checkpoint", "state", "--quiet") == 0
    assert call("show", "state") == 0
    told = capsys.readouterr().out
    for word in ("gaussian, 2 columns", "12 batches", "half-life auto", "600 rows"):
        assert word in told
    assert call("show", "state", "--json") == 0
    saved = json.loads(capsys.readouterr().out)
    assert saved["columns"] == ["x", "y"]
    assert len(saved["clusters"]) == saved["n_clusters"]
    assert sum(c["weight"] for c in saved["clusters"]) == pytest.approx(1, abs=0.01)


def test_matrices_of_many_columns_are_shown_by_their_diagonals(tmp_path, capsys):
    X = np.random.default_rng(1).normal(size=(400, 101))
    for d in (100, 101):
        model = ScStream(random_state=0).partial_fit(X[:, :d])
        model.save(tmp_path / "wide.scstream")
        assert call("show", tmp_path / "wide.scstream", "--json") == 0
        shown = json.loads(capsys.readouterr().out)["clusters"][0]["parameters"]["covariance"]
        covariance = model.clusters_[0].parameters["covariance"]
        if d == 100:
            assert shown == covariance.tolist()
        else:
            assert shown == {"shape": [101, 101], "diagonal": covariance.diagonal().tolist()}


def test_show_of_mixed_columns(rows, X, capsys):
    words = np.where(X[:, 0] > X[:, 0].mean(), "right", "left").tolist()
    lines = [f"{x:.3f},{y:.3f},{w}" for (x, y), w in zip(X.tolist(), words, strict=True)]
    Path("mixed.csv").write_text("x,y,side\n" + "\n".join(lines) + "\n")
    assert call("run", "mixed.csv", "-o", "none", "--checkpoint", "state", "--quiet") == 0
    assert call("show", "state") == 0
    assert "product, 3 columns" in capsys.readouterr().out
    assert call("show", "state", "--json") == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["x", "y", "side"]
    assert call("predict", "state", "mixed.csv", "-o", "predicted.csv") == 0
    assert len(labels("predicted.csv")) == 600


def test_tune(rows, X, capsys):
    pytest.importorskip("optuna", reason="Optuna is not installed")
    truth = (X[:, 0] > X[:, 0].mean()).astype(int)
    np.savetxt("truth.csv", np.column_stack([X, truth]), delimiter=",", header="x,y,c", comments="")
    argv = ("tune", "truth.csv", "--truth", "c", "--batch-size", 100, "--n-trials", 1)
    assert call(*argv, "--n-batches", 2, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["objective"] == "ari"
    assert found["score"] >= found["default_score"]
    argv = ("tune", rows, "--batch-size", 100, "--n-trials", 1, "--n-batches", 2)
    assert call(*argv, "--family", "gaussian") == 0
    assert "log density" in capsys.readouterr().out
    told = [(call(*argv, "--json"), capsys.readouterr().out) for _ in range(2)]
    assert told[0] == told[1]


def test_demo(capsys):
    assert call("demo", "--batches", 4, "--batch-size", 100, "--no-picture") == 0
    assert "clusters at the end" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"scstream {__version__} ({core.name()} core)\n"


def test_help_loads_nothing_heavy():
    code = """
import sys
from scstream.cli import main
try:
    main(["run", "--help"])
except SystemExit:
    print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"sklearn", "pyarrow", "matplotlib"}


def test_the_help_of_all_commands_loads_no_command():
    code = "import sys; from scstream.cli import main\ntry:\n main(['--help'])\nexcept SystemExit: "
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Cluster a stream" in done.stdout
    assert not set(done.stdout.split()) & {"numpy", "scstream.model", "scstream.cli.run"}
