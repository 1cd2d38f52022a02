"""The steps of a small batch for Student-t clusters of few columns: one compiled call each.

Tamed rows are those of Gaussian clusters (`scstream.families.taming`), so most steps are those of
`scstream.sampler.gaussian`. Sweeps tame the rows. Pairs that may merge are judged in a frame of
both, see `scstream.sampler.merged_frames`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.families.contract import Array, StudentPrior
from scstream.families.scores import Labels
from scstream.families.taming import Frames
from scstream.kernels import heavy_batch, heavy_moves
from scstream.kernels.small_scratch import workspace
from scstream.sampler.clusters import Ints, State
from scstream.sampler.log_marginals import log_marginals
from scstream.sampler.merged_frames import Together
from scstream.sampler.recipe import Plan
from scstream.sampler.small_gaussian import SmallGaussianSteps
from scstream.sampler.split_merge import reluctance
from scstream.sampler.steps import Ahead


class SmallStudentSteps(SmallGaussianSteps):
    """All steps of a small batch of Student-t clusters."""

    @property
    def student(self) -> StudentPrior:
        """The prior and the tails."""
        prior = self.family.small_student()
        assert prior is not None
        return prior

    @property
    def prior(self) -> tuple[Array, float, float, int]:
        """The prior of tamed rows in the numbers that kernels take."""
        row, more, log_normaliser, columns = self.student.gaussian
        return row, more, log_normaliser, columns

    def take_usual_steps(self, state: State, plan: Plan, *, few: bool) -> Ahead:
        """Take none: pairs that may merge are judged in frames, not by `small_batch.moves`."""
        return Ahead(state)

    def _fill(self, state: State, draws: Any, key: Any, room: Any, sums: Any) -> int:
        """Fill the sums of a sweep; returns failures."""
        failed: int = heavy_batch.sweep(
            state.past, state.now.current, draws, self.alpha, self.prior,
            self._rows, self.student.tails, key, room, sums,
        )  # fmt: skip
        return failed

    def together(self, state: State, pairs: Ints) -> Together:
        """Return pairs (m, 2) of clusters in frames of both."""
        (m, _), (_, _, p), student = pairs.shape, state.past.shape, self.student
        d = student.gaussian.columns
        centre, quad = np.empty((m, d)), np.empty((m, p))
        present, by = np.empty((m, 2, p)), np.empty((m, 2))
        failed = heavy_moves.together(
            state.past, state.now.current, np.ascontiguousarray(pairs), self._rows, student.tails,
            self.prior, self.rules.frame_rounds, workspace(self.engine.n_rows, state.k, p),
            (centre, quad, present, by),
        )  # fmt: skip
        if failed > 0:
            return super().together(state, pairs)
        return Together(Frames(centre, quad, student.tails[0], full=True), present, by)

    def may_move(self, state: State, log_u: Array, *, greedy: bool) -> bool:
        """Whether some cluster is to be split, merged or dropped."""
        k, no_merge = state.k, log_u.copy()
        no_merge[k:] = np.inf
        if super().may_move(state, no_merge, greedy=greedy):
            return True
        pairs, ratio, _ = self.merge_ratios(state, self.rules.neighbours, 0)
        least = log_u[k : k + len(pairs)] + reluctance(self, state.lived[pairs].min(axis=1))
        return bool((ratio > least).any())

    def _fill_merges(self, state: State, most: int, merges: Any) -> int:
        """Fill merges with neighbours, see `heavy_moves.merged`; -1 if a matrix failed."""
        now, rules, n = state.now, self.rules, self.engine.n_rows
        found: int = heavy_moves.merged(
            (state.past, state.past_doubt), (now.current, now.rows, now.rivals, now.doubt),
            log_marginals(self, state).whole, self._rows, self.student.tails, self.prior,
            self.ratio, (rules.frame_rounds, rules.frame_hopeless),
            workspace(n, state.k, state.past.shape[2]), merges,
        )  # fmt: skip
        return found

    @property
    def _rows(self) -> tuple[Array, Array, Labels, Labels, Array]:
        """The rows, tamed and as they came, as kernels take them."""
        rows = self.rows
        assert rows.seen is not None
        return rows.points, rows.weight, rows.labels, rows.sublabels, rows.seen
