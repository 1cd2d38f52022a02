"""Gaussian clusters: posteriors, their normalisers and draws, predictives, and cuts.

Statistics (k, p) are packed: a count, a vector (d,) and the upper triangle of a matrix (d, d), row
after row. Of a Cholesky factor it is the lower one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isqrt, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from scstream.core.plain.elementary import log_gamma, normal_below

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

OF_A_KIND = 8  # attempts in the deviations of what is expected; as many in those of columns follow
_BESIDE = 1e-12  # of its distance from the origin that a plane is beside the mean
_ROUNDS = 50  # power iterations for one axis, at most
_GROWTH = 1e-5  # relative growth of the variance along an axis below which it is found
_LEFT = 1e-9  # of the variance of all columns that is more than rounding
_SINGULAR = 1e-12  # of a column's variance that the columns before it must leave open
_TINY = 1e-300  # stands for no rows
_NUMBERS = 2**18  # of the matrices that are worked on at a time
_FREE = 1e300  # more than the squared length of a vector
_BLOCK = 16  # columns of triangles that are inverted as any matrix is


# -- posteriors ---------------------------------------------------------------------------------


def factor(s: Floats, prior: Floats, vector: Floats, out: Floats, log_det: Floats) -> int:
    """Factor the scatters of posteriors."""
    d = columns(prior)
    for at in _runs(len(s), d):
        tau = prior + s[at]
        aim = vector[at] if len(vector) else tau[:, 0, 1 : 1 + d] / tau[:, 0, :1]
        L = _roots(tau, aim)
        out[at, 0], out[at, 1 : 1 + d] = tau[:, 0, 0], L[:, d, :d]
        out[at, 1 + d :] = _entries(L, _lower(d, d + 1))
        log_det[at] = _log_det(L, d)
    return int(np.isnan(log_det).sum())


def log_normalisers(s: Floats, prior: Floats, more: float, out: Floats) -> int:
    """Find log-normalisers of normal-inverse-Wishart densities."""
    d = columns(prior)
    for at in _runs(len(s), d):
        out[at] = _log_det(_roots((prior + s[at])[:, None]), d)
    kappa = prior[0] + s[:, 0]
    nu = kappa + more
    out *= -0.5 * nu
    out += 0.5 * d * (nu * log(2.0) - np.log(kappa))
    out += log_gamma(0.5 * (nu[:, None] - np.arange(d))).sum(axis=1)
    return int(np.isnan(out).sum())


def set_prior(kappa: float, nu: float, mean: Floats, psi: Floats, row: Floats) -> float:
    """Fill a prior's row by what is expected."""
    square, level = nu * psi + kappa * mean[:, None] * mean, np.empty(1)
    row[:] = np.concatenate([[kappa], kappa * mean, square[np.triu_indices(len(mean))]])
    log_normalisers(np.zeros((1, len(row))), row, nu - kappa, level)
    return float(level[0])


def drawn_scores(
    factors: Floats, chi: Floats, low: Floats, noise: Floats, log_weight: Floats, out: Floats
) -> None:
    """Find the natural parameters of drawn Gaussians."""
    k, d = chi.shape
    below, (row, col) = np.tril_indices(d, -1), np.triu_indices(d)
    half = np.where(row == col, -0.5, -1.0)
    for at in _runs(k, d):
        B = np.zeros((len(chi[at]), d, d))
        B[:, *below] = low[at]
        B[:, range(d), range(d)] = chi[at]
        V = _inverse(_triangle(factors[at, 1 + d :], d))
        M = V.swapaxes(1, 2) @ B
        z = (factors[at, None, 1 : 1 + d] @ B)[:, 0] + noise[at] / np.sqrt(factors[at, :1])
        level = np.log(chi[at]).sum(axis=1) + np.log(np.einsum("kii->ki", V)).sum(axis=1)
        out[at, 0] = log_weight[at] + level - 0.5 * (z * z).sum(axis=1)
        out[at, 1 : 1 + d] = _times(M, z)
        out[at, 1 + d :] = half * _entries(M @ M.swapaxes(1, 2), _upper(d))


def student_forms(factors: Floats, out: Floats) -> None:
    """Find the quadratic forms of Student-t predictives."""
    d = columns(out[0]) if len(out) else 0
    row, col = np.triu_indices(d)
    twice = np.where(row == col, 1.0, 2.0)
    for at in _runs(len(out), d):
        g = factors[at, :1] / (factors[at, :1] + 1.0)
        t = factors[at, 1 : 1 + d]
        V = _inverse(_triangle(factors[at, 1 + d :], d)).swapaxes(1, 2)
        out[at, 0] = 1.0 + g[:, 0] * (t * t).sum(axis=1)
        out[at, 1 : 1 + d] = -2.0 * g * _times(V, t)
        out[at, 1 + d :] = g * twice * _entries(V @ V.swapaxes(1, 2), _upper(d))


def student_levels(
    factors: Floats, log_det: Floats, more: float, log_weight: Floats, level: Floats, power: Floats
) -> None:
    """Find levels and powers of Student-t predictives."""
    d, kappa = columns(factors[0]) if len(factors) else 0, factors[:, 0]
    power[:] = 0.5 * (kappa + more + 1.0)
    level[:] = log_weight + log_gamma(power) - log_gamma(power - 0.5 * d)
    level += 0.5 * (d * np.log(2.0 * kappa / (kappa + 1.0)) - log_det)


# -- cuts ---------------------------------------------------------------------------------------


def predictives(
    s: Floats, prior: Floats, more: float, log_weight: Floats, factors: Floats, level: Floats,
    power: Floats,
) -> int:  # fmt: skip
    """Find the Student-t predictives of clusters."""
    log_det = np.empty(len(s))
    failed = factor(s[:, None], prior, np.empty((0, columns(prior))), factors, log_det)
    student_levels(factors, log_det, more, log_weight, level, power)
    return failed


def directions(
    s: Floats, member: Floats, attempt: Ints, axes: int, prior: Floats, out: Floats
) -> None:
    """Find functionals whose sign cuts clusters in two."""
    d = columns(prior)
    metric, in_columns = _metric(prior, d), attempt % (2 * OF_A_KIND) >= OF_A_KIND
    mean = s[:, 1 : 1 + d] / np.maximum(s[:, :1], _TINY)
    way = member[:, 1 : 1 + d] - mean
    normal = np.where(in_columns[:, None], way, way @ metric)
    straight = np.flatnonzero(attempt % 2 == 0)
    rank = attempt % OF_A_KIND // 2 % axes
    for run in _runs(len(straight), d):
        at = straight[run]
        cov = _covariances(s[at], d)
        normal[at] = _principal_axes(cov, metric, in_columns[at], rank[at])
    level = normal * mean
    out[:] = 0.0
    out[:, 0] = -(level + _BESIDE * np.abs(level)).sum(axis=1)
    out[:, 1 : 1 + d] = normal


def boundaries(both: Floats, prior: Floats, more: float, normal: Floats, offset: Floats) -> int:
    """Find Fisher's discriminants of pairs of clusters."""
    d = columns(prior)
    for at in _runs(len(both), d):
        tau = prior + both[at]
        mean = tau[..., 1 : 1 + d] / tau[..., :1]
        L = _roots(tau, mean[:, 1] - mean[:, 0])
        dof = tau[..., 0].sum(axis=1) + 2.0 * more
        x = _times(_inverse(L[:, :d, :d]).swapaxes(1, 2), L[:, d, :d])
        normal[at] = dof[:, None] * x
        offset[at] = (normal[at] * mean.mean(axis=1)).sum(axis=1)
    offset += np.log((both[:, 0, 0] + 0.5) / (both[:, 1, 0] + 0.5))
    return int(np.isnan(offset).sum())


def truncate(past: Floats, normal: Floats, offset: Floats, certain: float, out: Floats) -> None:
    """Find what of a past lies below boundaries."""
    k, d = normal.shape
    for at in _runs(len(past), d):
        b = np.arange(len(past))[at] % k
        n, cov = past[at, 0], _covariances(past[at], d)
        mean = past[at, 1 : 1 + d] / np.maximum(n, _TINY)[:, None]
        along = _times(cov, normal[b])
        var, level = (along * normal[b]).sum(axis=1), (mean * normal[b]).sum(axis=1)
        fine = (n > 1e-6) & (var > 1e-12 * level * level) & (var > _TINY)
        var = np.where(fine, var, 1.0)
        t = np.clip((offset[b] - level) / np.sqrt(var), -certain, certain)
        share = normal_below(t)
        hazard = np.exp(-0.5 * t * t) / (sqrt(2.0 * pi) * share)
        cov -= (hazard * (t + hazard) / var)[:, None, None] * along[:, :, None] * along[:, None]
        mean = mean - along * (hazard / np.sqrt(var))[:, None]
        cov += mean[:, :, None] * mean[:, None]
        part = n * share
        new = np.column_stack(
            [part, part[:, None] * mean, part[:, None] * _entries(cov, _upper(d))]
        )
        out[at] = np.where(fine[:, None], new, 0.5 * past[at])


def _metric(prior: Floats, d: int) -> Floats:
    """Return the inverse of the scatter at a prior, of the identity's size; that if it has none."""
    scatter = _unpacked(prior[1 + d :], d) - np.outer(prior[1 : 1 + d], prior[1 : 1 + d]) / prior[0]
    L = _cholesky(scatter[None])[0]
    if not (np.diag(L) ** 2 > _SINGULAR * np.diag(scatter)).all():
        return np.eye(d)
    V = _inverse(L[None])[0]
    out: Floats = V.T @ V
    out *= d / np.trace(out)
    return out


def _principal_axes(cov: Floats, metric: Floats, in_columns: Flags, rank: Ints) -> Floats:
    """Return the principal axes (m, d) that have so many others (m,) before them.

    One that was found is taken out of the covariance before the next. If nothing but rounding is
    left, as of two rows, it is the last one.
    """
    out, whole, go = np.empty(cov.shape[:2]), np.trace(cov, axis1=1, axis2=2), np.arange(len(cov))
    for found in range(int(rank.max(initial=-1)) + 1):
        out[go], along, variance = _first_axes(cov[go], metric, in_columns[go])
        cov[go] -= variance[:, None, None] * along[:, :, None] * along[:, None, :]
        left = np.trace(cov[go], axis1=1, axis2=2) > _LEFT * whole[go]
        go = go[left & (rank[go] > found)]
    return out


def _first_axes(cov: Floats, metric: Floats, in_columns: Flags) -> tuple[Floats, Floats, Floats]:
    """Return axes (m, d), these times the covariance, and variances (m,), by power iteration.

    It starts from the column of largest variance.
    """
    m, d = cov.shape[:2]
    start = np.eye(d)[np.argmax(np.einsum("kii->ki", cov), axis=1)]
    v, along, variance, left = start, np.zeros((m, d)), np.zeros(m), np.ones(m, dtype=bool)
    for step in range(_ROUNDS):
        w = _times(cov, v)
        level = (w * v).sum(axis=1)
        u = np.where(in_columns[:, None], w, w @ metric)
        size = (u * w).sum(axis=1)
        some, length = size > 0.0, np.sqrt(np.where(size > 0.0, size, 1.0))[:, None]
        v = np.where(left[:, None], np.where(some[:, None], u / length, start), v)
        along = np.where(left[:, None], w / length, along)
        grown = level - variance > _GROWTH * level
        variance = np.where(left, level, variance)
        left = left & some & (grown | (step < 2))
        if not left.any():
            break
    return v, along, variance


# -- packed matrices ----------------------------------------------------------------------------


def columns(row: Floats) -> int:
    """Return the number of columns of which a row (p,) has statistics."""
    return (isqrt(8 * len(row) + 1) - 3) // 2


def _runs(k: int, d: int) -> Iterator[slice]:
    """Yield slices of k matrices (d, d) that stay near the processor."""
    size = max(_NUMBERS // max(d * d, 1), 1)
    for start in range(0, k, size):
        yield slice(start, start + size)


@cache
def _upper(d: int) -> Ints:
    """Return where the entries of the upper triangle of a matrix (d, d) are."""
    row, col = np.triu_indices(d)
    return row * d + col


@cache
def _lower(d: int, width: int) -> Ints:
    """Return where those of the lower triangle of its first d columns are."""
    row, col = np.tril_indices(d)
    return row * width + col


@cache
def _whole(d: int) -> Ints:
    """Return where a packed upper triangle has the entries of the matrix (d d,)."""
    at = np.empty((d, d), np.int64)
    row, col = np.triu_indices(d)
    at[row, col] = at[col, row] = np.arange(len(row))
    return at.ravel()


def _unpacked(rows: Floats, d: int) -> Floats:
    """Return symmetric matrices (..., d, d) by their upper triangles."""
    return rows.take(_whole(d), axis=-1).reshape(*rows.shape[:-1], d, d)


def _entries(matrix: Floats, where: Ints) -> Floats:
    """Return some entries (m, e) of matrices."""
    return matrix.reshape(len(matrix), -1).take(where, axis=1)


def _triangle(rows: Floats, d: int) -> Floats:
    """Return lower triangular matrices (m, d, d) by their rows one after the other."""
    out = np.zeros((len(rows), d, d))
    out[:, *np.tril_indices(d)] = rows
    return out


def _covariances(s: Floats, d: int) -> Floats:
    """Return the covariances (m, d, d) of groups with statistics (m, p)."""
    n = np.maximum(s[:, :1], _TINY)
    mean = s[:, 1 : 1 + d] / n
    return _unpacked(s[:, 1 + d :] / n, d) - mean[:, :, None] * mean[:, None, :]


def _times(matrix: Floats, vector: Floats) -> Floats:
    """Return the products (m, d) of matrices and vectors."""
    out: Floats = (matrix @ vector[..., None])[..., 0]
    return out


def _roots(tau: Floats, aim: Floats | None = None) -> Floats:
    """Return Cholesky factors of the summed scatters of groups (m, g, p); NaN where there is none.

    With vectors (m, d) each has another row, which is ``(L^-1 vector)'``.
    """
    d = columns(tau[0, 0])
    sums = tau[..., 1 : 1 + d]
    scatter = _unpacked(tau[..., 1 + d :].sum(axis=1), d)
    scatter -= sums.swapaxes(1, 2) @ (sums / tau[..., :1])
    if aim is None:
        return _cholesky(scatter)
    both = np.zeros((len(tau), d + 1, d + 1))
    both[:, :d, :d], both[:, d, :d], both[:, d, d] = scatter, aim, _FREE
    return _cholesky(both)


def _cholesky(matrix: Floats) -> Floats:
    try:
        return np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        out = np.full(matrix.shape, np.nan)
        if len(matrix) > 1:
            for i, one in enumerate(matrix):
                out[i] = _cholesky(one[None])[0]
        return out


def _log_det(L: Floats, d: int) -> Floats:
    """Return the log determinants (m,) of scatters by their factors."""
    out: Floats = 2.0 * np.log(np.einsum("kii->ki", L)[:, :d]).sum(axis=1)
    return out


def _inverse(L: Floats) -> Floats:
    """Return the inverses of lower triangular matrices (m, d, d)."""
    d = L.shape[1]
    if d <= _BLOCK:
        return np.tril(np.linalg.inv(L))
    h, out = d // 2, np.zeros_like(L)
    first, last = _inverse(L[:, :h, :h]), _inverse(L[:, h:, h:])
    out[:, :h, :h], out[:, h:, h:] = first, last
    out[:, h:, :h] = -(last @ (L[:, h:, :h] @ first))
    return out
