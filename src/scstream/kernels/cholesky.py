"""Cholesky factors of many columns, four rows and four columns at a time.

From about 16 columns on this takes half the time of `scstream.kernels.matrices`, and it takes
longer to compile. Elements are addressed one by one because a slice within a loop costs more than
what is done to it.
"""

from __future__ import annotations

from math import isnan, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, helper, part
from scstream.kernels.crew import Crew, for_each, on_threads, own_of

Floats = NDArray[np.float64]


class Factoring(NamedTuple):
    """What a thread factors a matrix in: see `crew.for_each`."""

    L: Floats
    inverse: Floats
    tau: Floats
    mean: Floats

    @staticmethod
    def of(threads: int, d: int) -> Factoring:
        """Return memory of each thread for so many columns, and some more up to a multiple of 4."""
        size = d + -d % 4
        return Factoring(
            for_each(threads, (size, size)),
            for_each(threads, (size,)),
            for_each(threads, (1 + d + d * (d + 1) // 2,)),
            for_each(threads, (d,)),
        )


@bare
def factor(
    crew: Crew, s: Any, prior: Any, vector: Any, memory: Factoring, taken: Any, out: Any,
    log_det: Any,
) -> None:  # fmt: skip
    """Factor the scatter of posteriors on threads, see `scstream.kernels.matrices.factor`.

    Without room for rows, (0, p), log determinants are all that is filled. They are NaN where it
    failed. How many matrices are ``taken`` is counted there from 0.
    """
    on_threads(crew, _factor_share, (crew, s, prior, vector, memory, taken, out, log_det))


@part
def _factor_share(thread: int, given: Any) -> None:
    crew, s, prior, vector, memory, taken, out, log_det = given
    own = own_of(memory, thread, crew.threads)
    row = claim(taken, 0)
    while row < len(s):
        log_det[row] = _factor(s[row], prior, own)
        if len(out) > 0 and not isnan(log_det[row]):
            aim = vector[row] if len(vector) else own.mean
            _fill_row(own, aim, out[row])
        row = claim(taken, 0)


@part
def _factor(s: Any, prior: Any, own: Factoring) -> Any:
    """Factor the scatter of groups (g, p), and return its log determinant."""
    L, tau, size, d = own.L, own.tau, len(own.L), len(own.mean)
    for i in range(size):  # columns of the identity make the size a multiple of 4
        for j in range(i):
            L[i, j] = 0.0
        L[i, i] = 0.0 if i < d else 1.0
    for back in range(len(s)):  # the first group's mean is needed to the end
        g = len(s) - 1 - back
        for q in range(len(prior)):
            tau[q] = prior[q] + s[g, q]
        _add_scatter(tau, own.mean, L)
    return _cholesky(L, own.inverse)


@part
def _fill_row(own: Factoring, aim: Any, out: Any) -> None:
    """Fill a row ``(kappa, L^-1 aim, L)``."""
    L, d = own.L, len(own.mean)
    out[0] = own.tau[0]
    q = 1 + d
    for i in range(d):
        t = aim[i]
        for j in range(i):
            t -= L[i, j] * out[1 + j]
            out[q + j] = L[i, j]
        out[q + i] = L[i, i]
        out[1 + i] = t * own.inverse[i]
        q += i + 1


@part
def _add_scatter(tau: Any, mean: Any, L: Any) -> None:
    """Add the scatter at ``tau`` to the lower triangle of L, and fill the mean.

    What this writes above the diagonal, within its blocks, means nothing.
    """
    d = len(mean)
    for i in range(d):  # held, or the compiler makes a division of every product with one
        mean[i] = tau[1 + i] / tau[0]
    at = 1 + d
    whole = d - d % 4
    for j in range(0, whole, 4):  # entry (i, j) is at[i - j], and those of the next columns:
        b = at + d - j - 1
        c = b + d - j - 2
        e = c + d - j - 3
        m0, m1, m2, m3 = mean[j], mean[j + 1], mean[j + 2], mean[j + 3]
        for i in range(j, d):
            t = tau[1 + i]
            L[i, j] += tau[at + i - j] - t * m0
            L[i, j + 1] += tau[b + i - j] - t * m1
            L[i, j + 2] += tau[c + i - j] - t * m2
            L[i, j + 3] += tau[e + i - j] - t * m3
        at = e + d - j
    for j in range(whole, d):
        for i in range(j, d):
            L[i, j] += tau[at + i - j] - tau[1 + i] * mean[j]
        at += d - j


@part
def _cholesky(L: Any, inverse: Any) -> Any:
    """Factor a matrix whose lower triangle is in L in place; ``inverse`` becomes 1 / diagonal.

    Returns its log determinant, NaN if it is not positive definite.
    """
    log_det, product = 0.0, 1.0
    for i in range(0, len(L), 4):
        for j in range(0, i + 4, 4):
            _subtract_products(L, i, j)
            if j == i:
                break
            g0, g1, g2, g3 = inverse[j], inverse[j + 1], inverse[j + 2], inverse[j + 3]
            l10, l20, l21 = L[j + 1, j], L[j + 2, j], L[j + 2, j + 1]
            l30, l31, l32 = L[j + 3, j], L[j + 3, j + 1], L[j + 3, j + 2]
            for r in range(i, i + 4):
                x0 = L[r, j] * g0
                x1 = (L[r, j + 1] - x0 * l10) * g1
                x2 = (L[r, j + 2] - x0 * l20 - x1 * l21) * g2
                x3 = (L[r, j + 3] - x0 * l30 - x1 * l31 - x2 * l32) * g3
                L[r, j], L[r, j + 1], L[r, j + 2], L[r, j + 3] = x0, x1, x2, x3
        for r in range(i, i + 4):
            for c in range(i, r):
                for a in range(i, c):
                    L[r, c] -= L[r, a] * L[c, a]
                L[r, c] *= inverse[c]
            pivot = L[r, r]
            for a in range(i, r):
                pivot -= L[r, a] * L[r, a]
            if not pivot > 0.0:
                return np.nan
            L[r, r] = sqrt(pivot)
            inverse[r] = 1.0 / L[r, r]
            product *= pivot
            if not 1e-100 < product < 1e100:
                log_det += log(product)
                product = 1.0
    return log_det + log(product)


@helper
def _subtract_products(L: Any, i: int, j: int) -> None:
    """Subtract from the block (4, 4) at (i, j) the products of its rows left of column j."""
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
    for a in range(j):
        x0, x1, x2, x3 = L[i, a], L[i + 1, a], L[i + 2, a], L[i + 3, a]
        y0, y1, y2, y3 = L[j, a], L[j + 1, a], L[j + 2, a], L[j + 3, a]
        s00, s01, s02, s03 = s00 + x0 * y0, s01 + x0 * y1, s02 + x0 * y2, s03 + x0 * y3
        s10, s11, s12, s13 = s10 + x1 * y0, s11 + x1 * y1, s12 + x1 * y2, s13 + x1 * y3
        s20, s21, s22, s23 = s20 + x2 * y0, s21 + x2 * y1, s22 + x2 * y2, s23 + x2 * y3
        s30, s31, s32, s33 = s30 + x3 * y0, s31 + x3 * y1, s32 + x3 * y2, s33 + x3 * y3
    for r, row in enumerate(
        ((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))
    ):
        L[i + r, j] -= row[0]
        L[i + r, j + 1] -= row[1]
        L[i + r, j + 2] -= row[2]
        L[i + r, j + 3] -= row[3]
