"""What Gaussian clusters pool: the mean and covariance within them, which the prior expects.

It is pooled row by row. Rows that lie a hundred times further out than others, as faulty readings
do, end up in a wide cluster of their own, and one row of it outweighs ten thousand others: the
expected covariance would be theirs, and all clusters would be joined. So it is also tried with such
clusters restrained, and their means held back, and what makes the clusters more probable is taken.
"""

from __future__ import annotations

import numpy as np

from scstream import core
from scstream.families.packed import upper
from scstream.families.scores import Array

WIDE = 100.0  # times the variance that clusters of most rows have: wider ones say nothing of others
MOST = 0.8  # of all rows
_TINY = 1e-300
_ASTRAY = 10.0  # times as far from the mean, squared, as most rows' clusters: worth a closer look


def pooled(clusters: Array, d: int) -> tuple[Array, float, bool]:
    """Return the covariance (d, d) within clusters (k, p), and its degrees of freedom.

    These are the points less one for each cluster's mean. With few of them it is shrunk towards its
    diagonal. Where columns nearly determine each other, and there are enough points to know it, it
    is not: along what they hardly differ in, clusters would be expected to be far wider than any of
    them is, and the more points one has the less that matters, so all would be joined. It has no
    variance of 0. Also returns whether some clusters are far wider than those of most rows.
    """
    out = np.empty((d, d))
    dof, wide = core.pool(clusters, MOST, WIDE, out)
    return out, dof, wide


def gaussian_middles(clusters: Array, d: int) -> list[Array]:
    """Return the mean (d,) of all rows, also with clusters held back that are far out, if any."""
    mean = np.empty(d)
    if not core.middle(clusters, MOST, _ASTRAY, mean):
        return [mean]
    return middles(np.repeat(clusters[:, :1], d, axis=1), clusters[:, 1 : 1 + d])


def between(psi: Array, within: Array, dof: float, share: float, least: float) -> Array:
    """Return an expected covariance (d, d) between ``psi`` and a share of that within clusters.

    Either counts as many points as it is of; ``psi`` at least so many, and not less than the other.
    """
    new = max(dof, 0.0)
    old = max(least, new)
    out: Array = (old * psi + new * share * within) / (old + new)
    return out


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
