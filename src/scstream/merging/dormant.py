"""Clusters that some models have forgotten: whether others know them, and which are the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.merging.clusters import Pools
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
        every = [part.dormant for part in parts]
        model = np.repeat(np.arange(len(parts)), [len(one.ids) for one in every])
        ids, born, own = (
            np.concatenate([getattr(one, name) for one in every])
            for name in ("ids", "born", "sums")
        )
        self._all = Dormant(ids, born, own, ids[:0], born[:0])
        pool, k = self._returned(ctx, sums, model, places), len(sums)
        rest = np.flatnonzero(pool < 0)
        if len(rest):
            pools = Pools(ctx, own[rest], model[rest], 0.0 * own[rest])
            pools.unite_same()
            pool[rest] = k + np.unique(pools.pool, return_inverse=True)[1]
        self.left = int(pool.max(initial=k - 1)) + 1 - k
        self._pool, self._k, self._most = pool, k, ctx.rules.dormant
        asleep = zip(ids, born, own[:, 0], model, pool, strict=True)
        self.claims = [
            Claim(float(b), -float(n), int(i), int(m), int(p)) for i, b, n, m, p in asleep
        ]

    def memory(
        self, ids: Sequence[int], born: Sequence[float], state: State, most: Array
    ) -> Dormant:
        """Return the memory of those that are pools of their own, under these names.

        Of each the statistics are those of the part that counted most; the heaviest are remembered.
        """
        every = self._all.sums
        sums = np.zeros((self.left, every.shape[1]))
        for i in np.argsort(every[:, 0], kind="stable").tolist():
            if self._pool[i] >= self._k:
                sums[self._pool[i] - self._k] = every[i]
        kept = np.sort(np.argsort(-sums[:, 0], kind="stable")[: self._most])
        names, births = np.array(ids, dtype=np.int64), np.array(born, dtype=np.float64)
        return Dormant(names[kept], births[kept], sums[kept], state.ids, most)

    def _returned(self, ctx: Context, awake: Array, model: Ints, places: Sequence[Ints]) -> Ints:
        """Return the pool (m,) that each dormant cluster is, none of its own model's; or -1."""
        out = np.full(len(model), -1)
        if len(model):
            gain = self._all.gains(ctx, awake)[0]
            for i, m in enumerate(model.tolist()):
                gain[places[m], i] = -np.inf
            best = np.argmax(gain, axis=0)
            clear = gain.max(axis=0) > ctx.rules.return_margin + np.log(len(model))
            out = np.where(clear, best, out)
        return out
