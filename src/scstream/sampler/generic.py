"""The steps of a batch for every family and every engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Key
from scstream.families.contract import Array
from scstream.sampler import forgetting, split_merge, subclusters, sweep
from scstream.sampler.clusters import Ints, State
from scstream.sampler.steps import Divided, Forget, Steps


class GenericSteps(Steps):
    """Each step is a function of the same name, in the module that is about it."""

    def restricted_sweep(self, state: State, key: Key | None = None) -> State:
        """Draw weights and parameters, then every point's label and sub-label."""
        return sweep.restricted_sweep(self, state, key)

    def predictive_sweep(self, state: State, key: Key | None = None) -> State:
        """Draw labels and sub-labels by weight times predictive."""
        return sweep.predictive_sweep(self, state, key)

    def deterministic_sweep(self, state: State) -> State:
        """Give every point its best label by weight times predictive, and both sub-clusters."""
        return sweep.deterministic_sweep(self, state)

    def left_out_sweep(self, state: State) -> State:
        """Do the same, but let no point count in the cluster that it is in when it is labelled."""
        return sweep.left_out_sweep(self, state)

    def forget(self, state: State) -> State:
        """Keep the share of each cluster's past that best predicts its present."""
        return forgetting.forget(self, state)

    def divide(
        self, state: State, chosen: NDArray[np.bool_], key: Key | None = None, *,
        keep_better: bool, forget: Forget | None = None,
    ) -> Divided:  # fmt: skip
        """Try a new division of the chosen clusters, let them forget, and judge it."""
        tried = subclusters.try_division(self, state, chosen, key)
        if forget is not None:
            state = forget(state)
            if self.engine.takes_tensors:  # it is at work on the division meanwhile
                sweep.foresee(self, state)
        current, doubt = tried()
        state, apart = self.judge_division(state, chosen, current, doubt, keep_better=keep_better)
        return Divided(state, current, doubt, apart)

    def judge_division(
        self, state: State, chosen: NDArray[np.bool_], current: Array, doubt: Array, *,
        keep_better: bool,
    ) -> tuple[State, bool]:  # fmt: skip
        """Give the chosen clusters the division that was tried, or only where it is better."""
        return subclusters.judge_division(
            self, state, chosen, current, doubt, keep_better=keep_better
        )

    def merge_ratios(
        self, state: State, neighbours: int, born_from: int
    ) -> tuple[Ints, Array, Array]:
        """Return pairs (m, 2) that may merge, log ratios (m,), log marginals of both together."""
        return split_merge.merge_ratios(self, state, neighbours, born_from)

    def may_move(self, state: State, log_u: Array, *, greedy: bool) -> bool:
        """Say that some cluster may be split, merged or dropped: the moves themselves find out."""
        return True
