"""What would be left of clusters cut up too finely: merges by statistics alone.

A hyper-parameter that all clusters share, such as a shape, cannot be read off an over-clustering:
pieces of a cluster look denser than the whole, and a prior that believes them keeps them apart. So
each value is judged by the clusters that would be left under it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from scipy.special import gammaln

from scstream.families.contract import Array, Family

_NEIGHBOURS = 3


def merged(family: Family, clusters: Array, places: Array) -> tuple[Array, float]:
    """Return clusters (k, p) after all merges of neighbours that pay, and their log posterior.

    Parameters
    ----------
    clusters : ndarray (k, p)
    places : ndarray (k, q)
        Where they are; neighbours are sought among the nearest.
    """
    size = clusters[:, 0]
    kept = size > 0
    s, at = clusters[kept], places[kept]
    own = _worth(family, s)
    while len(s) > 1:
        near = min(_NEIGHBOURS, len(s) - 1)
        b = KDTree(at).query(at, near + 1)[1][:, 1:].ravel()
        a = np.repeat(np.arange(len(s)), near)
        found = b < len(s)  # places so far away that distances overflow have no neighbours
        a, b = a[found], b[found]
        gain = _worth(family, s[a] + s[b]) - own[a] - own[b]
        free = np.ones(len(s), dtype=bool)
        taken: list[tuple[int, int]] = []
        for i in np.argsort(-gain, kind="stable"):
            if gain[i] <= 0:
                break
            if free[a[i]] and free[b[i]] and a[i] != b[i]:
                free[[a[i], b[i]]] = False
                taken.append((int(a[i]), int(b[i])))
        if not taken:
            break
        first, second = np.array(taken).T
        weight = s[[*first, *second], 0].reshape(2, -1)[..., None]
        middle = (weight[0] * at[first] + weight[1] * at[second]) / weight.sum(axis=0)
        joined = s[first] + s[second]
        s, at = np.concatenate([s[free], joined]), np.concatenate([at[free], middle])
        own = np.concatenate([own[free], _worth(family, joined)])
    return s, float(own.sum())


def _worth(family: Family, s: Array) -> Array:
    """Return the clusters' terms (k,) of the log posterior of a partition, for alpha = 1."""
    out: Array = gammaln(np.maximum(s[:, 0], 1e-300)) + family.log_marginal(s)
    return out
