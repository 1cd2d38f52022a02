"""Rough groups of rows that are near each other: k-means++ and a few rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families.scores import Array, Points

_ROUNDS = 5
_ROUNDING = 1e-12  # of its squared length that a copy of a centre is away from it


def k_means(E: Points, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return labels (n,) of a rough k-means clustering, numbered from 0 without gaps."""
    square = np.asarray((E * E).sum(axis=1)).ravel()
    centres = _plus_plus(E, square, m, rng)
    for _ in range(_ROUNDS):
        gap = np.asarray(E @ centres.T)
        gap *= -2.0
        gap += (centres * centres).sum(axis=1)
        _, z = np.unique(np.argmin(gap, axis=1), return_inverse=True)
        sums, n = sums_of_groups(E, z)
        centres = sums / n[:, None]
    labels: NDArray[np.int64] = z.astype(np.int64)
    return labels


def sums_of_groups(E: Points, z: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the sums (k, d) of rows by their labels, none of which is missing, and how many."""
    n = np.bincount(z)
    if isinstance(E, np.ndarray):
        order = np.argsort(z, kind="stable")
        return np.add.reduceat(E[order], np.cumsum(n) - n, axis=0), n.astype(np.float64)
    member = sparse.csr_array((np.ones(len(z)), (z, np.arange(len(z)))), shape=(len(n), len(z)))
    return (member @ E).toarray(), n.astype(np.float64)


def _plus_plus(E: Points, square: Array, m: int, rng: np.random.Generator) -> Array:
    """Draw centres, each with probability proportional to its squared distance from the others."""
    n = E.shape[0]
    pick = int(rng.integers(n))
    nearest, cumulated = np.full(n, np.inf), np.empty(n)
    picks = []
    while True:
        picks.append(pick)
        centre = _row(E, pick)
        size = square + centre @ centre
        gap = np.asarray(E @ centre).ravel()
        gap *= -2.0
        gap += size
        size *= _ROUNDING
        gap[gap <= size] = 0.0
        np.minimum(nearest, gap, out=nearest)
        nearest[pick] = 0.0
        np.cumsum(nearest, out=cumulated)
        if len(picks) == m or cumulated[-1] <= 0:
            return np.stack([_row(E, i) for i in picks])
        pick = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        pick = min(pick, n - 1)


def _row(E: Points, i: int) -> Array:
    row: Array = E[i] if isinstance(E, np.ndarray) else E[[i]].toarray()[0]
    return row
