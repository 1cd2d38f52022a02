"""Passes over rows of a family whose statistics are quadratic, in few columns: `scstream.core`.

Threads share runs of leaves of the tree of sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream import core
from scstream.core import Rows, Scores
from scstream.engines.ordered_sums import Part
from scstream.engines.sizes import Sizes
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, Products, Score, form_of
from scstream.kernels.labelling import Pairs
from scstream.support.threads import together

MOST_COLUMNS = 15  # of rows that are scored by all their statistics
_FEW_LEAVES = 8  # of a run, at least
_MOST_RUNS = 64  # each of which has sums of its own
_ROWS = 2**14  # that are labelled at a time where nothing is added up


@dataclass(frozen=True)
class LargeBatch:
    """The rows of a batch, or others that are to be labelled.

    Attributes
    ----------
    rows : Rows
    n_threads : int
    sizes : Sizes
    first_row : int
        The number of the first row: a multiple of the rows of a leaf.
    """

    rows: Rows
    n_threads: int
    sizes: Sizes
    first_row: int

    @staticmethod
    def of(
        family: Family, X: Points, n_threads: int, sizes: Sizes, first_row: int = 0
    ) -> LargeBatch | None:
        """Return the rows, or None if they are of another kind."""
        if X.shape[1] > MOST_COLUMNS or not isinstance(X, np.ndarray) or not len(X):
            return None
        frame = family.quadratic_frame()
        if frame is None:
            return None
        return LargeBatch(Rows(np.ascontiguousarray(X), *frame), n_threads, sizes, first_row)

    def takes(self, score: Score) -> bool:
        """Whether rows can be scored here by such a score."""
        form = form_of(score)
        return isinstance(form, Products) and form.pruning is None

    def sweep(
        self, weight: Array, score: Score, pairs: Pairs, k: int, key: tuple[int, int, int] | None,
        labels: tuple[Labels, Labels],
    ) -> list[Part]:  # fmt: skip
        """Write labels and sub-labels, and return the sums of each run: see `Engine.sweep`."""
        by, own, p = _scores(score), _contiguous(*pairs), pairs.eta.shape[1]
        leaf = self.sizes.leaf_rows

        def swept(run: tuple[int, int]) -> Part:
            at, part = self._at(run)
            keyed = None if key is None else (*key, self.first_row + at.start)
            sums = (
                np.empty((k, 2, p)), np.empty((k, 2), np.int64), np.empty((k, k), np.int64),
                np.empty((k, k)),
            )  # fmt: skip
            z, sub = (line[at] for line in labels)
            core.sweep(self._rows(at), weight[at], by, own, keyed, leaf, z, sub, sums)
            return Part(*part, sums)

        return together(self.n_threads, swept, list(self._runs()))

    def resplit(
        self, weight: Array, z: Labels, trial: Labels, chosen: NDArray[np.bool_], pairs: Pairs
    ) -> list[Part]:
        """Write the better sub-labels of rows of the chosen clusters: see `Engine.resplit`."""
        own, k, p = _contiguous(*pairs), len(chosen), pairs.eta.shape[1]
        leaf = self.sizes.leaf_rows

        def tried(run: tuple[int, int]) -> Part:
            at, part = self._at(run)
            sums = np.empty((k, 2, p)), np.empty(k)
            core.try_sublabels(
                self._rows(at), weight[at], own, chosen, leaf, z[at], trial[at], sums
            )
            return Part(*part, sums)

        return together(self.n_threads, tried, list(self._runs()))

    def assign(self, score: Score) -> Labels:
        """Return the best component of each row."""
        by, n = _scores(score), len(self.rows.X)
        out = np.empty(n, dtype=np.int64)

        def assigned(start: int) -> None:
            at = slice(start, start + _ROWS)
            core.best_labels(self._rows(at), by, out[at])

        together(self.n_threads, assigned, range(0, n, _ROWS))
        return out

    def _rows(self, at: slice) -> Rows:
        return self.rows._replace(X=self.rows.X[at])

    def _at(self, run: tuple[int, int]) -> tuple[slice, tuple[int, int]]:
        """Return the rows of a run of leaves, and the number of its first leaf and how many."""
        (first, leaves), rows = run, self.sizes.leaf_rows
        return (
            slice(first * rows, min((first + leaves) * rows, len(self.rows.X))),
            (self.first_row // rows + first, leaves),
        )

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Yield runs of leaves, each a node of the tree: the first leaf and how many."""
        rows = self.sizes.leaf_rows
        leaves, before = -(-len(self.rows.X) // rows), self.first_row // rows
        most = _FEW_LEAVES
        while most * _MOST_RUNS < leaves:
            most *= 2
        at = 0
        while at < leaves:
            size = most
            while (before + at) % size or at + size > leaves:
                size //= 2
            yield at, size
            at += size


def _scores(score: Score) -> Scores:
    form = form_of(score)
    assert isinstance(form, Products)
    return _contiguous(form.eta, form.const, form.power)


def _contiguous(*parts: Any) -> Scores:
    return Scores(*(np.ascontiguousarray(part, dtype=np.float64) for part in parts))
