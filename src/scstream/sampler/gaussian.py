"""The steps of a batch for Gaussian clusters of few columns: one compiled call each.

What is computed is what `scstream.sampler.generic` computes, which takes over where a matrix is not
positive definite: there the family mends it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import FewRows, Key, Sums
from scstream.families.contract import Array, Family
from scstream.families.cutting import CERTAIN
from scstream.kernels import gaussian_moves, small_batch
from scstream.kernels.draws import Draws
from scstream.kernels.small_scratch import workspace
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.forgetting import completed_by_present, needs_completing, points_of_a_place
from scstream.sampler.generic import GenericSteps
from scstream.sampler.log_marginals import log_marginals
from scstream.support.once import once

_NOBODY, _NOTHING = np.empty((0, 0)), np.empty(0)
NO_DRAWS = np.empty(0, dtype=np.uint64)
NO_KEY = 0, 0, 0, False
_NO_PAIRS = np.empty((0, 2), dtype=np.int64)


class _Compiled(GenericSteps):
    """What compiled steps need."""

    _prior: tuple[Family | None, Any] = None, None
    n_few: int = 0  # rows that compiled steps pass over

    @property
    def prior(self) -> tuple[Array, float, float, int]:
        """The prior in the numbers that kernels take, as a plain tuple, see `kernels.arguments`."""
        of, prior = self._prior
        if of is not self.family:
            prior = tuple(self.family.small_gaussian() or ())
            self._prior = self.family, prior
        return prior  # type: ignore[no-any-return]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """What makes up the ratio of a split."""
        return self.alpha, self.rules.least_part, self.rules.doubt

    @property
    def forget_margins(self) -> tuple[float, float, float, float, float]:
        """By how much keeping less of the past must win, and how much less than usual it may be."""
        rules = self.rules
        less = rules.forget_reluctance, rules.stay_behind, rules.keep_points
        return *less, points_of_a_place(self), rules.move_margin

    @property
    def margins(self) -> tuple[float, float, float, float, int, float]:
        """What moves must win besides, see `kernels.arguments.Margins`."""
        rules = self.rules
        return (
            rules.merge_reluctance, rules.merge_reluctance_most, rules.sharp_edges,
            rules.edges_free, rules.drawn_rows, rules.drawn_doubt,
        )  # fmt: skip

    def room(self, k: int) -> tuple[Array, Ints, Any]:
        """Return memory to work in on the rows and k clusters, as a plain tuple."""
        return workspace(self.n_few, k, len(self.family.prior), self.rules.neighbours)


class SmallSweeps(_Compiled):
    """Sweeps over few rows in one compiled call."""

    @once
    def rows(self) -> FewRows:
        """The rows of the batch."""
        rows = self.engine.few_rows()
        assert rows is not None
        return rows

    @property
    def n_few(self) -> int:  # type: ignore[override]
        """How many rows that are."""
        return self.engine.n_rows

    def restricted_sweep(self, state: State, key: Key | None = None) -> State:
        """Draw weights and parameters, then every point's label and sub-label."""
        key = self.next_key() if key is None else key
        draws = self.rng.words.copy()
        new = self._swept(state, draws, key)
        if new is None:
            return super().restricted_sweep(state, key)
        self.rng = Draws(draws)
        return new

    def predictive_sweep(self, state: State, key: Key | None = None) -> State:
        """Draw labels and sub-labels by weight times predictive."""
        key = self.next_key() if key is None else key
        new = self._swept(state, NO_DRAWS, key)
        return super().predictive_sweep(state, key) if new is None else new

    def deterministic_sweep(self, state: State) -> State:
        """Give every point its best label by weight times predictive, and both sub-clusters."""
        new = self._swept(state, NO_DRAWS, None)
        return super().deterministic_sweep(state) if new is None else new

    def _swept(self, state: State, draws: Any, key: Key | None) -> State | None:
        """Return the clusters after a sweep.

        Labels are drawn with a key. So are parameters if there are draws. None if a matrix is not
        positive definite, or there is a background beside the clusters.
        """
        if self.outliers is not None:
            return None
        k, p = state.k, state.past.shape[2]
        now = Sums.nothing(k, p)
        failed = self._fill(
            state, draws, NO_KEY if key is None else (key.seed, key.batch, key.sweep, True),
            self.room(k), (now.current, now.rows, now.rivals, now.doubt),
        )  # fmt: skip
        return None if failed else state.having(now=now)

    def _fill(self, state: State, draws: Any, key: Any, room: Any, sums: Any) -> int:
        """Fill the sums of a sweep; returns failures."""
        rows = self.rows
        failed: int = small_batch.sweep(
            state.past, state.now.current, draws, self.alpha, self.prior,
            (rows.points, rows.weight, rows.labels, rows.sublabels), key, room, sums,
        )  # fmt: skip
        return failed


class GaussianSteps(_Compiled):
    """What is computed of each cluster's statistics, in one compiled call a step."""

    def forget(self, state: State) -> State:
        """Keep the share of each cluster's past that best predicts its present."""
        past, doubt = np.empty(state.past.shape), np.empty(state.past_doubt.shape)
        now = state.now.current
        if needs_completing(self):
            now = completed_by_present(self, state)[:, None] * [[1.0], [0.0]]  # all in one part
        failed = small_batch.forget(
            (state.past, state.past_doubt), now, as_array(self.rules.keep_shares),
            self.forget_margins, self.alpha, self.prior, self.room(state.k), (past, doubt),
        )  # fmt: skip
        if failed > 0:
            return super().forget(state)
        return state if failed else state.with_past(past, doubt)

    def judge_division(
        self, state: State, chosen: NDArray[np.bool_], current: Array, doubt: Array, *,
        keep_better: bool,
    ) -> tuple[State, bool]:  # fmt: skip
        """Give the chosen clusters the division that was tried, or only where it is better."""
        known, levels = self._levels(state)
        which = _places(state.k) if known is None else np.flatnonzero(chosen)
        past, now, taken = copied(state), now_copied(state), chosen.astype(np.int64)
        code = gaussian_moves.judge(
            (which, taken, keep_better), (current, doubt), past, now,
            self.prior, CERTAIN if self.rules.cut_past else -1.0, self.ratio,
            self.room(state.k)[0], levels,
        )  # fmt: skip
        if code > 0:
            return super().judge_division(state, chosen, current, doubt, keep_better=keep_better)
        state = state.having(attempt=state.attempt + chosen)
        better = taken > 0
        if np.count_nonzero(better):
            state = self._divided(state, better, past, now)
        self._learn_levels(state, known, levels)
        return state, bool(code == gaussian_moves.APART)

    def _levels(self, state: State) -> tuple[LogMarginals | None, tuple[Array, Array]]:
        """Return the log marginals that are known, and a copy of them to be filled."""
        known, k = state.known, state.k
        if known is None or known.family is not self.family:
            return None, (np.empty((k, 2)), np.empty(k))
        return known, (known.each.copy(), known.whole.copy())

    def _learn_levels(
        self, state: State, known: LogMarginals | None, levels: tuple[Array, Array]
    ) -> None:
        """Take note of the log marginals after a division."""
        joined = None if known is None else known.joined
        state.learn(LogMarginals(self.family, *levels, joined))

    def _divided(
        self, state: State, better: NDArray[np.bool_], past: tuple[Array, Array],
        now: tuple[Array, Array],
    ) -> State:  # fmt: skip
        """Return the clusters with the division that some (k,) have taken."""
        sums = Sums(now[0], self.engine.adopt(better), state.now.rivals, now[1])
        return state.with_past(*past, now=sums)

    def merge_ratios(
        self, state: State, neighbours: int, born_from: int
    ) -> tuple[Ints, Array, Array]:
        """Return pairs (m, 2) that may merge, log ratios (m,), log marginals of both together."""
        k, most = state.k, max(min(neighbours, state.k - 1), 0)
        if most == 0:
            return _NO_PAIRS, _NOTHING, _NOTHING
        top, pairs = np.empty((k, most), dtype=np.int64), np.empty((k * most, 2), dtype=np.int64)
        ratio, both = np.empty((2, k * most))
        m = self._fill_merges(state, most, (top, pairs, ratio, both))
        if m < 0:
            return super().merge_ratios(state, neighbours, born_from)
        young = (state.ids[pairs[:m]] >= born_from).any(axis=1)
        return pairs[:m][young], ratio[:m][young], both[:m][young]

    def _fill_merges(self, state: State, most: int, merges: Any) -> int:
        """Fill merges with up to ``most`` neighbours of a cluster; negative if a matrix failed."""
        never = np.full(state.k * (1 + most), np.inf)
        return self._moves(state, (never, False, 0.0, NO_DRAWS), most, merges)

    def may_move(self, state: State, log_u: Array, *, greedy: bool) -> bool:
        """Whether some cluster is to be split, merged or dropped."""
        most = self.rules.neighbours
        return self._moves(state, (log_u, greedy, 0.0, NO_DRAWS), most, no_merges(most)) < 0

    def _moves(self, state: State, decisions: Any, most: int, merges: Any) -> int:
        """Fill merges with up to ``most`` neighbours of a cluster, see `small_batch.moves`."""
        now, rules, k = state.now, self.rules, state.k
        usual = most <= rules.neighbours
        if state.recalled is not None:
            log_marginals(self, state)
        known, levels = self._levels(state)
        room = self.room(k) if usual else workspace(0, k, state.past.shape[2], most)
        found: int = small_batch.moves(
            (state.past, state.past_doubt), (now.current, now.rows, now.rivals, now.doubt),
            (*levels, known is not None), decisions, state.lived,
            self.margins, self.ratio, self.prior, room, merges,
        )  # fmt: skip
        if known is None and found != small_batch.FAILED:
            state.learn(LogMarginals(self.family, *levels))
        return found


def copied(state: State) -> tuple[Array, Array]:
    """Return sums and doubts of the past, to be changed."""
    return state.past.copy(), state.past_doubt.copy()


def now_copied(state: State) -> tuple[Array, Array]:
    """Return those of the present."""
    return state.now.current.copy(), state.now.doubt.copy()


@lru_cache
def _places(k: int) -> Ints:
    return np.arange(k)


@lru_cache
def everyone(k: int) -> Ints:
    """Return that all clusters are chosen; who changes that copies it."""
    return np.ones(k, dtype=np.int64)


@lru_cache
def nobody(k: int, p: int) -> Array:
    """Return members of clusters that nobody looks at."""
    return np.zeros((k, p))


@lru_cache
def no_merges(most: int) -> tuple[Ints, Ints, Array, Array]:
    """Return where merges would be noted if someone wanted them."""
    return np.empty((0, most), dtype=np.int64), _NO_PAIRS, _NOTHING, _NOTHING


@lru_cache
def as_array(shares: tuple[float, ...]) -> Array:
    """Return shares as kernels take them."""
    return np.array(shares)
