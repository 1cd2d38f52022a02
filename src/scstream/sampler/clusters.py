"""The clusters, and surgery on them: splits, merges, new ones, and which stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Sums
from scstream.families.contract import Array
from scstream.sampler.cluster_state import ClusterState
from scstream.sampler.cluster_state import Ints as Ints
from scstream.sampler.cluster_state import LogMarginals as LogMarginals
from scstream.sampler.window import Forgetting, Window
from scstream.support.frozen import frozen

EQUAL = 1e-9  # relative: counts that differ by less are the same
ONE = 1.0 - EQUAL  # what a row counts at least, as rounding leaves it


@frozen
class State(ClusterState):
    """Everything the sampler knows of k clusters, see `ClusterState`, and surgery on them."""

    @staticmethod
    def start(forgetting: Forgetting, clusters: Array, time: float, next_id: int) -> State:
        """Return clusters without a past; each one's statistics (k, p) are halved for now."""
        k, p = clusters.shape
        window = Window.empty(forgetting, k, p)
        now = replace(Sums.nothing(k, p), current=np.repeat(0.5 * clusters[:, None, :], 2, axis=1))
        ids = next_id + np.arange(k)
        born = np.full(k, time)
        zero = np.zeros(k, dtype=np.int64)
        past, named = window.past(), (ids, born, zero, next_id + k)
        return State(*named, now, window, *past, zero, np.zeros(k))

    def split(self, which: Ints, time: float) -> tuple[State, Ints]:
        """Return the clusters with the given ones split, and where their parts went (k, 2).

        The larger part keeps the place and the id, the other becomes a new cluster at the end.
        The parts are undivided: all of each is in its first sub-cluster.
        """
        k, new = self.k, self.k + np.arange(len(which))
        claim = self._claim(which)
        major = heavier(claim[:, 1], claim[:, 0]).astype(np.int64)
        moved = np.repeat(np.arange(k)[:, None], 2, axis=1)
        moved[which, 1 - major] = new

        def sums(a: NDArray[Any]) -> NDArray[Any]:
            out = np.concatenate([a, np.zeros((*a.shape[:-3], len(which), *a.shape[-2:]))], axis=-3)
            out[..., which, 0, :] = a[..., which, major, :]
            out[..., which, 1, :] = 0
            out[..., new, 0, :] = a[..., which, 1 - major, :]
            return out

        def pairs(a: NDArray[Any]) -> NDArray[Any]:
            out = _grown(a, len(which))
            between = a[..., which, which]
            out[..., which, new] = out[..., new, which] = between
            out[..., which, which] = 0
            return out

        rivals = pairs(self.now.rivals)
        rivals[which, new] = self.now.rows[which].min(axis=1)  # siblings are neighbours
        now = Sums(
            sums(self.now.current),
            sums(self.now.rows[..., None])[..., 0].astype(np.int64),
            rivals,
            pairs(self.now.entropy),
        )
        window = replace(
            self.window, sums=sums(self.window.sums), entropy=pairs(self.window.entropy)
        )
        zero = np.zeros(len(which), dtype=np.int64)
        attempt = np.append(self.attempt, zero)
        attempt[which] = 0
        state = State(
            np.append(self.ids, self.next_id + np.arange(len(which))),
            np.append(self.born, np.full(len(which), time)),
            np.append(self.lived, zero),
            self.next_id + len(which),
            now,
            window,
            *window.past(),
            attempt,
            self._earlier_parted(which, major),
        )
        if self.known is not None:
            state.learn(self.known.split(which, major))
        return state, moved

    def _claim(self, which: Ints) -> Array:
        """Return how much each part of the given clusters has a claim to the id (m, 2).

        That is its past, if the cluster has one: a cluster is where it was, whatever comes beside
        it.
        """
        past = self.past[which, :, 0]
        old = past.sum(axis=1, keepdims=True) >= ONE
        return np.where(old, past, self.parts[which, :, 0])

    def _earlier_parted(self, which: Ints, major: Ints) -> Array:
        """Return the earlier points of the clusters after a split.

        Each part has those of its past. What was forgotten is shared as all that is known.
        """
        past, n = self.past[which, :, 0], np.maximum(self.parts[which, :, 0], 0.0)
        forgotten = self.earlier[which] - past.sum(axis=1)
        share = n[np.arange(len(which)), 1 - major] / np.maximum(n.sum(axis=1), 1e-300)
        moved = past[np.arange(len(which)), 1 - major] + share * forgotten
        moved = np.clip(moved, 0.0, self.earlier[which])
        out = np.append(self.earlier, moved)
        out[which] -= moved
        return out

    def with_names_swapped(self, first: int, second: int, *, left: bool = False) -> State:
        """Return the clusters with two of them called each other's names.

        If the first place was left, what the two had goes to the second.
        """
        order, earlier = np.arange(self.k), self.earlier.copy()
        order[[first, second]] = second, first
        if left:
            earlier[[first, second]] = 0.0, earlier[first] + earlier[second]
        return self.having(
            ids=self.ids[order], born=self.born[order], lived=self.lived[order], earlier=earlier
        )

    def merge(
        self, first: Ints, second: Ints, level: Array | None = None
    ) -> tuple[State, Ints, Ints]:
        """Return the clusters with disjoint pairs merged, and where points went, (k, 2) each.

        The heavier of a pair keeps its id, but one that was born in this batch leaves its to one
        that was not. The two become the merged cluster's sub-clusters. Log marginals are known of
        the merged ones if their ``level`` is given, that of each pair.
        """
        n, new = self.totals[:, 0], self.lived == 0
        lighter = heavier(n[second], n[first])
        lighter = np.where(new[first] == new[second], lighter, new[first])
        a, b = np.where(lighter, second, first), np.where(lighter, first, second)
        kept = np.ones(self.k, dtype=bool)
        kept[b] = False
        left, place = np.flatnonzero(kept), np.cumsum(kept) - 1
        label = np.repeat(np.arange(self.k)[:, None], 2, axis=1)
        sublabel = np.tile(np.array([0, 1]), (self.k, 1))
        label[b], sublabel[a], sublabel[b] = a[:, None], 0, 1

        def sums(x: NDArray[Any]) -> NDArray[Any]:
            out, whole = x.copy(), x.sum(axis=-2)
            out[..., a, 0, :] = whole[..., a, :]
            out[..., a, 1, :] = whole[..., b, :]
            return out.take(left, axis=-3)

        def pairs(x: NDArray[Any], *, add: bool) -> NDArray[Any]:
            out = x.copy()
            between = x[..., a, b]
            join = np.add if add else np.maximum
            out[..., a, :] = join(out[..., a, :], out[..., b, :])
            out[..., :, a] = join(out[..., :, a], out[..., :, b])
            out[..., a, a] = between
            return out.take(left, axis=-2).take(left, axis=-1)

        now = Sums(
            sums(self.now.current),
            sums(self.now.rows[..., None])[..., 0],
            pairs(self.now.rivals, add=True),
            pairs(self.now.entropy, add=False),
        )
        window = replace(
            self.window, sums=sums(self.window.sums), entropy=pairs(self.window.entropy, add=False)
        )
        attempt, earlier = self.attempt.copy(), self.earlier.copy()
        attempt[a] = 0
        earlier[a] += earlier[b]
        state = State(
            self.ids[kept],
            self.born[kept],
            self.lived[kept],
            self.next_id,
            now,
            window,
            *window.past(),
            attempt[kept],
            earlier[kept],
        )
        if self.known is not None and level is not None:
            state.learn(self.known.merge(left, place[a], b, level))
        return state, place[label], sublabel

    def select(self, order: Ints) -> State:
        """Return the given clusters in the given order."""
        now = Sums(
            self.now.current[order],
            self.now.rows[order],
            self.now.rivals[np.ix_(order, order)],
            self.now.entropy[np.ix_(order, order)],
        )
        window = replace(
            self.window,
            sums=self.window.sums.take(order, axis=1),
            entropy=self.window.entropy.take(order, axis=1).take(order, axis=2),
        )
        return State(
            self.ids[order],
            self.born[order],
            self.lived[order],
            self.next_id,
            now,
            window,
            *window.past(),
            self.attempt[order],
            self.earlier[order],
        )

    def found(self, clusters: Array, time: float) -> State:
        """Return the clusters with further ones (m, p) of the present, each halved for now."""
        m, p = clusters.shape

        now = Sums(
            np.concatenate([self.now.current, np.repeat(0.5 * clusters[:, None], 2, axis=1)]),
            np.concatenate([self.now.rows, np.zeros((m, 2), dtype=np.int64)]),
            _grown(self.now.rivals, m),
            _grown(self.now.entropy, m),
        )
        nothing = np.zeros((len(self.window.times), m, 2, p))
        window = replace(
            self.window,
            sums=np.concatenate([self.window.sums, nothing], axis=1),
            entropy=_grown(self.window.entropy, m),
        )
        zero = np.zeros(m, dtype=np.int64)
        return State(
            np.append(self.ids, self.next_id + np.arange(m)),
            np.append(self.born, np.full(m, time)),
            np.append(self.lived, zero),
            self.next_id + m,
            now,
            window,
            *window.past(),
            np.append(self.attempt, zero),
            np.append(self.earlier, np.zeros(m)),
        )


def heavier(counts: Array | float, others: Array | float) -> NDArray[np.bool_]:
    """Whether counts are more than others, by more than rounding.

    The sums of points that sub-clusters share are off in the last place: equals must stay equals.
    """
    return counts - others > EQUAL * np.abs(others)


def _grown(pairs: NDArray[Any], m: int) -> NDArray[Any]:
    """Return a table (..., k, k) with m more rows and columns of zeros."""
    k = pairs.shape[-1]
    out = np.zeros((*pairs.shape[:-2], k + m, k + m), dtype=pairs.dtype)
    out[..., :k, :k] = pairs
    return out
