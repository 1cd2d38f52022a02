"""What is known of the seams between clusters: sums over the rows that were seen there.

The rows of two clusters are looked at along Fisher's direction. How many lie in the valley, and how
many on the two peaks, says how deep the valley is. How the rows on the far sides fall off says what
the two are: a Gaussian falls off as half a Gaussian does, a piece of a larger shape ends flat.
Rows are looked at once. What they showed is remembered, and forgotten as rows come.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.groups.boundaries import SUMS, look, touching, turned
from scstream.groups.judging import judge
from scstream.groups.near import Along, Lines, Rows
from scstream.groups.shapes import Shapes
from scstream.groups.tree import Joined, same
from scstream.records import BatchRecord
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen

Ints = NDArray[np.int64]
_A_CLUSTER = 16  # pairs that touch for each cluster, at most
_NONE = np.zeros(0, dtype=np.int64)
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


@frozen
class Seams:
    """The seams of a model's clusters.

    Attributes
    ----------
    pairs : ndarray (m, 2)
        The ids of the two clusters of each seam.
    sums : ndarray (m, 15)
        What rows showed, see `scstream.groups.boundaries.look`.
    ids, whole : ndarray (k,)
        Clusters, and what each was last found to be a part of.
    changed : ndarray (c,)
        Ids of clusters that were split or merged since rows were last looked at.
    rows : float
        How many rows were looked at, forgotten ones aside.
    lines : Lines
        Those between clusters of few rows that are near to each other.
    """

    pairs: Ints = field(default_factory=lambda: _NO_PAIRS)
    sums: Array = field(default_factory=lambda: np.zeros((0, SUMS)))
    ids: Ints = field(default_factory=lambda: _NONE)
    whole: Ints = field(default_factory=lambda: _NONE)
    changed: Ints = field(default_factory=lambda: _NONE)
    rows: float = 0.0
    lines: Lines = field(default_factory=Lines)

    def follow(self, record: BatchRecord) -> Seams:
        """Return the seams after a batch: the parts of a cluster are parts of what it was.

        But those of a cluster that was a whole by itself are two wholes, until rows show otherwise:
        one cluster is what a Gaussian is, and its parts are Gaussians that have moved apart.
        """
        if not record.splits and not record.merges:
            return self
        known = dict(zip(self.ids.tolist(), self.whole.tolist(), strict=True))
        members = Counter(known.values())
        for parent, part in record.splits:
            if parent in known and part not in known:
                alone = members[known[parent]] == 1
                known[part] = max(known.values()) + 1 if alone else known[parent]
        names = {i for pair in (*record.splits, *record.merges) for i in pair}
        return Seams(
            self.pairs,
            self.sums,
            np.array(list(known), dtype=np.int64),
            np.array(list(known.values()), dtype=np.int64),
            np.array(sorted(names.union(self.changed.tolist())), dtype=np.int64),
            self.rows,
            self.lines,
        )

    def along(self, parts: tuple[Rows, ...], rules: Rules) -> Seams:
        """Return the seams with what later rows showed along the lines that were drawn."""
        lines = self.lines.after(parts, self.changed, rules)
        if lines is self.lines:
            return self
        return Seams(self.pairs, self.sums, self.ids, self.whole, self.changed, self.rows, lines)

    def after(
        self, shapes: Shapes, entropy: Array, rows: Rows, along: Along, rules: Rules
    ) -> tuple[Seams, Joined]:
        """Return what is known of the seams after some more rows, and which clusters are joined.

        ``entropy`` (k, k) says which clusters touch; ``along`` is `Family.along`.
        """
        lines, links = self.lines.redrawn(shapes, along, rules)
        ids, n = shapes.ids, len(rows[1])
        share = 0.5 ** (n / rules.group_memory)
        most = _A_CLUSTER * len(ids)
        pairs = touching(entropy, shapes.count, rules.group_overlap, most)
        sums, square = look(rows, shapes, pairs)
        kept = np.full(len(ids), share)
        kept[np.isin(ids, self.changed)] *= rules.group_changed
        sums += kept[pairs].min(axis=1, initial=1.0)[:, None] * self._sums_of(ids[pairs])
        joined = judge((pairs, sums, square), shapes, self._whole_of(ids), links, rules)
        seen = share * self.rows + n
        return Seams(ids[pairs], sums, ids, joined.part, _NONE, seen, lines), joined

    def _sums_of(self, pairs: Ints) -> Array:
        """Return what is known of pairs of ids (m, 2), either of which may come first."""
        before = {tuple(sorted(pair)): i for i, pair in enumerate(self.pairs.tolist())}
        found = [before.get(tuple(sorted(pair)), -1) for pair in pairs.tolist()]
        at = np.array(found, dtype=np.int64)
        out = np.zeros((len(pairs), SUMS))
        known = at >= 0
        at, same_order = at[known], self.pairs[at[known], 0] == pairs[known, 0]
        out[known] = turned(self.sums[at], ~same_order)
        return out

    def _whole_of(self, ids: Ints) -> Ints:
        """Return what each cluster (k,) was a part of, -1 if that is not known."""
        if same(ids, self.ids):
            return self.whole
        known = dict(zip(self.ids.tolist(), self.whole.tolist(), strict=True))
        return np.array([known.get(i, -1) for i in ids.tolist()], dtype=np.int64)
