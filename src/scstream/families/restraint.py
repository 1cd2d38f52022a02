"""Clusters of a few rows that are far wider or further out than all others.

What is expected of a cluster is pooled from all of them, row by row. Rows that lie a hundred times
further out than others, as faulty readings do, end up in a wide cluster of their own, and one row
of it outweighs ten thousand others: the expected covariance would be theirs, and all clusters would
be joined. So it is also tried with such clusters restrained, and their means held back, and what
makes the clusters more probable is taken.
"""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array
from scstream.kernels import pooling
from scstream.kernels import restraint as kernels

_TINY = 1e-300


def factors_of(count: Array, scatter: Array) -> Array | None:
    """Return what sums of squares (k, d) of so many rows are to be multiplied by, None if nothing.

    A column's mean square in a cluster is cut down to a multiple of that which is not exceeded in
    the clusters of most rows.
    """
    out, order = np.empty(scatter.shape), np.empty(len(scatter), dtype=np.int64)
    count, scatter = np.ascontiguousarray(count), np.ascontiguousarray(scatter)
    return out if kernels.factors(count, scatter, order, out) else None


def middles(count: Array, sums: Array) -> list[Array]:
    """Return the mean (d,) of all rows, given each cluster's (k, d), and sums of them.

    Once more with clusters held back that are far out, if there are some.
    """
    room, out = np.empty((3, *sums.shape)), np.empty((2, sums.shape[1]))
    count, sums = np.ascontiguousarray(count), np.ascontiguousarray(sums)
    return list(out[: kernels.middles(count, sums, np.empty(len(sums), dtype=np.int64), room, out)])


def gaussian_middles(clusters: Array, d: int) -> list[Array]:
    """Return the same of clusters (k, p) of d columns."""
    return middles(np.repeat(clusters[:, :1], d, axis=1), clusters[:, 1 : 1 + d])


def restrained(clusters: Array, d: int) -> list[Array]:
    """Return clusters (k, p) of d columns, and, if some are far too wide, once more without that.

    Their means stay what they are.
    """
    if not pooling.outlying(clusters, d):
        return [clusters]
    i, j = np.triu_indices(d)
    n = clusters[:, :1]
    mean = clusters[:, 1 : 1 + d] / np.maximum(n, _TINY)
    middle = n * mean[:, i] * mean[:, j]
    scatter = clusters[:, 1 + d :] - middle
    factors = factors_of(np.repeat(n, d, axis=1), scatter[:, i == j])
    if factors is None:
        return [clusters]
    less = np.column_stack([clusters[:, : 1 + d], middle + factors.min(axis=1)[:, None] * scatter])
    return [clusters, less]
