"""Clusters of a few rows that are far wider, or further out, than all others.

What is expected of a cluster is pooled from all of them, row by row, and one faulty reading that is
a hundred times as far out outweighs ten thousand others. So it is also tried with such clusters
restrained, or held back, and what makes the clusters more probable is taken.
"""

import numpy as np

WIDE = 100.0  # times the mean square that clusters of most rows have
MOST = 0.8  # of all rows
ASTRAY = 10.0  # times as far from the mean, squared, as most rows' clusters: worth a closer look


def not_exceeded(n, values, share):
    """Return the value that a share of the rows do not exceed, n of which have each value."""
    order = np.argsort(values, kind="stable")
    return values[order][np.argmax(np.cumsum(n[order]) >= share * n.sum())]


def factors(n, squares):
    """Return what sums of squares (k, d) are multiplied by, so that none is far too wide."""
    mean = np.maximum(squares, 0.0) / np.maximum(n, 1e-300)[:, None]
    most = WIDE * np.array([not_exceeded(n, column, MOST) for column in mean.T])
    return np.where(mean > most, most / np.maximum(mean, 1e-300), 1.0)


def restrained(clusters, d):
    """Return clusters (k, p), and once more with covariances that are not far too wide, if any is.

    Their means stay what they are.
    """
    row, col = np.triu_indices(d)
    n = clusters[:, 0]
    mean = clusters[:, 1 : 1 + d] / np.maximum(n, 1e-300)[:, None]
    middle = n[:, None] * mean[:, row] * mean[:, col]
    scatter = clusters[:, 1 + d :] - middle
    by = factors(n, scatter[:, row == col]).min(axis=1)
    if (by == 1.0).all():
        return [clusters]
    return [clusters, np.column_stack([clusters[:, : 1 + d], middle + by[:, None] * scatter])]


def middles(clusters, d):
    """Return the mean of all rows, and once more with clusters held back that are far out."""
    n, sums = clusters[:, 0], clusters[:, 1 : 1 + d]
    mean, whole = sums / np.maximum(n, 1e-300)[:, None], sums.sum(axis=0) / n.sum()
    far = (mean - whole) ** 2 * (n > 0)[:, None]
    near = [n[ASTRAY * column >= column.max()].sum() for column in far.T]
    if min(near) >= (1.0 - MOST) * n.sum():
        return [whole]
    centre = np.array([not_exceeded(n, column, 0.5) for column in mean.T])
    held = factors(n, n[:, None] * (mean - centre) ** 2)
    if (held == 1.0).all():
        return [whole]
    return [whole, centre + (n[:, None] * np.sqrt(held) * (mean - centre)).sum(axis=0) / n.sum()]
