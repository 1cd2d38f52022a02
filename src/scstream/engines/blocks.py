"""Passes over the points of a batch block by block: for any family, score and form of rows.

Large batches of Gaussian clusters of few columns have passes of their own, see
`scstream.engines.large`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines.base import FewRows, Key
from scstream.engines.block_pass import At, BlockPass, cut
from scstream.engines.gaps import Draws, Gaps
from scstream.engines.labels import Labeller, label_members, pair_products
from scstream.engines.ordered_sums import Part, Values, added_leaves
from scstream.engines.sizes import Sizes
from scstream.engines.wide import WideBatch, students_of
from scstream.families.contract import Array, Family
from scstream.families.left_out import LeftOutScore, Members
from scstream.families.scores import SOME_ROWS, Labels, Points, Score, form_of, to_dense
from scstream.families.taming import Frames, Joint
from scstream.kernels import labelling
from scstream.kernels.labelling import Pairs
from scstream.kernels.pruning import Students
from scstream.kernels.wide_rows import Labelled
from scstream.support.memory import Memory
from scstream.support.once import once
from scstream.support.threads import over_rows, together

BLOCK_CELLS = 2**16  # of a block's statistics and scores, which are to stay in cache
LONG_CELLS = 2**19  # of a block that one kernel does: threads take turns between kernels


class Blocks:
    """A batch on one machine, to be passed over in blocks.

    Attributes
    ----------
    family : Family
    X : Points
        The checked rows.
    keep : bool
        Whether their statistics are kept, once someone needs them.
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

    n: int
    z: Labels
    sub: Labels
    trial: Labels

    def __init__(
        self, family: Family, X: Points, keep: bool, weight: Array, gaps: Gaps | None,
        first_row: int, n_threads: int, memory: Memory, sizes: Sizes,
    ) -> None:  # fmt: skip
        self.family, self.X, self.keep, self.weight, self.gaps = family, X, keep, weight, gaps
        self.first_row, self.n_threads, self._memory = first_row, n_threads, memory
        self.sizes, self.leaf_rows = sizes, sizes.leaf_rows
        self.n = n = X.shape[0]
        labels = np.zeros((3, n), np.int64)
        self.z, self.sub, self.trial = labels[0], labels[1], labels[2]
        if n <= self.leaf_rows:
            self.z.fill(-1)
        else:
            over_rows(lambda rows: self.z[rows].fill(-1), n, n_threads)
        self._wide = self._as_wide() if gaps is None else None

    def _as_wide(self) -> WideBatch | None:
        return WideBatch.of(
            self.family, self.X, self.n_threads, self.first_row, self.sizes.leaf_rows
        )

    def make_room(self) -> None:
        """Make room for what passes find about each row, unless there is."""
        n = len(self.z)
        self._second, self._doubts, self._share = self._memory.made(
            "rows", n, lambda: (np.empty(n, np.int64), np.empty((2, n)), np.empty(n))
        )

    @once
    def T(self) -> Points | None:
        """The statistics of the rows (n, p), if they are kept."""
        return self.family.statistics(self.X) if self.keep else None

    def few_rows(self) -> FewRows:
        """Return the rows of a small batch for who passes over them."""
        seen = None if self.gaps is None else self.gaps.seen
        if self.gaps is None and self.family.small_gaussian() is not None:
            points = self.family.embed(self.X)
        else:
            points = to_dense(self.T)
        return FewRows(points, self.weight, self.z, self.sub, self.trial, seen)

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point, drawn with a key, and sum up as far as the tree goes."""
        self.make_room()
        own = pair_products(sub, self.points)
        form_of(score).ready(lambda: self.statistics(slice(0, SOME_ROWS)))
        labels = Labeller(score, self.points)
        gaps, tamed = self.gaps, self.gaps is not None and self.family.tames
        completion = None if gaps is None else self.family.completion(score)

        def label(rows: slice, T: Points) -> None:
            z, second = self.z[rows], self._second[rows]
            doubt, own_doubt = self._doubts[:, rows]
            u = np.empty((2, 0 if key is None else len(z)))
            if key is not None:
                first = self.first_row + rows.start
                labelling.uniforms(key.seed, key.batch, key.sweep, first, u)
            as_came = gaps.as_came(rows) if gaps is not None and tamed else T
            if gaps is not None and gaps.everywhere and not tamed:
                pass  # all are labelled below
            elif isinstance(score, LeftOutScore):
                members = Members(as_came, z, self.weight[rows])
                label_members(score, members, u[0], second, doubt)
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

        if self._wide is not None:
            return self._wide_sweep(self._wide, score, sub, k, key, label)

        def add(at: At, T: Points, z: Labels, to: Values) -> None:
            weight, sub = self.weight[at], self.sub[at]
            if key is None:
                _add_by_share(T, weight, z, self._share[at], to[0])
            else:
                _add_by_label(T, weight, z, sub, to[0])

        fused = labels.fused and own is not None and (completion is None or tamed)
        passed = BlockPass(
            partial(self._no_sums, k), lambda at: self.z[at], add, label, self._count
        )
        return self._over(passed, k, self._block_rows(k, LONG_CELLS if fused else BLOCK_CELLS))

    def _wide_sweep(
        self, wide: WideBatch, score: Score, sub: Score, k: int, key: Key | None,
        label: Callable[[slice, Points], None],
    ) -> list[Part]:  # fmt: skip
        """Sweep over rows of many columns; those that cannot be labelled together, by blocks."""
        first, last = self._doubts
        found = Labelled(self.z, self.sub, self._second, first, last, self._share)
        left = wide.label(score, sub, key, found)
        if left is None:
            left = cut(self.n, self._block_rows(k, BLOCK_CELLS))
        together(self.n_threads, lambda rows: label(rows, self.statistics(rows)), left)
        return wide.swept(found, self.weight, k, shared=key is None)

    def _no_sums(self, k: int) -> Values:
        """Return what a sweep adds to: sums, rows, second choices and doubts of k clusters."""
        return (
            _zeros(k, 2, len(self.family.prior)),
            np.zeros((k, 2), dtype=np.int64),
            np.zeros((k, k), dtype=np.int64),
            np.zeros((k, k)),
        )

    def _count(self, rows: slice, to: Values) -> None:
        """Add a run of labelled rows to all but the first of these."""
        z, sub, weight = self.z[rows], self.sub[rows], self.weight[rows]
        second, (doubt, own_doubt) = self._second[rows], self._doubts[:, rows]
        labelling.tally(z, sub, second, doubt, own_doubt, weight, *to[1:])

    def resplit(self, sub: Score, chosen: NDArray[np.bool_], *, doubts: bool) -> list[Part]:
        """Try new sub-labels and sum up as far as the tree goes."""
        k, pairs = len(chosen), pair_products(sub, self.points)
        among = np.append(chosen, False)  # a label of -1 finds the last entry
        divided: Students | Pairs | None = students_of(sub) if pairs is None else pairs
        wide = None if divided is None or (pairs is not None and len(pairs.power)) else self._wide

        if wide is not None and divided is not None:
            return wide.divided(self.z, self.weight, chosen, divided, self.trial)

        def labels(at: At) -> Labels:
            z = self.z[at]
            return np.where(among[z], z, -1)

        def add_pairs(at: At, T: Points, z: Labels, to: Values) -> None:
            trial = self.trial[at]
            labelling.resplit_block(T, self.weight[at], z, chosen, pairs, doubts, trial, *to)
            if not isinstance(at, slice):  # which is no copy
                self.trial[at] = trial

        self.make_room()
        doubt = self._doubts[0]

        def label(rows: slice, T: Points) -> None:
            z = labels(rows)
            mine = np.flatnonzero(z >= 0)
            at: At = rows
            if len(mine) < len(z):
                T, z, at = T[mine], z[mine], rows.start + mine
            trial, own = np.empty(len(mine), dtype=np.int64), np.empty(len(mine))
            labelling.best_pair(sub.pairs(T, z), trial, own)
            self.trial[at], doubt[at] = trial, own

        def add(at: At, T: Points, z: Labels, to: Values) -> None:
            weight = self.weight[at]
            _add_by_label(T, weight, z, self.trial[at], to[0])
            if doubts:
                labelling.add_doubts(z, weight, doubt[at], to[1])

        def nothing() -> Values:
            return _zeros(k, 2, len(self.family.prior)), np.zeros(k)

        if pairs is None:
            sparse_rows = sparse.issparse(self.points)  # of which only a pair of scores is held
            size = self._block_rows(2 if sparse_rows else k, BLOCK_CELLS)
            return self._over(BlockPass(nothing, labels, add, label), k, size)
        return self._over(BlockPass(nothing, labels, add_pairs), k, self._block_rows(k, LONG_CELLS))

    def _over(self, passed: BlockPass, k: int, size: int) -> list[Part]:
        return passed.over(self, k, size, self.n_threads)

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
        return added_leaves(first, together(self.n_threads, one, leaves))

    @property
    def entries(self) -> int:
        """The numbers that describe the rows, those left out that are 0."""
        if sparse.issparse(self.X):
            return int(self.X.nnz)
        return self.n * len(self.family.prior)

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

    def statistics_of(self, rows: NDArray[np.int64]) -> Points:
        """Return the statistics of chosen rows, as they were last completed."""
        if self.T is not None:
            return self.T[rows]
        T = self.family.statistics(self.X[rows])
        return T if self.gaps is None else self.gaps.statistics_of(rows, to_dense(T))

    def _block_rows(self, k: int, cells: int) -> int:
        if self.sizes.block_rows is not None:
            return self.sizes.block_rows
        if sparse.issparse(self.points):
            return block_rows(0, k, cells)  # however many words there are, a row has few
        return block_rows(len(self.family.prior), k, cells)


@cache
def block_rows(p: int, k: int, cells: int = LONG_CELLS) -> int:
    """Return the rows of a block with so many statistics and scores.

    It divides a leaf of the tree of sums, and never depends on the threads.
    """
    return int(2 ** np.clip(round(np.log2(cells / (p + k))), 8, 12))


def size_of_blocks(family: Family, X: Points, cells: int, sizes: Sizes) -> int:
    """Return how many rows at a time are scored and not kept."""
    p = 64 if sparse.issparse(X) else len(family.prior)
    return sizes.block_rows or block_rows(p, 64, cells)


def _zeros(*shape: int) -> Array:
    """Return zeros, written without the interpreter's lock."""
    out = np.empty(shape)
    out.fill(0.0)
    return out


def _add_by_label(T: Points, w: Array, z: Labels, sub: Labels, out: Array) -> None:
    if isinstance(T, np.ndarray):
        labelling.add_by_label(T, w, z, sub, out)
    else:
        labelling.add_by_label_csr(T.data, T.indices, T.indptr, w, z, sub, out)


def _add_by_share(T: Points, w: Array, z: Labels, share: Array, out: Array) -> None:
    if isinstance(T, np.ndarray):
        labelling.add_by_share(T, w, z, share, out)
        return
    second = w * share
    _add_by_label(T, w - second, z, np.zeros_like(z), out)
    _add_by_label(T, second, z, np.ones_like(z), out)
