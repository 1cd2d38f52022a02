"""Distances between Gaussians, many at once: means (k, d), covariances (k, d, d), pairs (m, 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array

Ints = NDArray[np.int64]
_NUMBERS = 2**20  # of matrices that are worked on at once
_LEAST_PIVOT = 1e-12  # of a variance: a shape with a smaller one is flat


def whiteners(cov: Array) -> tuple[Array, Array]:
    """Return the inverse Cholesky factors W (m, d, d) and half log determinants (m,).

    ``W @ x`` is a distance x in deviations. Both are 0 for shapes that are flat.
    """
    L = _factors(cov)
    fine = _not_flat(L, cov)
    L[~fine] = np.eye(cov.shape[1])
    W = np.linalg.inv(L).astype(np.float64, copy=False) * fine[:, None, None]
    volume: Array = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
    return W, volume


def _factors(cov: Array) -> Array:
    """Return Cholesky factors (m, d, d), 0 where there is none."""
    try:
        return np.linalg.cholesky(cov).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        if len(cov) == 1:
            return np.zeros(cov.shape)
        return np.concatenate([_factors(one[None]) for one in cov])


def _not_flat(L: Array, cov: Array) -> NDArray[np.bool_]:
    pivots, variances = (np.diagonal(a, axis1=1, axis2=2) for a in (L, cov))
    out: NDArray[np.bool_] = np.all(pivots * pivots > _LEAST_PIVOT * np.abs(variances), axis=1)
    return out


def fisher(mean: Array, cov: Array, pairs: Ints) -> tuple[Array, Array]:
    """Return Fisher's directions (m, d) from one to the other, and squared distances (m,).

    These are in the deviations of both clusters' mean shape. On the direction the mean variance is
    1. Both are 0 if the shape is flat.
    """
    direction, square = np.zeros((len(pairs), mean.shape[1])), np.zeros(len(pairs))
    for some in _blocks(*direction.shape):
        a, b = pairs[some].T
        shape, gap = 0.5 * (cov[a] + cov[b]), mean[b] - mean[a]
        fine = _not_flat(_factors(shape), shape)
        shape[~fine], gap[~fine] = np.eye(mean.shape[1]), 0.0
        u = np.linalg.solve(shape, gap[..., None])[..., 0]
        square[some] = np.maximum((u * gap).sum(axis=1), 0.0)
        length = np.sqrt(np.where(square[some] > 0.0, square[some], 1.0))
        direction[some] = u / length[:, None]
    return direction, square


def squared_lengths(W: Array, x: Array, owner: Ints) -> Array:
    """Return the squared length (m,) of each x (m, d) in the deviations of its cluster."""
    out = np.empty(len(x))
    for some in _blocks(*x.shape):
        out[some] = (_times(W[owner[some]], x[some]) ** 2).sum(axis=1)
    return out


def deviations(cov: Array, u: Array, owner: Ints) -> Array:
    """Return the deviation (m,) of each one's cluster along a direction u (m, d)."""
    out = np.empty(len(u))
    for some in _blocks(*u.shape):
        out[some] = (_times(cov[owner[some]], u[some]) * u[some]).sum(axis=1)
    return np.sqrt(np.maximum(out, 1e-300))


def _times(matrices: Array, x: Array) -> Array:
    out: Array = np.einsum("mij,mj->mi", matrices, x)
    return out


def _blocks(m: int, d: int) -> Iterator[slice]:
    """Yield slices of m that are worked on at once, each with a matrix (d, d)."""
    step = max(_NUMBERS // (d * d), 1)
    for start in range(0, m, step):
        yield slice(start, start + step)
