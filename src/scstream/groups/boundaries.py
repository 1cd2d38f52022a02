"""Boundaries between clusters: which clusters touch, and the rows on a line across each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import CpuEngine
from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.families.subspace import narrowed
from scstream.groups.bridges import BINS
from scstream.records import BatchRecord
from scstream.sampler.learner import Learner
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen

Ints = NDArray[np.int64]
_A_CLUSTER = 16  # pairs that touch for each cluster, at most
_REACH = 3.5  # deviations behind the two means that are looked at
_MEMBER = 0.01  # probability that a row is of the two clusters, from which it counts
_FEWEST = 2.0  # rows of a cluster that is looked at
_UNSEEN = np.array([[1.0], [0.5 * BINS], [1.0]])  # `Boundaries.start` where there are no rows
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


@frozen
class Boundaries:
    """What rows have shown at the boundaries of a model's clusters.

    Attributes
    ----------
    pairs : ndarray (m, 2)
        The ids of the two clusters of each boundary, the lower one first.
    rows : ndarray (m, BINS)
        Rows of the two in bins along a line, from behind the one to behind the other.
    start : ndarray (m, 3, 2)
        Rows, mean and deviation of either cluster when it was last looked at, in bins.
    whole : ndarray (m,)
        How surely the two were last found to be of one group: from -1 to 1, 0 if it is not known.
    seen : float
        How many rows were looked at, forgotten ones aside.
    """

    pairs: Ints = field(default_factory=lambda: _NO_PAIRS)
    rows: Array = field(default_factory=lambda: np.zeros((0, BINS)))
    start: Array = field(default_factory=lambda: np.zeros((0, 3, 2)))
    whole: Array = field(default_factory=lambda: np.zeros(0))
    seen: float = 0.0

    def follow(self, record: BatchRecord, rules: Rules) -> Boundaries:
        """Return the boundaries after a batch: those of clusters that changed are less certain."""
        if not record.splits and not record.merges:
            return self
        names = [i for pair in (*record.splits, *record.merges) for i in pair]
        share = np.where(np.isin(self.pairs, names).any(axis=1), rules.group_changed, 1.0)
        rows = share[:, None] * self.rows
        return Boundaries(self.pairs, rows, self.start, self.whole, self.seen)

    def after(self, new: Boundaries, n: int, ids: Ints, rules: Rules) -> Boundaries:
        """Return what was known of clusters, some forgotten as n rows came, and what is new."""
        share = 0.5 ** (n / rules.group_memory)
        before = {pair: i for i, pair in enumerate(map(tuple, self.pairs.tolist()))}
        at = np.array([before.pop(pair, -1) for pair in map(tuple, new.pairs.tolist())], dtype=int)
        known, at = at >= 0, at[at >= 0]
        rows, start, whole = new.rows.copy(), new.start.copy(), new.whole.copy()
        same = known & ~rows.any(axis=1)  # no rows now: as it was last seen
        start[same] = self.start[at[~rows[known].any(axis=1)]]
        rows[known] += share * self.rows[at]
        whole[known] = self.whole[at]
        rest = np.array(list(before.values()), dtype=int)
        rest = rest[np.isin(self.pairs[rest], ids).all(axis=1)]
        return Boundaries(
            np.concatenate([new.pairs, self.pairs[rest]]),
            np.concatenate([rows, share * self.rows[rest]]),
            np.concatenate([start, self.start[rest]]),
            np.concatenate([whole, self.whole[rest]]),
            share * self.seen + n,
        )

    def places(self, ids: Ints, touch: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the places (t, 2) of known boundaries between clusters that touch, and which (m,).

        ``touch`` are pairs of places, the lower one first.
        """
        place = {i: j for j, i in enumerate(ids.tolist())}
        both = [[place.get(i, -1) for i in pair] for pair in self.pairs.tolist()]
        at = np.sort(np.array(both, dtype=np.int64).reshape(-1, 2), axis=1)
        here = (at[:, 0] >= 0) & np.isin(at @ [len(ids), 1], touch @ [len(ids), 1])
        return at[here], here


def touching(learner: Learner, rules: Rules) -> tuple[Array, Ints]:
    """Return the entropy (k, k) between clusters, and the pairs (m, 2) of places that touch.

    Their entropy is a share of the smaller cluster's rows.
    """
    window, count = learner.state.window, learner.state.totals[:, 0]
    contact = window.weighted(window.entropy)
    smaller = np.minimum(count[:, None], count)
    touch = (contact > 0.0) & (contact >= rules.group_touch * smaller)
    return contact, np.argwhere(np.triu(touch, 1))[: _A_CLUSTER * len(count)]


def look(learner: Learner, X: Points, pairs: Ints, rules: Rules) -> tuple[Boundaries, Array]:
    """Return what rows show at the boundaries of pairs (m, 2), and the clusters' volumes (k,).

    Each row counts as much as it is probably one of the two clusters. It is seen along Fisher's
    direction between the two, in the family's embedding; by its log odds in a table of more columns
    than `group_columns`. Log volumes are those of the clusters' ellipses.
    """
    ids, score = learner.state.ids, _scores(learner, X)
    p = np.exp(score - score.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True))[:, : len(ids)]
    lines, volume = _lines(learner, X, score, p, pairs, rules)
    order = np.where((ids[pairs[:, 0]] > ids[pairs[:, 1]])[:, None], pairs[:, ::-1], pairs)
    rows, start = np.zeros((len(pairs), BINS)), np.zeros((len(pairs), 3, 2)) + _UNSEEN
    for i, ((a, b), (own, t)) in enumerate(zip(order.tolist(), lines, strict=True)):
        one = _binned(t if a == pairs[i, 0] else -t, p[own, a], p[own, b])
        if one is not None:
            rows[i], start[i] = one
    return Boundaries(ids[order], rows, start, np.zeros(len(pairs))), volume


def _scores(learner: Learner, X: Points) -> Array:
    """Return log scores (n, k or more) of rows: the clusters', and that of a background."""
    score, family = learner.predictive(), learner.family
    if learner.outliers is not None:
        score = learner.outliers.beside(score, family)
    return np.asarray(CpuEngine().evaluate(family, narrowed(family, X), score, np.copy), np.float64)


def _lines(
    learner: Learner, X: Points, score: Array, p: Array, pairs: Ints, rules: Rules
) -> tuple[Iterator[tuple[Ints, Array]], Array]:
    """Return for each pair the rows (r,) that count and their places (r,), and log volumes (k,)."""
    members = [(np.flatnonzero(p[:, a] + p[:, b] > _MEMBER), a, b) for a, b in pairs.tolist()]
    E = learner.family.embed(X)
    if sparse.issparse(E) or E.shape[1] > rules.group_columns:
        return ((own, score[own, b] - score[own, a]) for own, a, b in members), np.zeros(p.shape[1])
    mean, cov = _ellipses(E, p)
    a, b = pairs.T
    gap = (mean[b] - mean[a])[..., None]
    direction = np.linalg.solve(0.5 * (cov[a] + cov[b]), gap)[..., 0]
    along = ((own, E[own] @ u) for (own, _, _), u in zip(members, direction, strict=True))
    return along, 0.5 * np.linalg.slogdet(cov)[1]


def _ellipses(E: Array, p: Array) -> tuple[Array, Array]:
    """Return means (k, q) and covariances (k, q, q) of clusters with members p (n, k).

    All clusters' mean covariance counts as one row for each column.
    """
    whole = np.isfinite(E.sum(axis=1))
    E, p = (E, p) if whole.all() else (E[whole], p[whole])
    (n, q), k = E.shape, p.shape[1]
    mean = p.T @ E / np.maximum(p.sum(axis=0), 1e-9)[:, None]
    best = p.argmax(axis=1)
    order, count = np.argsort(best, kind="stable"), np.bincount(best, minlength=k)
    off = (E - mean[best])[order]
    end = np.cumsum(count)
    cov = np.array([off[j - m : j].T @ off[j - m : j] for j, m in zip(end, count, strict=True)])
    pooled = cov.sum(axis=0) / max(n, 1)
    pooled[np.diag_indices(q)] += 1e-6 * (pooled.trace() / q + 1e-12)
    return mean, (cov + q * pooled) / (count + q)[:, None, None]


def _binned(t: Array, one: Array, two: Array) -> tuple[Array, Array] | None:
    """Return rows (BINS,) and `Boundaries.start` (3, 2) for places (r,) and memberships (r,).

    None if a cluster has too few rows.
    """
    known = np.isfinite(t)
    if not known.all():
        t, one, two = t[known], one[known], two[known]
    p = np.array([one, two])
    n = p.sum(axis=1)
    if n.min() < _FEWEST:
        return None
    mean = p @ t / n
    deviation = np.sqrt((p * (t - mean[:, None]) ** 2).sum(axis=1) / n)
    low, high = mean + _REACH * deviation * [-1.0, 1.0]
    if not high - low > 1e-9 * (abs(low) + abs(high)):
        return None
    scale = BINS / (high - low)
    at = np.floor((t - low) * scale)
    inside = (at >= 0) & (at < BINS)
    rows: Array = np.bincount(at[inside].astype(int), (one + two)[inside], BINS).astype(np.float64)
    return rows, np.array([n, (mean - low) * scale, deviation * scale])
