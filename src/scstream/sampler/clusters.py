"""The clusters: their statistics in the past and at present, their ids, and surgery on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Sums
from scstream.families.contract import Array, Family
from scstream.kernels import mixture
from scstream.sampler.window import Forgetting, Window
from scstream.support.frozen import frozen
from scstream.support.once import once
from scstream.support.threads import over_slices

Ints = NDArray[np.int64]
EQUAL = 1e-9  # relative: counts that differ by less are the same
_SHARED = 2**16  # numbers from which adding them up is work for threads


def _added(a: Array, b: Array) -> Array:
    """Return the sum of two arrays, shared among threads if they are large."""
    if a.size < _SHARED:
        return a + b
    out = np.empty(a.shape)
    over_slices(lambda cut: np.add(a[cut], b[cut], out=out[cut]), len(a))
    return out


@lru_cache(maxsize=8)
def _nothing(k: int, p: int) -> Sums:
    """Return the sums over no points, which nobody changes."""
    return Sums.nothing(k, p)


@frozen
class LogMarginals:
    """Log marginal likelihoods under a family: of the sub-clusters (k, 2), of the clusters (k,).

    Those of two clusters together, (k, k), and of the clusters' past alone, (k,), are filled in
    where someone asked for them, NaN elsewhere.
    """

    family: Family
    each: Array
    whole: Array
    joined: Array | None = None
    past: Array | None = None

    def split(self, which: Ints, major: Ints) -> LogMarginals:
        """Return those of the clusters after `State.split`, given who keeps the place (m,)."""
        m, parts = len(which), self.each[which]
        i = np.arange(m)
        whole = np.concatenate([self.whole, parts[i, 1 - major]])
        whole[which] = parts[i, major]
        each = np.concatenate([self.each, np.zeros((m, 2))])
        each[which, 0], each[which, 1] = whole[which], 0.0
        each[len(self.whole) :, 0] = whole[len(self.whole) :]
        joined = None
        if self.joined is not None:
            joined = np.full((len(whole), len(whole)), np.nan)
            joined[: len(self.whole), : len(self.whole)] = self.joined
            joined[which] = joined[:, which] = np.nan
        return LogMarginals(self.family, each, whole, joined)

    def merge(self, left: Ints, to: Ints, gone: Ints, level: Array) -> LogMarginals:
        """Return those after `State.merge`: of who is left, some of whom others have gone to.

        The log marginals of these, each with who has come, are given.
        """
        whole, each = self.whole[left], self.each[left]
        each[to, 0], each[to, 1] = whole[to], self.whole[gone]
        whole[to] = level
        joined = None
        if self.joined is not None:
            joined = self.joined[np.ix_(left, left)]
            joined[to] = joined[:, to] = np.nan
        return LogMarginals(self.family, each, whole, joined)


@dataclass(frozen=True)
class State:
    """Everything the sampler knows of k clusters. Immutable: each change returns a new one.

    A cluster's statistics are the sum of its two sub-clusters', which is how they are stored,
    and its past and present ones add up. Both hold by construction.

    Attributes
    ----------
    ids : ndarray (k,)
        Persistent names; ``next_id`` is the first that was never used.
    born : ndarray (k,)
        Times of birth.
    lived : ndarray (k,)
        Numbers of batches since then.
    now : Sums
        The present batch, see `scstream.engines.Sums`.
    window : Window
        The past batches.
    past : ndarray (k, 2, p)
        The window's weighted sum.
    past_doubt : ndarray (k, k)
        The same of its doubts.
    attempt : ndarray (k,)
        How often the sub-clusters were restarted since the cluster last changed.
    known : LogMarginals or None
        Those of this very state, once someone computed them.
    recalled : tuple or None
        The sub-clusters' and clusters' statistics of an earlier state of the same batch, and its
        log marginals: most of them may still hold.
    recalled_from : int
        Statistics whose log marginals take longer to compute than to compare with earlier ones.
    """

    recalled_from: ClassVar[int] = 2**13

    ids: Ints
    born: Array
    lived: Ints
    next_id: int
    now: Sums
    window: Window
    past: Array
    past_doubt: Array
    attempt: Ints
    known: LogMarginals | None = field(init=False, default=None, compare=False)
    recalled: tuple[Array, Array, LogMarginals] | None = field(
        init=False, default=None, compare=False
    )

    def having(self, **changes: Any) -> State:
        """Return the state with some fields replaced."""
        new = object.__new__(type(self))
        fields = new.__dict__
        fields.update(self.__dict__)
        if "now" in changes or "past" in changes:
            for name in _ONCE:
                fields.pop(name, None)
        fields.update(changes)
        return new

    def carried(self, carry: Callable[[Array], Array]) -> State:
        """Return the clusters with statistics (..., p) in other coordinates."""
        window = replace(self.window, sums=carry(self.window.sums))
        now = replace(self.now, current=carry(self.now.current))
        new = self.having(window=window, now=now, past=carry(self.past))
        new.__dict__.update(known=None, recalled=None)
        return new

    def learn(self, known: LogMarginals) -> LogMarginals:
        """Take note of log marginals that were computed."""
        self.recall(known)
        self.__dict__["known"] = known
        return known

    def recall(self, some: LogMarginals) -> None:
        """Take note of those that are not NaN, for a later state of the batch; not of few."""
        many = self.past.size >= self.recalled_from
        self.__dict__["recalled"] = (self.parts, self.totals, some) if many else None

    @staticmethod
    def start(forgetting: Forgetting, clusters: Array, time: float, next_id: int) -> State:
        """Return clusters without a past; each one's statistics (k, p) are halved for now."""
        k, p = clusters.shape
        window = Window.empty(forgetting, k, p)
        past, past_doubt = window.past()
        now = replace(Sums.nothing(k, p), current=np.repeat(0.5 * clusters[:, None, :], 2, axis=1))
        ids = next_id + np.arange(k)
        born = np.full(k, time)
        zero = np.zeros(k, dtype=np.int64)
        return State(ids, born, zero, next_id + k, now, window, past, past_doubt, zero)

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.ids)

    @once
    def parts(self) -> Array:
        """Statistics of the sub-clusters (k, 2, p)."""
        if self.past.size >= _SHARED:
            parts = _added(self.past, self.now.current)
            self.__dict__["totals"] = _added(parts[:, 0], parts[:, 1])
            return parts
        k, _, p = self.past.shape
        both = np.empty((3 * k, p))
        mixture.stacked(self.past, self.now.current, both)
        self.__dict__["totals"] = both[:k]
        return both[k:].reshape(k, 2, p)

    @once
    def totals(self) -> Array:
        """Statistics of the clusters (k, p); they come with those of the sub-clusters."""
        _ = self.parts
        out: Array = self.__dict__["totals"]
        return out

    @once
    def current(self) -> Array:
        """Statistics of the clusters' points in this batch (k, p)."""
        return _added(self.now.current[:, 0], self.now.current[:, 1])

    @once
    def present(self) -> NDArray[np.bool_]:
        """Which clusters own points of the batch (k,)."""
        rows = self.now.rows
        out: NDArray[np.bool_] = rows[:, 0] + rows[:, 1] > 0
        return out

    # -- time -----------------------------------------------------------------------------------

    def advance(self, time: float) -> State:
        """Return the clusters at a later time, before its batch is seen."""
        window = self.window.advance(time)
        past, past_doubt = window.past()
        k, _, p = past.shape
        return self.having(
            window=window,
            past=past,
            past_doubt=past_doubt,
            now=_nothing(k, p),
            lived=self.lived + 1,
            attempt=np.zeros(k, dtype=np.int64),
            recalled=None,
        )

    def share_left_of(self, before: State) -> float:
        """Return the share of an earlier state's points that these clusters still count."""
        left, had = self.totals[:, 0].sum(), before.totals[:, 0].sum()
        return float(left / max(had, 1e-300))

    def settle(self, time: float) -> State:
        """Return the clusters with the present batch become the latest of the past."""
        window = self.window.absorb(self.now.current, self.now.doubt, time)
        return self.having(window=window, known=None, recalled=None)

    def forget(self, share: Array) -> State:
        """Return the clusters with only a share (k,) of each one's past."""
        return self if np.all(share == 1.0) else self._with_window(self.window.scaled(share))

    # -- surgery --------------------------------------------------------------------------------

    def past_cut(self, first: Array) -> Array:
        """Return the past (k, 2, p) if it were divided as in `with_past_parts`."""
        out = np.empty(self.past.shape)
        out[:, 0] = self.window.weighted(first)
        np.add(self.past[:, 0], self.past[:, 1], out=out[:, 1])
        out[:, 1] -= out[:, 0]
        return out

    def with_past_parts(self, chosen: NDArray[np.bool_], first: Array) -> State:
        """Return the clusters with the past of the chosen ones divided anew, without doubt.

        Parameters
        ----------
        first : ndarray (b, k, p)
            The first sub-cluster's part of each record; the second gets what is left.
        """
        i = np.flatnonzero(chosen)
        sums, doubts = self.window.sums.copy(), self.window.doubt.copy()
        sums[:, i, 0], sums[:, i, 1] = first[:, i], self.window.wholes[:, i] - first[:, i]
        doubts[:, i, i] = 0.0
        window = self.window
        return self._with_window(
            Window(window.forgetting, sums, doubts, window.times, window.weight)
        )

    def with_past(self, past: Array, doubt: Array, **changes: Any) -> State:
        """Return the clusters with another past (k, 2, p), of a single record or none.

        Other fields may be replaced at the same time.
        """
        window = self.window
        if len(window.times):
            window = Window(window.forgetting, past[None], doubt[None], window.times, window.weight)
        return self.having(window=window, past=past, past_doubt=doubt, **changes)

    def _with_window(self, window: Window) -> State:
        past, past_doubt = window.past()
        return self.having(window=window, past=past, past_doubt=past_doubt)

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
            pairs(self.now.doubt),
        )
        window = replace(self.window, sums=sums(self.window.sums), doubt=pairs(self.window.doubt))
        past, past_doubt = window.past()
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
            past,
            past_doubt,
            attempt,
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
        old = past.sum(axis=1, keepdims=True) >= 1.0
        return np.where(old, past, self.parts[which, :, 0])

    def with_names_swapped(self, first: int, second: int) -> State:
        """Return the clusters with two of them called each other's names."""
        order = np.arange(self.k)
        order[[first, second]] = second, first
        return self.having(ids=self.ids[order], born=self.born[order], lived=self.lived[order])

    def merge(
        self, first: Ints, second: Ints, level: Array | None = None
    ) -> tuple[State, Ints, Ints]:
        """Return the clusters with disjoint pairs merged, and where points went, (k, 2) each.

        The heavier of a pair keeps its id. The two become the merged cluster's sub-clusters. Log
        marginals are known of the merged ones if their ``level`` is given, that of each pair.
        """
        n = self.totals[:, 0]
        lighter = heavier(n[second], n[first])
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
            pairs(self.now.doubt, add=False),
        )
        window = replace(
            self.window,
            sums=sums(self.window.sums),
            doubt=pairs(self.window.doubt, add=False),
        )
        past, past_doubt = window.past()
        attempt = self.attempt.copy()
        attempt[a] = 0
        state = State(
            self.ids[kept],
            self.born[kept],
            self.lived[kept],
            self.next_id,
            now,
            window,
            past,
            past_doubt,
            attempt[kept],
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
            self.now.doubt[np.ix_(order, order)],
        )
        window = replace(
            self.window,
            sums=self.window.sums.take(order, axis=1),
            doubt=self.window.doubt.take(order, axis=1).take(order, axis=2),
        )
        past, past_doubt = window.past()
        return State(
            self.ids[order],
            self.born[order],
            self.lived[order],
            self.next_id,
            now,
            window,
            past,
            past_doubt,
            self.attempt[order],
        )

    def found(self, clusters: Array, time: float) -> State:
        """Return the clusters with further ones (m, p) of the present, each halved for now."""
        m, p = clusters.shape

        now = Sums(
            np.concatenate([self.now.current, np.repeat(0.5 * clusters[:, None], 2, axis=1)]),
            np.concatenate([self.now.rows, np.zeros((m, 2), dtype=np.int64)]),
            _grown(self.now.rivals, m),
            _grown(self.now.doubt, m),
        )
        nothing = np.zeros((len(self.window.times), m, 2, p))
        window = replace(
            self.window,
            sums=np.concatenate([self.window.sums, nothing], axis=1),
            doubt=_grown(self.window.doubt, m),
        )
        past, past_doubt = window.past()
        zero = np.zeros(m, dtype=np.int64)
        return State(
            np.append(self.ids, self.next_id + np.arange(m)),
            np.append(self.born, np.full(m, time)),
            np.append(self.lived, zero),
            self.next_id + m,
            now,
            window,
            past,
            past_doubt,
            np.append(self.attempt, zero),
        )


def heavier(counts: Array, others: Array) -> NDArray[np.bool_]:
    """Whether counts are more than others, by more than rounding.

    The sums of points that sub-clusters share are off in the last place: equals must stay equals.
    """
    out: NDArray[np.bool_] = counts - others > EQUAL * np.abs(others)
    return out


def _grown(pairs: NDArray[Any], m: int) -> NDArray[Any]:
    """Return a table (..., k, k) with m more rows and columns of zeros."""
    k = pairs.shape[-1]
    out = np.zeros((*pairs.shape[:-2], k + m, k + m), dtype=pairs.dtype)
    out[..., :k, :k] = pairs
    return out


_ONCE = ("known", *(name for name, value in vars(State).items() if isinstance(value, once)))
