"""Stored rows, brought together for the report: one entry for each line of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.catalogue import DATASETS
from benchmarks.store import Row

OURS = "ScStream"  # and every contestant whose name starts with it


@dataclass(frozen=True)
class Entry:
    """All seeds of a contestant on a data set, with one kind of settings."""

    dataset: str
    contestant: str
    settings_kind: str
    mode: str
    rows: tuple[Row, ...]

    @property
    def is_ours(self) -> bool:
        """Whether it is scstream, in one of its variants."""
        return self.contestant.startswith(OURS)

    @property
    def told_k(self) -> bool:
        """Whether it is told the number of clusters."""
        return bool(self.rows[0]["told_k"])

    @property
    def label(self) -> str:
        """The method as in a table, starred if it is told K, with its settings if tuned."""
        tuned = ", tuned" if self.settings_kind == "tuned" else ""
        return self.contestant + "*" * self.told_k + tuned

    @property
    def status(self) -> str:
        """How the runs ended, ``"ok"`` if all did well."""
        return "; ".join(dict.fromkeys(row["status"] for row in self.rows))

    @property
    def is_complete(self) -> bool:
        """Whether every run came to its end."""
        return self.status == "ok"

    def values(self, column: str) -> NDArray[np.float64]:
        """Return a column of all batches of all seeds, without those that lack it."""
        cells = [cell for row in self.rows for cell in row.get(column) or []]
        return np.array([cell for cell in cells if cell is not None], dtype=np.float64)

    def mean(self, column: str) -> float:
        """Return the mean of a column, NaN if there is nothing in it."""
        values = self.values(column)
        return float(values.mean()) if values.size else float("nan")

    def seeds(self, column: str) -> NDArray[np.float64]:
        """Return the mean of a column of each seed that has scored a batch."""
        return np.array([np.nanmean(np.array(row[column], dtype=np.float64))
                         for row in self.rows if row.get(column)])  # fmt: skip

    def fact(self, name: str) -> float:
        """Return the mean over seeds of a number of a run, NaN if none has it."""
        cells = [row[name] for row in self.rows if row.get(name) is not None]
        return float(np.mean(cells)) if cells else float("nan")

    @property
    def milliseconds(self) -> NDArray[np.float64]:
        """Time of each batch, learned and predicted."""
        return 1e3 * (self.values("seconds_update") + self.values("seconds_predict"))


def entries_of(rows: list[Row]) -> list[Entry]:
    """Gather the runs into entries, in the order of the data sets and of the contestants."""
    grouped: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        if row["what"] == "run":
            key = (row["dataset"], row["contestant"], row["settings_kind"], row["mode"])
            grouped.setdefault(key, []).append(row)
    known = list(DATASETS)
    entries = [Entry(*key, tuple(group)) for key, group in grouped.items()]
    return sorted(
        entries, key=lambda e: (e.mode, known.index(e.dataset) if e.dataset in known else 999)
    )


def best_first(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries by their mean ARI, those that finished before those that did not."""

    def rank(entry: Entry) -> tuple[bool, bool, float]:
        mean = entry.mean("ari")
        return (not entry.is_complete, bool(np.isnan(mean)), -mean)

    return sorted(entries, key=rank)
