"""Clusters that some models have forgotten: whether others know them, and which are the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.merging.clusters import Pools, at_most
from scstream.merging.names import Claim
from scstream.merging.parts import Part
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.dormant import Dormant

Ints = NDArray[np.int64]


class Asleep:
    """The dormant clusters of several models, beside their pools with statistics (k, p).

    Attributes
    ----------
    claims : list of Claim
        Each that fits a cluster of another model lays claim to its name; the others are pools of
        their own, numbered from k on.
    left : int
        How many pools these are.
    """

    def __init__(
        self, ctx: Context, parts: Sequence[Part], places: Sequence[Ints], sums: Array
    ) -> None:
        k = len(sums)
        model = np.concatenate([np.full(len(p.dormant.ids), i) for i, p in enumerate(parts)])
        self._sums = np.concatenate([part.dormant.sums for part in parts])
        pool = np.full(len(model), -1)
        back = _returned(ctx, self._sums, sums, model, places)
        pool[back >= 0] = back[back >= 0]
        rest = np.flatnonzero(pool < 0)
        if len(rest):
            pools = Pools(ctx, self._sums[rest], model[rest], 0.0 * self._sums[rest])
            pools.unite_same()
            pool[rest] = k + np.unique(pools.pool, return_inverse=True)[1]
        self.left = int(pool.max(initial=k - 1)) + 1 - k
        self._pool, self._k, self._most = pool, k, ctx.rules.dormant
        born = np.concatenate([part.dormant.born for part in parts])
        ids = np.concatenate([part.dormant.ids for part in parts])
        self.claims = [
            Claim(
                float(born[i]), -float(self._sums[i, 0]), int(ids[i]), int(model[i]), int(pool[i])
            )
            for i in range(len(ids))
        ]

    def memory(
        self, ids: Sequence[int], born: Sequence[float], state: State, most: Array
    ) -> Dormant:
        """Return the memory of those that are pools of their own, under these names.

        Of each the statistics are those of the part that counted most; the heaviest are remembered.
        """
        sums = np.zeros((self.left, self._sums.shape[1]))
        for i in np.argsort(self._sums[:, 0], kind="stable").tolist():
            if self._pool[i] >= self._k:
                sums[self._pool[i] - self._k] = self._sums[i]
        kept = np.sort(np.argsort(-sums[:, 0], kind="stable")[: self._most])
        names, births = np.array(ids, dtype=np.int64), np.array(born, dtype=np.float64)
        return Dormant(names[kept], births[kept], sums[kept], state.ids, most)


def _returned(
    ctx: Context, asleep: Array, awake: Array, model: Ints, places: Sequence[Ints]
) -> Ints:
    """Return the pool (m,) that each dormant cluster is, -1 for none: not one of its own model."""
    out = np.full(len(asleep), -1)
    if not len(asleep):
        return out
    family, margin = ctx.family, ctx.rules.return_margin + np.log(len(asleep))
    level = family.log_marginal(awake)
    taken: set[tuple[int, int]] = set()
    like = at_most(asleep, ctx.rules.return_points)
    for i in np.argsort(-asleep[:, 0], kind="stable").tolist():
        gain = family.log_marginal(awake + like[i]) - family.log_marginal(like[i : i + 1]) - level
        gain[places[model[i]]] = -np.inf
        for p in np.argsort(-gain)[:1].tolist():
            if gain[p] > margin and (int(model[i]), p) not in taken:
                taken.add((int(model[i]), p))
                out[i] = p
    return out
