"""Sums of rows by label and sub-label, each in the order of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream import core
from scstream.families.contract import Array
from scstream.families.scores import Labels, Points

Ints = NDArray[np.int64]


def by_label(T: Points, weight: Array, z: Labels, sub: Labels, k: int) -> Array:
    """Return the sums (k, 2, p) of rows (n, p); labels out of range are left out."""
    inside = (z >= 0) & (z < k)
    cell = np.where(inside, 2 * z + sub, 2 * k)
    return _product(T, weight, cell, np.arange(len(z) + 1), k)


def by_share(T: Points, weight: Array, z: Labels, share: Array, k: int) -> Array:
    """Return the sums (k, 2, p) of rows that go to both sides, by shares (n,) of the second."""
    inside = (z >= 0) & (z < k)
    first = np.where(inside, 2 * z, 2 * k)
    cell = np.column_stack([first, np.where(inside, first + 1, 2 * k)])
    two = weight * share
    parts = np.column_stack([weight - two, two])
    return _product(T, parts.ravel(), cell.ravel(), 2 * np.arange(len(z) + 1), k)


def _product(T: Points, weight: Array, cell: Labels, ends: Ints, k: int) -> Array:
    """Return the product of a table of weights, a column for each row, with the rows."""
    n, p = T.shape
    if sparse.issparse(T):
        sides, out = (n, len(cell) // max(n, 1)), np.zeros((2 * k, p))
        rows = T.data, T.indices, T.indptr
        core.add_compressed(rows, weight.reshape(sides), cell.reshape(sides), out)
        return out.reshape(k, 2, p)
    table = sparse.csc_array((weight, cell, ends), shape=(2 * k + 1, n))
    return np.array((table @ T)[: 2 * k], dtype=np.float64).reshape(k, 2, p)


def counted(
    z: Labels, sub: Labels, second: Labels, entropies: Array, weight: Array, k: int
) -> tuple[Ints, Ints, Array]:
    """Return rows (k, 2), second choices (k, k) and entropies (k, k) of labels in range.

    Entropies (2, n) are those of the labels against second choices, and of the sub-labels.
    """
    inside = (z >= 0) & (z < k)
    z, sub, w = z[inside], sub[inside], weight[inside]
    second, entropy, own = second[inside], entropies[0, inside], entropies[1, inside]
    rows: Ints = np.bincount(2 * z + sub, minlength=2 * k).reshape(k, 2)
    near = (second >= 0) & (second < k)
    pair = z[near] * k + second[near]
    rivals: Ints = np.bincount(pair, minlength=k * k).reshape(k, k)
    between: Array = np.bincount(pair, (w * entropy)[near], k * k).astype(np.float64).reshape(k, k)
    between[np.diag_indices(k)] += np.bincount(z, w * own, minlength=k)
    return rows, rivals, between
