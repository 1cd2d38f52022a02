"""The engine of one machine: BLAS products and compiled kernels, block by block, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import ordered_sums
from scstream.engines.base import Engine, FewRows, Key, Sums, finished_sweep
from scstream.engines.gaps import Draws, Gaps
from scstream.engines.labels import Screen, labeller, pair_products
from scstream.engines.large import LargeBatch
from scstream.engines.ordered_sums import Part, Tree, Values
from scstream.engines.outputs import Best
from scstream.families.contract import Array, Family
from scstream.families.gaps import observed_scores
from scstream.families.scores import (
    SOME_ROWS,
    Labels,
    Points,
    Products,
    Score,
    form_of,
    to_dense,
)
from scstream.families.taming import Frames, Joint
from scstream.kernels import labelling
from scstream.support.threads import allowed, mapped, over_slices, together

_KEPT_BYTES = 2**27  # a batch's statistics are kept between passes up to this size
_BLOCK_CELLS = 2**16  # of a block's statistics and scores, which are to stay in cache
_LONG_CELLS = 2**19  # of a block that one kernel does: threads take turns between kernels
_SHARED = 2**17  # numbers from which adding them up is work for threads
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class CpuEngine(Engine):
    """Runs the data pass on the cores of this machine.

    Everything is computed in blocks of rows whose size depends on the problem alone, and sums
    are taken along a fixed tree, so that any number of threads gives the same bits.

    Parameters
    ----------
    n_threads : int
        Threads among which a large batch is shared.
    """

    _large: LargeBatch | None
    _z: Labels
    _sub: Labels
    _second: Labels
    _trial: Labels

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._second, self._doubts, self._share = (
            np.empty(0, np.int64),
            np.empty((3, 0)),
            np.empty(0),
        )

    def load(self, family: Family, X: Points, weight: Array, first_row: int = 0) -> None:
        """Take a batch."""
        n = X.shape[0]
        many = n > ordered_sums.LEAF_ROWS and self._as_large(family, X) is not None
        small = 8 * n * len(family.prior) <= _KEPT_BYTES
        open_rows = family.completed_rows(X)
        keep = small and (len(open_rows) > 0 or not many)
        self._T = family.statistics(X) if keep or sparse.issparse(X) else None
        self._gaps = Gaps(family, X, open_rows, self._T) if len(open_rows) else None
        if self._gaps is not None:
            weight = self._gaps.weight(weight)
        self._family, self._X, self._weight = family, X, weight
        self._first = first_row
        self._z, self._sub = np.empty(n, np.int64), np.zeros(n, np.int64)
        self._trial = np.empty(n, np.int64)
        self._z.fill(-1)
        self._large, self._labelled = None, False
        if many and self._gaps is None:
            self._loaded()
        elif n > ordered_sums.LEAF_ROWS:
            self._make_room()
        self._few: FewRows | None = None
        if self._gaps is not None:
            self._T = self._gaps.patch(slice(0, n), self._T) if small else None
        elif 0 < n <= ordered_sums.LEAF_ROWS and isinstance(self._T, np.ndarray):
            self._few = FewRows(self._T, weight, self._z, self._sub, self._trial)

    def _as_large(self, family: Family, X: Points) -> LargeBatch | None:
        return LargeBatch.of(family, X, self.n_threads)

    def _loaded(self) -> LargeBatch | None:
        """Return the batch as passes in compiled code take it, if they can.

        That does not depend on the number of rows: others may hold more of the batch.
        """
        if self._large is None and self._gaps is None:
            large = self._as_large(self._family, self._X)
            self._large = None if large is None else large.loaded(self._first)
        return self._large

    def _make_room(self) -> None:
        """Make room for what passes over blocks find about each row."""
        n = len(self._z)
        if len(self._share) != n:
            self._second = np.empty(n, np.int64)
            self._doubts = np.empty((3, n))  # of labels, sub-labels and those tried
            self._share = np.empty(n)  # of the second sub-cluster, where a row counts in both

    # -- passes over the points -----------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        return finished_sweep(Tree(self.sweep_parts(score, sub, k, key)).total())

    def sweep_parts(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point and sum up as far as the tree goes."""
        own, large = pair_products(sub, self._points), self._loaded()
        if large is not None and own is not None and large.takes(score):
            at = None if key is None else (key.seed, key.batch, key.sweep)
            known, self._labelled = self._labelled, True
            return large.sweep(
                self._weight, score, own, k, at, (self._z, self._sub), labelled=known
            )
        self._make_room()
        form_of(score).ready(lambda: self._statistics(slice(0, SOME_ROWS)))
        labels = labeller(score, self._points, drawn=key is not None)
        by_products = isinstance(labels, Screen) and own is not None
        completion = None if self._gaps is None else self._family.completion(score)

        def label(rows: slice, T: Points) -> None:
            z, second = self._z[rows], self._second[rows]
            doubt, own_doubt, _ = self._doubts[:, rows]
            u = np.empty((2, 0 if key is None else len(z)))
            if key is not None:
                first = self._first + rows.start
                labelling.uniforms(key.seed, key.batch, key.sweep, first, u)
            if self._gaps is not None and self._gaps.everywhere:
                pass  # all are labelled below
            elif key is None:
                labels.best(T, z, second, doubt)
            else:
                labels.draw(T, u[0], z, second, doubt)
            if self._gaps is not None and completion is not None:
                found = self._gaps.label(
                    rows, T, score, completion, Draws(k, key, self._first, u[0])
                )
                z[found.at], second[found.at], doubt[found.at] = found.z, found.second, found.doubt
            own = sub.pairs(T, np.minimum(z, k - 1))
            if key is None:
                labelling.share_pair(own, self._sub[rows], self._share[rows], own_doubt)
            else:
                labelling.draw_pair(own, u[1], self._sub[rows], own_doubt)

        def add(rows: slice, T: Points, to: Values) -> None:
            z, sub, weight = self._z[rows], self._sub[rows], self._weight[rows]
            second, (doubt, own_doubt, _) = self._second[rows], self._doubts[:, rows]
            labelling.tally(z, sub, second, doubt, own_doubt, weight, *to[1:])
            if key is None:
                _add_by_share(T, weight, z, self._share[rows], to[0])
            else:
                _add_by_label(T, weight, z, sub, to[0])

        def nothing() -> Values:
            return (
                np.zeros((k, 2, len(self._family.prior))),
                np.zeros((k, 2), dtype=np.int64),
                np.zeros((k, k), dtype=np.int64),
                np.zeros((k, k)),
            )

        def label_and_add(rows: slice, T: Points, to: Values) -> None:
            label(rows, T)
            add(rows, T, to)

        at_once = label_and_add if by_products and completion is None else None
        return self._pass(label, add, at_once, nothing, k)

    def resplit(
        self, sub: Score, chosen: NDArray[np.bool_], *, doubts: bool = True
    ) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        current, doubt = Tree(self.resplit_parts(sub, chosen, doubts=doubts)).total()
        return current, doubt

    def resplit_parts(
        self, sub: Score, chosen: NDArray[np.bool_], *, doubts: bool = True
    ) -> list[Part]:
        """Try new sub-labels and sum up as far as the tree goes."""
        k, pairs = len(chosen), pair_products(sub, self._points)
        large = self._loaded()
        if large is not None and pairs is not None:
            labels = self._z, self._trial
            return large.resplit(self._weight, *labels, chosen, pairs, doubts=doubts)
        self._make_room()
        among = np.append(chosen, False)  # a label of -1 finds the last entry

        def label(rows: slice, T: Points) -> None:
            mine = np.flatnonzero(among[self._z[rows]])
            at = mine + rows.start
            own = sub.pairs(T if len(at) == T.shape[0] else T[mine], self._z[at])
            trial, doubt = np.empty(len(mine), dtype=np.int64), np.empty(len(mine))
            labelling.best_pair(own, trial, doubt)
            self._trial[at], self._doubts[2, at] = trial, doubt

        def add(rows: slice, T: Points, to: Values) -> None:
            z = np.where(among[self._z[rows]], self._z[rows], -1)
            weight = self._weight[rows]
            _add_by_label(T, weight, z, self._trial[rows], to[0])
            if doubts:
                labelling.add_doubts(z, weight, self._doubts[2, rows], to[1])

        def both(rows: slice, T: Points, to: Values) -> None:
            z, weight, trial = self._z[rows], self._weight[rows], self._trial[rows]

            def resplit(cut: slice) -> None:
                some = np.zeros_like(chosen)
                some[cut] = chosen[cut]
                labelling.resplit_block(T, weight, z, some, pairs, doubts, trial, *to)

            _by_cluster(resplit, k, T.size)

        def nothing() -> Values:
            return np.zeros((k, 2, len(self._family.prior))), np.zeros(k)

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
        size = self._block_rows(k, _BLOCK_CELLS if both is None else _LONG_CELLS)
        leaves = _cut(len(self._z), ordered_sums.LEAF_ROWS)

        def label_and_add(rows: slice, T: Points, to: Values) -> None:
            label(rows, T)
            add(rows, T, to)

        def one(leaf: slice, *, labelled: bool = False) -> Values:
            to, step = nothing(), add if labelled else both or label_and_add
            whole = labelled and self._T is not None
            for rows in [leaf] if whole else _cut(leaf.stop, size, leaf.start):
                step(rows, self._statistics(rows), to)
            return to

        sums, first = Tree(), self._first // ordered_sums.LEAF_ROWS
        if len(leaves) == 1:
            blocks = _cut(len(self._z), size)
            apart = self.n_threads > 1 and len(blocks) > 1 and both is None
            if apart:
                together(self.n_threads, lambda rows: label(rows, self._statistics(rows)), blocks)
            sums.add(Part(first, 1, one(leaves[0], labelled=apart)))
        else:
            for i, values in enumerate(self._map(one, leaves)):
                sums.add(Part(first + i, 1, values))
        return sums.parts

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        rows = np.zeros((len(chosen), 2), dtype=np.int64)
        labelling.take_trial(chosen, self._trial, self._z, self._sub, rows)
        return rows

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        labelling.rename(label, sublabel, self._z, self._sub)

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._z[:] = labels
        self._sub[:] = 0
        self._labelled = True

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster."""
        row = np.full(k, -1, dtype=np.int64)
        at = key.seed, key.batch, key.sweep, self._first
        labelling.least(*at, self._z, row, np.empty(k))
        out = np.zeros((k, len(self._family.prior)))
        have = row >= 0
        T = self._points
        if self._T is None:
            out[have] = self.statistics_of(row[have])
        elif isinstance(T, np.ndarray):
            out[have] = T[row[have]]
        else:
            labelling.take_csr(T.data, T.indices, T.indptr, row, out)
        return out

    def statistics_of(self, rows: NDArray[np.int64]) -> Array:
        """Return the statistics (m, p) of chosen rows, as they were last completed."""
        T = to_dense(self._family.statistics(self._X[rows]))
        return T if self._gaps is None else self._gaps.statistics_of(rows, T)

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch."""
        n = self._X.shape[0]
        if n <= size:
            return self._X
        return self._X[np.sort(rng.choice(n, size, replace=False))]

    def joined(self, pairs: Labels, frames: Frames) -> Array:
        """Return the sums (m, 2, p) of pairs of clusters, tamed in a frame for each pair."""
        return Tree(self.joined_parts(pairs, frames)).total()[0]

    def joined_parts(self, pairs: Labels, frames: Frames) -> list[Part]:
        """Do as `joined` does, as far as the tree of sums goes."""
        k = int(max(self._z.max(initial=0), pairs.max(initial=0))) + 1
        joint, p = Joint.of(pairs, k), len(self._family.prior)

        def one(leaf: slice) -> Values:
            out = np.zeros((len(pairs), 2, p))
            for rows in _cut(leaf.stop, self._block_rows(k, _LONG_CELLS), leaf.start):
                seen = None if self._gaps is None else self._gaps.seen
                T = self._family.statistics(self._X[rows]) if seen is None else seen[rows]
                frames.add_joined(T, self._weight[rows], self._z[rows], joint, out)
            return (out,)

        leaves, first = (
            _cut(len(self._z), ordered_sums.LEAF_ROWS),
            self._first // ordered_sums.LEAF_ROWS,
        )
        return Tree(Part(first + i, 1, v) for i, v in enumerate(self._map(one, leaves))).parts

    def has_gaps(self) -> bool:
        """Whether some rows have missing entries."""
        return self._gaps is not None

    def complete(self, score: Score) -> None:
        """Complete the rows with gaps by the components of their labels."""
        if self._gaps is not None:
            self._gaps.complete(self._z, self._family.completion(score), self._T)

    @property
    def labels(self) -> Labels:
        """The labels (n,)."""
        return self._z

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""
        return self._sub

    def assign(self, family: Family, X: Points, score: Score) -> Labels:
        """Return the best component of each row."""
        gaps = family.gaps(X)
        if len(gaps):
            others = np.ones(X.shape[0], dtype=bool)
            others[gaps] = False
            out = np.empty(len(others), dtype=np.int64)
            out[others] = self.assign(family, X[others], score)
            out[gaps] = self.evaluate(family, X[gaps], score, Best())
            return out
        large = self._as_large(family, X)
        if large is not None and large.takes(score):
            return large.assign(score)
        whole = family.statistics(X) if sparse.issparse(X) else None  # runs of it are no copies

        def statistics(rows: slice) -> Points:
            return family.statistics(X[rows]) if whole is None else whole[rows]

        def at_once(rows: slice) -> Labels | None:
            """Return labels by the rows in the family's frame, if that is enough for them."""
            return None if pruning is None else pruning.best(family.embed(X[rows]))

        form, some = form_of(score), slice(SOME_ROWS)
        pruning = form.pruning if isinstance(form, Products) else None
        with allowed(self.n_threads):
            easy = at_once(some) is not None
            if not easy:
                form.ready(lambda: statistics(some))
        by_score = labeller(score, X, drawn=False)

        def labels(rows: slice) -> Labels:
            z = at_once(rows) if easy else None
            return by_score.best_alone(statistics(rows)) if z is None else z

        cells = _LONG_CELLS if isinstance(by_score, Screen) else _BLOCK_CELLS
        return np.concatenate(
            together(self.n_threads, labels, self._other_blocks(family, X, cells))
        )

    def few_rows(self) -> FewRows | None:
        """Return the rows of a small batch; none to a subclass with passes of its own.

        Nor if some rows have gaps: each sweep completes such rows anew, and who takes rows from
        here knows nothing of it.
        """
        if type(self).sweep is not CpuEngine.sweep or type(self).resplit is not CpuEngine.resplit:
            return None
        seen = None if self._gaps is None else self._gaps.seen
        if self._gaps is not None and seen is None:
            return None
        n = len(self._z)
        little = 0 < n <= ordered_sums.LEAF_ROWS and 8 * n * len(self._family.prior) <= _KEPT_BYTES
        if self._few is None and little and self._T is not None:
            T = to_dense(self._T)
            self._few = FewRows(T, self._weight, self._z, self._sub, self._trial, seen)
        return self._few

    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], NDArray[np.generic]]
    ) -> NDArray[np.generic]:
        """Apply ``what`` to the scores of blocks of rows."""
        blocks = self._other_blocks(family, X, _BLOCK_CELLS)
        return np.concatenate(
            together(
                self.n_threads, lambda rows: what(observed_scores(family, score, X[rows])), blocks
            )
        )

    def _other_blocks(self, family: Family, X: Points, cells: int) -> list[slice]:
        p = 64 if sparse.issparse(X) else len(family.prior)
        return _cut(X.shape[0], block_rows(p, 64, cells))

    @property
    def _points(self) -> Points:
        return self._X if self._T is None else self._T

    def _statistics(self, rows: slice) -> Points:
        if self._T is not None:
            return self._T[rows]
        T = self._family.statistics(self._X[rows])
        return T if self._gaps is None else self._gaps.patch(rows, T)

    def _block_rows(self, k: int, cells: int) -> int:
        if sparse.issparse(self._points):
            return block_rows(0, k, cells)  # however many words there are, a row has few
        return block_rows(len(self._family.prior), k, cells)

    def _map(self, job: Callable[[_Item], _Result], items: list[_Item]) -> Iterator[_Result]:
        """Run a job for each item, on threads where there are several, in order."""
        if len(items) == 1 or self.n_threads == 1:
            return map(job, items)
        return mapped(self.n_threads, job, items)


@cache
def block_rows(p: int, k: int, cells: int = _LONG_CELLS) -> int:
    """Return the rows of a block with so many statistics and scores.

    It divides a leaf of the tree of sums, and never depends on the threads.
    """
    return int(2 ** np.clip(round(np.log2(cells / (p + k))), 8, 12))


def _cut(stop: int, size: int, start: int = 0) -> list[slice]:
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
