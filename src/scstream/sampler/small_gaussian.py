"""The steps of a small batch of Gaussian clusters, each in one compiled call, and the usual at once.

Most batches change no cluster: nothing is split, merged or dropped. Their steps are taken one after
the other on arrays of their own, and only what comes of all of them becomes a `State`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Key, Sums
from scstream.families.contract import Array
from scstream.families.cutting import CERTAIN
from scstream.families.gaussian_cuts import AXES
from scstream.kernels import small_divisions
from scstream.kernels.draws import Draws
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.gaussian import (
    NO_DRAWS,
    NO_KEY,
    NO_LEVELS,
    Division,
    GaussianSteps,
    SmallSweeps,
    copied,
    no_merges,
    nobody,
    now_copied,
)
from scstream.sampler.recipe import Plan
from scstream.sampler.steps import DIVIDED, SETTLED, SWEPT, Ahead, Divided

Arrays = tuple[Array, Ints, Ints, Array]  # what `scstream.engines.Sums` has


class SmallGaussianSteps(SmallSweeps, GaussianSteps):
    """All steps of a small batch."""

    def divide(
        self, state: State, chosen: NDArray[np.bool_], key: Key | None = None, *, keep_better: bool
    ) -> Divided:
        """Try a new division of the chosen clusters, and judge it."""
        k, p = state.k, state.past.shape[2]
        key = self.next_key() if key is None else key
        member = nobody(k, p)
        if self.family.needs_members(state.attempt):
            member = self.engine.members(k, key)
        known, levels = self.known_levels(state)
        past, now, taken = copied(state), now_copied(state), chosen.astype(np.int64)
        who = taken, state.attempt, member, known is not None
        found, tried = self._try_division(past, now, who, levels, keep_better=keep_better)
        if found < 0:
            return super().divide(state, chosen, key, keep_better=keep_better)
        state = state.having(attempt=state.attempt + chosen)
        if found & small_divisions.TAKEN:
            state = self.with_division(state, taken > 0, past, now)
        self.learn_levels(state, known, levels)
        return _divided(state, tried, found)

    def _try_division(
        self, past: Division, now: Division, who: Any, levels: Any, *, keep_better: bool
    ) -> tuple[int, tuple[Array, Array]]:
        """Try a new division, see `small_divisions.divide`: returns what was found, and tried.

        That is -1 if a matrix fails.
        """
        rows, rules, prior, (k, _, p) = self.rows, self.rules, self.prior, past[0].shape
        tried = np.empty((k, 2, p)), np.empty(k)
        code = small_divisions.divide(
            (rows.T, rows.weight, rows.labels, rows.trial), past, now, who, prior,
            (min(prior[-1], AXES), rules.refine_rounds, keep_better),
            (CERTAIN if rules.cut_past else -1.0, rules.clear_doubt), self.ratio,
            self.room(k), (tried, levels),
        )  # fmt: skip
        return (-1 if code > 0 else -code), tried

    def take_usual_steps(self, state: State, plan: Plan, *, few: bool) -> Ahead:
        """Take the steps of a later batch at once, as far as nothing unusual happens.

        They are those of `scstream.sampler.batch.later_batch`, in the same order. Where a matrix
        fails none was taken.
        """
        rules = self.rules
        usual = plan.sweeps == 1 and plan.splits and rules.restarts and rules.deterministic_end
        if not usual or self.outliers is not None or np.count_nonzero(state.attempt):
            return Ahead(state)
        draws = self.rng.words.copy()
        now = self._sweep_once(state, NO_DRAWS if few else draws)
        past = self._keep(state, now)
        if now is None or past is None:
            return Ahead(state)
        here = now[1][:, 0] + now[1][:, 1] > 0
        taken, (k, _, p) = here.astype(np.int64), past[0].shape
        who, levels = (taken, state.attempt, nobody(k, p), False), _levels(k)
        found, tried = self._try_division(past, (now[0], now[3]), who, levels, keep_better=True)
        if found < 0:
            return Ahead(state)
        if found & small_divisions.TAKEN:
            now = now[0], self.engine.adopt(taken > 0), now[2], now[3]
        attempt, before = state.attempt + here, draws.copy()
        log_u = Draws(draws).log_uniforms((1 + rules.neighbours) * k)
        unusual = found & (small_divisions.APART | small_divisions.CLEAR)
        if unusual or self._moves(state, (past, now, levels), log_u, greedy=False):
            self.rng, self._sweeps = Draws(before), self._sweeps + 2
            new = self._state(state, past, now, levels, attempt)
            return Ahead(new, DIVIDED, _divided(new, tried, found))
        end, levels = _nothing(k, p), _levels(k)
        if self.fill_sums((past[0], now[0]), NO_DRAWS, NO_KEY, end, levels):  # deterministic_sweep
            return Ahead(state)
        self.rng, self._sweeps = Draws(draws), self._sweeps + 2
        moves = self._moves(state, (past, end, levels), np.zeros(len(log_u)), greedy=True)
        new = self._state(state, past, end, levels, attempt)
        return Ahead(new, SWEPT if moves else SETTLED)

    def _sweep_once(self, state: State, draws: Any) -> Arrays | None:
        """Take the restricted sweep, or the predictive one without draws."""
        k, _, p = state.past.shape
        now, key = _nothing(k, p), (self.seed, self.batch, self._sweeps + 1, True)
        failed = self.fill_sums((state.past, state.now.current), draws, key, now, NO_LEVELS)
        return None if failed else now

    def _keep(self, state: State, now: Arrays | None) -> Division | None:
        """Return what is kept of the past, to be changed."""
        if now is None:
            return None
        if state.window.forgetting.adaptive:
            kept = self.worth_keeping((state.past, state.past_doubt), now[0])
            if kept is None or kept[0] is not state.past:
                return kept
        return copied(state)

    def _moves(self, state: State, of: Any, log_u: Array, *, greedy: bool) -> bool:
        """Whether some cluster of past, present and log marginals is to be moved, see `may_move`."""
        room, merges = self.room(len(of[0][0])), no_merges(self.rules.neighbours)
        return self.find_moves(*of, (log_u, greedy), state.lived, room, merges) < 0

    def _state(
        self, state: State, past: Division, now: Arrays, levels: Any, attempt: Ints
    ) -> State:
        """Return the clusters as the steps have left them."""
        new = state.with_past(*past, now=Sums(*now), attempt=attempt)
        new.learn(LogMarginals(self.family, *levels))
        return new


def _divided(state: State, tried: tuple[Array, Array], found: int) -> Divided:
    apart, clear = bool(found & small_divisions.APART), bool(found & small_divisions.CLEAR)
    return Divided(state, *tried, apart, clear)


def _nothing(k: int, p: int) -> Arrays:
    """Return sums over no points, see `scstream.engines.Sums`."""
    return (
        np.zeros((k, 2, p)), np.zeros((k, 2), np.int64), np.zeros((k, k), np.int64),
        np.zeros((k, k)),
    )  # fmt: skip


def _levels(k: int) -> tuple[Array, Array]:
    """Return where log marginals are filled in."""
    return np.empty((k, 2)), np.empty(k)
