"""K-means: which centre is nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDING = 1e-12  # of its squared length that a copy of a centre is away from it


def approach(
    rows: Floats, centre: Floats, square: Floats, picks: Ints, nearest: Floats, z: Ints,
    cumulated: Floats,
) -> None:  # fmt: skip
    """Give rows to one more centre, the last of the picks, where it is nearer."""
    size = square + square[picks[-1]]
    gap = size - 2.0 * _products(rows, centre)[:, 0]
    gap[gap <= _ROUNDING * size] = 0.0
    nearer = gap < nearest
    nearest[nearer], z[nearer] = gap[nearer], len(picks) - 1
    np.cumsum(nearest, out=cumulated)


def choose_nearest(
    rows: Floats, centres: Floats, square: Floats, lengths: Floats, apart: Floats, z: Ints
) -> None:
    """Find the nearest centre of each row."""
    z[:] = np.argmin(lengths - 2.0 * _products(rows, centres), axis=1)


def _products(rows: Floats, centres: Floats) -> Floats:
    """Return the products (n, m) of rows with centres: given where centres have no columns."""
    return rows @ centres.T if centres.shape[1] else rows
