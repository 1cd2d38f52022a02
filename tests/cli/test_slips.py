"""Slips of people who type commands: empty variables, closed streams, misplaced passwords."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.__main__ import run
from scstream.cli import main

SECRET = "Tr0ub4dor"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.savetxt("d.csv", X, "%.4f", ",", header="x,y", comments="")


def told(capsys, *argv):
    """Return the status of a command, and what it wrote to standard error."""
    capsys.readouterr()
    try:
        status = main([str(word) for word in argv])
    except SystemExit as stop:
        status = stop.code
    return status, capsys.readouterr().err


def shell(words):
    """Run a command in a process of its own, with a shell's redirections; return it."""
    line = f'exec "$0" -m scstream {words}'
    return subprocess.run(
        ["sh", "-c", line, sys.executable], capture_output=True, text=True, timeout=300
    )


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option", ["-o", "--checkpoint", "--events", "--chronicle", "--rejects", "--access"]
)
def test_an_empty_name_is_refused(option, capsys):
    """As in ``--checkpoint "$STATE"`` where nothing has set STATE: the folder would be this one."""
    before = sorted(os.listdir())
    words = ["run", "d.csv", "--on-error", "reject", "--quiet", "--family", "gaussian"]
    words += [] if option == "-o" else ["-o", "none"]
    status, text = told(capsys, *words, option, "")
    assert status == 2
    assert "is empty" in text
    assert "shell variable" in text
    assert sorted(os.listdir()) == before


def test_a_report_of_a_folder(capsys):
    for name in (".", "state"):
        Path(name).mkdir(exist_ok=True)
        status, text = told(capsys, "report", name)
        assert status == 1
        assert f"{name} is a folder" in text


# -- what is wrong with which file ----------------------------------------------------------------


def test_a_file_that_is_no_checkpoint_is_named(capsys):
    Path("model").write_text("no model")
    for words in (["show", "model"], ["predict", "model", "d.csv"]):
        status, text = told(capsys, *words)
        assert status == 1
        assert "Not an scstream checkpoint" in text
        assert "'model'" in text


def test_a_folder_of_damaged_checkpoints_says_what_is_damaged(capsys):
    Path("state").mkdir()
    Path("state/checkpoint-000000000007.scstream").write_bytes(b"no checkpoint at all")
    status, text = told(capsys, "show", "state")
    assert status == 1
    assert "checkpoint-000000000007.scstream: Not an scstream checkpoint" in text
    Path("nothing").mkdir()
    assert "no checkpoint in nothing" in told(capsys, "show", "nothing")[1]


# -- folders that are not there, or not ours ------------------------------------------------------


def test_a_folder_that_is_read_only_is_told_before_the_work(capsys, monkeypatch):
    monkeypatch.setattr(ScStream, "fit", lambda self, X: pytest.fail("the work has begun"))
    monkeypatch.setattr(os, "access", lambda folder, how: False)  # root may write everywhere
    for words in (["-o", "x.csv"], ["-o", "x.parquet"], ["-o", "none", "--model", "x"]):
        status, text = told(capsys, "fit", "d.csv", "--quiet", *words)
        assert status == 1
        assert f"{words[-1]}: Permission denied" in text


# -- standard streams -----------------------------------------------------------------------------


def test_a_closed_standard_output_is_told_in_a_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    status, text = told(capsys, "run", "d.csv", "--quiet", "--family", "gaussian")
    assert status == 1
    assert text == "scstream run: error: Standard output is closed. Name a file to write to.\n"


def test_a_closed_standard_input_is_told_in_a_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    status, text = told(capsys, "run", "-", "--quiet", "-o", "none")
    assert status == 1
    assert text == "scstream run: error: Standard input is closed. Name a file to read.\n"


def test_a_command_with_a_closed_standard_output_ends_well(capsys, monkeypatch):
    model = ScStream(random_state=0).partial_fit(np.random.default_rng(0).normal(size=(50, 2)))
    model.save("model")
    monkeypatch.setattr(sys, "stdout", None)
    assert told(capsys, "show", "model") == (0, "")


def test_messages_never_go_where_the_labels_go():
    """Python prints to standard output what is meant for a standard error that is closed.

    And a file that is opened gets the lowest free number: it must not be that of standard error.
    """
    words = ["run", "d.csv", "--family", "gaussian", "--random-state", "0"]
    assert main([*words, "--quiet", "-o", "labels.csv"]) == 0
    done = shell(" ".join([*words, "--chronicle", "chronicle.jsonl", "2>&-"]))
    assert done.returncode == 0
    assert done.stdout == Path("labels.csv").read_text()
    for line in Path("chronicle.jsonl").read_text().splitlines():
        json.loads(line)


def test_names_that_a_terminal_cannot_show(monkeypatch):
    rows = {"h\u00f6he": np.arange(50.0) % 7, "y": np.arange(50.0) % 11}
    ScStream("gaussian", random_state=0).partial_fit(pd.DataFrame(rows)).save("model")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO()))  # which run wraps
    monkeypatch.setattr(sys, "argv", ["scstream", "show", "model"])
    assert run() == 0
    sys.stdout.flush()
    assert b"h\\xf6he" in shown.getvalue()


# -- passwords ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["run", f"redis:/reader:{SECRET}@server/rows", "-o", "none"],
        ["run", f"redis//reader:{SECRET}@server/rows", "-o", "none"],
        ["run", f"reader:{SECRET}@server:6379/rows", "-o", "none"],
        ["run", f":{SECRET}@server:6379/rows", "-o", "none"],
        ["show", f"redis://reader:{SECRET}@server/rows"],
        ["report", f"redis://reader:{SECRET}@server/rows"],
        ["watch", f"kafka://{SECRET}@server/rows"],
        ["predict", f"redis://reader:{SECRET}@server/rows", "d.csv"],
    ],
)
def test_a_url_in_the_place_of_a_file_keeps_its_password(words, capsys):
    status, text = told(capsys, *words)
    assert status == 1
    assert "No such file" in text
    assert SECRET not in text


@pytest.mark.parametrize("name", ["password", "user", "token"])
def test_a_password_among_the_settings_of_a_url(name, capsys):
    status, text = told(capsys, "run", f"redis://server/rows?{name}={SECRET}", "-o", "none")
    assert status == 1
    assert SECRET not in text
    assert "SCSTREAM_REDIS_PASSWORD" in text
    assert "--access" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--halflife", "3"], "there is no option --halflife. Did you mean --half-life?"),
        (["--batchsize=3"], "there is no option --batchsize. Did you mean --batch-size?"),
        (["--qqqq"], "there is no option --qqqq."),
        (["--quiet", "more.csv"], "'more.csv' is one word too many. Name all files before"),
        (["--missing", "-inf"], "is written as OPTION=-VALUE"),
    ],
)
def test_a_wrong_word_is_told_in_two_lines(words, said, capsys):
    status, text = told(capsys, "run", "d.csv", *words)
    assert status == 2
    wrong, hint = text.splitlines()
    assert wrong.startswith("scstream run: ")
    assert said in wrong
    assert hint == "Try: scstream run --help"
