"""A followed file that is rotated while the run is killed: every row once, labelled as if not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from scstream.cli import main
from scstream.datasets import gaussian_stream

SIZE = 40
PATIENCE = 240.0


def command(source, out, *more):
    argv = ["run", source, "-o", out, "--batch-size", SIZE, "--random-state", 0, "--family"]
    return [str(word) for word in [*argv, "gaussian", "--n-jobs", 1, "--quiet", *more]]


class Writer:
    """Writes rows to a log in portions, and rotates it."""

    def __init__(self, rows):
        self.rows, self.rotations = rows, 0
        Path("log.csv").write_text("x,y\n")

    def write(self, n):
        with open("log.csv", "a") as file:
            file.write("".join(self.rows[:n]))
        del self.rows[:n]

    def rotate(self):
        for i in range(self.rotations, 0, -1):
            os.rename(f"log.csv.{i}", f"log.csv.{i + 1}")
        self.rotations += 1
        os.rename("log.csv", "log.csv.1")
        with open("log.csv", "a") as file:
            file.write("x,y\n")


@pytest.fixture
def started():
    """Start commands; what is still running after the test, as where it fails, is ended."""
    processes = []

    def start(argv):
        processes.append(subprocess.Popen([sys.executable, "-m", "scstream", *argv]))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def lines_of(path):
    return Path(path).read_bytes().count(b"\n") if os.path.exists(path) else 0


@pytest.mark.slow
def test_a_rotated_log_with_kills(tmp_path, monkeypatch, started):
    monkeypatch.chdir(tmp_path)
    X = np.concatenate([b.X for b in gaussian_stream(30, SIZE, n_clusters=3, random_state=1)])
    rows = [f"{a:.6f},{b:.6f}\n" for a, b in X.tolist()]
    Path("whole.csv").write_text("x,y\n" + "".join(rows))
    assert main(command("whole.csv", "expected.csv")) == 0
    argv = command("log.csv", "out.csv", "--follow", "--checkpoint", "state", "--every", 2)
    writer, process = Writer(rows), None
    for portion in range(6):
        if process is None:
            process = started(argv)
        writer.write(5 * SIZE - 7 if portion < 5 else len(writer.rows))
        limit = time.monotonic() + PATIENCE
        expected = 1 + (len(X) - len(writer.rows)) // SIZE * SIZE
        while portion % 2 == 0 and lines_of("out.csv") < expected:
            assert time.monotonic() < limit, "the rows are not read"
            assert process.poll() is None
            time.sleep(0.05)
        if portion % 2 == 0 and portion < 5:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = None
        if portion < 5:
            writer.rotate()
    limit = time.monotonic() + PATIENCE
    while lines_of("out.csv") < len(X) + 1:
        assert time.monotonic() < limit, "the rows are not read"
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 128 + signal.SIGTERM
    assert Path("out.csv").read_bytes() == Path("expected.csv").read_bytes()
