"""The demonstration: it runs, tells the truth, and writes its picture."""

import io
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from scstream import demo
from scstream.datasets import Batch, GaussianMixture

SMALL = ["--batches", "4", "--batch-size", "300", "--clusters", "4"]


def test_demo_runs_prints_the_table_and_writes_the_picture(tmp_path, capsys):
    picture = tmp_path / "new" / "demo.png"
    assert demo.main([*SMALL, "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    for number in range(1, 5):
        assert f"batch {number}/4" in out
    assert "points/s" in out
    assert "purity" in out
    assert "mean ARI" in out
    assert "oracle" in out
    assert str(picture) in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_same_seed_same_table(capsys):
    tables = []
    for _ in range(2):
        demo.main([*SMALL, "--no-picture"])
        tables.append(capsys.readouterr().out.partition("The last batch")[2])
    assert tables[0] == tables[1] != ""


def test_without_matplotlib_it_names_the_extra_before_it_starts(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo.main(SMALL) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "scstream[plot]" in captured.err
    assert "--no-picture" in captured.err


@pytest.mark.parametrize("option", ["--batches=1", "--batch-size=0", "--clusters=two"])
def test_impossible_sizes_are_refused(option, capsys):
    with pytest.raises(SystemExit, match="2"):
        demo.main([option])
    assert "is not a whole number of at least" in capsys.readouterr().err


def test_matches_count_what_is_held_and_what_is_pure():
    truth = GaussianMixture(
        weights=np.array([0.5, 0.5]),
        clusters=np.array([3, 8]),
        means=np.array([[0.0, 1.0], [5.0, 6.0]]),
        scales=np.stack([np.eye(2), np.eye(2)]),
    )
    batch = Batch(X=np.zeros((6, 2)), y=np.array([3, 3, 3, 3, 8, 8]), time=0.0, truth=truth)
    model = SimpleNamespace(
        labels_=np.array([11, 11, 11, -1, 11, -1]),
        clusters_=[SimpleNamespace(id=11, mean=np.array([0.5, 1.5]))],
    )
    first, second = demo.match_clusters(batch, model)
    assert (first.true_id, first.size, first.found_id) == (3, 4, 11)
    assert (first.held, first.purity) == (0.75, 0.75)
    np.testing.assert_array_equal(first.true_mean, [0.0, 1.0])
    np.testing.assert_array_equal(first.found_mean, [0.5, 1.5])
    assert (second.true_id, second.found_id, second.found_mean) == (8, -1, None)
    assert (second.held, second.purity) == (0.5, 0.5)
    lines = demo.format_matches([first, second]).splitlines()
    assert len({len(line.rstrip()) for line in lines[1:]}) == 1, "columns are not aligned"


def test_progress_rewrites_one_line_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    progress = demo._Progress(20, out)
    progress.begin()
    time.sleep(0.6)  # a bar appears after half a second
    for number in range(2, 21):
        progress.show(number, 1e6, 5, 0.9)
    progress.end()
    assert "\n" not in out.getvalue()
    assert "batch  2/20" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")  # nothing is left


def test_progress_writes_a_few_lines_elsewhere():
    out = io.StringIO()
    progress = demo._Progress(1000, out)
    progress.begin()
    for number in range(2, 1001):
        progress.show(number, 1e6, 5, 0.9)
    progress.end()
    assert "\r" not in out.getvalue()
    assert len(out.getvalue().splitlines()) == 11
