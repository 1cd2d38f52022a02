"""Rough groups of rows that are near each other: k-means++ and a few rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families.scores import Array, Points
from scstream.kernels.centres import approach, choose_nearest

_ROUNDS = 4  # after the centres of k-means++
_BLOCK = 256  # rows whose distances are taken at a time


def k_means(E: Points, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return labels (n,) of a rough k-means clustering, numbered from 0 without gaps."""
    z = _numbered(_plus_plus(E, m, rng)[1])
    for _ in range(_ROUNDS):
        sums, n = sums_of_groups(E, z)
        centres = sums / n[:, None]
        lengths = (centres * centres).sum(axis=1)
        for a in range(0, len(z), _BLOCK):
            choose_nearest(E[a : a + _BLOCK] @ centres.T, lengths, z[a : a + _BLOCK])
        z = _numbered(z)
    return z


def _numbered(z: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels without those that no row has."""
    place: NDArray[np.int64] = np.cumsum(np.bincount(z) > 0) - 1
    return place[z]


def sums_of_groups(E: Points, z: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the sums (k, d) of rows by their labels, none of which is missing, and how many."""
    n, rows = np.bincount(z), len(z)
    member = sparse.csc_array((np.ones(rows), z, np.arange(rows + 1)), shape=(len(n), rows))
    found = member @ E
    sums: Array = found if isinstance(found, np.ndarray) else found.toarray()
    return sums, n.astype(np.float64)


def _plus_plus(E: Points, m: int, rng: np.random.Generator) -> tuple[list[int], NDArray[np.int64]]:
    """Draw rows as centres, each with probability proportional to its squared distance from others.

    Returns their places, and the nearest centre of each row (n,).
    """
    n, square = E.shape[0], np.asarray((E * E).sum(axis=1), dtype=np.float64).ravel()
    pick, picks = int(rng.integers(n)), list[int]()
    nearest, cumulated, z = np.full(n, np.inf), np.empty(n), np.zeros(n, dtype=np.int64)
    across = np.ascontiguousarray(E.T) if isinstance(E, np.ndarray) else E.T
    while True:
        product = np.asarray(_row(E, pick) @ across, dtype=np.float64).ravel()
        approach(product, square, float(square[pick]), len(picks), nearest, z, cumulated)
        picks.append(pick)
        if len(picks) == m or cumulated[-1] <= 0:
            return picks, z
        pick = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        pick = min(pick, n - 1)


def _row(E: Points, i: int) -> Array:
    row: Array = E[i] if isinstance(E, np.ndarray) else E[[i]].toarray()[0]
    return row
