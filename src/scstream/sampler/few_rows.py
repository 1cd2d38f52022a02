"""The best clusters of a few rows of Gaussian clusters, and densities: one compiled call each."""

from __future__ import annotations

import numpy as np

from scstream.engines import CpuEngine
from scstream.engines.ordered_sums import LEAF_ROWS
from scstream.families.contract import Array, Family, GaussianPrior
from scstream.families.scores import Labels, Points
from scstream.kernels import labelling, small_batch
from scstream.kernels.small_scratch import workspace
from scstream.sampler.clusters import State
from scstream.sampler.rules import Rules
from scstream.sampler.sweep import predictive
from scstream.support.arithmetic import numpy_defaults


def prior_for_few(family: Family, rules: Rules, n: int) -> GaussianPrior | None:
    """Return the prior that `best_ids` takes, None if it does not serve so many rows."""
    prior = family.small_gaussian()
    few = prior is not None and prior.columns <= rules.compiled_columns and 0 < n <= LEAF_ROWS
    return prior if few else None


def best_ids(
    family: Family, prior: GaussianPrior, alpha: float, state: State, X: Points
) -> Labels | None:
    """Return the best clusters (n,) of a few rows in one compiled call; None if some have gaps.

    So it is if they have infinities.
    """
    z: Labels = np.empty(len(X), np.int64)
    X, totals = family.check(X), state.totals
    if family.narrows:
        if not np.isfinite(X).all():
            return None
        X = family.narrowed(X)
    room = workspace(0, *totals.shape)
    failed = small_batch.assign(X, family.frame, totals, alpha, tuple(prior), room, state.ids, z)
    if failed < 0:
        return None
    if failed:
        labelling.named(_best_by_scores(family, X, totals, alpha), state.ids, z)
    return z


def few_log_densities(
    family: Family, prior: GaussianPrior, alpha: float, state: State, X: Points
) -> Array | None:
    """Return the log densities (n,) of a few rows without the base measure; None as above."""
    totals, out = state.totals, np.empty(len(X))
    X = np.ascontiguousarray(family.narrowed(X), dtype=np.float64)
    room = workspace(0, len(totals) + 1, totals.shape[1])
    failed = small_batch.densities(X, family.frame, totals, alpha, tuple(prior), room, out)
    return None if failed else out


@numpy_defaults
def _best_by_scores(family: Family, X: Points, totals: Array, alpha: float) -> Labels:
    return CpuEngine().assign(family, X, predictive(family, totals, alpha))
