"""Compiled kernels for stacks of symmetric matrices, packed behind a count and a vector.

A row has p = 1 + d + d (d + 1) / 2 entries: a count, a vector (d,), and a matrix (d, d). Of a
symmetric matrix the row holds the upper triangle, of a Cholesky factor L the lower, row after row.
Arrays are C-contiguous and hold float64 unless said otherwise.

Loops are written out, and products taken along rows, because that compiles fast and runs fast.
Who calls gives room for some matrices, `room_for`: to make it takes longer than to factor a small
one.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels import side_by_side
from scstream.kernels.arguments import Int
from scstream.kernels.compiling import bare, brief, brief_part, in_order_apart, kernel
from scstream.kernels.elementary import log_gamma
from scstream.kernels.side_by_side import (
    ROWS,
    SIDE,
    add,
    invert,
    logarithms,
    multiply,
    rows_of,
    scatters,
    subtract,
)

_ROOM = 2**19  # numbers that stay near the processor
_FEW = 8  # matrices side by side, at least
_FULL = 1e100  # a product that had better not grow: a logarithm less is taken for each factor


def room_for(d: int) -> NDArray[np.float64]:
    """Return room for kernels on matrices (d, d) to work in, large ones fewer side by side."""
    rows = 4 * (1 + d + d * (d + 1) // 2) + ROWS
    return np.empty(rows * max(_FEW, min(SIDE, _ROOM // rows)))


@bare
def factor(s: Any, prior: Any, vector: Any, room: Any, out: Any, log_det: Any) -> Any:
    """Factor the scatter of posteriors about their means; of several groups, of all together.

    Fills rows ``(n, L^-1 vector, L)`` for sums ``s`` (k, groups, p) and ``vector`` (k, d), where
    ``L L'`` is the sum of the groups' scatters at ``prior + s`` and n the first one's count, and
    the log determinants (k,). Without vectors (0, d) it is the first group's mean. Where the
    scatter is not positive definite the log determinant is NaN; returns how often.
    """
    groups, p = s.shape[1:]
    d, failed = vector.shape[1], 0
    rows, side = rows_of(room, 2 * p + ROWS)
    tau, L, inverse, more = rows[:p], rows[p : 2 * p - 1 - d], rows[2 * p - 1 - d :], rows[2 * p :]
    for a in range(0, len(s), side):
        some, level = s[a : a + side], log_det[a : a + side]
        for g in range(groups):
            scatters(some, g, prior, d, tau, more[0], L)
        failed += side_by_side.factor(L, d, inverse, more[0], level)
        _solve_side_by_side(some, prior, vector[a : a + side], L, inverse, tau)
        _write(tau[: 1 + d], np.int64(0), out[a : a + side])
        _write(L, 1 + d, out[a : a + side])
    return failed


@in_order_apart
def _solve_side_by_side(
    s: Any, prior: Any, vector: Any, L: Any, inverse: Any, out: Any
) -> None:  # fmt: skip
    """Fill counts and ``L^-1`` times vectors, or else times means: 1 + d rows."""
    d, m, at = vector.shape[1], len(s), 0
    for r in range(m):
        out[0, r] = prior[0] + s[r, 0, 0]
    for i in range(d):
        to, by = out[1 + i], inverse[i]
        for r in range(m):
            to[r] = vector[r, i] if len(vector) else (prior[1 + i] + s[r, 0, 1 + i]) / out[0, r]
        for j in range(i):
            subtract(to, L[at + j], out[1 + j], m)
        for r in range(m):
            to[r] *= by[r]
        at += i + 1


@in_order_apart
def _write(rows: Any, first: Int, out: Any) -> None:
    """Write numbers that stand side by side to the columns of a table (m, p) from a first one."""
    for q in range(len(rows)):
        row = rows[q]
        for r in range(len(out)):
            out[r, first + q] = row[r]


@in_order_apart
def _read(table: Any, first: Int, rows: Any) -> None:
    """Put columns of a table (m, p) from a first one side by side."""
    for q in range(len(rows)):
        row = rows[q]
        for r in range(len(table)):
            row[r] = table[r, first + q]


@brief
def prior(kappa: float, nu: float, m: Any, psi: Any, out: Any) -> None:
    """Fill the row (p,) of a normal-inverse-Wishart prior."""
    d = len(m)
    out[0] = kappa
    q = 1 + d
    for i in range(d):
        out[1 + i] = kappa * m[i]
        for j in range(i, d):
            out[q] = nu * psi[i, j] + kappa * m[i] * m[j]
            q += 1


@brief
def student_level(
    factors: Any, log_det: Any, more: float, d: int, log_weight: Any, const: Any, power: Any
) -> None:
    """Fill level and power (k,) of Student-t predictives, see `student`, weights included."""
    for r in range(len(factors)):
        kappa = factors[r, 0]
        power[r] = 0.5 * (kappa + more + 1.0)
        const[r] = (
            log_weight[r]
            + log_gammas(power[r], d)
            + 0.5 * (d * log(2.0 * kappa / (kappa + 1.0)) - log_det[r])
        )


@brief_part
def log_gammas(x: float, d: int) -> Any:
    """Return ``lgamma(x) - lgamma(x - d / 2)``."""
    out, product = 0.0, 1.0
    if d % 2 == 1:
        out = log_gamma(x) - log_gamma(x - 0.5)
        x -= 0.5
    for i in range(1, d // 2 + 1):
        product *= x - i
        if product > _FULL:
            out += log(product)
            product = 1.0
    return out + log(product)


@kernel
def drawn_pairs(
    factors: Any, chi: Any, low: Any, noise: Any, level: Any, T: Any, z: Any, out: Any
) -> None:
    """Fill the scores (n, 2) of points under their own pairs of parameters, drawn as in `wishart`.

    The squared distance under the drawn precision is that of ``B' y - noise / sqrt(n)`` from 0,
    where ``y = L^-1 (z - mean)``; ``level`` (k,) are the scores of points without any.
    """
    d = chi.shape[1]
    y = np.empty(d)
    for i in range(len(z)):
        for b in range(2):
            r = 2 * z[i] + b
            _solve(factors[r], T[i], y)
            square = 0.0
            size = sqrt(factors[r, 0])
            for j in range(d):
                t = chi[r, j] * y[j] - noise[r, j] / size
                q = j * (j + 1) // 2 + j
                for a in range(j + 1, d):
                    t += low[r, q] * y[a]
                    q += a
                square += t * t
            out[i, b] = level[r] - 0.5 * square


@brief_part
def _solve(row: Any, point: Any, y: Any) -> Any:
    """Fill ``y = L^-1 (z - mean)`` for a row ``(n, L^-1 mean, L)`` and a point ``(1, z, ...)``.

    Returns its squared length.
    """
    d = len(y)
    q = 1 + d
    square = 0.0
    for i in range(d):
        t = point[1 + i]
        line = row[q : q + i]
        for j in range(i):
            t -= line[j] * y[j]
        y[i] = t / row[q + i]
        q += i + 1
    for i in range(d):
        y[i] -= row[1 + i]
        square += y[i] * y[i]
    return square


@bare
def student(factors: Any, d: int, room: Any, out: Any) -> None:
    """Fill functionals (k, p) of T equal to ``1 + g (z - mean)' (L L')^-1 (z - mean)``.

    The rows are ``(n, L^-1 mean, L)``; ``g = n / (n + 1)``.
    """
    p = out.shape[1]
    rows, side = rows_of(room, 4 * p + ROWS)
    half = p - 1 - d
    L, V, t, to = rows[:half], rows[p : p + half], rows[2 * p : 2 * p + 1 + d], rows[3 * p :]
    for a in range(0, len(factors), side):
        some = factors[a : a + side]
        _read(some, 1 + d, L)
        _read(some, np.int64(0), t)
        invert(L, d, len(some), V)
        _student(V, t, d, len(some), to)
        _write(to[:p], np.int64(0), out[a : a + side])


@in_order_apart
def _student(V: Any, t: Any, d: int, m: int, out: Any) -> None:
    """Fill p rows of the functionals, by ``V = L^-1`` and ``t = (n, L^-1 mean)``."""
    g, square, q = t[0], out[0], 1 + d
    for r in range(m):
        g[r], square[r] = g[r] / (g[r] + 1.0), 0.0
    for i in range(d):
        linear = out[1 + i]
        add(square, t[1 + i], t[1 + i], m)
        for r in range(m):
            linear[r] = 0.0
        for j in range(i, d):
            at, to, times = j * (j + 1) // 2, out[q], 1.0 if j == i else 2.0
            subtract(linear, V[at + i], t[1 + j], m)
            for r in range(m):
                to[r] = 0.0
            for a in range(j, d):
                add(to, V[at + i], V[at + j], m)
                at += a + 1
            for r in range(m):
                to[r] *= times * g[r]
            q += 1
        for r in range(m):
            linear[r] *= 2.0 * g[r]
    for r in range(m):
        square[r] = 1.0 + g[r] * square[r]


@bare
def wishart(
    factors: Any, chi: Any, low: Any, noise: Any, log_weight: Any, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill natural parameters (k, p) of Gaussians drawn from posteriors ``(n, L^-1 mean, L)``.

    ``chi`` (k, d) and ``low`` (k, d (d - 1) / 2) are diagonal and rest of Bartlett's factors B,
    row after row: the precision is ``M M'`` with ``M = L'^-1 B``. The drawn mean lies
    ``L B'^-1 noise / sqrt(n)`` from the posterior's, ``noise`` (k, d). The log weights (k,) are
    added to the first entry.
    """
    d, p = chi.shape[1], out.shape[1]
    rows, side = rows_of(room, 4 * p + ROWS)
    half = p - 1 - d
    V, B, M, t = rows[:half], rows[half : 2 * half], rows[2 * half :], rows[2 * half + d * d :]
    for a in range(0, len(out), side):
        some, to = factors[a : a + side], out[a : a + side]
        _read(some, 1 + d, M[:half])
        invert(M, d, len(some), V)
        _read(some, np.int64(0), t[: 1 + d])
        _bartlett(chi[a : a + side], low[a : a + side], B)
        _draw_means(noise[a : a + side], B, d, t)
        _drawn_levels(log_weight[a : a + side], V, B, d, t, to)
        _drawn_precisions(V, B, d, t, M, to)


@in_order_apart
def _bartlett(chi: Any, low: Any, B: Any) -> None:
    """Put Bartlett's factors side by side, as lower triangles."""
    m, d = chi.shape
    at = 0
    for i in range(d):
        for j in range(i + 1):
            to = B[at + j]
            for r in range(m):
                to[r] = low[r, at - i + j] if j < i else chi[r, i]
        at += i + 1


@in_order_apart
def _draw_means(noise: Any, B: Any, d: int, t: Any) -> None:
    """Replace rows ``(n, L^-1 mean)`` by ``M'`` times the drawn means; the first becomes room."""
    m, size = len(noise), t[0]
    for r in range(m):
        size[r] = sqrt(size[r])
    for back in range(d):  # B'^-1 noise / sqrt(n)
        i = d - 1 - back
        to, diagonal, at = t[1 + d + i], B[i * (i + 1) // 2 + i], i * (i + 1) // 2 + i
        for r in range(m):
            to[r] = noise[r, i] / size[r]
        for j in range(i + 1, d):
            at += j
            subtract(to, B[at], t[1 + d + j], m)
        for r in range(m):
            to[r] /= diagonal[r]
    for i in range(d):
        to, at = t[1 + i], i * (i + 1) // 2 + i
        for j in range(i, d):
            shift, of, by = t[1 + d + j], t[1 + j], B[at]
            for r in range(m):
                start = to[r] if j > i else 0.0
                to[r] = start + by[r] * (of[r] + shift[r])
            at += j + 1


@in_order_apart
def _drawn_levels(log_weight: Any, V: Any, B: Any, d: int, t: Any, out: Any) -> None:
    """Fill the first entries of natural parameters."""
    m = len(out)
    level, product, by = t[0], t[1 + d], t[2 + d]
    for r in range(m):
        level[r], product[r] = 0.0, 1.0
    for i in range(d):
        at = i * (i + 1) // 2 + i
        chi, diagonal = B[at], V[at]
        for r in range(m):
            by[r] = chi[r] * diagonal[r]
        multiply(product, by, level[:m])
    logarithms(product, level[:m])
    for r in range(m):
        level[r] += log_weight[r]
        product[r] = 0.0
    for i in range(d):
        add(product, t[1 + i], t[1 + i], m)
    for r in range(m):
        out[r, 0] = level[r] - 0.5 * product[r]


@in_order_apart
def _drawn_precisions(V: Any, B: Any, d: int, t: Any, M: Any, out: Any) -> None:
    """Fill ``M = L'^-1 B``, (d, d), and the other entries of natural parameters."""
    m, to, q = len(out), t[0], 1 + d
    for i in range(d):
        for j in range(d):
            one, last = M[i * d + j], max(i, j)
            at = last * (last + 1) // 2
            for r in range(m):
                one[r] = 0.0
            for a in range(last, d):
                add(one, V[at + i], B[at + j], m)
                at += a + 1
    for i in range(d):
        for r in range(m):
            to[r] = 0.0
        for j in range(d):
            add(to, M[i * d + j], t[1 + j], m)
        for r in range(m):
            out[r, 1 + i] = to[r]
        for j in range(i, d):
            for r in range(m):
                to[r] = 0.0
            for a in range(d):
                subtract(to, M[i * d + a], M[j * d + a], m)
            for r in range(m):
                out[r, q] = to[r] * (0.5 if i == j else 1.0)
            q += 1
