"""Compiled kernels for the statistics of rows of Gaussian clusters, and what clusters pool."""

from __future__ import annotations

import math
from typing import Any

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, brief, brief_part, part
from scstream.kernels.crew import Crew, on_threads

WIDE = 100.0  # times the variance that clusters of most rows have: wider ones say nothing of others
MOST = 0.8  # of all rows
_ASTRAY = 10.0  # times as far from the mean, squared, as most rows' clusters: worth a closer look
_KNOWN = 10.0  # rows for each column that show a covariance well
_LITTLE = 1e-9  # of its variance, that each column has for itself where covariances are not shrunk
_SHARE = 2**14  # numbers that a thread looks through at a time
_NARROW, _RUN = 4, 512  # columns up to which rows are short, and rows that stay in cache


@bare
def zeros(X: Any) -> Any:
    """Return the sum of 0 times each square of rows (n, d): 0, or NaN if some is not finite."""
    return _zeros(X.reshape(-1))


@bare
def shared_zeros(crew: Crew, flat: Any, taken: Any) -> None:
    """Do the same with many numbers (m,) on threads.

    How many runs of them are ``taken`` is counted there from 0; the second place counts those with
    one that is not finite.
    """
    on_threads(crew, _zeros_share, (crew, flat, taken))


@part
def _zeros_share(thread: int, given: Any) -> None:
    _, flat, taken = given
    start = _SHARE * claim(taken, 0)
    while start < len(flat):
        if _zeros(flat[start : start + _SHARE]) != 0.0:  # NaN is not
            claim(taken, 1)
        start = _SHARE * claim(taken, 0)


@part
def _zeros(flat: Any) -> Any:
    total = 0.0
    for i in range(len(flat)):
        total += 0.0 * (flat[i] * flat[i])
    return total


@bare
def statistics(X: Any, shift: Any, scale: Any, out: Any) -> None:
    """Fill rows (n, p) with ``(1, z, z z')`` for ``z = (x - shift) / scale``; (n, d) with z."""
    n, d = X.shape
    if d <= _NARROW:
        for r in range(0, n, _RUN):
            _narrow_statistics(X[r : r + _RUN], shift, scale, out[r : r + _RUN])
        return
    first = 1 if out.shape[1] > d else 0
    for r in range(n):
        z = out[r, first : first + d]
        for i in range(d):
            z[i] = (X[r, i] - shift[i]) / scale[i]
        if not first:
            continue
        out[r, 0] = 1.0
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
    first = 1 if out.shape[1] > d else 0
    for i in range(d):
        for r in range(n):
            out[r, first + i] = (X[r, i] - shift[i]) / scale[i]
    if not first:
        return
    q = 1 + d
    for i in range(d):
        for j in range(i, d):
            for r in range(n):
                out[r, q] = out[r, 1 + i] * out[r, 1 + j]
            q += 1
    for r in range(n):
        out[r, 0] = 1.0


@brief_part
def middle(clusters: Any, out: Any) -> Any:
    """Fill the mean (d,) of all points of clusters (k, p), if there are any.

    Returns how many there are, and whether some clusters are `astray`.
    """
    n = 0.0
    for r in range(len(clusters)):
        n += clusters[r, 0]
    for i in range(len(out)):
        total = 0.0
        for r in range(len(clusters)):
            total += clusters[r, 1 + i]
        out[i] = total / n
    return n, astray(clusters, out)


@brief
def pooled(clusters: Any, out: Any) -> Any:
    """Fill the covariance (d, d) within clusters (k, p); returns its degrees of freedom.

    These are the points less one for each cluster's mean. With few of them it is shrunk towards its
    diagonal. Where columns nearly determine each other, and there are enough points to know it, it
    is not: along what they hardly differ in, clusters would be expected to be far wider than any of
    them is, and the more points one has the less that matters, so all would be joined. It has no
    variance of 0.
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
    more, little = float(d), 1e-6
    if spare >= _KNOWN * d and _least_alone(out) * spare < d and not outlying(clusters, d):
        more, little = 0.0, _LITTLE
    for i in range(d):
        out[i, i] = (1.0 + little) * out[i, i] / spare + 1e-14
        for j in range(i + 1, d):
            out[i, j] /= spare + more
            out[j, i] = out[i, j]
    return n - k


@brief_part
def _least_alone(out: Any) -> Any:
    """Return the least share of a column's square that the columns before it do not determine.

    The sums of squares and products are in the upper triangle; Cholesky factors fill the lower.
    """
    least = 1.0
    for j in range(len(out)):
        alone = out[j, j]
        for i in range(j):
            alone -= out[j, i] * out[j, i]
        if out[j, j] > 0.0:
            least = min(least, alone / out[j, j])
        if not alone > 0.0:
            for r in range(j + 1, len(out)):
                out[r, j] = 0.0
            continue
        root = math.sqrt(alone)
        for r in range(j + 1, len(out)):
            product = out[j, r]
            for i in range(j):
                product -= out[r, i] * out[j, i]
            out[r, j] = product / root
    return least


@brief
def expected(
    clusters: Any, latest: Any, psi: Any, share: float, least: float, mean: Any, out: Any
) -> Any:
    """Fill the `middle` (d,) of clusters (k, p), and what `follow` expects after their latest rows.

    Returns what these two return.
    """
    n, far = middle(clusters, mean)
    return n, far, follow(latest, psi, share, least, out)


@brief
def follow(clusters: Any, psi: Any, share: float, least: float, out: Any) -> Any:
    """Fill an expected covariance (d, d) between ``psi`` and a share of that within clusters.

    Either counts as many points as it is of; ``psi`` at least so many, and not less than the other.
    Returns whether some clusters are `outlying`.
    """
    new = max(pooled(clusters, out), 0.0)
    old = max(least, new)
    for i in range(len(psi)):
        for j in range(len(psi)):
            out[i, j] = (old * psi[i, j] + new * share * out[i, j]) / (old + new)
    return outlying(clusters, len(psi))


@brief
def outlying(clusters: Any, d: int) -> Any:
    """Whether some clusters (k, p) are far wider in a column than those of most rows."""
    q = 1 + d
    for i in range(d):
        total = widest = wide = 0.0
        for r in range(len(clusters)):
            total += clusters[r, 0]
            widest = max(widest, _variance(clusters[r], i, q))
        for r in range(len(clusters)):
            if WIDE * _variance(clusters[r], i, q) >= widest:
                wide += clusters[r, 0]
        if wide < (1.0 - MOST) * total:
            return True
        q += d - i
    return False


@brief_part
def astray(clusters: Any, mean: Any) -> Any:
    """Whether some clusters (k, p) are further from the mean (d,) in a column than most rows'."""
    for i in range(len(mean)):
        total = furthest = far = 0.0
        for r in range(len(clusters)):
            total += clusters[r, 0]
            furthest = max(furthest, _off(clusters[r], i, mean[i]))
        for r in range(len(clusters)):
            if _ASTRAY * _off(clusters[r], i, mean[i]) >= furthest:
                far += clusters[r, 0]
        if far < (1.0 - MOST) * total:
            return True
    return False


@part
def _off(row: Any, i: int, mean: float) -> Any:
    """Return how far, squared, the mean of column i of a cluster (p,) is from another."""
    return (row[1 + i] / row[0] - mean) ** 2 if row[0] > 0.0 else 0.0


@part
def _variance(row: Any, i: int, q: int) -> Any:
    """Return the variance of column i of a cluster (p,), whose square is at a place q."""
    n = row[0]
    return row[q] / n - (row[1 + i] / n) ** 2 if n > 0.0 else 0.0
