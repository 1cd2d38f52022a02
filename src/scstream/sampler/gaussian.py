"""The steps of a batch for Gaussian clusters of few columns: one compiled call each.

What is computed is what `scstream.sampler.generic` computes, which takes over where a matrix is not
positive definite: there the family mends it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import CpuEngine, FewRows, Key, Sums
from scstream.engines.ordered_sums import LEAF_ROWS
from scstream.families.contract import Array, Family
from scstream.families.cutting import CERTAIN
from scstream.families.gaussian_cuts import AXES
from scstream.families.scores import Labels, Points
from scstream.kernels import gaussian_moves, labelling, small_batch, small_scratch
from scstream.kernels.draws import Draws
from scstream.kernels.workspace import room_of
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.forgetting import completed_by_present, needs_completing
from scstream.sampler.generic import GenericSteps
from scstream.sampler.log_marginals import log_marginals
from scstream.sampler.rules import Rules
from scstream.sampler.sweep import predictive
from scstream.support.arithmetic import numpy_defaults
from scstream.support.once import once

_NOBODY, _NOTHING = np.empty((0, 0)), np.empty(0)
_NO_DRAWS = np.empty(0, dtype=np.uint64)
_NO_KEY = Key(0, 0, 0)
_NO_PAIRS = np.empty((0, 2), dtype=np.int64)


class _Compiled(GenericSteps):
    """What compiled steps need."""

    _prior: tuple[Family | None, Any] = None, None
    _room: tuple[int, Any] = -1, None
    n_few: int = 0  # rows that compiled steps pass over

    @property
    def prior(self) -> tuple[Array, float, float, int]:
        """The prior in the numbers that kernels take, as a plain tuple, see `kernels.arguments`."""
        of, prior = self._prior
        if of is not self.family:
            prior = tuple(self.family.small_gaussian() or ())
            self._prior = self.family, prior
        return prior  # type: ignore[no-any-return]

    @once
    def ratio(self) -> tuple[float, float, float]:
        """What makes up the ratio of a split."""
        return self.alpha, self.rules.least_part, self.rules.doubt

    def room(self, k: int) -> tuple[Array, Ints]:
        """Return memory to work in on the rows and k clusters, as a plain tuple."""
        of, room = self._room
        if of != k:
            room = workspace(self.n_few, k, len(self.prior[0]), self.rules.neighbours)
            self._room = k, room
        return room  # type: ignore[no-any-return]


class SmallSweeps(_Compiled):
    """Sweeps over few rows in one compiled call."""

    @once
    def rows(self) -> FewRows:
        """The rows of the batch."""
        rows = self.engine.few_rows()
        assert rows is not None
        return rows

    @once
    def n_few(self) -> int:
        """How many rows that are."""
        return len(self.rows.labels)

    def restricted_sweep(self, state: State, key: Key | None = None) -> State:
        """Draw weights and parameters, then every point's label and sub-label."""
        key = self.next_key() if key is None else key
        draws = self.rng.words.copy()
        new = None if self.outliers is not None else self._swept(state, draws, key)
        if new is None:
            return super().restricted_sweep(state, key)
        self.rng = Draws(draws)
        return new

    def deterministic_sweep(self, state: State) -> State:
        """Give every point its best label by weight times predictive, and both sub-clusters."""
        new = None if self.outliers is not None else self._swept(state, _NO_DRAWS, _NO_KEY)
        return super().deterministic_sweep(state) if new is None else new

    def _swept(self, state: State, draws: Any, key: Key) -> State | None:
        """Return the clusters after a sweep; None if a matrix is not positive definite."""
        k, p = state.k, state.past.shape[2]
        now, drawn = Sums.nothing(k, p), len(draws) > 0
        each, whole = (_NOBODY, _NOTHING) if drawn else (np.empty((k, 2)), np.empty(k))
        failed = self._fill(
            state, draws, key, self.room(k),
            (now.current, now.rows, now.rivals, now.doubt), (each, whole),
        )  # fmt: skip
        if failed:
            return None
        new = state.having(now=now)
        if not drawn:
            new.learn(LogMarginals(self.family, each, whole))
        return new

    def _fill(self, state: State, draws: Any, key: Key, room: Any, sums: Any, levels: Any) -> int:
        """Fill the sums of a sweep and, without draws, the log marginals; returns failures."""
        rows = self.rows
        failed: int = small_batch.sweep(
            state.past, state.now.current, draws, self.alpha, self.prior,
            (rows.T, rows.weight, rows.labels, rows.sublabels), (key.seed, key.batch, key.sweep),
            room, sums, levels,
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
            (state.past, state.past_doubt), now, _array(self.rules.keep_shares),
            self.rules.forget_reluctance, self.alpha, self.prior,
            self.room(state.k)[0], (past, doubt),
        )  # fmt: skip
        if failed > 0:
            return super().forget(state)
        return state if failed else state.with_past(past, doubt)

    def judge_division(
        self, state: State, chosen: NDArray[np.bool_], current: Array, doubt: Array, *,
        keep_better: bool,
    ) -> tuple[State, bool]:  # fmt: skip
        """Give the chosen clusters the division that was tried, or only where it is better."""
        family, known, k = self.family, state.known, state.k
        taken, joined = chosen.astype(np.int64), None
        if known is None or known.family is not family:
            which, each, whole = _everyone(k), np.empty((k, 2)), np.empty(k)
        else:
            which, each, whole = np.flatnonzero(chosen), known.each.copy(), known.whole.copy()
            joined = known.joined
        past, past_doubt = state.past.copy(), state.past_doubt.copy()
        sums, doubts = state.now.current.copy(), state.now.doubt.copy()
        code = gaussian_moves.judge(
            (which, taken, keep_better), (current, doubt), (past, past_doubt), (sums, doubts),
            self.prior, CERTAIN if self.rules.cut_past else -1.0, self.ratio, self.room(k)[0],
            (each, whole),
        )  # fmt: skip
        if code > 0:
            return super().judge_division(state, chosen, current, doubt, keep_better=keep_better)
        better, attempt = taken > 0, state.attempt + chosen
        if np.count_nonzero(better):
            now = Sums(sums, self.engine.adopt(better), state.now.rivals, doubts)
            state = state.with_past(past, past_doubt, now=now, attempt=attempt)
        else:
            state = state.having(attempt=attempt)
        state.learn(LogMarginals(family, each, whole, joined))
        return state, bool(code == gaussian_moves.APART)

    def merge_ratios(
        self, state: State, neighbours: int, born_from: int
    ) -> tuple[Ints, Array, Array]:
        """Return pairs (m, 2) that may merge, log ratios (m,), log marginals of both together."""
        k, most = state.k, max(min(neighbours, state.k - 1), 0)
        if most == 0:
            return _NO_PAIRS, _NOTHING, _NOTHING
        top, pairs = np.empty((k, most), dtype=np.int64), np.empty((k * most, 2), dtype=np.int64)
        ratio, both = np.empty((2, k * most))
        never = np.full(k * most, np.inf)
        m = self._moves(state, (never, never), most, (top, pairs, ratio, both))
        if m < 0:
            return super().merge_ratios(state, neighbours, born_from)
        young = (state.ids[pairs[:m]] >= born_from).any(axis=1)
        return pairs[:m][young], ratio[:m][young], both[:m][young]

    def may_move(self, state: State, log_u: tuple[Array, Array]) -> bool:
        """Whether some cluster is to be split, merged or dropped."""
        most = self.rules.neighbours
        top = np.empty((0, most), dtype=np.int64)
        return self._moves(state, log_u, most, (top, _NO_PAIRS, _NOTHING, _NOTHING)) < 0

    def _moves(self, state: State, log_u: tuple[Array, Array], most: int, merges: Any) -> int:
        """Fill merges with up to ``most`` neighbours of a cluster, see `small_batch.moves`."""
        known, now, rules, k = log_marginals(self, state), state.now, self.rules, state.k
        usual = most <= rules.neighbours
        room = self.room(k) if usual else workspace(0, k, state.past.shape[2], most)
        found: int = small_batch.moves(
            (state.past, state.past_doubt), (now.current, now.rows, now.rivals, now.doubt),
            (known.each, known.whole), log_u, state.lived,
            (rules.merge_reluctance, rules.merge_reluctance_most), self.ratio, self.prior,
            room, merges,
        )  # fmt: skip
        return found


class SmallGaussianSteps(SmallSweeps, GaussianSteps):
    """All steps of a small batch, each in one compiled call."""

    def try_division(
        self, state: State, chosen: NDArray[np.bool_], key: Key | None = None
    ) -> tuple[Array, Array]:
        """Seek a new division of the chosen clusters; returns sums (k, 2, p) and doubts (k,)."""
        rows, k, p = self.rows, state.k, state.past.shape[2]
        key = self.next_key() if key is None else key
        member = _nobody(k, p)
        if self.family.needs_members(state.attempt):
            member = self.engine.members(k, key)
        current, doubt, prior = np.empty((k, 2, p)), np.empty(k), self.prior
        how = min(prior[-1], AXES), self.rules.refine_rounds
        failed = small_batch.try_division(
            (rows.T, rows.weight, rows.labels, rows.trial), state.now.current,
            (chosen, state.attempt, member), prior, how, self.alpha,
            self.room(k), (current, doubt),
        )  # fmt: skip
        return super().try_division(state, chosen, key) if failed else (current, doubt)


def predicts_at_once(family: Family, rules: Rules, n: int) -> bool:
    """Whether `best_ids` serves so many rows."""
    prior = family.small_gaussian()
    return prior is not None and prior.columns <= rules.compiled_columns and 0 < n <= LEAF_ROWS


def best_ids(family: Family, alpha: float, state: State, X: Points) -> Labels:
    """Return the best clusters (n,) of a few rows in one compiled call."""
    prior = family.small_gaussian()
    assert prior is not None
    z: Labels = np.empty(len(X), dtype=np.int64)
    X, totals = family.narrowed(family.check(X)), state.totals
    room = workspace(0, *totals.shape)
    if small_batch.assign(X, family.frame, totals, alpha, tuple(prior), room, z):
        z = _best_by_scores(family, X, totals, alpha)
    labelling.named(z, state.ids, z)
    return z


@numpy_defaults
def _best_by_scores(family: Family, X: Points, totals: Array, alpha: float) -> Labels:
    return CpuEngine().assign(family, X, predictive(family, totals, alpha))


def workspace(n: int, k: int, p: int, neighbours: int = 0) -> tuple[Array, Ints]:
    """Return memory to work in on n rows and k clusters with p statistics, as a plain tuple."""
    floats, ints = room_of(*_needed(n, k, p, neighbours))
    return floats, ints


@lru_cache
def _needed(n: int, k: int, p: int, neighbours: int) -> tuple[int, int]:
    """Return how many floats and whole numbers of room that takes."""
    floats, ints = small_scratch.room_needed(n, k, p)
    matrices = (30 + neighbours) * (k + 1) * (p + 1) + 16 * p
    return floats + 2 * n + matrices, ints + (3 * neighbours + 1) * k


@lru_cache
def _everyone(k: int) -> Ints:
    return np.arange(k)


@lru_cache
def _nobody(k: int, p: int) -> Array:
    return np.zeros((k, p))


@lru_cache
def _array(shares: tuple[float, ...]) -> Array:
    return np.array(shares)
