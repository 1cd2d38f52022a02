"""Cholesky factors of many columns, four rows and four columns at a time.

From about 16 columns on this takes a third of the time of `scstream.kernels.matrices`. Matrices are
in panels, see `scstream.kernels.panels`.
"""

from __future__ import annotations

from math import isnan, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, part
from scstream.kernels.crew import Crew, for_each, on_threads, own_of
from scstream.kernels.panels import ROWS, add_column, solve, subtract_products

Floats = NDArray[np.float64]


class Factoring(NamedTuple):
    """What a thread factors a matrix in: see `crew.for_each`."""

    L: Floats
    inverse: Floats
    tau: Floats
    mean: Floats

    @staticmethod
    def of(threads: int, d: int) -> Factoring:
        """Return memory of each thread for so many columns, and some more up to whole panels."""
        panels = -(-d // ROWS)
        size = panels * ROWS
        return Factoring(
            for_each(threads, (panels, size, ROWS)),
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
    L, tau, d = own.L, own.tau, len(own.mean)
    for b in range(len(L)):
        for j in range(ROWS * b + ROWS):
            for r in range(ROWS):
                L[b, j, r] = 0.0
    for i in range(d, ROWS * len(L)):  # columns of the identity make the panels whole
        L[i // ROWS, i, i % ROWS] = 1.0
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
        b, r = i // ROWS, i % ROWS
        t = aim[i]
        for j in range(i):
            t -= L[b, j, r] * out[1 + j]
            out[q + j] = L[b, j, r]
        out[q + i] = L[b, i, r]
        out[1 + i] = t * own.inverse[i]
        q += i + 1


@part
def _add_scatter(tau: Any, mean: Any, L: Any) -> None:
    """Add the scatter at ``tau`` to the lower triangle of L, and fill the mean.

    What this writes above the diagonal, within its blocks, means nothing.
    """
    d = len(mean)
    whole = d // ROWS
    at = 1 + d
    for j in range(d):  # entry (i, j) is at[i - j]
        mean[j] = tau[1 + j] / tau[0]
        add_column(L, j, tau, at - j, mean[j], j // ROWS, whole)
        for i in range(max(j, ROWS * whole), d):
            L[whole, j, i % ROWS] += tau[at + i - j] - tau[1 + i] * mean[j]
        at += d - j


@part
def _cholesky(L: Any, inverse: Any) -> Any:
    """Factor a matrix whose lower triangle is in L in place; ``inverse`` becomes 1 / diagonal.

    Returns its log determinant, NaN if it is not positive definite.
    """
    log_det, product = 0.0, 1.0
    for b in range(len(L)):
        for c in range(b):
            subtract_products(L, b, c)
            solve(L, b, c, inverse)
        subtract_products(L, b, b)
        for r in range(ROWS):
            i = ROWS * b + r
            pivot = L[b, i, r]
            if not pivot > 0.0:
                return np.nan
            L[b, i, r] = sqrt(pivot)
            inverse[i] = 1.0 / L[b, i, r]
            for e in range(r + 1, ROWS):  # the rest of the column, then what it adds to others
                L[b, i, e] *= inverse[i]
            for c in range(r + 1, ROWS):
                for e in range(c, ROWS):
                    L[b, i - r + c, e] -= L[b, i, e] * L[b, i, c]
            product *= pivot
            if not 1e-100 < product < 1e100:
                log_det += log(product)
                product = 1.0
    return log_det + log(product)
