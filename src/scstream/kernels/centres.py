"""Compiled kernels of k-means: which centre is nearest, where another than before can be.

A centre that is twice as far from a row's own centre as the row is, or farther, is no nearer to it.

Rows (n, d) come with centres (m, d); or their products with these, (n, m), with centres (m, 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.compiling import bare, part

_ROUNDING = 1e-12  # of its squared length that a copy of a centre is away from it


@bare
def approach(
    rows: Any, centres: Any, square: Any, picks: Any, m: int, apart: Any, nearest: Any, z: Any,
    cumulated: Any,
) -> None:  # fmt: skip
    """Give rows to one more centre, the last of m picks among them, where it is nearer.

    ``square`` (n,) are the squares of the rows. How far the picks are apart is filled into
    ``apart`` (m,). Squared distances to the nearest centre are updated, and cumulated.
    """
    length, total = square[picks[m - 1]], 0.0
    for c in range(m):
        apart[c] = _gap(rows, centres, square, length, picks[c])
    for i in range(len(rows)):
        if apart[z[i]] <= 4.0 * nearest[i]:
            gap = _gap(rows, centres, square, length, i)
            if gap < nearest[i]:
                nearest[i] = gap
                z[i] = m - 1
        total += nearest[i]
        cumulated[i] = total


@bare
def choose_nearest(
    rows: Any, centres: Any, square: Any, lengths: Any, apart: Any, reach: Any, near: Any, z: Any
) -> None:
    """Fill which of the centres is nearest to rows, from one that may be (n,).

    ``square`` (n,) and ``lengths`` (m,) are the squares of both, ``apart`` (m, m) the squared
    distances of centres. Up to which distance others are looked at is filled into ``reach`` (n,),
    and which of them for any row of a centre, the last being how many, into ``near`` (m, m + 1).
    """
    m = len(centres)
    near[:, m] = -1
    for i in range(len(rows)):
        own = z[i]
        size = square[i] + lengths[own]
        reach[i] = 4.0 * (size - 2.0 * _product(rows, centres, i, own)) + _ROUNDING * size
        if near[own, m] < 0 or reach[i] > reach[near[own, m]]:
            near[own, m] = i
    for own in range(m):
        farthest, count = near[own, m], 0
        for c in range(m if farthest >= 0 else 0):
            if apart[own, c] <= reach[farthest]:
                near[own, count] = c
                count += 1
        near[own, m] = count
    for i in range(len(rows)):
        own, least = z[i], np.inf
        for place in range(near[own, m]):
            c = near[own, place]
            if apart[own, c] <= reach[i]:
                gap = lengths[c] - 2.0 * _product(rows, centres, i, c)
                if gap < least:
                    least, z[i] = gap, c


@part
def _gap(rows: Any, centres: Any, square: Any, length: Any, i: Any) -> Any:
    """Return the squared distance of a row from the one centre, whose square is the length."""
    size = square[i] + length
    gap = size - 2.0 * _product(rows, centres, i, 0)
    return 0.0 if gap <= _ROUNDING * size else gap


@part
def _product(rows: Any, centres: Any, i: Any, c: Any) -> Any:
    if centres.shape[1] == 0:
        return rows[i, c]
    total = 0.0
    for j in range(centres.shape[1]):
        total += rows[i, j] * centres[c, j]
    return total
