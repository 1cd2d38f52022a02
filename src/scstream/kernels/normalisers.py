"""Compiled log-normalisers of normal-inverse-Wishart densities, many side by side.

A matrix alone waits for each quotient before it can go on. So a few dozen are taken at a time, and
every operation is a loop over these, which becomes vector code. A number of one is the entry of a
row ``(SIDE,)``. No sum is reordered: a matrix gives the same bits wherever it stands.

Statistics are packed as in `scstream.kernels.matrices`.
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, in_order
from scstream.kernels.elementary import log_gammas, logs

SIDE = 32  # matrices side by side
ROWS = 6  # of numbers besides the statistics that they are worked on in
_FULL = 1e100  # a product that had better not grow: a logarithm less is taken for each factor


def room() -> NDArray[np.float64]:
    """Return room for `finish` to work in."""
    return np.empty(ROWS * SIDE)


@bare
def log_partition(s: Any, prior: Any, more: float, d: int, room: Any, out: Any) -> Any:
    """Fill the log-normalisers (k,) of normal-inverse-Wishart densities at ``prior + s``.

    ``more`` is by how much the degrees of freedom exceed the count. NaN where the scatter is not
    positive definite; returns how often. There is room for p and `ROWS` more rows.
    """
    p, failed = len(prior), 0
    both = room[: (p + ROWS) * SIDE].reshape(p + ROWS, SIDE)
    tau, rows = both[:p], both[p:]
    for a in range(0, len(s), SIDE):
        level = out[a : a + SIDE]
        _scatters(s[a : a + SIDE], prior, d, tau, rows[0])
        failed += _log_determinants(tau[1 + d :], d, rows, level)
        _finish(tau[0], more, d, rows, level)
    return failed


@bare
def finish(kappa: Any, more: float, d: int, room: Any, out: Any) -> None:
    """Replace log determinants (k,) of scatters by log-normalisers, see `log_partition`."""
    for a in range(0, len(out), SIDE):
        rows = room[: ROWS * SIDE].reshape(ROWS, SIDE)
        _finish(kappa[a : a + SIDE], more, d, rows, out[a : a + SIDE])


@in_order
def _scatters(s: Any, prior: Any, d: int, tau: Any, mean: Any) -> None:
    """Fill counts, sums and packed scatters, side by side, of statistics ``prior + s`` (m, p)."""
    m = len(s)
    for q in range(len(prior)):
        row = tau[q]
        for r in range(m):
            row[r] = prior[q] + s[r, q]
    at = 1 + d
    for i in range(d):
        first = tau[1 + i]
        for r in range(m):
            mean[r] = first[r] / tau[0, r]
        for j in range(i, d):
            square, other = tau[at], tau[1 + j]
            for r in range(m):
                square[r] -= mean[r] * other[r]
            at += 1


@in_order
def _log_determinants(A: Any, d: int, rows: Any, out: Any) -> Any:
    """Fill the log determinants (m,) of packed symmetric matrices, whose upper triangles are lost.

    NaN where a matrix is not positive definite; returns how often.
    """
    m = len(out)
    product, by, inverse = rows[0], rows[1], rows[2]
    for r in range(m):
        product[r], out[r] = 1.0, 0.0
    at = 0
    for t in range(d):
        pivot = A[at]
        for r in range(m):
            out[r] = out[r] if pivot[r] > 0.0 else np.nan
            product[r] *= pivot[r] if pivot[r] > 0.0 else 1.0
        _bounded(product, out)
        for r in range(m):
            inverse[r] = 1.0 / pivot[r]
        below = at + d - t
        for i in range(t + 1, d):
            first = A[at + i - t]
            for r in range(m):
                by[r] = first[r] * inverse[r]
            for j in range(i, d):
                to, other = A[below], A[at + j - t]
                for r in range(m):
                    to[r] -= by[r] * other[r]
                below += 1
        at += d - t
    logs(product, m)
    failed = 0
    for r in range(m):
        out[r] += product[r]
        failed += not out[r] == out[r]
    return failed


@in_order
def _bounded(product: Any, level: Any) -> None:
    """Add the logarithms of products (m,) to their levels where they grow too large or too small.

    These begin again with 1.
    """
    far = 0
    for r in range(len(level)):
        far += not (1.0 / _FULL < product[r] < _FULL)
    if far > 0:
        for r in range(len(level)):
            if not 1.0 / _FULL < product[r] < _FULL:
                level[r] += log(product[r])
                product[r] = 1.0


@in_order
def _finish(kappa: Any, more: float, d: int, rows: Any, out: Any) -> None:
    """Replace log determinants (m,) by log-normalisers."""
    m = len(out)
    gammas, product, of = rows[0], rows[1], rows[2]
    for r in range(m):
        nu = kappa[r] + more
        out[r] = 0.5 * nu * (d * log(2.0) - out[r])
        of[r] = nu - 1.0
        product[r] = kappa[r]
    logs(product, m)
    for r in range(m):
        out[r] -= 0.5 * d * product[r]
    if d % 2 == 1:  # sum over j < d of lgamma(nu / 2 - j / 2): in pairs
        for r in range(m):
            gammas[r] = 0.5 * (kappa[r] + more)
        log_gammas(gammas, m, rows[3:])
        for r in range(m):
            out[r] += gammas[r]
    if d > 1:
        for r in range(m):
            gammas[r] = of[r]
        log_gammas(gammas, m, rows[3:])
        for r in range(m):
            each = gammas[r] + 0.5 * log(pi) - (of[r] - 1.0) * log(2.0)
            out[r] += d // 2 * each
            product[r], gammas[r] = 1.0, 0.0
        for j in range(2, d):
            for _ in range((d + 1 - j) // 2):
                for r in range(m):
                    product[r] *= 0.5 * (of[r] + (1.0 - j))
                _bounded(product, gammas[:m])
        logs(product, m)
        for r in range(m):
            out[r] -= gammas[r] + product[r]
