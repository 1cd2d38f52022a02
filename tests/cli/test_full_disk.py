"""A disk that is full: the error names the file, and nothing half-written stays."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs a limit on the size of files"
)

# Runs a command none of whose files may become longer than a page.
WITHOUT_ROOM = """
import resource, sys
from scstream.cli import main
import scstream.pipeline, scstream.model
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(3000, 2))
    np.savetxt("d.csv", X, "%.4f", ",", header="x,y", comments="")


PARTS = ["-o", "labels", "--output-format", "parquet", "--checkpoint", "state"]


@pytest.mark.parametrize(
    ("words", "name", "left"),
    [
        (["run", "d.csv", "-o", "labels.parquet"], "labels.parquet", ["d.csv"]),
        pytest.param(
            ["fit", "d.csv", "-o", "none", "--model", "model"],
            "model",
            ["d.csv"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["run", "d.csv", *PARTS], "labels", ["d.csv", "labels", "state"], marks=pytest.mark.slow
        ),
    ],
    ids=["one file", "a model", "parts"],
)
def test_nothing_is_left_of_a_file_that_has_no_room(words, name, left):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, *words, "--quiet", "--family", "gaussian"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == (f"scstream {words[0]}: error: {name}: File too large")
    assert sorted(os.listdir()) == left
    assert "labels" not in left or os.listdir("labels") == []
