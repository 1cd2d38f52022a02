"""The rows of a batch whose statistics depend on their labels: missing entries, heavy tails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.core import label_scores, uniforms
from scstream.engines.base import Key
from scstream.engines.sums import by_label
from scstream.families.contract import Array, Family
from scstream.families.gaps import Completion, gap_rows
from scstream.families.scale_mixture import RowWeights
from scstream.families.scores import Labels, Points, Score, to_dense

_ANY = Key(0, 0, 0)  # of draws that are the same in each sweep
_APART = 44  # bits of a row's number behind which draws for its entries are kept apart


def rows_by_label(family: Family, X: Points) -> NDArray[np.int64]:
    """Return the checked rows whose statistics depend on their labels, in ascending order."""
    return np.arange(X.shape[0]) if family.weighs_rows else gap_rows(family, X)


def completion_of(family: Family, score: Score) -> Completion:
    """Return what scores such rows as ``score`` does others, and gives them their statistics."""
    if family.imputation is None:
        return RowWeights.of(score)
    return family.imputation.completion(score)


class Gaps:
    """Which rows have gaps, and their statistics as they were last completed.

    Until a sweep gives a row its label, a missing entry is at the centre of the family's frame.
    Where clusters are made, there are many groups of rows for each. A group that completed its
    rows by itself would agree with itself alone, and not be merged with others that the rows might
    as well be in. So there each row is completed by one of all these, as drawn: ``by_groups``.

    Parameters
    ----------
    family : Family
    X : ndarray (n, d)
        The checked rows of the batch.
    rows : ndarray (m,)
        Those with gaps, in ascending order; all where rows have weights.
    T : ndarray (n, p) or None
        The statistics, if they are kept. Where rows have weights, what they are completed to is
        written there.
    """

    def __init__(
        self, family: Family, X: Points, rows: NDArray[np.int64], T: Array | None = None
    ) -> None:
        self._family, self._X, self.rows = family, X, rows
        self.everywhere = len(rows) == X.shape[0]  # whether all rows depend on their labels
        self.by_groups = False  # whether any group completes a row, where labels are the best
        self.seen: Array | None = None  # the statistics as they came, where they are kept
        if T is not None and self.everywhere and family.weighs_rows:
            self.seen, self._done = T.copy(), T
        else:
            self._done = np.nan_to_num(self._open(slice(None)), nan=0.0, posinf=0.0, neginf=0.0)

    def _open(self, some: slice) -> Array:
        """Return the statistics of some of these rows as they are observed, NaN in the gaps."""
        if self.seen is not None:
            return self.seen[some]
        return to_dense(self._family.statistics(self._X[self.rows[some]]))

    def weight(self, weight: Array) -> Array:
        """Return weights (n,) under which rows of which nothing is observed teach nothing."""
        if self._family.weighs_rows:
            return weight
        empty = self.rows[np.isnan(self._X[self.rows]).all(axis=1)]
        out: Array = np.array(weight)
        out[empty] = 0.0
        return out

    def within(self, rows: slice) -> slice:
        """Return which of the rows with gaps are among a run of rows."""
        a, b = np.searchsorted(self.rows, [rows.start, rows.stop])
        return slice(int(a), int(b))

    def patch(self, rows: slice, T: Points) -> Array:
        """Return statistics of a run of rows, dense, with those that have gaps completed."""
        if self.everywhere:
            return self._done[rows]
        some = self.within(rows)
        dense = to_dense(T)
        if some.stop > some.start:
            dense[self.rows[some] - rows.start] = self._done[some]
        return dense

    def statistics_of(self, rows: NDArray[np.int64], T: Array) -> Array:
        """Return the same of chosen rows."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        mine = self.rows[at] == rows
        T[mine] = self._done[at[mine]]
        return T

    def complete(self, z: Labels, completion: Completion, T: Array | None) -> None:
        """Complete all rows with gaps given the batch's labels (n,), in ``T`` (n, p) too."""
        seen = self._open(slice(None))
        self._done[:] = completion.completed(seen, np.maximum(z[self.rows], 0), None)
        if T is not None:
            T[self.rows] = self._done

    def sums(
        self, rows: slice, z: Labels, weight: Array, completion: Completion | None, k: int
    ) -> Array:
        """Return the sums (k, p) of those of a run of rows by the batch's labels and weights (n,).

        They are as last completed; or the expected ones by a completion, each row counting by the
        share of its statistics that is observed. Nothing else changes.
        """
        some = self.within(rows)
        mine = self.rows[some]
        labels, w, T = z[mine], weight[mine], self._done[some]
        if completion is not None:
            seen = self._open(some)
            T = completion.completed(seen, np.maximum(labels, 0), None)
            w = w * np.mean(~np.isnan(seen), axis=1)
        return by_label(T, w, labels, np.zeros_like(labels), k)[:, 0]

    def label(
        self, rows: slice, T: Array, score: Score, completion: Completion, draws: Draws
    ) -> Labelled:
        """Label the rows with gaps of a run by what is observed, and complete them, in ``T`` too.

        Second choices and entropies are those of the completed rows: what follows, the moves, takes
        these for what was observed.
        """
        some = self.within(rows)
        at, seen = self.rows[some] - rows.start, self._open(some)
        z, by, second = np.empty((3, len(at)), np.int64)
        scores, entropy = completion.block(seen), np.empty(len(at))
        label_scores(scores, draws.for_labels(at), z, second, entropy)
        by[:] = z
        if self.by_groups and not draws.are_drawn:
            label_scores(scores, draws.for_groups(rows, at), by, second, entropy)
        inside = np.minimum(by, draws.k - 1)
        done = completion.completed(seen, inside, draws.for_entries(rows, at, completion.uniforms))
        T[at] = self._done[some] = done
        return Labelled(at, z, *_second_choices(score.block(done), z))

    def as_came(self, rows: slice) -> Array:
        """Return the statistics of a run of rows before they are weighted, as all of them are."""
        return self._open(rows)

    def weigh(self, rows: slice, seen: Array, z: Labels, completion: Completion, T: Array) -> None:
        """Weight a run of rows by their labels, in ``T`` too; ``seen`` are these as they came."""
        T[:] = self._done[rows] = completion.completed(seen, z, None)


class Labelled:
    """Places of rows in a run (m,), their labels, second choices, and entropies between them."""

    def __init__(self, at: Labels, z: Labels, second: Labels, entropy: Array) -> None:
        self.at, self.z, self.second, self.entropy = at, z, second, entropy


class Draws:
    """Uniforms of a sweep for rows with gaps; none where labels are the best.

    Parameters
    ----------
    k : int
        Clusters.
    key : Key or None
    first : int
        The number of the batch's first row.
    u : ndarray (n,)
        The uniforms by which the labels of a run are drawn, empty if they are the best.
    """

    def __init__(self, k: int, key: Key | None, first: int, u: Array) -> None:
        self.k, self._key, self._first, self._u = k, key, first, u

    @property
    def are_drawn(self) -> bool:
        """Whether labels are drawn."""
        return self._key is not None

    def for_labels(self, at: Labels) -> Array:
        """Return the uniforms (m,) of labels, or none."""
        return self._u[at] if len(self._u) else self._u

    def for_groups(self, rows: slice, at: Labels) -> Array:
        """Return uniforms (m,) for the groups that complete rows, the same in each sweep."""
        u: Array = self._uniforms(_ANY, rows, at, 1)[0]
        return u

    def for_entries(self, rows: slice, at: Labels, width: int) -> Array | None:
        """Return uniforms (m, width) in (0, 1) for missing entries, keyed as labels are."""
        if self._key is None or not len(self._u):
            return None
        u = self._uniforms(self._key, rows, at, width)
        return np.ascontiguousarray(u.T) + 2.0**-54

    def _uniforms(self, key: Key, rows: slice, at: Labels, width: int) -> Array:
        """Return uniforms (width, m) of some of a run of rows, other ones than those of labels."""
        u = np.empty((width + width % 2, len(at)))
        both = np.empty((2, rows.stop - rows.start))
        for j in range(0, width, 2):
            first = self._first + rows.start + ((j // 2 + 1) << _APART)
            uniforms((key.seed, key.batch, key.sweep, first), both)
            u[j : j + 2] = both[:, at]
        return u[:width]


def _second_choices(scores: Array, z: Labels) -> tuple[Labels, Array]:
    """Return the best other component (n,), -1 if there is none, and the entropies (n,)."""
    n, k = scores.shape
    if k == 1:
        return np.full(n, -1), np.zeros(n)
    own = scores[np.arange(n), z]
    others = scores.copy()
    others[np.arange(n), z] = -np.inf
    second = np.argmax(others, axis=1)
    gap = others[np.arange(n), second] - own
    return second, np.logaddexp(0.0, gap)
