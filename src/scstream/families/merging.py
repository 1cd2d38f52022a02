"""What would be left of clusters cut up too finely: merges by statistics alone.

A hyper-parameter that all clusters share, such as a shape, cannot be read off an over-clustering:
pieces of a cluster look denser than the whole, and a prior that believes them keeps them apart. So
each value is judged by the clusters that would be left under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import gammaln

from scstream.families.contract import Array, Family

_NEIGHBOURS = 3
_MANY_COLUMNS = 16  # from which a tree looks at all places, too, and takes longer for each


class Pairs(NamedTuple):
    """Pairs of neighbours, each once: whose they are (m,), and their statistics together (m, p)."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    both: Array

    @staticmethod
    def of(s: Array, at: Array) -> Pairs:
        """Return the pairs of clusters (k, p) at their places (k, q)."""
        near = min(_NEIGHBOURS, len(s) - 1)
        b = _nearest(at, near).ravel()
        a = np.repeat(np.arange(len(s)), near)
        found = (b < len(s)) & (a != b)  # where distances overflow, or are 0, it may be none
        a, b = a[found], b[found]
        _, first = np.unique(np.minimum(a, b) * len(s) + np.maximum(a, b), return_index=True)
        first.sort()
        return Pairs(a[first], b[first], s[a[first]] + s[b[first]])


def best_merged(trials: Sequence[Family], clusters: Array, places: Array) -> Array:
    """Return the clusters that are left under the trial under which these are the most probable.

    Parameters
    ----------
    trials : sequence of Family
    clusters, places : ndarray
        See `merged`.
    """
    kept = clusters[:, 0] > 0
    s, at = clusters[kept], places[kept]
    pairs = Pairs.of(s, at) if len(s) > 1 else None  # which all trials begin with
    left = [merged(trial, s, at, pairs) for trial in trials]
    return max(left, key=lambda pair: pair[1])[0]


def merged(
    family: Family, clusters: Array, places: Array, pairs: Pairs | None = None
) -> tuple[Array, float]:
    """Return clusters (k, p) after all merges of neighbours that pay, and their log posterior.

    Parameters
    ----------
    clusters : ndarray (k, p)
    places : ndarray (k, q)
        Where they are; neighbours are sought among the nearest.
    pairs : Pairs, optional
        Their pairs, if they are known.
    """
    size = clusters[:, 0]
    kept = size > 0
    s, at = clusters[kept], places[kept]
    own = _worth(family, s)
    while len(s) > 1:
        a, b, both = Pairs.of(s, at) if pairs is None else pairs
        pairs = None
        gain = _worth(family, both) - own[a] - own[b]
        free = np.ones(len(s), dtype=bool)
        taken: list[int] = []
        for i in np.argsort(-gain, kind="stable").tolist():
            if gain[i] <= 0:
                break
            if free[a[i]] and free[b[i]]:
                free[[a[i], b[i]]] = False
                taken.append(i)
        if not taken:
            break
        first, second, joined = a[taken], b[taken], both[taken]
        weight = s[[*first, *second], 0].reshape(2, -1)[..., None]
        middle = (weight[0] * at[first] + weight[1] * at[second]) / weight.sum(axis=0)
        s, at = np.concatenate([s[free], joined]), np.concatenate([at[free], middle])
        own = np.concatenate([own[free], _worth(family, joined)])
    return s, float(own.sum())


def _nearest(at: Array, m: int) -> NDArray[np.int64]:
    """Return the m nearest others (k, m) of places (k, q), k where distances overflow."""
    if at.shape[1] < _MANY_COLUMNS:
        found: NDArray[np.int64] = KDTree(at).query(at, m + 1)[1][:, 1:]
        return found
    square = (at * at).sum(axis=1)
    away = square[:, None] + square - 2.0 * (at @ at.T)
    np.fill_diagonal(away, np.inf)
    some = np.argpartition(away, m - 1, axis=1)[:, :m]
    order = np.argsort(np.take_along_axis(away, some, axis=1), axis=1, kind="stable")
    nearest = np.take_along_axis(some, order, axis=1)
    return np.where(np.isfinite(np.take_along_axis(away, nearest, axis=1)), nearest, len(at))


def _worth(family: Family, s: Array) -> Array:
    """Return the clusters' terms (k,) of the log posterior of a partition, for alpha = 1."""
    out: Array = gammaln(np.maximum(s[:, 0], 1e-300)) + family.log_marginal(s)
    return out
