"""Compiled kernels for stacks of symmetric matrices, packed behind a count and a vector.

A row has p = 1 + d + d (d + 1) / 2 entries: a count, a vector (d,), and a matrix (d, d). Of a
symmetric matrix the row holds the upper triangle, of a Cholesky factor L the lower, row after row.
Arrays are C-contiguous and hold float64 unless said otherwise.

Loops are written out, and products taken along rows, because that compiles fast and runs fast.
Who calls gives room for some matrices, `room_for`: to make it takes longer than to factor a small
one.
"""

from __future__ import annotations

from math import erfc, exp, isnan, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, brief, brief_part, kernel, part
from scstream.kernels.elementary import log_gamma

ROOM = 8  # matrices of a row and a column more
_NARROW, _RUN = 4, 512  # columns up to which rows are short, and rows that stay in cache
_ROUNDS = 50  # power iterations for one axis, at most
_FULL = 1e100  # a product that had better not grow: a logarithm less is taken for each factor
_GROWTH = 1e-5  # relative growth of the variance along an axis below which it is found


@bare
def statistics(X: Any, shift: Any, scale: Any, out: Any) -> None:
    """Fill rows (n, p) with ``(1, z, z z')`` for ``z = (x - shift) / scale``."""
    n, d = X.shape
    if d <= _NARROW:
        for r in range(0, n, _RUN):
            _narrow_statistics(X[r : r + _RUN], shift, scale, out[r : r + _RUN])
        return
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


@part
def _narrow_statistics(X: Any, shift: Any, scale: Any, out: Any) -> None:
    """Do the same column by column: that is quicker where rows are short."""
    n, d = X.shape
    for i in range(d):
        for r in range(n):
            out[r, 1 + i] = (X[r, i] - shift[i]) / scale[i]
    q = 1 + d
    for i in range(d):
        for j in range(i, d):
            for r in range(n):
                out[r, q] = out[r, 1 + i] * out[r, 1 + j]
            q += 1
    for r in range(n):
        out[r, 0] = 1.0


def room_for(d: int) -> NDArray[np.float64]:
    """Return room for kernels on matrices (d, d) to work in."""
    return np.empty(ROOM * (d + 1) ** 2)


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


@brief
def log_partition(s: Any, prior: Any, more: float, d: int, room: Any, out: Any) -> Any:
    """Fill the log-normalisers (k,) of normal-inverse-Wishart densities at ``prior + s``.

    ``more`` is by how much the degrees of freedom exceed the count. NaN where the scatter is not
    positive definite; returns how often.
    """
    p = len(prior)
    L, tau = room[: d * d].reshape(d, d), room[d * d : d * d + p].reshape(1, p)
    failed = 0
    for r in range(len(s)):
        _posterior(s[r : r + 1], prior, tau)
        log_det = _cholesky(tau, L)
        failed += isnan(log_det)
        out[r] = normaliser(tau[0, 0], tau[0, 0] + more, log_det, d)
    return failed


@brief
def normaliser(kappa: float, nu: float, log_det: float, d: int) -> Any:
    """Return the log-normaliser of a normal-inverse-Wishart density."""
    a = 0.5 * nu
    gammas = log_gamma(a) if d % 2 == 1 else 0.0  # sum over j < d of lgamma(a - j / 2): in pairs
    if d > 1:
        gammas += d // 2 * (log_gamma(nu - 1.0) + 0.5 * log(pi) - (nu - 2.0) * log(2.0))
        for j in range(2, d):
            gammas -= (d + 1 - j) // 2 * log(a - 0.5 * j)
    return gammas - 0.5 * d * log(kappa) + a * (d * log(2.0) - log_det)


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


@brief
def middle(clusters: Any, out: Any) -> Any:
    """Fill the mean (d,) of all points of clusters (k, p), if there are any; returns how many."""
    n = 0.0
    for r in range(len(clusters)):
        n += clusters[r, 0]
    for i in range(len(out)):
        total = 0.0
        for r in range(len(clusters)):
            total += clusters[r, 1 + i]
        out[i] = total / n
    return n


@brief
def pooled(clusters: Any, out: Any) -> Any:
    """Fill the covariance (d, d) within clusters (k, p); returns its degrees of freedom.

    These are the points less one for each cluster's mean. With few of them it is shrunk towards its
    diagonal. It has no variance of 0.
    """
    d, n, k = len(out), 0.0, 0
    out[:] = 0.0
    for r in range(len(clusters)):
        row = clusters[r]
        if row[0] > 0.0:
            n += row[0]
            k += 1
            q = 1 + d
            for i in range(d):
                for j in range(i, d):
                    out[i, j] += row[q] - row[1 + i] * row[1 + j] / row[0]
                    q += 1
    spare = max(n - k, 1.0)
    for i in range(d):
        out[i, i] = (1.0 + 1e-6) * out[i, i] / spare + 1e-14
        for j in range(i + 1, d):
            out[i, j] /= spare + d
            out[j, i] = out[i, j]
    return n - k


@brief
def follow(clusters: Any, psi: Any, share: float, least: float, out: Any) -> None:
    """Fill an expected covariance (d, d) between ``psi`` and a share of that within clusters.

    Either counts as many points as it is of; ``psi`` at least so many, and not less than the other.
    """
    new = max(pooled(clusters, out), 0.0)
    old = max(least, new)
    for i in range(len(psi)):
        for j in range(len(psi)):
            out[i, j] = (old * psi[i, j] + new * share * out[i, j]) / (old + new)


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
    L = np.empty((d, d))
    return normaliser(kappa, nu, _cholesky(out.reshape(1, -1), L), d)


@brief
def between(both: Any, prior: Any, more: float, out: Any, middle: Any, dof: Any) -> None:
    """Fill the differences (k, d) of the posterior means of pairs (k, 2, p), and their middles.

    ``dof`` (k,) become the degrees of freedom of both together.
    """
    k, d = out.shape
    for r in range(k):
        a, b = prior[0] + both[r, 0, 0], prior[0] + both[r, 1, 0]
        dof[r] = a + b + 2.0 * more
        for i in range(1, 1 + d):
            one = (prior[i] + both[r, 0, i]) / a
            other = (prior[i] + both[r, 1, i]) / b
            out[r, i - 1] = other - one
            middle[r, i - 1] = 0.5 * (one + other)


@brief
def discriminant(factors: Any, dof: Any, middle: Any, both: Any, normal: Any, offset: Any) -> None:
    """Fill normals (k, d) and offsets (k,) of Fisher's discriminants of pairs (k, 2, p).

    The rows ``(n, t, L)`` of factors hold ``t = L^-1`` times the difference of the means.
    """
    k, d = normal.shape
    for r in range(k):
        x = normal[r]
        for i in range(d):
            x[i] = factors[r, 1 + i]
        q = factors.shape[1] - 1
        offset[r] = log((both[r, 0, 0] + 0.5) / (both[r, 1, 0] + 0.5))
        for back in range(d):  # x = L'^-1 t
            i = d - 1 - back
            x[i] /= factors[r, q]
            q -= i
            for j in range(i):
                x[j] -= x[i] * factors[r, q + j]
            q -= 1
            x[i] *= dof[r]
            offset[r] += x[i] * middle[r, i]


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


@brief
def directions(
    s: Any, member: Any, attempt: Any, axes: int, d: int, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill functionals (k, p) whose sign cuts groups ``s`` (k, p) in two through their means.

    Even attempts cut across a principal axis, the first ``axes`` in turn, odd ones towards the
    given member (k, p).
    """
    cov, w = room[: d * d].reshape(d, d), room[d * d : d * d + d]
    for r in range(len(s)):
        n, normal = max(s[r, 0], 1e-300), out[r, 1 : 1 + d]
        out[r] = 0.0
        if attempt[r] % 2 == 0:
            _covariance(s[r], cov)
            _principal_axis(cov, attempt[r] // 2 % axes, w, normal)
        else:
            for i in range(d):
                normal[i] = member[r, 1 + i] - s[r, 1 + i] / n
        for i in range(d):
            out[r, 0] -= normal[i] * s[r, 1 + i] / n


@brief_part
def _principal_axis(cov: Any, rank: int, w: Any, v: Any) -> None:
    """Fill ``v`` (d,) with the principal axis that has ``rank`` others before it; w is room.

    The axes are sought by power iteration from the column of largest variance; one that was found
    is taken out of the covariance before the next.
    """
    d = len(v)
    for found in range(rank + 1):
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
        if found < rank:
            for i in range(d):
                for j in range(d):
                    cov[i, j] -= variance * v[i] * v[j]


@brief
def truncate(
    past: Any, normal: Any, offset: Any, certain: float, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill rows (m, p) with what of the past (m, p), seen as Gaussians, is below a boundary.

    Row r is cut where ``normal[r % k] . z = offset[r % k]``, or ``certain`` deviations from the
    mean if that is nearer. Too little past, or none to speak of across the boundary, is halved.
    """
    k, d = normal.shape
    cov, rows = room[: d * d].reshape(d, d), room[d * d : d * d + 3 * d].reshape(3, d)
    mean, along, part = rows[0], rows[1], rows[2]
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


@brief_part
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
