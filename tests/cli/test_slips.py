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


@pytest.mark.parametrize(
    "words", [["run", "", "-o", "none"], ["fit", "d.csv", "-o", "none", "--model", ""]]
)
def test_an_empty_input_or_model_is_refused(words, capsys):
    status, text = told(capsys, *words)
    assert status == 2
    assert "is empty" in text


@pytest.mark.parametrize("words", [["show", ""], ["predict", "", "d.csv"]])
def test_an_empty_name_is_not_the_checkpoint_of_this_folder(words, capsys):
    model = ScStream(random_state=0).partial_fit(np.random.default_rng(0).normal(size=(50, 2)))
    model.save("checkpoint-000000000001.scstream")
    status, text = told(capsys, *words)
    assert status == 1
    assert "name of the checkpoint is empty" in text


def test_a_range_of_columns_has_an_end(capsys):
    status, text = told(capsys, "run", "d.csv", "--columns", "0-99999999999", "-o", "none")
    assert status == 2
    assert "0-99999999999" in text
    assert "1,000,000" in text


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


def test_a_model_gets_its_folder_like_every_output(capsys):
    words = ["fit", "d.csv", "-o", "a/b/labels.csv", "--model", "c/d/model", "--quiet"]
    assert told(capsys, *words) == (0, "")
    assert Path("a/b/labels.csv").exists()
    assert told(capsys, "show", "c/d/model")[0] == 0


@pytest.mark.parametrize("option", ["-o", "--model", "--rejects"])
def test_a_folder_that_cannot_be_made_is_told_before_the_work(option, capsys, monkeypatch):
    monkeypatch.setattr(ScStream, "fit", lambda self, X: pytest.fail("the work has begun"))
    words = ["fit", "d.csv", "--quiet", "--on-error", "reject"]
    words += [] if option == "-o" else ["-o", "none"]
    status, text = told(capsys, *words, option, "d.csv/x.csv")
    assert status == 1
    assert "d.csv/x.csv: Not a directory" in text


def test_a_folder_that_is_read_only_is_told_before_the_work(capsys, monkeypatch):
    monkeypatch.setattr(ScStream, "fit", lambda self, X: pytest.fail("the work has begun"))
    monkeypatch.setattr(os, "access", lambda folder, how: False)  # root may write everywhere
    for words in (["-o", "x.csv"], ["-o", "x.parquet"], ["-o", "none", "--model", "x"]):
        status, text = told(capsys, "fit", "d.csv", "--quiet", *words)
        assert status == 1
        assert f"{words[-1]}: Permission denied" in text


def test_a_model_that_cannot_be_saved_is_called_by_its_name():
    model = ScStream(random_state=0).partial_fit(np.random.default_rng(0).normal(size=(50, 2)))
    with pytest.raises(OSError, match="nowhere/model") as caught:
        model.save("nowhere/model")
    assert "tmp" not in str(caught.value)


# -- standard streams -----------------------------------------------------------------------------


def test_a_closed_standard_output_is_told_in_a_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    status, text = told(capsys, "run", "d.csv", "--quiet", "--family", "gaussian")
    assert status == 1
    assert text == (
        "scstream run: error: Standard output is closed. Name a file to write to: --output FILE.\n"
    )


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


@pytest.mark.parametrize("server", ["server:99999", "server:port", "one:9092,two:0"])
def test_a_port_that_is_none(server, capsys):
    status, text = told(capsys, "run", f"kafka://{server}/rows", "-o", "none")
    assert status == 1
    assert f"kafka://{server}/rows" in text
    assert "port" in text
    assert "65535" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--halflife", "3"], "there is no option --halflife. Did you mean --half-life?"),
        (["--batchsize=3"], "there is no option --batchsize. Did you mean --batch-size?"),
        (["--qqqq"], "there is no option --qqqq."),
        (["more.csv"], "'more.csv' is one word too many. Files are read one at a time"),
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


def test_the_hint_for_a_missing_value_works_as_it_stands(capsys):
    rows = [f"{i / 7:.3f},{i % 5}.5" if i % 20 else f"-inf,{i % 5}.5" for i in range(200)]
    Path("rows.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    assert main(["run", "rows.csv", "-o", "none"]) == 1
    hint = capsys.readouterr().err.partition("missing value: ")[2].partition(")")[0]
    assert hint == "--missing=-inf"
    assert main(["run", "rows.csv", "-o", "none", hint]) == 0
