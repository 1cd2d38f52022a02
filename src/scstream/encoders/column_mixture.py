"""How well a mixture describes a column, of normal distributions or of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from scstream.core import Floats as Array

_POINTS = 256  # so many represent a column
_GROUPS = 8  # of neighbours, to start from
_ROWS = 8  # that a group has at least then
_SWEEPS = 6  # in which groups are refined before two are merged
_LEAST = 1e-300  # a variance
_LEAST_ROWS = 1e-9  # of a group that has none
_LEAST_RATE = 1e-3  # of counts
_LEAST_DISPERSION = 1e-6  # with which counts are Poisson
_NOTHING = -50.0  # nats below the best group, from which on a group has no part of a point


def representatives(x: Array, most: int = _POINTS) -> Array:
    """Return some points of a column (n,), in order; equal ones are spread to half of the gaps."""
    values, counts = np.unique(x, return_counts=True)
    gaps = np.diff(values, prepend=-np.inf, append=np.inf)
    room = np.minimum(gaps[:-1], gaps[1:])
    room = np.where(np.isinf(room), 0.0, room)
    ends = np.cumsum(counts)
    m = min(len(x), most)
    row = ((np.arange(m) + 0.5) * len(x) / m).astype(np.int64)  # in order
    own = np.searchsorted(ends, row, side="right")
    among = row - (ends - counts)[own]
    return values[own] + room[own] * ((among + 0.5) / counts[own] - 0.5)


def log_evidence(y: Array) -> float:
    """Return the log-density of points (n,), in order, under the best mixture, less its freedom.

    As a first batch does, it starts from many groups of neighbours and merges them: then it finds
    narrow clusters and wide ones, near or far. Each number that describes the mixture costs half
    the logarithm of the number of rows (BIC).
    """
    deviation = float(y.std())
    z, once = (y - y.mean()) / deviation, np.ones(len(y), dtype=np.int64)
    return _best(z, once, counts=False) - len(y) * float(np.log(deviation))


def log_evidence_of_counts(x: Array, most: int = _GROUPS) -> float:
    """Return the same of whole numbers (n,) from 0, for negative binomials of one dispersion."""
    values, times = np.unique(x, return_counts=True)
    return _best(values, times, most, counts=True)


def _best(y: Array, times: NDArray[np.int64], most: int = _GROUPS, *, counts: bool) -> float:
    """Return the log-density of points (m,) under the best mixture, less its freedom.

    Each point counts so many times.
    """
    n = int(times.sum())
    k = max(min(most, n // _ROWS), 1)
    of_each, of_all = (2, 1) if counts else (3, 0)  # numbers, the share included
    part, weight = _neighbours(times, k), times.astype(np.float64)
    narrow = _variances(y, part * times) + _LEAST
    best = float("-inf")
    while True:
        density = 0.0
        for _ in range(_SWEEPS if k > 1 else 1):
            part, density = _refined(y, weight, _moments(y, weight, narrow, part), counts)
        moments = _moments(y, weight, narrow, part)
        free = of_each * k - 1 + of_all
        best = max(best, density - 0.5 * free * float(np.log(n)))
        if k == 1:
            return best
        part, narrow = _merged(part, narrow, moments)
        k -= 1


def _moments(y: Array, times: Array, narrow: Array, part: Array) -> Array:
    """Return rows, means and variances (3, k) of groups with parts (k, m) of points.

    A variance has that of the group's start (``narrow``) as one more row: none is that of a point
    or two.
    """
    weight = part * times
    rows = weight.sum(axis=1) + _LEAST_ROWS
    mean = weight @ y / rows
    squares = narrow + (weight * (y - mean[:, None]) ** 2).sum(axis=1)
    return np.stack([rows, mean, squares / (rows + 1.0)])


def _refined(y: Array, times: Array, moments: Array, counts: bool) -> tuple[Array, float]:
    """Return the parts (k, m) of points under groups, and the log-density of these.

    All groups of counts share the shape r, one over the dispersion.
    """
    rows, mean, variance = moments
    level, base = np.log(rows / times.sum()), np.zeros(len(y))
    if counts:
        mean = np.maximum(mean, _LEAST_RATE)
        wider = (rows * (variance - mean)).sum() / (rows * mean * mean).sum()
        r = 1.0 / max(float(wider), _LEAST_DISPERSION)
        score = np.log(mean / (mean + r))[:, None] * y
        score += (level - r * np.log1p(mean / r))[:, None]
        base = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0)
    else:
        score = (-0.5 / variance)[:, None] * (y - mean[:, None]) ** 2
        score += (level - 0.5 * np.log(2.0 * np.pi * variance))[:, None]
    highest = score.max(axis=0)
    score -= highest
    part = np.where(score > _NOTHING, np.exp(score), 0.0)
    total = part.sum(axis=0)
    return part / total, float(times @ (base + highest + np.log(total)))


def _neighbours(times: NDArray[np.int64], k: int) -> Array:
    """Return the parts (k, m) of k groups of neighbours, as many of them in each, in points."""
    n, m = int(times.sum()), len(times)
    group, own = np.arange(n) * k // n, np.repeat(np.arange(m), times)
    return np.bincount(group * m + own, minlength=k * m).reshape(k, m) / times


def _variances(y: Array, part: Array) -> Array:
    """Return the variances (k,) of groups with parts (k, m) of the points."""
    rows = part.sum(axis=1)
    away = y - (part @ y / rows)[:, None]
    out: Array = (part * away**2).sum(axis=1) / rows
    return out


def _merged(part: Array, narrow: Array, moments: Array) -> tuple[Array, Array]:
    """Return parts and least variances with those two neighbours as one that lose least by it."""
    order = np.argsort(moments[1])
    part, narrow = part[order], narrow[order]
    rows, mean, variance = moments[:, order]
    both = rows[1:] + rows[:-1]
    share = rows[1:] / both
    wide = share * variance[1:] + (1.0 - share) * variance[:-1]
    wide = wide + share * (1.0 - share) * np.diff(mean) ** 2
    apart = _entropy(rows, variance)
    i = int(np.argmin(_entropy(both, wide) - apart[1:] - apart[:-1]))
    part[i] += part[i + 1]
    narrow[i] = narrow[i : i + 2].min()
    return np.delete(part, i + 1, axis=0), np.delete(narrow, i + 1)


def _entropy(rows: Array, variance: Array) -> Array:
    """Return the entropy of groups: of where their rows are, and of which rows are theirs."""
    return rows * (0.5 * np.log(variance) - np.log(rows))
