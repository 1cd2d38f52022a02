"""Progress bars: on a terminal, when a command or the user wants them, gone when work is done."""

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


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.0)


def test_a_bar_shows_how_far_it_is_and_leaves_nothing(at_once):
    out = Terminal()
    with Bar("trials", 40, shown=True, out=out) as bar:
        time.sleep(0.11)  # between two states
        bar.show(0)
        time.sleep(0.11)
        bar.show(10, "best 0.9")
    states = out.getvalue().split("\r")
    assert any(" 25%|" in state and "trials  best 0.9" in state for state in states)
    assert states[-1] == ""
    assert not states[-2].strip()


def test_quick_work_shows_nothing():
    out = Terminal()
    with Bar("trials", 40, shown=True, out=out) as bar:
        bar.show(39)
    assert out.getvalue().strip() == ""


@pytest.mark.parametrize(
    ("out", "wanted", "shown"),
    [(io.StringIO(), True, True), (Terminal(), False, False), (Terminal(), True, False)],
)
def test_a_bar_needs_a_terminal_and_somebody_who_wants_it(at_once, out, wanted, shown):
    with bars(wanted=wanted), Bar("rows", 10, shown=shown, out=out) as bar:
        bar.show(0, "none")
        time.sleep(0.11)
        bar.show(5, "some")
    assert ("rows" in out.getvalue()) is (out.isatty() and wanted)


def test_a_message_does_not_run_into_a_bar(at_once, monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with printed(quiet=False), bars(wanted=True), Bar("rows", 10) as bar:
        bar.show(0)
        time.sleep(0.11)
        bar.show(5)
        warn("look out")
    (line,) = [line for line in out.getvalue().splitlines() if "look out" in line]
    assert line.split("\r")[-1] == "scstream: look out"


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
    X = np.random.default_rng(0).normal(size=(30_000, 8)) + 9.0 * (np.arange(30_000) % 3)[:, None]
    np.savetxt(tmp_path / "some.csv", X, fmt="%.3f", delimiter=",")
    (tmp_path / "rows.csv").write_bytes((tmp_path / "some.csv").read_bytes() * 25)
    argv = ["run", "rows.csv", "-o", "none", "--random-state", "0", "--n-jobs", "1"]
    said = on_a_terminal([*argv, *["--quiet"] * quiet], tmp_path)
    assert ("%|" in said) is not quiet
