"""Rough groups of rows that are near each other: k-means++ and a few rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.core import Floats as Array
from scstream.core import approach, choose_nearest
from scstream.support.threads import over_rows

_ROUNDS = 4  # after the centres of k-means++
_BLOCK = 4096  # rows that are taken at a time
_FEW_COLUMNS = 32  # up to which products of rows with the centres that may be near are fastest


def k_means(E: Any, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return labels (n,) of a rough k-means clustering, numbered from 0 without gaps."""
    if isinstance(E, np.ndarray):
        E = np.ascontiguousarray(E, dtype=np.float64)
    square = np.asarray((E * E).sum(axis=1), dtype=np.float64).ravel()
    z = _numbered(_plus_plus(E, square, m, rng)[1])
    for _ in range(_ROUNDS):
        sums, n = sums_of_groups(E, z)
        _choose_nearest(E, square, sums / n[:, None], z)
        z = _numbered(z)
    return z


def _choose_nearest(E: Any, square: Array, centres: Array, z: NDArray[np.int64]) -> None:
    """Fill which of the centres (m, d) is nearest to each row (n,), from one that may be."""
    product = centres @ centres.T
    lengths = product.diagonal().copy()
    apart = np.add.outer(lengths, lengths) - 2.0 * product
    np.fill_diagonal(apart, 0.0)

    def job(cut: slice) -> None:
        for a in range(cut.start, cut.stop, _BLOCK):
            at = slice(a, min(a + _BLOCK, cut.stop))
            choose_nearest(*_factors(E[at], centres), square[at], lengths, apart, z[at])

    over_rows(job, len(z), width=len(centres))


def _factors(E: Any, centres: Array) -> tuple[Array, Array]:
    """Return rows and centres as the core takes them: of sparse or wide rows it is the products."""
    if isinstance(E, np.ndarray) and E.shape[1] <= _FEW_COLUMNS:
        return E, centres
    return np.ascontiguousarray(E @ centres.T, dtype=np.float64), np.empty((len(centres), 0))


def _numbered(z: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels without those that no row has."""
    place: NDArray[np.int64] = np.cumsum(np.bincount(z) > 0) - 1
    return place[z]


def sums_of_groups(E: Any, z: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the sums (k, d) of rows by their labels, none of which is missing, and how many."""
    n, rows = np.bincount(z), len(z)
    member = sparse.csc_array((np.ones(rows), z, np.arange(rows + 1)), shape=(len(n), rows))
    found = member @ E
    sums: Array = found if isinstance(found, np.ndarray) else found.toarray()
    return sums, n.astype(np.float64)


def _plus_plus(
    E: Any, square: Array, m: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw rows as centres, each with probability proportional to its squared distance from others.

    Returns their places, and the nearest centre of each row. ``square`` (n,) are rows' squares.
    """
    n, count = len(square), 0
    pick, picks = int(rng.integers(n)), np.empty(m, dtype=np.int64)
    nearest, cumulated, z = np.full(n, np.inf), np.empty(n), np.zeros(n, dtype=np.int64)
    while True:
        picks[count] = pick
        count += 1
        rows, centre = _factors(E, _row(E, pick))
        approach(rows, centre, square, picks[:count], nearest, z, cumulated)
        if count == m or cumulated[-1] <= 0:
            return picks[:count], z
        pick = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        pick = min(pick, n - 1)


def _row(E: Any, i: int) -> Array:
    return E[i : i + 1] if isinstance(E, np.ndarray) else E[[i]].toarray()
