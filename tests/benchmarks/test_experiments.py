"""The further experiments on a stream so small that they take a second."""

from benchmarks import experiments
from benchmarks.report import tables
from benchmarks.store import Store, read
from scstream.datasets import gaussian_stream


def test_three_tables_that_the_report_shows(monkeypatch, tmp_path) -> None:
    def tiny(seed):
        return gaussian_stream(3, 120, n_clusters=20, random_state=seed)

    monkeypatch.setattr(experiments, "SEEDS", 1)
    monkeypatch.setattr(experiments, "SWEEPS", (1, 2))
    monkeypatch.setattr(experiments, "_streams", lambda folder: {"tiny": ("gaussian", tiny)})
    store = Store(tmp_path / "results.jsonl")
    for _ in range(2):  # the second time replaces the first
        for table in experiments.experiments(None):
            store.add(table)
    stored = read(store.path)
    assert [row["title"] for row in stored] == [
        "Sweeps a batch", "The last sweep", "Labels that last",
    ]  # fmt: skip
    assert [len(row["rows"]) for row in stored] == [2, 2, 3]
    assert all(len(cells) == len(row["columns"]) for row in stored for cells in row["rows"])
    page = tables(stored)
    assert "Labels that last" in page
    assert "| tiny | T = 2 |" in page
