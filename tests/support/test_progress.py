"""Progress bars: on a terminal, when somebody wants them, and gone when the work is done."""

import io
import os
import pty
import subprocess
import sys
import time

import numpy as np
import pytest

from scstream.support import progress
from scstream.support.messages import printed, warn
from scstream.support.progress import Bar, bars

ERASE = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that goes as the test wants."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_a_bar_shows_how_far_it_is_and_what_is_left(clock):
    out = Terminal()
    with Bar("trials", 40, shown=True, out=out) as bar:
        bar.show(0)
        clock[0] += 10.0
        bar.show(10, "best 0.9")
    last = out.getvalue().split(ERASE)
    assert last[-2] == "trials  [#####...............]  25%  best 0.9  30s left"
    assert last[-1] == ""  # nothing is left


def test_quick_work_shows_nothing(clock):
    out = Terminal()
    with Bar("trials", 40, shown=True, out=out) as bar:
        clock[0] += 0.4
        bar.show(39)
    assert out.getvalue() == ""


def test_states_that_follow_fast_are_left_out(clock):
    out = Terminal()
    with Bar("rows", 1000, shown=True, out=out) as bar:
        clock[0] += 1.0
        for done in range(1000):
            clock[0] += 0.001
            bar.show(done)
    assert out.getvalue().count("rows") <= 11


def test_no_bar_without_a_terminal_or_unless_it_is_wanted(clock):
    for out, wanted, shown in ((io.StringIO(), True, True), (Terminal(), False, False)):
        with bars(wanted=wanted), Bar("rows", 10, shown=shown, out=out) as bar:
            clock[0] += 5.0
            bar.show(5)
        assert out.getvalue() == ""


def test_a_command_turns_bars_on(clock):
    out = Terminal()
    with bars(wanted=True), Bar("rows", 10, out=out) as bar:
        clock[0] += 5.0
        bar.show(5)
    assert "rows" in out.getvalue()


def test_a_message_does_not_run_into_a_bar(clock, monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with printed(quiet=False), bars(wanted=True), Bar("rows", 10) as bar:
        clock[0] += 5.0
        bar.show(5)
        warn("look out")
        clock[0] += 5.0
        bar.show(6)
    assert f"{ERASE}scstream: look out\n{ERASE}rows" in out.getvalue()


def test_work_within_work_does_not_cover_its_bar(clock):
    out = Terminal()
    with Bar("outer", 10, shown=True, out=out) as outer:
        inner = Bar("inner", shown=True, out=out)
        clock[0] += 5.0
        inner.show(text="before the outer one is shown")
        clock[0] += 5.0
        outer.show(5)
        clock[0] += 5.0
        inner.show(text="after")
        with progress.cleared():
            pass
        assert out.getvalue().endswith("50%")  # the outer one is still there
    assert "inner  before" in out.getvalue()
    assert "inner  after" not in out.getvalue()


def test_long_lines_do_not_wrap(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    out = Terminal()
    with Bar("rows", 10, shown=True, out=out) as bar:
        clock[0] += 5.0
        bar.show(5, "x" * 100)
    assert max(map(len, out.getvalue().split(ERASE))) < 40


def on_a_terminal(argv, folder):
    """Return what a command writes to standard error, if that is a terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "scstream", *argv],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=slave, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(slave)
    said, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        try:
            data = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        said += data
    os.close(master)
    assert child.wait(60) == 0
    return said.decode()


@pytest.mark.parametrize("quiet", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_run_over_a_file_shows_its_share(quiet, tmp_path):
    X = np.random.default_rng(0).normal(size=(150_000, 8)) + 9.0 * (np.arange(150_000) % 3)[:, None]
    np.savetxt(tmp_path / "rows.csv", X, fmt="%.3f", delimiter=",")
    argv = ["run", "rows.csv", "-o", "none", "--random-state", "0", "--n-jobs", "1"]
    said = on_a_terminal([*argv, *["--quiet"] * quiet], tmp_path)
    assert ("%" in said and "[#" in said) is not quiet
