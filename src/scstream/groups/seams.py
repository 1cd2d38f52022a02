"""What is known of the seams between clusters: sums over the rows that were seen there.

The rows of two clusters are looked at along Fisher's direction. How many lie in the valley, and how
many on the two peaks, says how deep the valley is. How the rows on the far sides fall off says what
the two are: a Gaussian falls off as half a Gaussian does, a piece of a larger shape ends flat.
Rows are looked at once. What they showed is remembered, and forgotten as rows come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.groups.shapes import Shapes
from scstream.groups.tree import Links
from scstream.kernels import seams, wholes
from scstream.records import BatchRecord
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen

Ints = NDArray[np.int64]
Rows = tuple[Array, Ints]  # rows (n, d), and the ids of their clusters (n,)
_A_CLUSTER = 16  # pairs for which there is room, for each cluster
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


@frozen
class Seams:
    """The seams of a model's clusters.

    Attributes
    ----------
    pairs : ndarray (m, 2)
        The ids of the two clusters of each seam.
    sums : ndarray (m, 15)
        What rows showed, see `scstream.kernels.seams`.
    whole : dict of int to int
        What each cluster, by its id, was last found to be a part of.
    changed : frozenset of int
        Clusters that were split or merged since rows were last looked at.
    rows : float
        How many rows were looked at, forgotten ones aside.
    """

    pairs: Ints = field(default_factory=lambda: _NO_PAIRS)
    sums: Array = field(default_factory=lambda: np.zeros((0, seams.SUMS)))
    whole: Mapping[int, int] = field(default_factory=dict)
    changed: frozenset[int] = frozenset()
    rows: float = 0.0

    def follow(self, record: BatchRecord) -> Seams:
        """Return the seams after a batch: the parts of a cluster are parts of what it was."""
        if not record.splits and not record.merges:
            return self
        whole = dict(self.whole)
        for parent, part in record.splits:
            if parent in whole:
                whole.setdefault(part, whole[parent])
        names = {i for pair in (*record.splits, *record.merges) for i in pair}
        return replace(self, whole=whole, changed=self.changed | names)

    def after(self, shapes: Shapes, doubt: Array, rows: Rows, rules: Rules) -> Seams:
        """Return what is known of the seams that there are now, after some more rows."""
        X, labels = rows
        (k, d), n = shapes.mean.shape, len(X)
        share = 0.5 ** (n / rules.group_memory)
        kept = np.full(k, share)
        if self.changed:
            kept[[i in self.changed for i in shapes.ids.tolist()]] *= rules.group_changed
        most = min(k * (k - 1) // 2, _A_CLUSTER * k)
        pairs, sums = np.empty((most, 2), dtype=np.int64), np.empty((most, seams.SUMS))
        table = np.empty((2, 2 << int(k).bit_length()), dtype=np.int64)
        places, order = np.empty(k + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
        room = (np.empty((d, d)), np.empty(d), np.empty(seams.BINS), table, places, order)
        m = seams.follow(
            (X, labels),
            shapes.frame,
            (shapes.ids, shapes.count, shapes.mean, shapes.cov, doubt),
            (self.pairs, self.sums, kept, rules.group_overlap),
            (*room, np.empty((k, k), dtype=np.int64)),
            (pairs, sums),
        )
        return Seams(shapes.ids[pairs[:m]], sums[:m], self.whole, rows=share * self.rows + n)

    def links(self, shapes: Shapes, rules: Rules) -> Links:
        """Return what lies between the clusters; the seams must be those that there are now."""
        place = {i: j for j, i in enumerate(shapes.ids.tolist())}
        pairs = np.array([place[i] for i in self.pairs.ravel().tolist()], dtype=np.int64)
        pairs = pairs.reshape(-1, 2)
        k, d = shapes.mean.shape
        whole = np.array([self.whole.get(i, -1) for i in place], dtype=np.int64)
        ratio, peak = np.empty(len(pairs)), np.empty(k)
        wholes.judge(
            self.sums,
            pairs,
            (shapes.count, shapes.mean, shapes.cov),
            whole,
            _judging(rules),
            (np.empty((d, d)), np.empty(d), np.empty((2, k))),
            (ratio, peak),
        )
        few = shapes.nearest_of_few(rules.group_points)
        if len(few):
            pairs, ratio = np.concatenate([pairs, few]), np.append(ratio, np.ones(len(few)))
        return Links(pairs, ratio, peak, shapes.distances)

    def judged(self, ids: Ints, part: Ints) -> Seams:
        """Return the seams with what each cluster was found to be a part of."""
        return replace(self, whole=dict(zip(ids.tolist(), part.tolist(), strict=True)))


def _judging(rules: Rules) -> tuple[Any, ...]:
    """Return the numbers that seams are judged by, as `wholes.Judging` has them."""
    return (
        min(max(rules.group_level, 1e-6), 1.0 - 1e-6),
        rules.group_deviations,
        rules.group_flat_deviations,
        rules.group_prior_rows,
        rules.group_flat,
        rules.group_heavy,
        rules.group_spread,
        rules.group_side_rows,
        rules.group_tail,
        rules.group_tail_from,
        rules.group_around,
        rules.group_lasting,
    )
