"""Ids of groups that last: they follow the members by weight, and are never used twice."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from scstream.families.contract import Array
from scstream.groups.tree import same
from scstream.records import BatchRecord

Pairs = tuple[tuple[int, int], ...]
Ints = NDArray[np.int64]
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Lasting:
    """Which group each cluster is in, at one level.

    Attributes
    ----------
    group : dict of int to int
        The group's id by the cluster's.
    next_id : int
        The first group id that was never used.
    splits : tuple of (int, int)
        Groups that came apart when they were last formed: the id that stayed, and the new part's.
    merges : tuple of (int, int)
        Groups that were joined then: the one that stayed, and the one that is gone.
    ids, part : ndarray (k,)
        The clusters and their parts that they were last formed of.
    """

    group: dict[int, int] = field(default_factory=dict)
    next_id: int = 0
    splits: Pairs = ()
    merges: Pairs = ()
    ids: Ints = field(default_factory=lambda: _NONE, compare=False)
    part: Ints = field(default_factory=lambda: _NONE, compare=False)

    @property
    def told(self) -> bool:
        """Whether nothing happened when they were last formed, or since."""
        return len(self.ids) > 0 and not self.splits and not self.merges

    def follow(self, record: BatchRecord) -> Lasting:
        """Return the groups after a batch: the parts of a cluster are in the group it was in.

        Clusters that are gone stay known, should they come back, until the groups are formed again.
        """
        if not record.splits and not record.merges:
            return self
        group = dict(self.group)
        for parent, part in record.splits:
            if parent in group:
                group.setdefault(part, group[parent])
        for survivor, gone in record.merges:
            if gone in group:
                group.setdefault(survivor, group[gone])
        return Lasting(group, self.next_id, self.splits, self.merges)

    def form(self, ids: Ints, weight: Array, part: Ints) -> Lasting:
        """Return the groups of clusters with these ids and weights, given their parts (k,).

        A part takes over the id of the old group that it shares most weight with, each id once and
        so that the weight under old ids is the largest. Parts are numbered from 0.
        """
        if same(ids, self.ids) and same(part, self.part):
            return self if self.told else Lasting(self.group, self.next_id, (), (), ids, part)
        n = int(part.max()) + 1
        old = sorted({self.group[i] for i in ids.tolist() if i in self.group})
        shared = np.zeros((n, len(old)))
        for i, w, p in zip(ids.tolist(), weight.tolist(), part.tolist(), strict=True):
            if i in self.group:
                shared[p, old.index(self.group[i])] += w
        name: dict[int, int] = {}
        for p, o in zip(*linear_sum_assignment(-shared), strict=True):
            if shared[p, o] > 0:
                name[int(p)] = old[o]
        kept, next_id, splits = set(name.values()), self.next_id, []
        for p in range(n):
            if p not in name:
                name[p], next_id = next_id, next_id + 1
                if len(old) and shared[p].max() > 0:
                    splits.append((old[int(shared[p].argmax())], name[p]))
        merges = [
            (name[int(shared[:, o].argmax())], gone)
            for o, gone in enumerate(old)
            if gone not in kept
        ]
        group = {i: name[p] for i, p in zip(ids.tolist(), part.tolist(), strict=True)}
        return Lasting(group, next_id, tuple(splits), tuple(merges), ids, part)
