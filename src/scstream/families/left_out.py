"""Scores of rows that clusters have learned from: each row's own cluster as if without the row.

A row that counts in a cluster finds itself there. Where clusters hold few rows for the numbers that
describe them, that decides: a row stays where it happened to be, by some p / N nats, in a cluster
of N rows and p numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.scores import (
    Labels,
    Opaque,
    Points,
    Products,
    Score,
    fast_scores,
    form_of,
    to_dense,
)

_CELLS = 2**21  # statistics of rows that are held at a time
_FAR = 25.0  # nats below a row's best where scores may be upper bounds, and do not matter


class Members(NamedTuple):
    """Rows that components have learned from: statistics (n, p), labels and weights (n,)."""

    T: Points
    z: Labels
    weight: Array


@dataclass(frozen=True)
class LeftOutScore:
    """A score of clusters, and what may stand beside them, by which their own rows are labelled.

    Attributes
    ----------
    family : Family
    totals : ndarray (k, p)
        What the clusters have learned, these rows included.
    n : ndarray (k,)
        The points by which they are weighed.
    alpha : float
    clusters : Score
        The predictive score of the clusters by weights ``n / (sum of n + alpha)``.
    score : Score
        The same with what stands beside them.
    """

    family: Family
    totals: Array
    n: Array
    alpha: float
    clusters: Score
    score: Score

    @property
    def form(self) -> Opaque:
        """The form: engines have no passes of their own for it."""
        return Opaque(form_of(self.score).ready)

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of rows that are in no cluster yet."""
        return self.score.block(T)

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) of such rows under their own pairs."""
        return self.score.pairs(T, z)

    def of_members(self, T: Points, z: Labels, weight: Array) -> Array:
        """Return the scores (n, k) of rows that are in the clusters z (n,), -1 for none.

        A block is always to be cut at the same rows. Where components are ruled out because they
        are far below a row's best, the few rows are scored anew whose best falls near to them.
        """
        form = form_of(self.score)
        if not (isinstance(form, Products) and isinstance(T, np.ndarray)):
            return self._left_out(self.score.block(T), Members(T, z, weight))
        scores = fast_scores(form, T)
        best = scores.max(axis=1)
        scores = self._left_out(scores, Members(T, z, weight))
        if form.triangular is None:
            return scores
        fell = _fell(scores, best, z)
        if len(fell):
            rows = _some(Members(T, z, weight), fell)
            scores[fell] = self._left_out(self.score.block(rows.T), rows)
        return scores

    def own(self, rows: Members) -> Array:
        """Return the scores (n,) of rows under their own clusters without them, NaN without one."""
        out = np.full(len(rows.z), np.nan)
        at = np.flatnonzero((rows.z >= 0) & (rows.z < len(self.totals)))
        mine = rows if len(at) == len(out) else _some(rows, at)
        out[at] = self._own(mine, out[at])
        left = at[np.isnan(out[at])]
        if len(left):
            few = _some(rows, left)
            out[left] = self.clusters.block(few.T)[np.arange(len(left)), few.z]
        return out

    def _left_out(self, scores: Array, rows: Members) -> Array:
        """Return the scores (n, k) with those of rows under their own clusters replaced."""
        at = np.flatnonzero((rows.z >= 0) & (rows.z < len(self.totals)))
        if len(at):
            everyone = len(at) == len(rows.z)  # then no copy is needed
            mine = rows if everyone else _some(rows, at)
            scores[at, mine.z] = self._own(mine, scores[at, mine.z])
        return scores

    def _own(self, rows: Members, inside: Array) -> Array:
        """Return the scores (n,) of rows under their own clusters without them.

        ``inside`` is what they are with them. A row that was alone scores as one that founds a
        cluster. Where a cluster has not what a row taught it, as after rounding, nothing changes.
        """
        n = np.maximum(self.n, 1e-300)
        alone = self.totals[rows.z, 0] < 1.5 * rows.weight
        with np.errstate(all="ignore"):
            own = self._without(rows, inside) + np.log(1.0 - rows.weight / n[rows.z])
        if alone.any():
            founding = self.family.log_marginal(to_dense(rows.T[alone]))
            own[alone] = founding + np.log(self.alpha / (n.sum() + self.alpha))
        return np.where(np.isfinite(own), own, inside)

    def _without(self, rows: Members, inside: Array) -> Array:
        """Return the same with the clusters' weights as they are: by their score, if it can."""
        quick = getattr(self.clusters, "left_out", None)
        if quick is not None:
            out: Array = quick(rows, inside)
            return out
        n, family = self.n, self.family
        out, step = np.empty(len(rows.z)), max(1, _CELLS // self.totals.shape[1])
        for a in range(0, len(out), step):
            T, z, weight = (each[a : a + step] for each in rows)
            T = to_dense(T)
            without = self.totals[z] - weight[:, None] * T
            out[a : a + step] = family.log_marginal(without + T) - family.log_marginal(without)
        out += np.log(n[rows.z] / (n.sum() + self.alpha))
        return out


def _some(rows: Members, at: NDArray[np.intp]) -> Members:
    return Members(rows.T[at], rows.z[at], rows.weight[at])


def _fell(scores: Array, best: Array, z: Labels) -> NDArray[np.intp]:
    """Return the rows whose best is near to what was far below the best of before, other than z."""
    top = scores.max(axis=1)
    at = np.flatnonzero(top < best)
    others, near = scores[at], (top[at] - _FAR)[:, None]
    bounds = (others > near) & (others <= (best[at] - _FAR)[:, None])
    mine = z[at] >= 0
    bounds[mine, z[at][mine]] = False
    fell: NDArray[np.intp] = at[bounds.any(axis=1)]
    return fell
