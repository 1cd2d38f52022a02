"""A deliberate over-clustering from which the first batch starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from scstream.core.k_means import k_means, sums_of_groups
from scstream.families.contract import Array, Family
from scstream.families.scores import Points
from scstream.sampler.rules import RULES, Rules

Ints = NDArray[np.int64]
_LEAST_COLUMNS = 3  # with fewer, all of them matter
_ROUNDS = 4  # of 2-means within each group


class Shares(NamedTuple):
    """Shares of groups that are two clusters rather than one.

    Attributes
    ----------
    own : float
        The share of groups, by a prior that suits their two sides.
    same : float
        The share of rows in them, by one that suits the groups.
    """

    own: float
    same: float


def over_cluster(
    family: Family, X: Points, m: int, rng: np.random.Generator, E: Points | None = None
) -> Array:
    """Return statistics (k, p) of at most m groups of the given rows.

    Rows of a group are near each other as the family embeds them, or in other coordinates E.
    """
    z = k_means(family.embed(X) if E is None else E, m, rng)
    return sums_of_groups(family.statistics(X), z)[0]


def enough_groups(
    family: Family, X: Points, sizes: tuple[int, int], rng: np.random.Generator, alpha: float,
    rules: Rules = RULES,
) -> Array:  # fmt: skip
    """Return statistics (k, p) of so many groups at most, or of more where these hold several.

    ``sizes`` are the usual number of groups and the most of them. Clusters that share a group from
    the start hardly come apart again.
    """
    (m, most), E, T = sizes, family.embed(X), family.statistics(X)
    while True:
        z = k_means(E, m, rng)
        groups = sums_of_groups(T, z)[0]
        if m >= most or sparse.issparse(E) or sparse.issparse(T):
            return groups
        own, same = shares_divided(family, T, z, sides_of(E, z), alpha)
        if own <= rules.divided_groups or same <= rules.divided_rows:
            return groups
        m = min(2 * m, most)


def sides_of(E: Array, z: Ints) -> Array:
    """Return which side of its group each row (n,) is on, 0 or 1: by 2-means in each group."""
    sums, n = sums_of_groups(E, z)
    a = E[_farthest(E, sums / n[:, None], z)]
    b = E[_farthest(E, a, z)]
    for _ in range(_ROUNDS):
        middle = np.einsum("ij,ij->i", a + b, b - a) / 2.0
        side: Array = (np.einsum("ij,ij->i", E, (b - a)[z]) > middle[z]).astype(np.float64)
        a, b = _mean(E, z, 1.0 - side), _mean(E, z, side)
    return side


def _mean(E: Array, z: Ints, weight: Array) -> Array:
    """Return the mean (k, d) of each group's rows that have weight; 0 if none has."""
    mean: Array = sums_of_groups(weight[:, None] * E, z)[0]
    mean /= np.maximum(np.bincount(z, weight), 1.0)[:, None]
    return mean


def _farthest(E: Array, centres: Array, z: Ints) -> NDArray[np.intp]:
    """Return the place (k,) of the row of each group that is farthest from the group's centre."""
    off = np.square(E - centres[z]).sum(axis=1)
    return np.lexsort((off, z))[np.cumsum(np.bincount(z)) - 1]


def shares_divided(family: Family, T: Array, z: Ints, side: Array, alpha: float) -> Shares:
    """Return in how many groups the two sides are more probable as two clusters than as one."""
    whole, n = sums_of_groups(T, z)
    each = np.stack([sums_of_groups(w[:, None] * T, z)[0] for w in (1.0 - side, side)])
    both = (each[..., 0] > 0).all(axis=0)
    each, whole, prior = each[:, both], whole[both], family.adapt(whole)
    if not both.any():
        return Shares(0.0, 0.0)
    before = prior.log_marginal(whole) + gammaln(whole[:, 0]) - np.log(alpha)
    after = [f.log_marginal(each) for f in (prior.adapt(each.reshape(-1, T.shape[1])), prior)]
    own, same = ((m + gammaln(each[..., 0])).sum(axis=0) > before for m in after)
    return Shares(float(own.sum() / len(n)), float(whole[same, 0].sum() / n.sum()))


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
