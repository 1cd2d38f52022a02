"""Rows of many columns: distances by triangular factors, and sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scstream.core import Floats, Ints


def distances(
    Z: Floats, W: Floats, b: Floats, rows: Ints, which: Ints, far: Floats, out: Floats
) -> None:
    """Fill squared distances of rows under components."""
    for c in np.unique(which):
        at = which == c
        y = np.einsum("na,ja->nj", Z[rows[at]], W[c]) - b[c]
        out[at] = np.einsum("nj,nj->n", y, y)


def invert_factors(factors: Floats, W: Floats) -> None:
    """Fill the inverses of packed triangular factors."""
    d = W.shape[1]
    L = np.zeros(W.shape)
    L[:, *np.tril_indices(d)] = factors[:, 1 + d :]
    W[:] = np.tril(np.linalg.inv(L))


def leading_distances(Z: Floats, W: Floats, b: Floats, m: int, out: Floats) -> None:
    """Fill the parts of squared distances that the first m rows of W add."""
    for c in range(len(W)):
        y = np.einsum("na,ja->nj", Z[:, :m], W[c, :m, :m]) - b[c, :m]
        out[:, c] = np.einsum("nj,nj->n", y, y)


def sum_products(Z: Floats, weight: Floats, share: Floats, z: Ints, out: Floats) -> None:
    """Fill sums of rows by label and side."""
    i, j = np.triu_indices(1 + Z.shape[1])
    two = weight * share
    for c in range(len(out)):
        at = z == c
        A = np.column_stack([np.ones(at.sum()), Z[at]])
        for side, w in enumerate((weight - two, two)):
            out[c, side] = ((A * w[at, None]).T @ A)[i, j]
