"""The clusters as they stand: statistics in the past and at present, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Sums
from scstream.families.contract import Array, Family
from scstream.families.division import OF_A_KIND
from scstream.sampler.window import Window
from scstream.support.frozen import frozen
from scstream.support.once import once
from scstream.support.threads import over_rows

Ints = NDArray[np.int64]


@lru_cache(maxsize=8)
def _nothing(k: int, p: int) -> Sums:
    """Return the sums over no points, which are never changed."""
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
        """Return those of the clusters after `State.split`, given the part that stays (m,)."""
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
        """Return those after `State.merge`: of those that are left, some of which took in others.

        The log marginals of these, each with what it took in, are given.
        """
        whole, each = self.whole[left], self.each[left]
        each[to, 0], each[to, 1] = whole[to], self.whole[gone]
        whole[to] = level
        joined = None
        if self.joined is not None:
            joined = self.joined[np.ix_(left, left)]
            joined[to] = joined[:, to] = np.nan
        return LogMarginals(self.family, each, whole, joined)


@frozen
class ClusterState:
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
    past_entropy : ndarray (k, k)
        The same of its entropies.
    attempt : ndarray (k,)
        How often the sub-clusters were restarted since the cluster last changed.
    earlier : ndarray (k,)
        Points of earlier batches, decayed. What a cluster forgets of its past no longer describes
        its shape, but says how many points it gets.
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
    past_entropy: Array
    attempt: Ints
    earlier: Array
    known: LogMarginals | None = field(init=False, default=None, compare=False)
    recalled: tuple[Array, Array, LogMarginals] | None = field(
        init=False, default=None, compare=False
    )

    def having(self, **changes: Any) -> Self:
        """Return the state with some fields replaced."""
        new = object.__new__(type(self))
        fields = new.__dict__
        fields.update(self.__dict__)
        if "now" in changes:
            for name in _ONCE:
                fields.pop(name, None)
        elif "past" in changes:
            for name in _ONCE_OF_PAST:
                fields.pop(name, None)
        fields.update(changes)
        return new

    def carried(self, carry: Callable[[Array], Array]) -> Self:
        """Return the clusters with statistics (..., p) in other coordinates."""
        window = replace(self.window, sums=carry(self.window.sums))
        now = replace(self.now, current=carry(self.now.current))
        new = self.having(window=window, now=now, past=carry(self.past))
        new.__dict__.update(known=None, recalled=None)
        return new

    def recounted(self, times: float) -> Self:
        """Return the clusters with all points counting so many times as much."""
        window, now = self.window, self.now
        window = replace(window, sums=times * window.sums, entropy=times * window.entropy)
        now = replace(now, current=times * now.current, entropy=times * now.entropy)
        past, entropy = times * self.past, times * self.past_entropy
        earlier = times * self.earlier
        new = self.having(window=window, now=now, past=past, past_entropy=entropy, earlier=earlier)
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

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.ids)

    @once
    def parts(self) -> Array:
        """Statistics of the sub-clusters (k, 2, p)."""
        k, _, p = self.past.shape
        out: Array = self.everything[k:].reshape(k, 2, p)
        return out

    @once
    def everything(self) -> Array:
        """Statistics of the clusters and then of their sub-clusters (3 k, p)."""
        k, _, p = self.past.shape
        out = np.empty((3 * k, p))
        parts, totals, here = out[k:].reshape(k, 2, p), out[:k], self.now.current

        def fill(at: slice) -> None:
            np.add(self.past[at], here[at], out=parts[at])
            np.add(parts[at, 0], parts[at, 1], out=totals[at])

        over_rows(fill, k, width=2 * p)
        return out

    @once
    def totals(self) -> Array:
        """Statistics of the clusters (k, p)."""
        out: Array = self.everything[: self.k]
        return out

    @once
    def current(self) -> Array:
        """Statistics of the clusters' points in this batch (k, p)."""
        here = self.now.current
        return np.add(here[:, 0], here[:, 1])

    @once
    def entropy(self) -> Array:
        """Entropies (k, k) of past and present."""
        out: Array = self.past_entropy + self.now.entropy
        return out

    @property
    def recent(self) -> Array:
        """Points that each cluster got (k,), decayed: its weight in the mixture."""
        current = self.now.current[:, :, 0]
        return self.earlier + current[:, 0] + current[:, 1]

    @once
    def count(self) -> float:
        """How many points the clusters have together."""
        return float(self.totals[:, 0].sum())

    @once
    def present(self) -> NDArray[np.bool_]:
        """Which clusters own points of the batch (k,)."""
        rows = self.now.rows
        return rows[:, 0] + rows[:, 1] > 0

    # -- time -----------------------------------------------------------------------------------

    def advance(self, time: float) -> Self:
        """Return the clusters at a later time, before its batch is seen."""
        window = self.window.advance(time)
        past, past_entropy = window.past()
        k, _, p = past.shape
        lived = self.lived + 1
        attempt = OF_A_KIND * (lived & 1)  # in every other batch attempts begin with the others
        named = self.ids, self.born, lived, self.next_id
        left = self.window.left_of(self.recent, past, time)
        return type(self)(*named, _nothing(k, p), window, past, past_entropy, attempt, left)

    def share_left_of(self, before: ClusterState) -> float:
        """Return the share of an earlier state's points that these clusters still count."""
        left: float = self.count / max(before.count, 1e-300)
        return left

    def settle(self, time: float) -> Self:
        """Return the clusters with the present batch become the latest of the past."""
        window = self.window
        if window.is_one_sum:
            window = window.with_past(self.parts, self.entropy, self.count)
            window.__dict__["wholes"] = self.totals[None]
        else:
            window = window.with_record(self.now.current, self.now.entropy, time)
        return self.having(window=window, known=None, recalled=None)

    def all_past(self) -> Self:
        """Return settled clusters with nothing of the present apart from the past."""
        nothing, earlier = _nothing(self.k, self.past.shape[2]), self.recent
        return self.having(past=self.parts, now=nothing, earlier=earlier)

    def forget(self, share: Array) -> Self:
        """Return the clusters with only a share (k,) of each one's past."""
        some = np.count_nonzero(share != 1.0)
        return self._with_window(self.window.scaled(share)) if some else self

    # -- the past -------------------------------------------------------------------------------

    def if_divided(self, first: Array, current: Array) -> Array:
        """Return the parts (k, 2, p) if past and present were divided so.

        ``first`` (b, k, p) is as in `with_past_parts`, ``current`` (k, 2, p) is the present.
        """
        out, whole = np.empty(self.past.shape), self.window.weighted(first)

        def fill(at: slice) -> None:
            past, first = self.past[at], whole[at]
            np.add(first, current[at, 0], out=out[at, 0])
            np.add(past[:, 0] + past[:, 1] - first, current[at, 1], out=out[at, 1])

        over_rows(fill, self.k, width=2 * self.past.shape[2])
        return out

    def with_past_parts(self, chosen: NDArray[np.bool_], first: Array) -> Self:
        """Return the clusters with the past of the chosen ones divided anew, without entropy.

        Parameters
        ----------
        first : ndarray (b, k, p)
            The first sub-cluster's part of each record; the second gets what is left.
        """
        i = np.flatnonzero(chosen)
        sums, entropies = self.window.sums.copy(), self.window.entropy.copy()
        sums[:, i, 0], sums[:, i, 1] = first[:, i], self.window.wholes[:, i] - first[:, i]
        entropies[:, i, i] = 0.0
        window = self.window
        return self._with_window(
            Window(window.forgetting, sums, entropies, window.times, window.weight)
        )

    def with_past(self, past: Array, entropy: Array, **changes: Any) -> Self:
        """Return the clusters with another past (k, 2, p), of a single record or none.

        Other fields may be replaced at the same time.
        """
        window = self.window.with_past(past, entropy)
        return self.having(window=window, past=past, past_entropy=entropy, **changes)

    def _with_window(self, window: Window) -> Self:
        past, past_entropy = window.past()
        return self.having(window=window, past=past, past_entropy=past_entropy)


_ONCE = ("known", *(name for name, value in vars(ClusterState).items() if isinstance(value, once)))
_ONCE_OF_PAST = tuple(name for name in _ONCE if name not in ("current", "present"))
