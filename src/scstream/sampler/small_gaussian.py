"""The steps of a small batch of Gaussian clusters: one compiled call each, the usual ones at once.

Most batches change no cluster: nothing is split, merged or dropped. Their steps are taken one after
the other on arrays, and only what comes of all of them becomes a `State`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Key, Sums
from scstream.families.contract import Array
from scstream.families.cutting import CERTAIN
from scstream.families.gaussian_cuts import AXES
from scstream.kernels import small_batch, small_divisions
from scstream.kernels.draws import Draws
from scstream.kernels.small_batch import FAILED
from scstream.kernels.small_divisions import APART, CLEAR, TAKEN
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.gaussian import (
    NO_DRAWS,
    NO_KEY,
    GaussianSteps,
    SmallSweeps,
    as_array,
    copied,
    everyone,
    no_merges,
    nobody,
    now_copied,
)
from scstream.sampler.recipe import Plan
from scstream.sampler.steps import DIVIDED, SETTLED, SWEPT, Ahead, Divided, Forget

Arrays = tuple[Array, Ints, Ints, Array]  # what `scstream.engines.Sums` has
Division = tuple[Array, Array]  # sums (k, 2, p) and doubts (k, k)
Given = tuple[Any, Any, Any]  # the prior, what makes up ratios, and memory to work in


class SmallGaussianSteps(SmallSweeps, GaussianSteps):
    """All steps of a small batch."""

    def divide(
        self, state: State, chosen: NDArray[np.bool_], key: Key | None = None, *,
        keep_better: bool, forget: Forget | None = None,
    ) -> Divided:  # fmt: skip
        """Try a new division of the chosen clusters, once they have forgotten, and judge it."""
        state = state if forget is None else forget(state)
        k, p = state.k, state.past.shape[2]
        key = self.next_key() if key is None else key
        member = nobody(k, p)
        if self.family.needs_members(state.attempt):
            member = self.engine.members(k, key)
        known, levels = self._levels(state)
        past, now, taken = copied(state), now_copied(state), chosen.astype(np.int64)
        attempt, tried = state.attempt.copy(), (np.empty((k, 2, p)), np.empty(k))
        who = taken, attempt, member, known is not None
        given = self.prior, self.ratio, self.room(k)
        found = self._try_division(past, now, who, given, (tried, levels), keep_better=keep_better)
        if found < 0:
            return super().divide(state, chosen, key, keep_better=keep_better)
        state = state.having(attempt=attempt)
        if found & TAKEN:
            state = self._divided(state, taken > 0, past, now)
        self._learn_levels(state, known, levels)
        return _divided(state, tried, found)

    def take_usual_steps(self, state: State, plan: Plan, *, few: bool) -> Ahead:
        """Take the steps of a later batch at once, as far as nothing unusual happens.

        They are those of `scstream.sampler.batch.later_batch`, in the same order and by the same
        kernels. No sub-clusters were restarted in this batch yet. Where a matrix fails all steps
        are taken back.
        """
        rules = self.rules
        usual = plan.sweeps == 1 and plan.splits and rules.restarts and rules.deterministic_end
        if not usual or self.outliers is not None:
            return Ahead(state)
        k, _, p = state.past.shape
        given = prior, ratio, room = self.prior, self.ratio, self.room(k)
        draws, (now, end) = self.rng.words.copy(), _nothing_twice(k, p)
        past = self._sample(state, NO_DRAWS if few else draws, given, now)
        if past is None:
            return Ahead(state)

        # divide
        levels, tried = (np.empty((k, 2)), np.empty(k)), (np.empty((k, 2, p)), np.empty(k))
        taken, attempt = everyone(k).copy(), state.attempt.copy()
        who = taken, attempt, nobody(k, p), False
        now_too = now[0], now[3]
        found = self._try_division(past, now_too, who, given, (tried, levels), keep_better=True)
        if found < 0:
            return Ahead(state)
        if found & TAKEN:
            now = now[0], self.engine.adopt(taken > 0), now[2], now[3]

        # split_merge_and_drop
        before, log_u = draws.copy(), np.empty((1 + rules.neighbours) * k)
        how = state.lived, self.margins, ratio, prior, room, no_merges(rules.neighbours)
        drawn = log_u, False, self.left_out_below(k), draws
        if (
            found & (APART | CLEAR)
            or small_batch.moves(past, now, (*levels, True), drawn, *how) < 0
        ):
            self.rng, self._sweeps = Draws(before), self._sweeps + 2
            state = self._learned(state, past, now, levels, attempt)
            return Ahead(state, DIVIDED, _divided(state, tried, found))

        # last_sweep, and what moves then
        rows = self.rows
        seen = rows.points, rows.weight, rows.labels, rows.sublabels
        if small_batch.sweep(past[0], now[0], NO_DRAWS, self.alpha, prior, seen, NO_KEY, room, end):
            return Ahead(state)
        log_u.fill(0.0)
        greedy = log_u, True, 0.0, NO_DRAWS
        moves = small_batch.moves(past, end, (*levels, False), greedy, *how)
        if moves == FAILED:
            return Ahead(state)
        self.rng, self._sweeps = Draws(draws), self._sweeps + 2
        state = self._learned(state, past, end, levels, attempt)
        return Ahead(state, SETTLED if moves >= 0 else SWEPT)

    def _sample(self, state: State, draws: Any, given: Given, now: Arrays) -> Division | None:
        """Take the restricted sweep, or the predictive one without draws, and forget.

        Fills the present, and returns what is kept of the past, to be changed; None if a matrix
        fails.
        """
        rows, rules, alpha, old = self.rows, self.rules, self.alpha, (state.past, state.past_doubt)
        prior, _, room = given
        if small_batch.sweep(
            state.past, state.now.current, draws, alpha, prior,
            (rows.points, rows.weight, rows.labels, rows.sublabels),
            (self.seed, self.batch, self._sweeps + 1, True), room, now,
        ):  # fmt: skip
            return None
        if not state.window.forgetting.adaptive:
            return copied(state)
        past, shares = (np.empty(old[0].shape), np.empty(old[1].shape)), as_array(rules.keep_shares)
        failed = small_batch.forget(
            old, now[0], shares, self.forget_margins, alpha, prior, room, past
        )
        return None if failed > 0 else past

    def _try_division(
        self, past: Division, now: Division, who: Any, given: Given, out: Any, *, keep_better: bool
    ) -> int:
        """Return what `small_divisions.divide` finds, less than 0 if matrices fail."""
        rows, rules = self.rows, self.rules
        prior, ratio, room = given
        code: int = small_divisions.divide(
            (rows.points, rows.weight, rows.labels, rows.trial), past, now, who, prior,
            (min(prior[-1], AXES), rules.refine_rounds, keep_better),
            (CERTAIN if rules.cut_past else -1.0, rules.clear_doubt), ratio, room, out,
        )  # fmt: skip
        return -code

    def _learned(
        self, state: State, past: Division, now: Arrays, levels: tuple[Array, Array], attempt: Ints
    ) -> State:
        """Return the clusters as steps have left them."""
        new = State(
            state.ids, state.born, state.lived, state.next_id, Sums(*now),
            state.window.with_past(*past), *past, attempt,
        )  # fmt: skip
        new.learn(LogMarginals(self.family, *levels))
        return new


def _divided(state: State, tried: tuple[Array, Array], found: int) -> Divided:
    return Divided(state, *tried, bool(found & APART), bool(found & CLEAR))


def _nothing_twice(k: int, p: int) -> tuple[Arrays, Arrays]:
    """Return sums over no points, for two sweeps."""
    current, doubt = np.zeros((2, k, 2, p)), np.zeros((2, k, k))
    rows, rivals = np.zeros((2, k, 2), np.int64), np.zeros((2, k, k), np.int64)
    return (current[0], rows[0], rivals[0], doubt[0]), (current[1], rows[1], rivals[1], doubt[1])
