"""Parts of kernels that work on many small symmetric matrices side by side.

A matrix alone waits for each quotient before it can go on. So a few dozen are taken at a time, and
every operation is a loop over these, which becomes vector code. The same number of each of them
makes a row, of which the first m entries are in use. No sum is reordered: a matrix gives the same
bits wherever it stands.

Statistics are packed as in `scstream.kernels.matrices`. Lower triangles are packed row after row.
"""

from __future__ import annotations

from math import isnan, log, sqrt
from typing import Any

import numpy as np

from scstream.kernels.arguments import Int
from scstream.kernels.compiling import in_order_apart, part
from scstream.kernels.elementary import logs

SIDE = 32  # matrices side by side, at most
ROWS = 6  # of numbers that are worked on besides matrices
_FULL = 1e100  # a product that had better not grow: a logarithm less is taken for each factor


@part
def rows_of(room: Any, n: Int) -> Any:
    """Return n rows for as many matrices as there is room for, `SIDE` at most, and how many."""
    side = min(SIDE, len(room) // n)
    if side == 0:
        raise MemoryError("The workspace is too small.")
    return room[: n * side].reshape(n, side), side


@in_order_apart
def scatters(s: Any, g: Int, prior: Any, d: int, tau: Any, mean: Any, L: Any) -> None:
    """Fill counts and sums (1 + d rows) of group g at ``prior + s``, s being (m, groups, p).

    The packed lower triangle of its scatter is added to those of the groups before it.
    """
    m, at = len(s), 1 + d
    for q in range(1 + d):
        row = tau[q]
        for r in range(m):
            row[r] = prior[q] + s[r, g, q]
    for i in range(d):
        first = tau[1 + i]
        for r in range(m):
            mean[r] = first[r] / tau[0, r]
        for j in range(i, d):
            to, other = L[j * (j + 1) // 2 + i], tau[1 + j]
            for r in range(m):
                new = prior[at] + s[r, g, at] - mean[r] * other[r]
                to[r] = new + (to[r] if g > 0 else 0.0)
            at += 1


@in_order_apart
def factor(L: Any, d: int, inverse: Any, product: Any, out: Any) -> Any:
    """Replace packed lower triangles by their Cholesky factors; fill the log determinants (m,).

    Also the inverses of their diagonals. Where a matrix is not positive definite the log
    determinant is NaN; returns how often.
    """
    m, at = len(out), 0
    for r in range(m):
        product[r], out[r] = 1.0, 0.0
    for i in range(d):
        above = 0
        for j in range(i + 1):
            to = L[at + j]
            for a in range(j):
                subtract(to, L[at + a], L[above + a], m)
            above += j + 1
            if j < i:
                by = inverse[j]
                for r in range(m):
                    to[r] *= by[r]
        pivot, by = L[at + i], inverse[i]
        _take_pivots(pivot, product, out)
        for r in range(m):
            pivot[r] = sqrt(pivot[r])
        for r in range(m):
            by[r] = 1.0 / pivot[r]
        at += i + 1
    return logarithms(product, out)


@in_order_apart
def invert(L: Any, d: int, m: int, out: Any) -> None:
    """Fill the packed inverses of m packed lower triangles."""
    at = 0
    for i in range(d):
        last, diagonal = out[at + i], L[at + i]
        for r in range(m):
            last[r] = 1.0 / diagonal[r]
        for j in range(i):
            to, above = out[at + j], j * (j + 1) // 2 + j
            for r in range(m):
                to[r] = 0.0
            for a in range(j, i):
                subtract(to, L[at + a], out[above], m)
                above += a + 1
            for r in range(m):
                to[r] *= last[r]
        at += i + 1


@in_order_apart
def add(to: Any, one: Any, other: Any, m: int) -> None:
    """Add products."""
    for r in range(m):
        to[r] += one[r] * other[r]


@in_order_apart
def subtract(to: Any, one: Any, other: Any, m: int) -> None:
    """Subtract products."""
    for r in range(m):
        to[r] -= one[r] * other[r]


@in_order_apart
def _take_pivots(pivot: Any, product: Any, level: Any) -> None:
    """Multiply determinants (m,) by pivots; the level becomes NaN where one is not positive."""
    far = 0
    for r in range(len(level)):
        fine = pivot[r] > 0.0
        level[r] = level[r] if fine else np.nan
        product[r] *= pivot[r] if fine else 1.0
        far += not (1.0 / _FULL < product[r] < _FULL)
    if far > 0:
        _bound(product, level)


@in_order_apart
def multiply(product: Any, by: Any, level: Any) -> None:
    """Multiply products (m,) of which `logarithms` are sought, the levels (m,) being a part."""
    far = 0
    for r in range(len(level)):
        product[r] *= by[r]
        far += not (1.0 / _FULL < product[r] < _FULL)
    if far > 0:
        _bound(product, level)


@in_order_apart
def _bound(product: Any, level: Any) -> None:
    """Take the logarithms of products that have become too large or too small: they begin anew."""
    for r in range(len(level)):
        if not 1.0 / _FULL < product[r] < _FULL:
            level[r] += log(product[r])
            product[r] = 1.0


@in_order_apart
def logarithms(product: Any, level: Any) -> Any:
    """Add the logarithms of products (m,) to their levels; returns how many are NaN."""
    logs(product, len(level))
    failed = 0
    for r in range(len(level)):
        level[r] += product[r]
        failed += isnan(level[r])
    return failed
