"""Rough groups of rows that are near each other: k-means++ and a few rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families.scores import Array, Points

_ROUNDS = 5


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
