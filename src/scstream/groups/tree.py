"""The tree above the clusters: who joins whom, and how deep the valley between them is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.support.frozen import frozen

Ints = NDArray[np.int64]


@frozen
class Links:
    """Which of k clusters touch, and what lies between them.

    Attributes
    ----------
    pairs : ndarray (m, 2)
        Places of the clusters that touch.
    ratio : ndarray (m,)
        Density in the valley between the two over that of the lower peak; 1 without a valley.
    peak : ndarray (k,)
        Log density at each cluster's place.
    distance : ndarray (k, k)
        How far clusters are from each other; orders those that do not touch.
    """

    pairs: Ints
    ratio: Array
    peak: Array
    distance: Array


@dataclass(frozen=True, eq=False)
class Tree:
    """Merges of clusters into ever larger groups, from no valley (height 0) to nothing shared (1).

    Attributes
    ----------
    ids : ndarray (k,)
        The ids of the clusters, in the order of ``clusters_``.
    merges : ndarray (k - 1, 2)
        Who is joined, one row a merge: clusters are 0 to k - 1, and merge i makes k + i.
    heights : ndarray (k - 1,)
        How deep the valley between the two is, never falling: 0.3 says that the density in the
        valley is 0.7 of that of the lower peak.
    counts : ndarray (k - 1,)
        Clusters of the group that a merge makes.
    level : float
        The default level: groups are what is joined at a height of at most this.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> X[1000:] += 5.0
    >>> model = ScStream(random_state=0).partial_fit(X)
    >>> len(set(model.tree_.cut(2).tolist()))
    2
    """

    ids: Ints
    merges: Ints = field(repr=False)
    heights: Array = field(repr=False)
    counts: Ints = field(repr=False)
    level: float

    @property
    def linkage(self) -> Array:
        """The merges as `scipy.cluster.hierarchy` has them (k - 1, 4), for its ``dendrogram``."""
        return np.column_stack([self.merges, self.heights, self.counts]).astype(np.float64)

    @property
    def levels(self) -> list[tuple[float, int]]:
        """Each height at which groups become fewer, and how many there are from there on."""
        k = len(self.ids)
        left = {float(h): k - i - 1 for i, h in enumerate(self.heights)}
        return [(0.0, k), *left.items()] if 0.0 not in left else list(left.items())

    def at(self, level: float) -> Ints:
        """Return the group (k,) of each cluster at a level, numbered from 0 in their order."""
        return self._after(int(np.searchsorted(self.heights, level, side="right")))

    def cut(self, n: Any) -> Ints:
        """Return the group (k,) of each cluster where there are n groups, or k if that is less."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be a whole number of groups, at least 1; got {n!r}.")
        return self._after(max(len(self.ids) - int(n), 0))

    def _after(self, n_merges: int) -> Ints:
        k = len(self.ids)
        owner = np.arange(k + n_merges)
        for i in range(n_merges):
            owner[self.merges[i]] = k + i
        for node in range(len(owner) - 1, -1, -1):  # what joins whom is always the later node
            owner[node] = owner[owner[node]]
        return _numbered(owner[:k])

    def __str__(self) -> str:
        """Return a line for each number of groups."""
        lines = [f"{n:4d} groups from height {height:.2f}" for height, n in self.levels]
        chosen = len(set(self.at(self.level).tolist()))
        return "\n".join([*lines, f"default level {self.level:.2f}: {chosen} groups"])


def grow(ids: Ints, links: Links, level: float, bridge: float) -> Tree:
    """Return the tree of some clusters.

    The two groups with the shallowest valley are joined first. A link between two groups counts as
    deep as the deeper of two valleys: the one between the two clusters that touch, and, where their
    place is low ground, the one between the peaks of the two groups. So a tail that both reach
    connects nobody: it joins one of them, and is low ground from the other's view. The second
    depth is scaled so that a link at ``bridge`` times the lower peak has the height ``level``.
    """
    k = len(ids)
    with np.errstate(divide="ignore"):
        saddle = links.peak[links.pairs].min(axis=1) + np.log(links.ratio)
        power = np.log1p(-level) / np.log(bridge)
    node, top = np.arange(k), links.peak.copy()  # by cluster: its group, and that one's peak
    size = dict.fromkeys(range(k), 1)
    merges: list[list[int]] = []
    heights: list[float] = []
    counts: list[int] = []
    far = links.distance.copy()
    for step in range(k - 1):
        a, b = links.pairs[:, 0], links.pairs[:, 1]
        low = np.minimum(top[a], top[b])
        value = np.minimum(links.ratio, np.exp(np.minimum(saddle - low, 0.0) * power))
        value = np.where(node[a] == node[b], -1.0, value)
        best = np.lexsort((-saddle, -value))[:1]
        if len(best) and value[best[0]] > 0.0:
            i, j, height = int(a[best[0]]), int(b[best[0]]), 1.0 - float(value[best[0]])
        else:
            far[node[:, None] == node] = np.inf
            i, j = (int(x) for x in np.unravel_index(int(np.argmin(far)), far.shape))
            height = 1.0
        pair = sorted((int(node[i]), int(node[j])))
        both = (node == pair[0]) | (node == pair[1])
        merges.append(pair)
        heights.append(max(height, heights[-1] if heights else 0.0))
        size[k + step] = size[pair[0]] + size[pair[1]]
        counts.append(size[k + step])
        node[both], top[both] = k + step, top[both].max()
    table = np.array(merges, dtype=np.int64).reshape(-1, 2)
    return Tree(ids, table, np.array(heights), np.array(counts, dtype=np.int64), level)


def _numbered(owner: Ints) -> Ints:
    """Return names (k,) as numbers from 0, by their first place."""
    _, first, inverse = np.unique(owner, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    out: Ints = order[inverse]
    return out
