"""Passes over the points of a batch block by block: for any family, score and form of rows.

Large batches of Gaussian clusters of few columns have passes of their own, see
`scstream.engines.large`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines.base import FewRows, Key
from scstream.engines.gaps import Draws, Gaps
from scstream.engines.labels import Screen, labeller, pair_products
from scstream.engines.ordered_sums import Part, Tree, Values
from scstream.engines.sizes import Sizes
from scstream.families.contract import Array, Family
from scstream.families.scores import SOME_ROWS, Labels, Points, Score, form_of
from scstream.families.taming import Frames, Joint
from scstream.kernels import labelling
from scstream.support.memory import Memory
from scstream.support.threads import mapped, over_slices, together

BLOCK_CELLS = 2**16  # of a block's statistics and scores, which are to stay in cache
LONG_CELLS = 2**19  # of a block that one kernel does: threads take turns between kernels
_SHARED = 2**17  # numbers from which adding them up is work for threads
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Blocks:
    """A batch on one machine, to be passed over in blocks.

    Attributes
    ----------
    family : Family
    X, T : Points
        The checked rows, and their statistics if these are kept.
    weight : ndarray (n,)
    gaps : Gaps or None
        The rows whose statistics depend on their labels.
    first_row : int
        The number of the first row, where others hold more of the batch.
    z, sub, trial : ndarray (n,)
        Labels, sub-labels and sub-labels on trial, which passes fill.
    n_threads : int
        Threads among which leaves are shared.
    memory : Memory
        What the passes before worked in, to be used again.
    sizes : Sizes
    """

    def __init__(
        self, family: Family, X: Points, T: Points | None, weight: Array, gaps: Gaps | None,
        first_row: int, n_threads: int, memory: Memory, sizes: Sizes,
    ) -> None:  # fmt: skip
        self.family, self.X, self.T, self.weight, self.gaps = family, X, T, weight, gaps
        self.first_row, self.n_threads, self._memory = first_row, n_threads, memory
        self.sizes = sizes
        n = X.shape[0]
        self.z, self.sub = np.empty(n, np.int64), np.zeros(n, np.int64)
        self.trial = np.empty(n, np.int64)
        self.z.fill(-1)

    def make_room(self) -> None:
        """Make room for what passes find about each row, unless there is."""
        n = len(self.z)
        self._second, self._doubts, self._share = self._memory.made(
            "rows", n, lambda: (np.empty(n, np.int64), np.empty((3, n)), np.empty(n))
        )

    def few_rows(self, T: Array) -> FewRows:
        """Return the rows of a small batch, given their statistics, for who passes over them."""
        seen = None if self.gaps is None else self.gaps.seen
        return FewRows(T, self.weight, self.z, self.sub, self.trial, seen)

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point, drawn with a key, and sum up as far as the tree goes."""
        self.make_room()
        own = pair_products(sub, self.points)
        form_of(score).ready(lambda: self.statistics(slice(0, SOME_ROWS)))
        labels = labeller(score, self.points, drawn=key is not None)
        by_products = isinstance(labels, Screen) and own is not None
        gaps, tamed = self.gaps, self.gaps is not None and self.family.tames
        completion = None if gaps is None else self.family.completion(score)

        def label(rows: slice, T: Points) -> None:
            z, second = self.z[rows], self._second[rows]
            doubt, own_doubt, _ = self._doubts[:, rows]
            u = np.empty((2, 0 if key is None else len(z)))
            if key is not None:
                first = self.first_row + rows.start
                labelling.uniforms(key.seed, key.batch, key.sweep, first, u)
            as_came = gaps.as_came(rows) if gaps is not None and tamed else T
            if gaps is not None and gaps.everywhere and not tamed:
                pass  # all are labelled below
            elif key is None:
                labels.best(as_came, z, second, doubt)
            else:
                labels.draw(as_came, u[0], z, second, doubt)
            if gaps is not None and completion is not None and tamed:
                gaps.tame(rows, as_came, np.minimum(z, k - 1), completion, T)
            elif gaps is not None and completion is not None:
                found = gaps.label(rows, T, score, completion, Draws(k, key, self.first_row, u[0]))
                z[found.at], second[found.at], doubt[found.at] = found.z, found.second, found.doubt
            own = sub.pairs(T, np.minimum(z, k - 1))
            if key is None:
                labelling.share_pair(own, self.sub[rows], self._share[rows], own_doubt)
            else:
                labelling.draw_pair(own, u[1], self.sub[rows], own_doubt)

        def add(rows: slice, T: Points, to: Values) -> None:
            z, sub, weight = self.z[rows], self.sub[rows], self.weight[rows]
            second, (doubt, own_doubt, _) = self._second[rows], self._doubts[:, rows]
            labelling.tally(z, sub, second, doubt, own_doubt, weight, *to[1:])
            if key is None:
                _add_by_share(T, weight, z, self._share[rows], to[0])
            else:
                _add_by_label(T, weight, z, sub, to[0])

        def nothing() -> Values:
            return (
                np.zeros((k, 2, len(self.family.prior))),
                np.zeros((k, 2), dtype=np.int64),
                np.zeros((k, k), dtype=np.int64),
                np.zeros((k, k)),
            )

        def label_and_add(rows: slice, T: Points, to: Values) -> None:
            label(rows, T)
            add(rows, T, to)

        at_once = label_and_add if by_products and (completion is None or tamed) else None
        return self._pass(label, add, at_once, nothing, k)

    def resplit(self, sub: Score, chosen: NDArray[np.bool_], *, doubts: bool) -> list[Part]:
        """Try new sub-labels and sum up as far as the tree goes."""
        self.make_room()
        k, pairs = len(chosen), pair_products(sub, self.points)
        among = np.append(chosen, False)  # a label of -1 finds the last entry

        def label(rows: slice, T: Points) -> None:
            mine = np.flatnonzero(among[self.z[rows]])
            at = mine + rows.start
            own = sub.pairs(T if len(at) == T.shape[0] else T[mine], self.z[at])
            trial, doubt = np.empty(len(mine), dtype=np.int64), np.empty(len(mine))
            labelling.best_pair(own, trial, doubt)
            self.trial[at], self._doubts[2, at] = trial, doubt

        def add(rows: slice, T: Points, to: Values) -> None:
            z = np.where(among[self.z[rows]], self.z[rows], -1)
            weight = self.weight[rows]
            _add_by_label(T, weight, z, self.trial[rows], to[0])
            if doubts:
                labelling.add_doubts(z, weight, self._doubts[2, rows], to[1])

        def both(rows: slice, T: Points, to: Values) -> None:
            z, weight, trial = self.z[rows], self.weight[rows], self.trial[rows]

            def resplit(cut: slice) -> None:
                some = np.zeros_like(chosen)
                some[cut] = chosen[cut]
                labelling.resplit_block(T, weight, z, some, pairs, doubts, trial, *to)

            _by_cluster(resplit, k, T.size)

        def nothing() -> Values:
            return np.zeros((k, 2, len(self.family.prior))), np.zeros(k)

        return self._pass(label, add, None if pairs is None else both, nothing, k)

    def _pass(
        self,
        label: Callable[[slice, Points], None],
        add: Callable[[slice, Points, Values], None],
        both: Callable[[slice, Points, Values], None] | None,
        nothing: Callable[[], Values],
        k: int,
    ) -> list[Part]:
        """Label all blocks and add them up leaf by leaf; ``both`` does it in one go, if it can.

        Threads take a leaf each. A batch of one leaf is labelled block by block instead if that
        is work to speak of, where a row is long, and adding up is little.
        """
        size = self._block_rows(k, BLOCK_CELLS if both is None else LONG_CELLS)
        leaves = cut(len(self.z), self.sizes.leaf_rows)

        def label_and_add(rows: slice, T: Points, to: Values) -> None:
            label(rows, T)
            add(rows, T, to)

        def one(leaf: slice, *, labelled: bool = False) -> Values:
            to, step = nothing(), add if labelled else both or label_and_add
            whole = labelled and self.T is not None
            for rows in [leaf] if whole else cut(leaf.stop, size, leaf.start):
                step(rows, self.statistics(rows), to)
            return to

        sums, first = Tree(), self.first_row // self.sizes.leaf_rows
        if len(leaves) == 1:
            blocks = cut(len(self.z), size)
            apart = self.n_threads > 1 and len(blocks) > 1 and both is None
            if apart:
                together(self.n_threads, lambda rows: label(rows, self.statistics(rows)), blocks)
            sums.add(Part(first, 1, one(leaves[0], labelled=apart)))
        else:
            for i, values in enumerate(self._map(one, leaves)):
                sums.add(Part(first + i, 1, values))
        return sums.parts

    def joined(self, pairs: Labels, frames: Frames) -> list[Part]:
        """Return sums (m, 2, p) of pairs, tamed in a frame each, as far as the tree goes."""
        k = int(max(self.z.max(initial=0), pairs.max(initial=0))) + 1
        joint, p = Joint.of(pairs, k), len(self.family.prior)

        def one(leaf: slice) -> Values:
            out = np.zeros((len(pairs), 2, p))
            for rows in cut(leaf.stop, self._block_rows(k, LONG_CELLS), leaf.start):
                seen = None if self.gaps is None else self.gaps.seen
                T = self.family.statistics(self.X[rows]) if seen is None else seen[rows]
                frames.add_joined(T, self.weight[rows], self.z[rows], joint, out)
            return (out,)

        return self._added(one)

    def gap_sums(self, k: int, score: Score | None) -> list[Part]:
        """Return sums (k, p) of the rows with gaps, as far as the tree goes."""
        gaps, p = self.gaps, len(self.family.prior)
        completion = None if gaps is None or score is None else self.family.completion(score)

        def one(leaf: slice) -> Values:
            out = np.zeros((k, 1, p))
            if gaps is not None:
                gaps.add(leaf, self.z, self.weight, completion, out)
            return (out[:, 0],)

        return self._added(one)

    def _added(self, one: Callable[[slice], Values]) -> list[Part]:
        """Return the sums over all leaves as far as the tree goes, given those over one."""
        leaves = cut(len(self.z), self.sizes.leaf_rows)
        first = self.first_row // self.sizes.leaf_rows
        return Tree(Part(first + i, 1, v) for i, v in enumerate(self._map(one, leaves))).parts

    @property
    def points(self) -> Points:
        """The statistics where they are kept, else the rows."""
        return self.X if self.T is None else self.T

    def statistics(self, rows: slice) -> Points:
        """Return the statistics of a run of rows, as they were last completed."""
        if self.T is not None:
            return self.T[rows]
        T = self.family.statistics(self.X[rows])
        return T if self.gaps is None else self.gaps.patch(rows, T)

    def _block_rows(self, k: int, cells: int) -> int:
        if self.sizes.block_rows is not None:
            return self.sizes.block_rows
        if sparse.issparse(self.points):
            return block_rows(0, k, cells)  # however many words there are, a row has few
        return block_rows(len(self.family.prior), k, cells)

    def _map(self, job: Callable[[_Item], _Result], items: list[_Item]) -> Iterator[_Result]:
        """Run a job for each item, on threads where there are several, in order."""
        if len(items) == 1 or self.n_threads == 1:
            return map(job, items)
        return mapped(self.n_threads, job, items)


@cache
def block_rows(p: int, k: int, cells: int = LONG_CELLS) -> int:
    """Return the rows of a block with so many statistics and scores.

    It divides a leaf of the tree of sums, and never depends on the threads.
    """
    return int(2 ** np.clip(round(np.log2(cells / (p + k))), 8, 12))


def blocks_of(family: Family, X: Points, cells: int, sizes: Sizes) -> list[slice]:
    """Return the blocks of rows that are scored and not kept."""
    p = 64 if sparse.issparse(X) else len(family.prior)
    return cut(X.shape[0], sizes.block_rows or block_rows(p, 64, cells))


def cut(stop: int, size: int, start: int = 0) -> list[slice]:
    """Return runs of so many rows each, the last one shorter."""
    return [slice(a, min(a + size, stop)) for a in range(start, max(stop, start + 1), size)]


def _add_by_label(T: Points, w: Array, z: Labels, sub: Labels, out: Array) -> None:
    def add(cut: slice) -> None:
        own, to = z - (cut.start or 0), out[cut]  # the others' labels are out of range
        if isinstance(T, np.ndarray):
            labelling.add_by_label(T, w, own, sub, to)
        else:
            labelling.add_by_label_csr(T.data, T.indices, T.indptr, w, own, sub, to)

    _by_cluster(add, len(out), T.size)


def _add_by_share(T: Points, w: Array, z: Labels, share: Array, out: Array) -> None:
    if not isinstance(T, np.ndarray):
        second = w * share
        _add_by_label(T, w - second, z, np.zeros_like(z), out)
        _add_by_label(T, second, z, np.ones_like(z), out)
        return

    def add(cut: slice) -> None:
        labelling.add_by_share(T, w, z - (cut.start or 0), share, out[cut])

    _by_cluster(add, len(out), T.size)


def _by_cluster(job: Callable[[slice], None], k: int, size: int) -> None:
    """Run a job on slices of clusters, shared among threads if there is much to add up."""
    if size < _SHARED:
        job(slice(None))
    else:
        over_slices(job, k)
