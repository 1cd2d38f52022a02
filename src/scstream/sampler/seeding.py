"""A deliberate over-clustering from which the first batch starts."""

from __future__ import annotations

import numpy as np

from scstream.families.contract import Array, Family
from scstream.families.k_means import k_means, sums_of_groups
from scstream.families.scores import Points
from scstream.sampler.rules import RULES, Rules

_LEAST_COLUMNS = 3  # with fewer, all of them matter


def over_cluster(
    family: Family, X: Points, m: int, rng: np.random.Generator, weight: Array | None = None
) -> Array:
    """Return statistics (k, p) of at most m groups of the given rows; columns may have weights."""
    E = family.embed(X)
    if weight is not None:
        E = E * weight
    return sums_of_groups(family.statistics(X), k_means(E, m, rng))[0]


def informative_columns(E: Points, rules: Rules = RULES) -> Array | None:
    """Return weights (d,) of columns by how flat they are, None if none is.

    Separate heaps make a column flat: its fourth moment, in units of the variance squared, is
    less than a normal's 3. A weight is what it lacks, in units of the column's deviation.
    """
    if not isinstance(E, np.ndarray) or E.shape[1] < _LEAST_COLUMNS:
        return None
    deviation = E.std(axis=0)
    z = (E - E.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    lack = 3.0 - (z**4).mean(axis=0)
    lack[deviation == 0] = 0.0
    if lack.max() < rules.flat_by:
        return None
    out: Array = np.clip(lack, rules.least_column_weight, None) / np.where(
        deviation > 0, deviation, 1.0
    )
    return out
