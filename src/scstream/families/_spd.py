"""Compiled kernels for stacks of symmetric matrices, packed behind a count and a vector.

A row has p = 1 + d + d (d + 1) / 2 entries: a count, a vector (d,), and a matrix (d, d). Of a
symmetric matrix the row holds the upper triangle, of a Cholesky factor L the lower, row after row.
Arrays are C-contiguous and hold float64 unless said otherwise.

Loops are written out, and products taken along rows, because that compiles fast and runs fast.
"""

from __future__ import annotations

from math import erfc, exp, log, pi, sqrt
from typing import Any

import numpy as np

from scstream._compile import kernel

_ROUNDS = 50  # power iterations for one axis, at most
_GROWTH = 1e-5  # relative growth of the variance along an axis below which it is found


@kernel
def statistics(X: Any, shift: Any, scale: Any, out: Any) -> None:
    """Fill rows (n, p) with ``(1, z, z z')`` for ``z = (x - shift) / scale``."""
    n, d = X.shape
    for r in range(n):
        z = out[r, 1 : 1 + d]
        out[r, 0] = 1.0
        for i in range(d):
            z[i] = (X[r, i] - shift[i]) / scale[i]
        q = 1 + d
        for i in range(d):
            to, tail = out[r, q : q + d - i], z[i:]
            for j in range(d - i):
                to[j] = tail[0] * tail[j]
            q += d - i


@kernel
def factor(tau: Any, vector: Any, out: Any, log_det: Any) -> Any:
    """Factor the scatter of sums about their means; where there are several, of all together.

    Fills rows ``(n, L^-1 vector, L)`` of ``tau`` (k, groups, p) and ``vector`` (k, d), where
    ``L L'`` is the sum of the groups' scatters and n the first one's count, and the log
    determinants (k,). Where the scatter is not positive definite the log determinant is NaN;
    returns how often.
    """
    k, d = vector.shape
    L = np.empty((d, d))
    failed = 0
    for r in range(k):
        out[r, 0] = tau[r, 0, 0]
        log_det[r] = 0.0
        q = 1 + d
        for i in range(d):
            for j in range(i + 1):
                L[i, j] = 0.0
            for g in range(tau.shape[1]):
                mean = tau[r, g, 1 + i] / tau[r, g, 0]
                at = 1 + d + i
                for j in range(i + 1):
                    L[i, j] += tau[r, g, at] - mean * tau[r, g, 1 + j]
                    at += d - j - 1
            pivot = 0.0
            for j in range(i + 1):
                pivot = L[i, j]
                for s in range(j):
                    pivot -= L[i, s] * L[j, s]
                if j < i:
                    L[i, j] = pivot / L[j, j]
                    out[r, q + j] = L[i, j]
            if not pivot > 0.0:
                log_det[r] = np.nan
                failed += 1
                break
            L[i, i] = out[r, q + i] = sqrt(pivot)
            log_det[r] += log(pivot)
            t = vector[r, i]
            for j in range(i):
                t -= L[i, j] * out[r, 1 + j]
            out[r, 1 + i] = t / L[i, i]
            q += i + 1
    return failed


@kernel
def back_solve(factors: Any, out: Any) -> None:
    """Fill vectors x (k, d) with the solutions of ``L' x = t`` for rows ``(n, t, L)``."""
    k, d = out.shape
    for r in range(k):
        for i in range(d):
            out[r, i] = factors[r, 1 + i]
        q = factors.shape[1] - 1
        for back in range(d):
            i = d - 1 - back
            out[r, i] /= factors[r, q]
            q -= i
            for j in range(i):
                out[r, j] -= out[r, i] * factors[r, q + j]
            q -= 1


@kernel
def student(factors: Any, d: int, out: Any) -> None:
    """Fill functionals (k, p) of T equal to ``1 + g (z - mean)' (L L')^-1 (z - mean)``.

    The rows are ``(n, L^-1 mean, L)``; ``g = n / (n + 1)``.
    """
    L, V = np.empty((d, d)), np.empty((d, d))
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


@kernel
def wishart(factors: Any, chi: Any, low: Any, noise: Any, out: Any) -> None:
    """Fill natural parameters (k, p) of Gaussians drawn from posteriors ``(n, L^-1 mean, L)``.

    ``chi`` (k, d) and ``low`` (k, d (d - 1) / 2) are diagonal and rest of Bartlett's factors B,
    row after row: the precision is ``M M'`` with ``M = L'^-1 B``. The drawn mean lies
    ``L B'^-1 noise / sqrt(n)`` from the posterior's, ``noise`` (k, d).
    """
    k, d = chi.shape
    L, V, M, C = np.empty((d, d)), np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    t = np.empty(d)
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
        out[r, 0] = 0.5 * (log_det - square)
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


@kernel
def axes(s: Any, rank: Any, out: Any) -> None:
    """Fill normals (k, d) with principal axes: of group r that with ``rank[r]`` others before it.

    ``s`` (k, p) holds the groups' statistics. The axes are sought by power iteration from the
    column of largest variance; one that was found is taken out of the covariance before the
    next. A rank of -1 leaves the row as it is.
    """
    k, d = out.shape
    cov, w = np.empty((d, d)), np.empty(d)
    for r in range(k):
        v = out[r]
        if rank[r] >= 0:
            _covariance(s[r], cov)
        for found in range(rank[r] + 1):
            start = 0
            for i in range(d):
                v[i] = 0.0
                if cov[i, i] > cov[start, start]:
                    start = i
            v[start] = 1.0
            variance = 0.0
            for _ in range(_ROUNDS):
                before = variance
                variance = size = 0.0
                for i in range(d):
                    along = 0.0
                    for j in range(d):
                        along += cov[i, j] * v[j]
                    w[i] = along
                    variance += along * v[i]
                    size += along * along
                if not size > 0.0:
                    break
                for i in range(d):
                    v[i] = w[i] / sqrt(size)
                if variance - before <= _GROWTH * variance:
                    break
            if found < rank[r]:
                for i in range(d):
                    for j in range(d):
                        cov[i, j] -= variance * v[i] * v[j]


@kernel
def truncate(past: Any, normal: Any, offset: Any, certain: float, out: Any) -> None:
    """Fill rows (m, p) with what of the past (m, p), seen as Gaussians, is below a boundary.

    Row r is cut where ``normal[r % k] . z = offset[r % k]``, or ``certain`` deviations from the
    mean if that is nearer. Too little past, or none to speak of across the boundary, is halved.
    """
    k, d = normal.shape
    cov = np.empty((d, d))
    mean, along, part = np.empty(d), np.empty(d), np.empty(d)
    for r in range(len(past)):
        n, b = past[r, 0], r % k
        _covariance(past[r], cov)
        level = var = 0.0
        for i in range(d):
            mean[i] = past[r, 1 + i] / max(n, 1e-300)
            along[i] = 0.0
            for j in range(d):
                along[i] += cov[i, j] * normal[b, j]
            var += along[i] * normal[b, i]
            level += mean[i] * normal[b, i]
        var = max(var, 1e-300)
        if not (n > 1e-6 and var > 1e-12 * level * level):
            for i in range(past.shape[1]):
                out[r, i] = 0.5 * past[r, i]
            continue
        t = min(max((offset[b] - level) / sqrt(var), -certain), certain)
        share = 0.5 * erfc(-t / sqrt(2.0))
        hazard = exp(-0.5 * t * t) / (sqrt(2.0 * pi) * share)
        shrink = hazard * (t + hazard) / var
        out[r, 0] = n * share
        for i in range(d):
            part[i] = mean[i] - along[i] * hazard / sqrt(var)
            out[r, 1 + i] = n * share * part[i]
        q = 1 + d
        for i in range(d):
            for j in range(i, d):
                second = cov[i, j] - shrink * along[i] * along[j] + part[i] * part[j]
                out[r, q] = n * share * second
                q += 1


@kernel
def _covariance(row: Any, out: Any) -> None:
    """Fill the covariance (d, d) of a group with the given statistics."""
    d = len(out)
    n = max(row[0], 1e-300)
    q = 1 + d
    for i in range(d):
        for j in range(i, d):
            out[i, j] = row[q] / n - (row[1 + i] / n) * (row[1 + j] / n)
            out[j, i] = out[i, j]
            q += 1


@kernel
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
