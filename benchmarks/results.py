"""Stored rows, brought together for the report: one entry for each line of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.store import Row
from benchmarks.streams import DATASETS

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
    def name(self) -> str:
        """The method as in a table: a star marks one that is told the number of clusters."""
        return self.contestant + ("*" if self.rows[0]["told_k"] else "")

    @property
    def label(self) -> str:
        """The method as in a picture, with the kind of its settings where that matters."""
        return f"{self.name}, tuned" if self.settings_kind == "tuned" else self.name

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

    def facts(self, name: str) -> NDArray[np.float64]:
        """Return a number of each run, without those that lack it."""
        cells = [row.get(name) for row in self.rows]
        return np.array([cell for cell in cells if cell is not None], dtype=np.float64)

    @property
    def milliseconds(self) -> NDArray[np.float64]:
        """Time of each batch, learned and predicted."""
        return 1e3 * (self.values("seconds_update") + self.values("seconds_predict"))

    def by_batch(self, column: str) -> dict[tuple[int, int], float]:
        """Return a column by seed and batch."""
        return {
            (row["seed"], batch): cell
            for row in self.rows
            for batch, cell in zip(row.get("batch") or [], row.get(column) or [], strict=True)
        }


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
        entries, key=lambda e: (e.mode, known.index(e.dataset) if e.dataset in known else 99)
    )


def best_first(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries by their mean ARI, those that finished before those that did not."""

    def rank(entry: Entry) -> tuple[bool, bool, float]:
        mean = entry.mean("ari")
        return (not entry.is_complete, bool(np.isnan(mean)), -mean)

    return sorted(entries, key=rank)


def lead(one: Entry, other: Entry, column: str) -> float:
    """Return by how much one entry is ahead of another on the batches that both scored.

    NaN if there are none. One that was stopped early is compared on what it did.
    """
    mine, theirs = one.by_batch(column), other.by_batch(column)
    common = mine.keys() & theirs.keys()
    if not common:  # another seed alone, as for a contestant that draws nothing at random
        return one.mean(column) - other.mean(column)
    return float(np.mean([mine[key] - theirs[key] for key in common]))
