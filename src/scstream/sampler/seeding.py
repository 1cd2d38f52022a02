"""A deliberate over-clustering from which the first batch starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.k_means import k_means, sums_of_groups
from scstream.families.scores import Points
from scstream.sampler.rules import RULES, Rules

_LEAST_COLUMNS = 3  # with fewer, all of them matter


def over_cluster(
    family: Family, X: Points, m: int, rng: np.random.Generator, E: Points | None = None
) -> Array:
    """Return statistics (k, p) of at most m groups of the given rows.

    Rows of a group are near each other as the family embeds them, or in other coordinates E.
    """
    z = k_means(family.embed(X) if E is None else E, m, rng)
    return sums_of_groups(family.statistics(X), z)[0]


def informative_columns(E: Points, rules: Rules = RULES) -> Array | None:
    """Return weights (d,) of columns by how flat they are, None if none is.

    Separate heaps make a column flat: its fourth moment, in units of the variance squared, is
    less than a normal's 3. A weight is what it lacks, in units of the column's deviation.
    """
    if not isinstance(E, np.ndarray) or E.shape[1] < _LEAST_COLUMNS:
        return None
    deviation = E.std(axis=0)
    z = (E - E.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    lack = 3.0 - np.square(z * z).mean(axis=0)  # a power would take twenty times as long
    lack[deviation == 0] = 0.0
    if lack.max() < rules.flat_by:
        return None
    out: Array = np.clip(lack, rules.least_column_weight, None) / np.where(
        deviation > 0, deviation, 1.0
    )
    return out


def in_deviations_within(E: Points, z: NDArray[np.int64], rules: Rules = RULES) -> Array | None:
    """Return rows E (n, d) in units of their deviations from the means of groups.

    The groups are given by labels (n,), numbered from 0 without gaps. Returns None where groups
    are about round, so that distances would stay what they are.
    """
    if not isinstance(E, np.ndarray):
        return None
    sums, n = sums_of_groups(E, z)
    off = E - (sums / n[:, None])[z]
    variance, axis = np.linalg.eigh(off.T @ off)
    if variance[-1] <= rules.round_by * variance[0]:
        return None
    out: Array = E @ (axis / np.sqrt(np.maximum(variance, 1e-12 * variance[-1])))
    return out
