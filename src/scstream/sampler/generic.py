"""The steps of a batch for every family and every engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Key
from scstream.families.contract import Array
from scstream.sampler import forgetting, split_merge, subclusters, sweep
from scstream.sampler.clusters import State
from scstream.sampler.steps import Divided, Forget, Steps


class GenericSteps(Steps):
    """Each step is a function of the same name, in the module that is about it."""

    restricted_sweep = sweep.restricted_sweep
    predictive_sweep = sweep.predictive_sweep
    deterministic_sweep = sweep.deterministic_sweep
    left_out_sweep = sweep.left_out_sweep
    forget = forgetting.forget
    judge_division = subclusters.judge_division
    merge_ratios = split_merge.merge_ratios

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

    def may_move(self, state: State, log_u: Array, *, greedy: bool) -> bool:
        """Say that some cluster may be split, merged or dropped: the moves themselves find out."""
        return True
