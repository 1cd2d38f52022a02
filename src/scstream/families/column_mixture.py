"""How well a mixture describes a column, of normal distributions or of counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from scstream.families.scores import Array

_POINTS = 256  # so many represent a column
_GROUPS = 8  # of neighbours, to start from
_ROWS = 8  # that a group has at least then
_SWEEPS = 6  # in which groups are refined before two are merged
_NONE = 1e-9  # rows of a group that has none
_LEAST = 1e-300  # a variance
_LEAST_RATE = 1e-3  # of counts
_LEAST_DISPERSION = 1e-6  # with which counts are Poisson


class _Kind(NamedTuple):
    """What groups are: their log-densities (n, k) at points, and the numbers that describe them."""

    log_density: Callable[[Array, Array, Array, Array], Array]
    of_each: int
    of_all: int


def representatives(x: Array) -> Array:
    """Return some points of a column (n,), in order; equal ones are spread to half of the gaps."""
    values, counts = np.unique(x, return_counts=True)
    gaps = np.diff(values, prepend=-np.inf, append=np.inf)
    room = np.minimum(gaps[:-1], gaps[1:])
    room = np.where(np.isinf(room), 0.0, room)
    own = np.repeat(np.arange(len(values)), counts)
    among = np.arange(len(x)) - (np.cumsum(counts) - counts)[own]
    spread = values[own] + room[own] * ((among + 0.5) / counts[own] - 0.5)
    m = min(len(x), _POINTS)
    return spread[((np.arange(m) + 0.5) * len(x) / m).astype(np.int64)]


def log_evidence(y: Array) -> float:
    """Return the log-density of points (n,), in order, under the best mixture, less its freedom.

    As a first batch does, it starts from many groups of neighbours and merges them: then it finds
    narrow clusters and wide ones, near or far. Each number that describes the mixture costs half
    the logarithm of the number of rows (BIC).
    """
    deviation = float(y.std())
    return _best((y - y.mean()) / deviation, _NORMAL) - len(y) * float(np.log(deviation))


def log_evidence_of_counts(x: Array, most: int = _GROUPS) -> float:
    """Return the same of whole numbers (n,) from 0, for negative binomials of one dispersion."""
    return _best(x, _COUNTS, most)


def _best(y: Array, kind: _Kind, most: int = _GROUPS) -> float:
    """Return the log-density of points (n,) under the best mixture of a kind, less its freedom."""
    n = len(y)
    k = max(min(most, n // _ROWS), 1)
    group = np.arange(n) * k // n
    part = np.eye(k)[group]
    narrow = np.array([y[group == i].var() for i in range(k)]) + _LEAST
    best = float("-inf")
    while True:
        for _ in range(_SWEEPS):
            moments = _moments(y, part, narrow)
            log_density = np.log(moments[0] / n) + kind.log_density(y, *moments)
            highest = log_density.max(axis=1, keepdims=True)
            part = np.exp(log_density - highest)
            total = part.sum(axis=1, keepdims=True)
            part /= total
        density = float((highest + np.log(total)).sum())
        free = (1 + kind.of_each) * k - 1 + kind.of_all
        best = max(best, density - 0.5 * free * float(np.log(n)))
        if k == 1:
            return best
        part, narrow = _merged(part, narrow, _moments(y, part, narrow))
        k -= 1


def _normal_density(y: Array, rows: Array, mean: Array, variance: Array) -> Array:
    out: Array = -0.5 * np.log(2.0 * np.pi * variance) - 0.5 * (y[:, None] - mean) ** 2 / variance
    return out


def _count_density(x: Array, rows: Array, mean: Array, variance: Array) -> Array:
    """Return the log-density of counts with these means and one dispersion, by the variances."""
    mean = np.maximum(mean, _LEAST_RATE)
    wider = float((rows * (variance - mean)).sum() / (rows * mean**2).sum())
    r = 1.0 / max(wider, _LEAST_DISPERSION)
    base = gammaln(x + r) - gammaln(r) - gammaln(x + 1.0)
    out: Array = base[:, None] + x[:, None] * np.log(mean / (mean + r)) - r * np.log1p(mean / r)
    return out


_NORMAL = _Kind(_normal_density, of_each=2, of_all=0)
_COUNTS = _Kind(_count_density, of_each=1, of_all=1)


def _moments(y: Array, part: Array, narrow: Array) -> tuple[Array, Array, Array]:
    """Return rows, means and variances (k,) of groups with parts (n, k) of the points.

    A variance has that of the group's start as one more row: none is that of a point or two.
    """
    rows = part.sum(axis=0) + _NONE
    mean = part.T @ y / rows
    squares = (part * (y[:, None] - mean) ** 2).sum(axis=0)
    return rows, mean, (squares + narrow) / (rows + 1.0)


def _merged(part: Array, narrow: Array, moments: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """Return parts and least variances with those two neighbours as one that lose least by it."""
    order = np.argsort(moments[1])
    part, narrow = part[:, order], narrow[order]
    rows, mean, variance = (values[order] for values in moments)
    both = rows[1:] + rows[:-1]
    share = rows[1:] / both
    wide = share * variance[1:] + (1.0 - share) * variance[:-1]
    wide = wide + share * (1.0 - share) * np.diff(mean) ** 2
    apart = _entropy(rows, variance)
    i = int(np.argmin(_entropy(both, wide) - apart[1:] - apart[:-1]))
    part[:, i] += part[:, i + 1]
    narrow[i] = narrow[i : i + 2].min()
    return np.delete(part, i + 1, axis=1), np.delete(narrow, i + 1)


def _entropy(rows: Array, variance: Array) -> Array:
    """Return the entropy of groups: of where their rows are, and of which rows are theirs."""
    out: Array = rows * (0.5 * np.log(variance) - np.log(rows))
    return out
