"""Compiled kernels of k-means: which centre is nearest, from products of rows and centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.compiling import bare

_ROUNDING = 1e-12  # of its squared length that a copy of a centre is away from it


@bare
def approach(
    product: Any, square: Any, length: float, label: int, nearest: Any, z: Any, cumulated: Any
) -> None:
    """Give rows (n,) to one more centre where it is nearer than those before.

    ``product`` (n,) are the products of the rows with the centre, ``square`` and ``length`` the
    squares of both. Squared distances to the nearest centre are updated, and cumulated.
    """
    total = 0.0
    for i in range(len(product)):
        size = square[i] + length
        gap = size - 2.0 * product[i]
        if gap <= _ROUNDING * size:
            gap = 0.0
        if gap < nearest[i]:
            nearest[i] = gap
            z[i] = label
        total += nearest[i]
        cumulated[i] = total


@bare
def choose_nearest(products: Any, lengths: Any, z: Any) -> None:
    """Fill which centre is nearest to rows (n,), from products (n, m) and squared lengths (m,)."""
    for i in range(len(products)):
        least, z[i] = np.inf, 0
        for c in range(len(lengths)):
            gap = lengths[c] - 2.0 * products[i, c]
            if gap < least:
                least, z[i] = gap, c
