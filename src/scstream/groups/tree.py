"""The tree above the clusters: which join which, and how surely a valley lies between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.support.frozen import frozen

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tree:
    """Merges of clusters into ever larger groups, from no valley (height 0) to separate ones (1).

    Attributes
    ----------
    ids : ndarray (k,)
        The ids of the clusters, in the order of ``clusters_``.
    merges : ndarray (k - 1, 2)
        What is joined, one row per merge: clusters are 0 to k - 1, and merge i makes k + i.
    heights : ndarray (k - 1,)
        The probability that a valley separates the two, in ascending order.
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
        """The merges (k - 1, 4) in the form of `scipy.cluster.hierarchy`, for ``dendrogram``."""
        return np.column_stack([self.merges, self.heights, self.counts]).astype(np.float64)

    @property
    def levels(self) -> list[tuple[float, int]]:
        """Each height at which the number of groups falls, and that number."""
        k = len(self.ids)
        left = {float(h): k - i - 1 for i, h in enumerate(self.heights)}
        return [(0.0, k), *left.items()] if 0.0 not in left else list(left.items())

    def at(self, level: float) -> Ints:
        """Return the group (k,) of each cluster at a level, numbered from 0 in their order."""
        return parts(self.merges, self.heights, level, len(self.ids))

    def cut(self, n: Any) -> Ints:
        """Return the group (k,) of each cluster if there are n groups, or k if k is smaller."""
        check_groups(n)
        return _parts(self.merges, max(len(self.ids) - int(n), 0), len(self.ids))

    def __str__(self) -> str:
        """Return a line for each number of groups."""
        lines = [f"{n:4d} groups from height {height:.2f}" for height, n in self.levels]
        chosen = len(set(self.at(self.level).tolist()))
        return "\n".join([*lines, f"default level {self.level:.2f}: {chosen} groups"])


@frozen
class Joined:
    """Merges of k clusters that touch, without the tree above them: as those of `Tree`."""

    k: int
    merges: Ints
    heights: Array

    def at(self, level: float) -> Ints:
        """Return the group (k,) of each cluster at a level."""
        if level >= 1.0:
            return np.zeros(self.k, dtype=np.int64)
        return parts(self.merges, self.heights, level, self.k)


def join(pairs: Ints, height: Array, peak: Array, contact: Array, low_ground: float) -> Joined:
    """Join clusters that touch, those first that a valley separates least.

    Low ground, where the density is less than ``low_ground`` of a peak, connects no two higher
    groups. And it is part of a higher group only if it touches this one more than all others: so
    the tail of a shape is a part of it, and noise around several is not.

    Parameters
    ----------
    pairs : ndarray (m, 2)
        Places of the clusters that touch.
    height : ndarray (m,)
        Probability that a valley separates the two.
    peak : ndarray (k,)
        Log density at each cluster's place.
    contact : ndarray (k, k)
        How many rows two clusters share: the entropy of labels between them.
    low_ground : float
    """
    k, low, contact = len(peak), log(low_ground), contact.astype(np.float64)
    np.fill_diagonal(contact, 0.0)
    place = peak[pairs].min(axis=1)
    of, node, top = np.arange(k), np.arange(k), peak.copy()  # of groups, at one of their members
    merges: list[list[int]] = []
    heights: list[float] = []
    while len(pairs):
        ends = of[pairs]
        peaks, outside = top[ends], contact.sum(axis=1)[ends]
        lower = peaks.min(axis=1)
        own = np.where(peaks[:, 0] <= peaks[:, 1], outside[:, 0], outside[:, 1])
        most = 2.0 * contact[ends[:, 0], ends[:, 1]] >= own
        level_ground = lower >= peaks.max(axis=1) + low
        allowed = (place >= lower + low) & (level_ground | most) & (height < 1.0)
        if not allowed.any():
            break
        best = np.lexsort((-place, np.where(allowed, height, 2.0)))[0]
        a, b = ends[best].tolist()
        merges.append(sorted(node[[a, b]].tolist()))
        heights.append(float(height[best]))
        of[of == b], node[a], top[a] = a, k + len(merges) - 1, max(top[a], top[b])
        contact[a] += contact[b]
        contact[:, a] += contact[:, b]
        contact[b] = contact[:, b] = contact[a, a] = 0.0
        apart = of[pairs[:, 0]] != of[pairs[:, 1]]
        pairs, height, place = pairs[apart], height[apart], place[apart]
    table = np.array(merges, dtype=np.int64).reshape(-1, 2)
    return Joined(k, table, np.maximum.accumulate(np.array(heights, dtype=np.float64)))


def grow(
    ids: Ints, joined: Joined, level: float, totals: Array, log_marginal: Callable[[Array], Array]
) -> Tree:
    """Return the tree of clusters with these totals (k, p).

    Groups that do not touch are joined at the height 1, those first of which a single cluster
    would explain the rows nearly as well: the log marginal likelihood falls least.
    """
    k = len(ids)
    merges, heights = joined.merges.tolist(), np.ones(max(k - 1, 0))
    heights[: len(merges)] = joined.heights
    whole = {i: totals[i] for i in range(k)}  # the groups that are not joined, by node
    for node, (a, b) in enumerate(merges, k):
        whole[node] = whole.pop(a) + whole.pop(b)
    nodes, s = list(whole), np.array(list(whole.values()))
    own = log_marginal(s) if len(nodes) > 1 else np.zeros(1)
    loss = np.full((len(nodes), len(nodes)), np.inf)
    for i in range(len(nodes) - 1):
        loss[i, i + 1 :] = own[i] + own[i + 1 :] - log_marginal(s[i] + s[i + 1 :])
    for node in range(k + len(merges), 2 * k - 1):
        i, j = divmod(int(np.argmin(loss)), len(nodes))
        merges.append(sorted((nodes[i], nodes[j])))
        nodes[i], nodes[j], s[i] = node, -1, s[i] + s[j]
        own[i] = log_marginal(s[i : i + 1])[0]
        loss[j], loss[:, j] = np.inf, np.inf
        others = np.array([m for m, one in enumerate(nodes) if one >= 0 and m != i], dtype=np.int64)
        if len(others):
            lost = own[i] + own[others] - log_marginal(s[i] + s[others])
            loss[np.minimum(i, others), np.maximum(i, others)] = lost
    size = [1] * k
    for a, b in merges:
        size.append(size[a] + size[b])
    table = np.array(merges, dtype=np.int64).reshape(-1, 2)
    return Tree(ids, table, heights, np.array(size[k:], dtype=np.int64), level)


def cut_to(n: int, merges: Ints, counts: NDArray[np.bool_]) -> Ints:
    """Return the group (k,) of each cluster if there are n groups of clusters that count.

    Each of the others is in the group that it is joined to first. There are fewer groups only if
    fewer clusters count.
    """
    part, of, some = np.arange(len(counts)), list(range(len(counts))), counts.tolist()
    left = sum(some)
    for pair in merges.tolist():
        a, b = sorted(pair, key=lambda node: not some[node])  # of one that counts, first
        if not (some[b] and left <= n):
            part[part == of[b]] = of[a]
            left -= some[b]
        of.append(of[a])
        some.append(some[a])
    return np.unique(part, return_inverse=True)[1].astype(np.int64)


def check_groups(n: Any) -> None:
    """Raise `ValueError` if something is not a number of groups."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number of groups, at least 1; got {n!r}.")


def parts(merges: Ints, heights: Array, level: float, k: int) -> Ints:
    """Return the group (k,) of each cluster at a level, given merges and their heights."""
    return _parts(merges, int(np.searchsorted(heights, level, side="right")), k)


def _parts(merges: Ints, n: int, k: int) -> Ints:
    """Return the group (k,) of each cluster after n merges, numbered from 0 in their order."""
    owner = list(range(k + n))
    for i, (a, b) in enumerate(merges[:n].tolist(), k):
        owner[a] = owner[b] = i
    for node in reversed(range(k + n)):  # what joins others is always the later node
        owner[node] = owner[owner[node]]
    names: dict[int, int] = {}
    return np.array([names.setdefault(node, len(names)) for node in owner[:k]], dtype=np.int64)


def same(a: Ints, b: Ints) -> bool:
    """Whether two lists of whole numbers (n,) are the same; NumPy's `array_equal` takes 4 us."""
    return a is b or a.tobytes() == b.tobytes()
