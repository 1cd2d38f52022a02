"""The best clusters of a few rows of Gaussian clusters, in one compiled call."""

from __future__ import annotations

import numpy as np

from scstream.engines import CpuEngine
from scstream.engines.ordered_sums import LEAF_ROWS
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points
from scstream.kernels import labelling, small_batch
from scstream.kernels.small_scratch import workspace
from scstream.sampler.clusters import State
from scstream.sampler.rules import Rules
from scstream.sampler.sweep import predictive
from scstream.support.arithmetic import numpy_defaults


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
    if small_batch.assign(X, family.frame, totals, alpha, tuple(prior), room, state.ids, z):
        labelling.named(_best_by_scores(family, X, totals, alpha), state.ids, z)
    return z


@numpy_defaults
def _best_by_scores(family: Family, X: Points, totals: Array, alpha: float) -> Labels:
    return CpuEngine().assign(family, X, predictive(family, totals, alpha))
