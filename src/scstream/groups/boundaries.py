"""Boundaries between clusters: which clusters touch, and the rows on a line across each."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import CpuEngine
from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.families.subspace import narrowed
from scstream.groups.bridges import BINS, first_curve
from scstream.records import BatchRecord
from scstream.sampler.learner import Learner
from scstream.sampler.rules import Rules
from scstream.support.frozen import changed, frozen

Ints = NDArray[np.int64]
_A_CLUSTER = 16  # pairs that touch for each cluster, at most
_REACH = 3.5  # deviations behind the two means that are looked at
_MEMBER = 0.01  # probability that a row is of the two clusters, from which it counts
_FEWEST = 2.0  # rows of a cluster that is looked at
_UNSEEN = first_curve(np.ones(2), np.full(2, 0.5 * BINS), np.ones(2))  # where there are no rows
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
    curve : ndarray (m, 5)
        Parameters of the two Gaussians that were last fitted to these rows: see `bridges`.
    skewed : ndarray (m,)
        How much speaks for skewed clusters, in nats.
    whole : ndarray (m,)
        How surely the two were last found to be of one group: from -1 to 1, 0 if it is not known.
    seen : float
        How many rows were looked at, forgotten ones aside.
    """

    pairs: Ints = field(default_factory=lambda: _NO_PAIRS)
    rows: Array = field(default_factory=lambda: np.zeros((0, BINS)))
    curve: Array = field(default_factory=lambda: np.zeros((0, 5)))
    skewed: Array = field(default_factory=lambda: np.zeros(0))
    whole: Array = field(default_factory=lambda: np.zeros(0))
    seen: float = 0.0

    def follow(self, record: BatchRecord, rules: Rules) -> Boundaries:
        """Return the boundaries after a batch: those of clusters that changed are less certain."""
        if not record.splits and not record.merges:
            return self
        names = [i for pair in (*record.splits, *record.merges) for i in pair]
        share = np.where(np.isin(self.pairs, names).any(axis=1), rules.group_changed, 1.0)
        return changed(self, rows=share[:, None] * self.rows, skewed=share * self.skewed)

    def after(self, new: Boundaries, n: int, ids: Ints, rules: Rules) -> Boundaries:
        """Return what was known of clusters, some forgotten as n rows came, and what is new."""
        share = 0.5 ** (n / rules.group_memory)
        before = {pair: i for i, pair in enumerate(map(tuple, self.pairs.tolist()))}
        at = np.array([before.pop(pair, -1) for pair in map(tuple, new.pairs.tolist())], dtype=int)
        rest = np.array(list(before.values()), dtype=int)
        rest = rest[np.isin(self.pairs[rest], ids).all(axis=1)]
        m, at = len(at), np.concatenate([at, rest])
        known = at >= 0
        curve, rows = np.zeros((len(at), 5)), np.zeros((len(at), BINS))
        skewed, whole = np.zeros(len(at)), np.zeros(len(at))
        rows[:m], curve[:m], skewed[:m] = new.rows, new.curve, new.skewed
        at = at[known]
        rows[known] += share * self.rows[at]
        skewed[known] += share * self.skewed[at]
        curve[known], whole[known] = self.curve[at], self.whole[at]
        pairs = np.concatenate([new.pairs, self.pairs[rest]])
        return Boundaries(pairs, rows, curve, skewed, whole, share * self.seen + n)

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
    members = [(np.flatnonzero(p[:, a] + p[:, b] > _MEMBER), a, b) for a, b in pairs.tolist()]
    volume, skewed = np.zeros(len(ids)), np.zeros(len(ids))
    E = learner.family.embed(X)
    if sparse.issparse(E) or E.shape[1] > rules.group_columns:
        places = (score[own, b] - score[own, a] for own, a, b in members)
    else:
        mean, cov = _ellipses(E, p)
        a, b = pairs.T
        gap = (mean[b] - mean[a])[..., None]
        direction = np.linalg.solve(0.5 * (cov[a] + cov[b]), gap)[..., 0]
        places = (E[own] @ u for (own, _, _), u in zip(members, direction, strict=True))
        volume, skewed = 0.5 * np.linalg.slogdet(cov)[1], skewness(E, p)
    swap = (ids[pairs[:, 0]] > ids[pairs[:, 1]])[:, None]
    order = np.where(swap, pairs[:, ::-1], pairs)
    rows, curve = np.zeros((len(pairs), BINS)), np.tile(_UNSEEN, (len(pairs), 1))
    for i, ((own, a, b), t) in enumerate(zip(members, places, strict=True)):
        one = _binned(t, p[own, a], p[own, b]) if not swap[i] else _binned(-t, p[own, b], p[own, a])
        if one is not None:
            rows[i], curve[i] = one
    either = np.clip(skewed[pairs].sum(axis=1), -1.0, 1.0)  # no look says more than a nat
    return Boundaries(ids[order], rows, curve, either, np.zeros(len(pairs))), volume


def _scores(learner: Learner, X: Points) -> Array:
    """Return log scores (n, k or more) of rows: the clusters', and that of a background."""
    score, family = learner.predictive(), learner.family
    if learner.outliers is not None:
        score = learner.outliers.beside(score, family)
    return np.asarray(CpuEngine().evaluate(family, narrowed(family, X), score, np.copy), np.float64)


def _ellipses(E: Array, p: Array) -> tuple[Array, Array]:
    """Return means (k, q) and covariances (k, q, q) of clusters with members p (n, k).

    All clusters' mean covariance counts as one row for each column.
    """
    E, p = _whole(E, p)
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


def skewness(E: Array, p: Array) -> Array:
    """Return how much speaks for clusters (k,) that are skewed or heavy-tailed, in nats.

    It is half the mean over columns of a squared standard score, less the 1 that a Gaussian has.
    """
    E, p = _whole(E, p)
    E = (E - E.mean(axis=0)) / np.maximum(E.std(axis=0), 1e-12)
    n = np.maximum(p.sum(axis=0), 1e-9)[:, None]
    square = E * E
    m1, m2, m3, m4 = (p.T @ power / n for power in (E, square, square * E, square * square))
    variance = m2 - m1 * m1
    known = variance > 1e-6
    variance[~known] = 1.0
    skewness = (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) / variance**1.5
    excess = (m4 - 4.0 * m1 * m3 + 6.0 * m1**2 * m2 - 3.0 * m1**4) / variance**2 - 3.0
    score = np.maximum(n * skewness**2 / 6.0, n * np.maximum(excess, 0.0) ** 2 / 24.0) - 1.0
    enough = known & (n > 5.0 * (E.shape[1] + 1))
    out: Array = 0.5 * np.where(enough, score, 0.0).mean(axis=1)
    return out


def _whole(E: Array, p: Array) -> tuple[Array, Array]:
    """Return the rows without gaps, and their members."""
    whole = np.isfinite(E.sum(axis=1))
    return (E, p) if whole.all() else (E[whole], p[whole])


def _binned(t: Array, one: Array, two: Array) -> tuple[Array, Array] | None:
    """Return rows (BINS,) and a first curve (5,) for places (r,) and memberships (r,).

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
    return rows, first_curve(n, (mean - low) * scale, deviation * scale)
