"""Clusters of few rows: pairs that are nearer than by chance, and what later rows show of them.

Through the means of each such pair a line is drawn. Rows that come later are looked at along it:
they lie between two pieces of one class, and not between two clusters. The line is drawn before
the rows come, since rows part along any direction that was fitted to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.groups.gaussians import whiteners
from scstream.groups.shapes import Shapes
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen

Ints = NDArray[np.int64]
Rows = tuple[Array, Ints]  # rows (n, w), and the ids of their clusters (n,)
Along = Callable[[Array], tuple[Array, Array]]  # see `Family.along`
Links = tuple[Array, Ints, Array]  # see `scstream.groups.judging.judge`
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)
NO_LINKS: Links = (np.zeros((0, 0)), _NO_PAIRS, np.zeros(0))
_NEIGHBOURS = 6  # of each cluster, whose distances say what is usual
# Among points that lie anywhere the logarithm of how many are within the distance of the j-th
# neighbour is digamma(j), in the mean. Of the neighbours 2 to 6 these have the mean below; that of
# the sixth exceeds those of 2 to 5 by the sum below. The nearest is left out: it may be a piece.
_WITHIN = 1.162784335098467
_EXCESS = 2.716666666666667
_MIDDLE = 1.0 / 6.0  # half the width of a window on a line, on which two means are 1 apart
_TINY = 1e-12  # of a squared distance: two clusters at one place


@frozen
class Lines:
    """Lines through the means of two clusters each.

    Attributes
    ----------
    pairs : ndarray (m, 2)
        The ids of the two.
    direction : ndarray (m, w), offset : ndarray (m,)
        A row x is at ``direction . x - offset``: 0 at the first mean, 1 at the second.
    seen : ndarray (m, 3)
        Rows that came later, forgotten ones aside: between the two, and at each of them.
    usual : ndarray (3,)
        The same of all lines, those that are gone included.
    """

    pairs: Ints = field(default_factory=lambda: _NO_PAIRS)
    direction: Array = field(default_factory=lambda: np.zeros((0, 0)))
    offset: Array = field(default_factory=lambda: np.zeros(0))
    seen: Array = field(default_factory=lambda: np.zeros((0, 3)))
    usual: Array = field(default_factory=lambda: np.zeros(3))

    def after(self, parts: tuple[Rows, ...], changed: Ints, rules: Rules) -> Lines:
        """Return the lines with what some later rows showed; no more of clusters that changed."""
        if len(self.pairs) == 0 or len(parts) == 0:
            return self
        share = 0.5 ** (sum(len(z) for _, z in parts) / rules.group_memory)
        new = np.zeros(self.seen.shape)
        gone = set(changed.tolist())
        same = np.array([gone.isdisjoint(pair) for pair in self.pairs.tolist()])
        for X, z in parts:
            if X.shape[1] == self.direction.shape[1]:
                new += self._look((X, z))
        new *= same[:, None]
        kept = np.where(same, share, share * rules.group_changed)[:, None] * self.seen
        usual = share * self.usual + new.sum(axis=0)
        return Lines(self.pairs, self.direction, self.offset, kept + new, usual)

    def redrawn(self, shapes: Shapes, along: Along, rules: Rules) -> tuple[Lines, Links]:
        """Return the lines of clusters as they are now, and which clusters they join."""
        (k, d), count = shapes.mean.shape, shapes.count
        few = 2.0 * rules.group_seen_rows * (d - 1)
        if k <= _NEIGHBOURS + 1 or 2.0 * float(count.min()) >= few:
            return self._without(), NO_LINKS
        W = whiteners(np.tensordot(count, shapes.cov, axes=1)[None])[0][0]  # all clusters' shape
        place = shapes.mean @ W.T
        number = _by_chance(place)
        if number is None:
            return self._without(), NO_LINKS
        both_few = count[:, None] + count < few
        heights = np.where(both_few, np.minimum(rules.group_chance * number, 1.0), 0.0)
        np.fill_diagonal(heights, 0.0)
        small = both_few & (heights < rules.group_drawn)
        np.fill_diagonal(small, False)
        if not small.any():
            return self._without(), (heights, _NO_PAIRS, NO_LINKS[2])
        columns = along(np.empty((0, d)))[0].shape[1]
        pairs = _pairs(heights, small, max(min(k, rules.group_numbers // columns), 1))
        a, b = pairs.T
        way = place[b] - place[a]  # Fisher's direction, in the mean shape
        direction = way @ W / np.maximum((way * way).sum(axis=1), 1e-300)[:, None]
        offset = (direction * shapes.mean[a]).sum(axis=1)
        direction = direction / shapes.frame[1]
        offset = offset + direction @ shapes.frame[0]
        direction, more = along(direction)
        ids = shapes.ids[pairs]
        new = Lines(ids, direction, offset + more, self._seen_of(ids), self.usual)
        ratio = np.minimum(new._valleys(rules), 1.0 - heights[a, b])
        heights[a, b] = heights[b, a] = 1.0 - ratio
        return new, (heights, pairs, ratio)

    def _look(self, rows: Rows) -> Array:
        """Return how many rows (m, 3) lie between the two of each line, and at each of them.

        They do in the middle third of the line, and in windows about its ends, each as wide. Rows
        with gaps (NaN) do not count.
        """
        X, z = rows
        out = np.empty(self.seen.shape)
        for i, (a, b) in enumerate(self.pairs.tolist()):
            at = X[(z == a) | (z == b)] @ self.direction[i] - self.offset[i]
            out[i] = [np.count_nonzero(np.abs(at - x) < _MIDDLE) for x in (0.5, 0.0, 1.0)]
        return out

    def _without(self) -> Lines:
        """Return no lines, but what was usual."""
        return self if len(self.pairs) == 0 else Lines(usual=self.usual)

    def _seen_of(self, ids: Ints) -> Array:
        """Return what rows showed between pairs of clusters (m, 2), as far as that is known."""
        out = np.zeros((len(ids), 3))
        known = {pair: i for i, pair in enumerate(map(tuple, self.pairs.tolist()))}
        for m, (a, b) in enumerate(ids.tolist()):
            if (a, b) in known:
                out[m] = self.seen[known[a, b]]
            elif (b, a) in known:
                out[m] = self.seen[known[b, a]][[0, 2, 1]]
        return out

    def _valleys(self, rules: Rules) -> Array:
        """Return the density of later rows between the two of each pair, over that at the two.

        What is usual counts as some rows beside those seen; as long as nothing was seen at all,
        no rows are taken to lie between two clusters.
        """
        ends = 0.5 * (self.usual[1] + self.usual[2])
        usual = self.usual[0] / (ends + rules.group_later_none)
        rows = rules.group_later_rows
        between = self.seen[:, 0] + rows * usual
        out: Array = np.minimum(between / (0.5 * (self.seen[:, 1] + self.seen[:, 2]) + rows), 1.0)
        return out


def _pairs(heights: Array, small: NDArray[np.bool_], most: int) -> Ints:
    """Return the pairs (m, 2) through which lines are drawn: the nearest, at most so many."""
    a, b = np.nonzero(small)
    a, b = a[a < b], b[a < b]
    if len(a) > most:
        nearest = np.sort(np.argsort(heights[a, b], kind="stable")[:most])
        a, b = a[nearest], b[nearest]
    return np.column_stack([a, b]).astype(np.int64)


def _by_chance(place: Array) -> Array | None:
    """Return how many clusters would be as near to each (k, k) as each other one is, by chance.

    Places (k, d) are in the deviations of all clusters' mean shape. How fast the number of
    neighbours grows with the distance, as a power of it, is that of all clusters' neighbours but
    the nearest. There is no such number if the shape is flat, or means coincide.
    """
    square = np.stack([((place - one) ** 2).sum(axis=1) for one in place])
    others = square + np.diag(np.full(len(place), np.inf))
    near = np.sort(np.partition(others, _NEIGHBOURS - 1, axis=1)[:, :_NEIGHBOURS], axis=1)
    last = near[:, -1:]
    if not (last > 0.0).all():
        return None
    each = np.log(np.maximum(near[:, 1:], _TINY * last))
    level = each.mean(axis=1)
    power = _EXCESS * len(place) / max(float((np.log(last) - each).sum()), 1e-300)
    log_square = np.log(np.maximum(square, _TINY * np.minimum(last, last.T)))
    number = power * (log_square - 0.5 * (level[:, None] + level)) + _WITHIN
    out: Array = np.exp(np.minimum(number, 50.0))
    return out
