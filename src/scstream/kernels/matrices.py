"""Compiled kernels for stacks of symmetric matrices, packed behind a count and a vector.

A row has p = 1 + d + d (d + 1) / 2 entries: a count, a vector (d,), and a matrix (d, d). Of a
symmetric matrix the row holds the upper triangle, of a Cholesky factor L the lower, row after row.
Arrays are C-contiguous and hold float64 unless said otherwise.

Loops are written out, and products taken along rows, because that compiles fast and runs fast.
Who calls gives room for some matrices, `room_for`: to make it takes longer than to factor a small
one.
"""

from __future__ import annotations

from math import isnan, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import brief, brief_part, kernel
from scstream.kernels.elementary import log_gamma
from scstream.kernels.normalisers import ROWS, SIDE, finish

_FULL = 1e100  # a product that had better not grow: a logarithm less is taken for each factor


def room_for(d: int) -> NDArray[np.float64]:
    """Return room for kernels on matrices (d, d) to work in."""
    p = 1 + d + d * (d + 1) // 2
    return np.empty(SIDE * (p + ROWS))


@brief
def factor(s: Any, prior: Any, vector: Any, room: Any, out: Any, log_det: Any) -> Any:
    """Factor the scatter of posteriors about their means; of several groups, of all together.

    Fills rows ``(n, L^-1 vector, L)`` for sums ``s`` (k, groups, p) and ``vector`` (k, d), where
    ``L L'`` is the sum of the groups' scatters at ``prior + s`` and n the first one's count, and
    the log determinants (k,). Without vectors (0, d) it is the first group's mean. Where the
    scatter is not positive definite the log determinant is NaN; returns how often.
    """
    k, groups, p = s.shape
    d = vector.shape[1]
    L, tau = room[: d * d].reshape(d, d), room[d * d : d * d + groups * p].reshape(groups, p)
    failed = 0
    for r in range(k):
        _posterior(s[r], prior, tau)
        log_det[r] = _cholesky(tau, L)
        if isnan(log_det[r]):
            failed += 1
            continue
        out[r, 0] = tau[0, 0]
        q = 1 + d
        for i in range(d):
            t = vector[r, i] if len(vector) else tau[0, 1 + i] / tau[0, 0]
            for j in range(i):
                t -= L[i, j] * out[r, 1 + j]
                out[r, q + j] = L[i, j]
            out[r, q + i] = L[i, i]
            out[r, 1 + i] = t / L[i, i]
            q += i + 1
    return failed


@brief_part
def _posterior(s: Any, prior: Any, tau: Any) -> None:
    """Fill ``tau = prior + s`` (groups, p)."""
    for g in range(len(s)):
        for q in range(len(prior)):
            tau[g, q] = prior[q] + s[g, q]


@brief_part
def _cholesky(tau: Any, L: Any) -> Any:
    """Fill the lower triangle of L, with ``L L'`` the scatter of all groups at ``tau`` (g, p).

    Returns its log determinant, NaN if it is not positive definite.
    """
    d = len(L)
    log_det, product = 0.0, 1.0
    for i in range(d):
        for j in range(i + 1):
            L[i, j] = 0.0
        for g in range(len(tau)):
            mean = tau[g, 1 + i] / tau[g, 0]
            at = 1 + d + i
            for j in range(i + 1):
                L[i, j] += tau[g, at] - mean * tau[g, 1 + j]
                at += d - j - 1
        pivot = 0.0
        for j in range(i + 1):
            one, other = L[i, :j], L[j, :j]
            pivot = L[i, j]
            for a in range(j):
                pivot -= one[a] * other[a]
            if j < i:
                L[i, j] = pivot / L[j, j]
        if not pivot > 0.0:
            return np.nan
        L[i, i] = sqrt(pivot)
        product *= pivot
        if not 1.0 / _FULL < product < _FULL:
            log_det += log(product)
            product = 1.0
    return log_det + log(product)


@kernel
def prior(kappa: float, nu: float, m: Any, psi: Any, out: Any) -> Any:
    """Fill the row (p,) of a normal-inverse-Wishart prior; returns its log-normaliser."""
    d = len(m)
    out[0] = kappa
    q = 1 + d
    for i in range(d):
        out[1 + i] = kappa * m[i]
        for j in range(i, d):
            out[q] = nu * psi[i, j] + kappa * m[i] * m[j]
            q += 1
    level = np.empty(1)
    level[0] = _cholesky(out.reshape(1, -1), np.empty((d, d)))
    finish(out[:1], nu - kappa, d, np.empty(ROWS * SIDE), level)
    return level[0]


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


@brief
def student(factors: Any, d: int, room: Any, out: Any) -> None:
    """Fill functionals (k, p) of T equal to ``1 + g (z - mean)' (L L')^-1 (z - mean)``.

    The rows are ``(n, L^-1 mean, L)``; ``g = n / (n + 1)``.
    """
    L, V = room[: d * d].reshape(d, d), room[d * d : 2 * d * d].reshape(d, d)
    for r in range(len(factors)):
        g = factors[r, 0] / (factors[r, 0] + 1.0)
        t = factors[r, 1 : 1 + d]
        _invert(factors[r], L, V)
        square = 0.0
        q = 1 + d
        for i in range(d):
            square += t[i] * t[i]
            linear = 0.0
            for j in range(i, d):
                linear -= V[i, j] * t[j]
                one, other = V[i, j:], V[j, j:]
                s = 0.0
                for a in range(d - j):
                    s += one[a] * other[a]
                out[r, q] = 2.0 * g * s
                q += 1
            out[r, q - d + i] *= 0.5
            out[r, 1 + i] = 2.0 * g * linear
        out[r, 0] = 1.0 + g * square


@brief
def wishart(
    factors: Any, chi: Any, low: Any, noise: Any, log_weight: Any, room: Any, out: Any
) -> None:  # fmt: skip
    """Do as `draw_wishart` does, for who is not compiled."""
    draw_wishart(factors, chi, low, noise, log_weight, room, out)


@brief_part
def draw_wishart(
    factors: Any, chi: Any, low: Any, noise: Any, log_weight: Any, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill natural parameters (k, p) of Gaussians drawn from posteriors ``(n, L^-1 mean, L)``.

    ``chi`` (k, d) and ``low`` (k, d (d - 1) / 2) are diagonal and rest of Bartlett's factors B,
    row after row: the precision is ``M M'`` with ``M = L'^-1 B``. The drawn mean lies
    ``L B'^-1 noise / sqrt(n)`` from the posterior's, ``noise`` (k, d). The log weights (k,) are
    added to the first entry.
    """
    k, d = chi.shape
    L, V = room[: d * d].reshape(d, d), room[d * d : 2 * d * d].reshape(d, d)
    M, C = room[2 * d * d : 3 * d * d].reshape(d, d), room[3 * d * d : 4 * d * d].reshape(d, d)
    t = room[4 * d * d : 4 * d * d + d]
    for r in range(k):
        _invert(factors[r], L, V)
        q = 0
        log_det = square = 0.0
        for i in range(d):  # C = B'
            for j in range(i):
                C[j, i] = low[r, q]
                q += 1
            C[i, i] = chi[r, i]
            log_det += 2.0 * log(C[i, i] * V[i, i])
        for back in range(d):  # t = B'^-1 noise / sqrt(n)
            i = d - 1 - back
            s = noise[r, i] / sqrt(factors[r, 0])
            for j in range(i + 1, d):
                s -= C[i, j] * t[j]
            t[i] = s / C[i, i]
        for i in range(d):  # t = M' (drawn mean)
            s = 0.0
            for j in range(i, d):
                s += C[i, j] * (t[j] + factors[r, 1 + j])
            t[i] = s
            square += s * s
        out[r, 0] = log_weight[r] + 0.5 * (log_det - square)
        for back in range(d):
            i = d - 1 - back
            linear = 0.0
            for j in range(d):
                one, other = V[i, max(i, j) :], C[j, max(i, j) :]
                s = 0.0
                for a in range(len(one)):
                    s += one[a] * other[a]
                M[i, j] = s
                linear += s * t[j]
            out[r, 1 + i] = linear
            q = out.shape[1] - (d - i) * (d - i + 1) // 2
            for j in range(i, d):
                s = 0.0
                for a in range(d):
                    s -= M[i, a] * M[j, a]
                out[r, q + j - i] = s
            out[r, q] *= 0.5


@brief_part
def _invert(row: Any, L: Any, V: Any) -> None:
    """Fill the lower triangle of L from a packed row, and the upper triangle of ``V = L'^-1``."""
    d = len(L)
    q = 1 + d
    for i in range(d):
        for j in range(i + 1):
            L[i, j] = row[q]
            q += 1
        V[i, i] = 1.0 / L[i, i]
        for j in range(i):
            one, other = L[i, j:i], V[j, j:i]
            s = 0.0
            for a in range(i - j):
                s += one[a] * other[a]
            V[j, i] = -s * V[i, i]
