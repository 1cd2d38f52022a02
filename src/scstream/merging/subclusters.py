"""Clusters that are put together: their sub-clusters, and the entropy between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.merging.clusters import at_most, label_entropy
from scstream.merging.parts import Part

Ints = NDArray[np.int64]


def added(
    family: Family, place: Ints, sums: Array, latest: Array, most: float
) -> tuple[Array, Array]:
    """Return the sub-clusters (k, 2, p) of pools, and their latest batch, from clusters (n, 2, p).

    The clusters of a pool join it one after the other, the heaviest first: each with its two parts
    in the order in which they are more probable as further points of the two that are there.
    """
    k = int(place.max()) + 1
    out, here = np.zeros((k, *sums.shape[1:])), np.zeros((k, *sums.shape[1:]))
    for i in np.argsort(-sums[:, :, 0].sum(axis=1), kind="stable").tolist():
        p = place[i]
        way = [0, 1]
        if out[p, :, 0].any():
            mine, theirs = at_most(sums[i], most), at_most(out[p], most)
            level = family.log_marginal(mine[:, None] + theirs[None])  # (mine, theirs)
            if level[0, 1] + level[1, 0] > level[0, 0] + level[1, 1]:
                way = [1, 0]
        out[p] += sums[i, way]
        here[p] += latest[i, way]
    return out, here


def between(family: Family, parts: list[Part], places: list[Ints], sums: Array) -> Array:
    """Return the entropies (k, k) of labels of pools with statistics (k, p).

    Of two pools it is known from the models that have both. For the points of the others it is what
    labels that were drawn would have.
    """
    k, n = len(sums), sums[:, 0]
    known, covered = np.zeros((k, k)), np.zeros((k, k))
    for part, place in zip(parts, places, strict=True):
        own = np.zeros(k)
        np.add.at(known, (place[:, None], place), part.entropy)
        np.add.at(own, place, part.sums[:, :, 0].sum(axis=1))
        both = (own > 0.0)[:, None] & (own > 0.0)
        covered += np.where(both, own[:, None] + own, 0.0)
    a, b = np.triu_indices(k, 1)
    rest = 1.0 - np.minimum(covered[a, b] / np.maximum(n[a] + n[b], 1e-300), 1.0)
    open_ = rest > 0.0
    a, b, rest = a[open_], b[open_], rest[open_]
    if len(a):
        more = rest * np.nan_to_num(label_entropy(family, sums[a], sums[b]))
        known[a, b] += more
        known[b, a] += more
    return known
