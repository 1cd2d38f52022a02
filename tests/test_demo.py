"""The demonstration: it runs, tells the truth, and writes its picture."""

import sys
from types import SimpleNamespace

import numpy as np

from scstream import demo
from scstream.cli import main
from scstream.datasets import Batch, GaussianMixture

SMALL = ["demo", "--batches", "4", "--batch-size", "300", "--clusters", "4"]


def test_demo_runs_prints_the_table_and_writes_the_picture(tmp_path, capsys):
    picture = tmp_path / "new" / "demo.png"
    assert main([*SMALL, "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    for number in range(1, 5):
        assert f"batch {number}/4" in out
    assert "points/s" in out
    assert "purity" in out
    assert "mean ARI" in out
    assert "oracle" in out
    assert str(picture) in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_names_the_extra_before_it_starts(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(SMALL) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "scstream[plot]" in captured.err
    assert "--no-picture" in captured.err


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
