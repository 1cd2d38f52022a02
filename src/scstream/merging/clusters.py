"""Which clusters of several models are the same: matched as single observations, best first.

Each cluster is one observation, its statistics. Two tests judge a pair, both in nats.

Clusters of different models are taken for the same if they are more probable as points of one
cluster than of two. Each counts a bounded number of points there, as one that returns does
(`Rules.return_points`): models forget differently, so that their clusters lag behind each other,
and with enough points any difference is certain.

Whatever belongs together after that is judged by the model's own merge ratio, with all that is
known. Its entropy of labels is that of two normal distributions of the log odds between the two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from scstream.families.contract import Array, Family
from scstream.families.division import log_odds
from scstream.sampler.clusters import ONE
from scstream.sampler.context import Context
from scstream.sampler.forgetting import near
from scstream.sampler.ratios import log_hastings_split

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Gain = Callable[[Ints, Ints], Array]  # nats by which pairs of clusters, by their numbers, are one

_CANDIDATES = 12  # clusters that each is compared with at least: the nearest
_NUMBERS = 2**22  # statistics up to which it is compared with more
_SWEEPS = 10  # in which sub-clusters find their pools, at most
_NOTHING = 1e-100
_SAME = 1e-6  # of the widest spread of mean statistics, below which they are the same
_LEAST = 1e-6  # points that are more than rounding leaves
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


class Pools:
    """Clusters of several models, put together step by step.

    Attributes
    ----------
    sums : ndarray (n, p)
        Statistics of pools; of one that was joined to another those before.
    pool : ndarray (n,)
        The pool that each cluster is in, by the number of its first member.
    models : ndarray (n, m)
        Of which models a pool has clusters.
    late : ndarray (n, p)
        What of the statistics comes from models that begin after others have ended.
    """

    def __init__(self, ctx: Context, sums: Array, model: Ints, late: Array) -> None:
        self.ctx, self.sums, self.late = ctx, sums.copy(), late.copy()
        self.pool: Ints = np.arange(len(sums))
        self._candidates = max(_CANDIDATES, _NUMBERS // sums.size)
        self.models: Flags = model[:, None] == np.arange(int(model.max()) + 1)

    @property
    def heads(self) -> Ints:
        """The numbers of the pools that there are."""
        out: Ints = np.unique(self.pool)
        return out

    def unite(self, gain: Gain, allowed: Callable[[int, Ints], Flags]) -> None:
        """Join the best pair of pools as long as one gains; ``allowed`` says which may be."""
        heads = self.heads
        place = self._places(heads)
        gains = np.full((len(heads), len(heads)), -np.inf)
        for i in range(len(heads)):
            self._judge(gains, heads, place, i, gain, allowed, np.arange(i))
        there = np.ones(len(heads), dtype=np.bool_)
        while len(heads) > 1:
            i, j = divmod(int(np.argmax(gains)), len(heads))
            if not gains[i, j] > 0.0:
                break
            a, b = min(i, j), max(i, j)
            self._join(int(heads[a]), int(heads[b]))
            there[b] = False
            gains[[a, b]] = gains[:, [a, b]] = -np.inf
            place[a] = self._places(heads[a : a + 1], like=heads)[0]
            others = np.flatnonzero(there & (np.arange(len(heads)) != a))
            self._judge(gains, heads, place, a, gain, allowed, others)

    def _judge(
        self, gains: Array, heads: Ints, place: Array, i: int, gain: Gain,
        allowed: Callable[[int, Ints], Flags], others: Ints,
    ) -> None:  # fmt: skip
        """Fill in what a pool gains with the nearest of others."""
        others = others[allowed(int(heads[i]), heads[others])]
        if len(others) > self._candidates:
            far = ((place[others] - place[i]) ** 2).sum(axis=1)
            others = np.sort(others[np.argsort(far, kind="stable")[: self._candidates]])
        if len(others):
            gains[i, others] = gain(np.full(len(others), heads[i]), heads[others])

    def _places(self, heads: Ints, like: Ints | None = None) -> Array:
        """Return mean statistics (n, p - 1) of pools, in their spread over the pools at first."""
        mean = _means(self.sums[heads])
        if like is None:
            spread = mean.std(axis=0)  # of a column with one value that is rounding
            self._spread = np.where(spread > _SAME * spread.max(initial=0.0), spread, np.inf)
        out: Array = np.clip(mean / self._spread, -1e100, 1e100)
        return out

    def _join(self, a: int, b: int) -> None:
        self.pool[self.pool == b] = a
        self.sums[a] += self.sums[b]
        self.late[a] += self.late[b]
        self.models[a] |= self.models[b]

    def swept(self, halves: Array) -> Ints:
        """Return the pools (n, 2) of clusters' sub-clusters (n, 2, p), numbered from 0.

        A cluster of one model may cover two that another distinguishes. So sub-clusters are points
        of some deterministic sweeps: each goes where it is most probable as further points.
        """
        family, most, heads = self.ctx.family, self.ctx.rules.return_points, self.heads
        points: Array = halves.reshape(-1, halves.shape[2])
        few, there = at_most(points, most), points[:, 0] > 0.0
        pool = np.repeat(np.searchsorted(heads, self.pool), 2)
        i = np.arange(len(pool))
        for _ in range(_SWEEPS):
            sums = np.zeros((len(heads), points.shape[1]))
            np.add.at(sums, pool, points)
            other = self._nearest(sums, points)
            gain = _further(family, at_most(sums, most)[other], few[:, None])
            gain[(other == pool[:, None]) | (sums[other, 0] < ONE)] = -np.inf
            rest = sums[pool] - points
            rest[rest[:, 0] < _LEAST] = 0.0  # but for rounding
            own = _further(family, at_most(rest, most), few)
            best = np.argmax(gain, axis=1)
            moves = there & (gain[i, best] > own)
            pool = np.where(moves, other[i, best], pool)
            if not moves.any():
                break
        out: Ints = pool.reshape(-1, 2)
        return np.where(there.reshape(-1, 2), out, out[:, ::-1])  # without points, as the other

    def _nearest(self, sums: Array, points: Array) -> Ints:
        """Return the pools (m, c) with such sums that are nearest to points (m, p)."""
        if len(sums) <= self._candidates:
            return np.tile(np.arange(len(sums)), (len(points), 1))
        middle = _means(sums).mean(axis=0)  # without which distances are lost in rounding
        place, own = (
            np.clip((_means(x) - middle) / self._spread, -1e100, 1e100) for x in (sums, points)
        )
        far = (own * own).sum(axis=1)[:, None] - 2.0 * own @ place.T + (place * place).sum(axis=1)
        return np.argsort(far, axis=1, kind="stable")[:, : self._candidates]

    # -- the tests ------------------------------------------------------------------------------

    def unite_same(self) -> None:
        """Join clusters of different models that are the same as far as some points tell."""

        def gain(a: Ints, b: Ints) -> Array:
            family, most = self.ctx.family, self.ctx.rules.return_points
            p, q = (at_most(self.sums[i], most) for i in (a, b))
            joint = family.log_marginal(p + q)
            apart = family.log_marginal(p) + family.log_marginal(q)
            out: Array = joint - apart - np.log(self.ctx.alpha)
            return out

        self.unite(gain, self._apart)

    def unite_moved(self) -> None:
        """Join clusters of models that ended with those that they may have moved to since."""
        n, late = self.sums[:, 0], self.late[:, 0]

        def gain(a: Ints, b: Ints) -> Array:
            first = late[a] <= 0.0
            past, now = np.where(first, a, b), np.where(first, b, a)
            close = near(self.ctx, self.sums[past], self.sums[now])
            out: Array = np.where(close, _nearness(self, past, now), -1.0)
            return out

        def allowed(i: int, others: Ints) -> Flags:
            new, old = late[others] >= n[others], late[others] <= 0.0
            one = old if late[i] >= n[i] else new if late[i] <= 0.0 else np.zeros_like(new)
            return one & self._apart(i, others)

        self.unite(gain, allowed)

    def unite_by_ratio(self) -> None:
        """Join pools that one model would merge."""

        def gain(a: Ints, b: Ints) -> Array:
            pairs = np.stack([self.sums[a], self.sums[b]], axis=1)
            entropy = label_entropy(self.ctx.family, self.sums[a], self.sums[b])
            n = pairs[..., 0]
            counted = gammaln(n).sum(axis=1) - gammaln(n.sum(axis=1))
            entropy = np.where(np.isnan(entropy), -counted, entropy)
            out: Array = -log_hastings_split(self.ctx, pairs, entropy, least=0.0)
            return out

        self.unite(gain, lambda i, others: np.ones(len(others), dtype=np.bool_))

    def _apart(self, i: int, others: Ints) -> Flags:
        """Whether pools have no model in common: one model's clusters are known to be distinct."""
        out: Flags = ~(self.models[others] & self.models[i]).any(axis=1)
        return out


def _nearness(pools: Pools, past: Ints, now: Ints) -> Array:
    """Return numbers in (0, 1) by which the nearest of places that may be one comes first."""
    p, q = (_means(pools.sums[i]) for i in (past, now))
    far = (((p - q) / pools._spread) ** 2).sum(axis=1)
    out: Array = 1.0 / (1.0 + far)
    return out


def _means(sums: Array) -> Array:
    """Return mean statistics (n, p - 1)."""
    out: Array = sums[:, 1:] / np.maximum(sums[:, :1], _NOTHING)
    return out


def _further(family: Family, sums: Array, points: Array) -> Array:
    """Return the log probability (...) of points as further ones of clusters (..., p)."""
    return family.log_marginal(sums + points) - family.log_marginal(sums)


def at_most(sums: Array, most: float) -> Array:
    """Return statistics (n, p) that count at most so many points."""
    out: Array = sums * np.minimum(1.0, most / np.maximum(sums[:, :1], _NOTHING))
    return out


def label_entropy(family: Family, first: Array, second: Array) -> Array:
    """Return the entropy (m,) of the labels of two clusters (m, p) each, were rows to draw them.

    The log odds of a row are taken to be normal within each of the two. NaN where the family has no
    discriminant.
    """
    discriminant = family.division.discriminant(first, second)
    if discriminant is None:
        return np.full(len(first), np.nan)
    odds, out = log_odds(first, second), np.zeros(len(first))
    for sums in (first, second):
        mean, variance = family.division.project(sums, discriminant)
        t = (odds - mean)[:, None] + np.sqrt(variance)[:, None] * _NODES
        out += sums[:, 0] * (_binary_entropy(t) @ (_WEIGHTS / _WEIGHTS.sum()))
    return out


def _binary_entropy(log_odds: Array) -> Array:
    """Return the entropy (...) of a choice of two with such log odds."""
    p = 1.0 / (1.0 + np.exp(-np.clip(np.abs(log_odds), 0.0, 700.0)))
    out: Array = -xlogy(p, p) - xlogy(1.0 - p, 1.0 - p)
    return out
