"""A deliberate over-clustering from which the first batch starts: k-means++ and a few rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families.contract import Array, Family
from scstream.families.scores import Points
from scstream.sampler.rules import RULES, Rules

_ROUNDS = 5
_LEAST_COLUMNS = 3  # with fewer, all of them matter


def over_cluster(
    family: Family, X: Points, m: int, rng: np.random.Generator, weight: Array | None = None
) -> Array:
    """Return statistics (k, p) of at most m groups of the given rows; columns may have weights."""
    E = family.embed(X)
    if weight is not None:
        E = E * weight
    z = k_means(E, m, rng)
    T = family.statistics(X)
    k = int(z.max()) + 1
    member = sparse.csr_array((np.ones(len(z)), (z, np.arange(len(z)))), shape=(k, len(z)))
    sums = member @ T
    return np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray())


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


def k_means(E: Points, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return labels (n,) of a rough k-means clustering, numbered from 0 without gaps."""
    square = np.asarray((E * E).sum(axis=1)).ravel()
    centres = _plus_plus(E, square, m, rng)
    for _ in range(_ROUNDS):
        gap = (centres * centres).sum(axis=1) - 2.0 * np.asarray(E @ centres.T)
        z = np.argmin(gap, axis=1)
        used, z = np.unique(z, return_inverse=True)
        n = np.bincount(z)
        member = sparse.csr_array((1.0 / n[z], (z, np.arange(len(z)))), shape=(len(used), len(z)))
        means = member @ E
        centres = np.asarray(means if isinstance(means, np.ndarray) else means.toarray())
    labels: NDArray[np.int64] = z.astype(np.int64)
    return labels


def _plus_plus(E: Points, square: Array, m: int, rng: np.random.Generator) -> Array:
    """Draw centres, each with probability proportional to its squared distance from the others."""
    n = E.shape[0]
    pick = int(rng.integers(n))
    nearest = np.full(n, np.inf)
    picks = []
    while True:
        picks.append(pick)
        centre = _row(E, pick)
        size = square + centre @ centre
        gap = size - 2.0 * np.asarray(E @ centre).ravel()
        # rounding leaves copies of a centre at a tiny distance from it
        nearest = np.minimum(nearest, np.where(gap > 1e-12 * size, gap, 0.0))
        nearest[pick] = 0.0
        cumulated = np.cumsum(nearest)
        if len(picks) == m or cumulated[-1] <= 0:
            return np.stack([_row(E, i) for i in picks])
        pick = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        pick = min(pick, n - 1)


def _row(E: Points, i: int) -> Array:
    row: Array = E[i] if isinstance(E, np.ndarray) else E[[i]].toarray()[0]
    return row
