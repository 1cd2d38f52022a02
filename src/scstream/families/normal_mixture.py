"""How well a mixture of normal distributions describes a column, whatever its clusters are."""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array

_POINTS = 256  # so many represent a column
_GROUPS = 8  # of neighbours, to start from
_ROWS = 8  # that a group has at least then
_SWEEPS = 6  # in which groups are refined before two are merged
_NONE = 1e-9  # rows of a group that has none
_LEAST = 1e-300  # a variance


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
    narrow clusters and wide ones, near or far. Weights, means and variances cost half the logarithm
    of the number of rows each (BIC).
    """
    n, deviation = len(y), float(y.std())
    y = (y - y.mean()) / deviation
    k = max(min(_GROUPS, n // _ROWS), 1)
    group = np.arange(n) * k // n
    part = np.eye(k)[group]
    narrow = np.array([y[group == i].var() for i in range(k)]) + _LEAST
    best = float("-inf")
    while True:
        for _ in range(_SWEEPS):
            rows, mean, variance = _moments(y, part, narrow)
            log_density = np.log(rows / n) - 0.5 * np.log(2.0 * np.pi * variance)
            log_density = log_density - 0.5 * (y[:, None] - mean) ** 2 / variance
            highest = log_density.max(axis=1, keepdims=True)
            part = np.exp(log_density - highest)
            total = part.sum(axis=1, keepdims=True)
            part /= total
        density = float((highest + np.log(total)).sum())
        best = max(best, density - 0.5 * (3 * k - 1) * float(np.log(n)))
        if k == 1:
            return best - n * float(np.log(deviation))
        part, narrow = _merged(part, narrow, _moments(y, part, narrow))
        k -= 1


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
