"""Symmetric matrices packed behind a count and a vector: as sums of points have them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from scstream.families.scores import Array


@cache
def upper(d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the entries of an upper triangle (d, d)."""
    row, col = np.triu_indices(d)
    return row, col


def unpack(packed: Array, d: int) -> Array:
    """Return symmetric matrices (..., d, d) by their upper triangles."""
    return packed.take(_whole(d), axis=-1)


@cache
def _whole(d: int) -> NDArray[np.int64]:
    """Return which entry of a packed upper triangle each of the matrix (d, d) is."""
    out = np.empty((d, d), np.int64)
    row, col = upper(d)
    out[row, col] = out[col, row] = np.arange(len(row))
    return out


def moments(s: Array, d: int) -> tuple[Array, Array]:
    """Return means (..., d) and covariances (..., d, d) of groups with statistics (..., p)."""
    n = np.maximum(s[..., :1], 1e-300)
    mean = s[..., 1 : 1 + d] / n
    cov = unpack(s[..., 1 + d :] / n, d)
    cov -= mean[..., :, None] * mean[..., None, :]
    return mean, cov


def means(tau: Array, d: int) -> Array:
    """Return means (..., d) of groups with statistics (..., p)."""
    return tau[..., 1 : 1 + d] / tau[..., :1]


def roots_of(covariance: Array) -> Array:
    """Return square roots (k, d, d) of covariances, also where rounding left some flat."""
    try:
        return np.linalg.cholesky(covariance).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        value, vector = np.linalg.eigh(covariance)
        out: Array = vector * np.sqrt(np.maximum(value, 0.0))[:, None, :]
        return out
