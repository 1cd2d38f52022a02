"""Clusters of a few rows that are far wider or further out than all others.

What is expected of a cluster is pooled from all of them, row by row. Rows that lie a hundred times
further out than others, as faulty readings do, end up in a wide cluster of their own, and one row
of it outweighs ten thousand others: the expected covariance would be theirs, and all clusters would
be joined. So it is also tried with such clusters restrained, and their means held back, and what
makes the clusters more probable is taken.
"""

from __future__ import annotations

import numpy as np

from scstream.families.packed import upper
from scstream.families.scores import Array

WIDE = 100.0  # times the variance that clusters of most rows have: wider ones say nothing of others
MOST = 0.8  # of all rows
_TINY = 1e-300


def factors_of(count: Array, scatter: Array) -> Array | None:
    """Return what sums of squares (k, d) of so many rows are to be multiplied by, None if nothing.

    A column's mean square in a cluster is cut down to a multiple of that which is not exceeded in
    the clusters of most rows.
    """
    square = np.maximum(scatter, 0.0) / np.maximum(count, _TINY)
    most = WIDE * _quantiles(count, square, MOST)
    wide = square > most
    return np.where(wide, most / np.where(wide, square, 1.0), 1.0) if wide.any() else None


def middles(count: Array, sums: Array) -> list[Array]:
    """Return the mean (d,) of all rows, given each cluster's (k, d), and sums of them.

    Once more with clusters held back that are far out, if there are some.
    """
    total, mean = np.maximum(count.sum(axis=0), _TINY), sums / np.maximum(count, _TINY)
    centre = _quantiles(count, mean, 0.5)
    held = factors_of(count, count * (mean - centre) ** 2)
    whole = sums.sum(axis=0) / total
    if held is None:
        return [whole]
    return [whole, centre + (count * np.sqrt(held) * (mean - centre)).sum(axis=0) / total]


def _quantiles(count: Array, values: Array, share: float) -> Array:
    """Return the value in each column of (k, d) that a share of rows do not exceed."""
    order = np.argsort(values, axis=0, kind="stable")
    rows = np.cumsum(np.take_along_axis(count, order, axis=0), axis=0)
    first = np.argmax(rows >= share * rows[-1], axis=0)
    at = np.take_along_axis(order, first[None], axis=0)
    out: Array = np.take_along_axis(values, at, axis=0)[0]
    return out


def gaussian_middles(clusters: Array, d: int) -> list[Array]:
    """Return the same of clusters (k, p) of d columns."""
    return middles(np.repeat(clusters[:, :1], d, axis=1), clusters[:, 1 : 1 + d])


def restrained(clusters: Array, d: int) -> list[Array]:
    """Return clusters (k, p) of d columns, and, if some are far too wide, once more without that.

    Their means stay what they are.
    """
    i, j = upper(d)
    n = clusters[:, :1]
    mean = clusters[:, 1 : 1 + d] / np.maximum(n, _TINY)
    middle = n * mean[:, i] * mean[:, j]
    scatter = clusters[:, 1 + d :] - middle
    factors = factors_of(np.repeat(n, d, axis=1), scatter[:, i == j])
    if factors is None:
        return [clusters]
    less = np.column_stack([clusters[:, : 1 + d], middle + factors.min(axis=1)[:, None] * scatter])
    return [clusters, less]
