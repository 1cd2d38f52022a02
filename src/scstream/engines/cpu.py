"""The engine of one machine: BLAS products and compiled kernels, block by block, on threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines.base import Engine, FewRows, Key, Sums, finished_sweep
from scstream.engines.block_pass import cut
from scstream.engines.blocks import BLOCK_CELLS, LONG_CELLS, Blocks, block_rows, size_of_blocks
from scstream.engines.gaps import Gaps
from scstream.engines.labels import Labeller, pair_products
from scstream.engines.large import LargeBatch
from scstream.engines.ordered_sums import Part, Tree
from scstream.engines.outputs import Best, named_labels
from scstream.engines.sizes import SIZES, Sizes
from scstream.families.contract import Array, Family
from scstream.families.gaps import observed_scores
from scstream.families.scores import SOME_ROWS, Labels, Points, Products, Score, form_of, to_dense
from scstream.families.taming import Frames
from scstream.kernels import labelling
from scstream.support.memory import Memory
from scstream.support.threads import allowed, copied, over_rows, together

_Result = TypeVar("_Result")
_PAYING = 8  # threads that gain where each run takes several short calls from Python


class CpuEngine(Engine):
    """Runs the data pass on the cores of this machine.

    Everything is computed in blocks of rows whose size depends on the problem alone, and sums
    are taken along a fixed tree, so that any number of threads gives the same bits.

    Parameters
    ----------
    n_threads : int
        Threads among which a large batch is shared.
    sizes : Sizes, optional
        How many rows are taken at a time.
    """

    _large: LargeBatch | None
    _few: FewRows | None

    def __init__(self, n_threads: int = 1, *, sizes: Sizes = SIZES) -> None:
        self.n_threads = n_threads
        self.sizes = sizes
        self._memory = Memory()

    def load(self, family: Family, X: Points, weight: Array, first_row: int = 0) -> None:
        """Take a batch."""
        n = X.shape[0]
        many = n > self.sizes.leaf_rows and self._as_large(family, X) is not None
        small = 8 * n * len(family.prior) <= self.sizes.kept_bytes
        open_rows = family.completed_rows(X)
        keep, gaps = (small and not many) or sparse.issparse(X), None
        if len(open_rows):
            keep, T = small, family.statistics(X) if small or sparse.issparse(X) else None
            gaps = Gaps(family, X, open_rows, T)
            weight = gaps.weight(weight)
        self._batch = Blocks(
            family, X, keep, weight, gaps, first_row, self.n_threads, self._memory, self.sizes
        )
        if gaps is not None and small:
            self._batch.T = gaps.patch(slice(0, n), T)
        elif keep and family.small_gaussian() is None:
            _ = self._batch.T  # which compiled steps of Gaussian clusters do without
        self._large = self._few = None
        if n > self.sizes.leaf_rows and (not many or gaps is not None):
            self._batch.make_room()

    def _as_large(self, family: Family, X: Points, first_row: int = 0) -> LargeBatch | None:
        return LargeBatch.of(family, X, self.n_threads, self.sizes, first_row)

    def _loaded(self) -> LargeBatch | None:
        """Return the batch as passes in compiled code take it, if they can.

        That does not depend on the number of rows: others may hold more of the batch.
        """
        batch = self._batch
        if self._large is None and batch.gaps is None:
            self._large = self._as_large(batch.family, batch.X, batch.first_row)
        return self._large

    def _over_rows(self, job: Callable[[slice], _Result]) -> list[_Result]:
        return over_rows(job, len(self._batch.z), self.n_threads)

    # -- passes over the points -----------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        return finished_sweep(Tree(self.sweep_parts(score, sub, k, key)).total())

    def sweep_parts(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point and sum up as far as the tree goes."""
        batch, large = self._batch, self._loaded()
        own = pair_products(sub, batch.points)
        if large is not None and own is not None and large.takes(score):
            at = None if key is None else (key.seed, key.batch, key.sweep)
            return large.sweep(batch.weight, score, own, k, at, (batch.z, batch.sub))
        return self._batch.sweep(score, sub, k, key)

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
        batch, large = self._batch, self._loaded()
        pairs = pair_products(sub, batch.points)
        if large is not None and pairs is not None:
            return large.resplit(batch.weight, batch.z, batch.trial, chosen, pairs)
        return self._batch.resplit(sub, chosen, doubts=doubts)

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        batch = self._batch

        def adopt(at: slice) -> Labels:
            rows = np.zeros((len(chosen), 2), dtype=np.int64)
            labelling.take_trial(chosen, batch.trial[at], batch.z[at], batch.sub[at], rows)
            return rows

        first, *others = self._over_rows(adopt)
        for rows in others:
            first += rows
        return first

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        batch = self._batch
        self._over_rows(lambda at: labelling.rename(label, sublabel, batch.z[at], batch.sub[at]))

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._batch.z[:] = labels
        self._batch.sub[:] = 0

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster."""
        batch = self._batch

        def least(at: slice) -> tuple[Labels, Array]:
            row, low = np.full(k, -1, dtype=np.int64), np.empty(k)
            first = batch.first_row + at.start
            labelling.least(key.seed, key.batch, key.sweep, first, batch.z[at], row, low)
            return np.where(row < 0, -1, row + at.start), np.where(row < 0, np.inf, low)

        rows, lows = zip(*self._over_rows(least), strict=True)
        row = np.stack(rows)[np.argmin(lows, axis=0), np.arange(k)]
        out = np.zeros((k, len(batch.family.prior)))
        have = row >= 0
        T = batch.T
        if T is None:
            out[have] = self.statistics_of(row[have])
        elif isinstance(T, np.ndarray):
            out[have] = T[row[have]]
        else:
            labelling.take_csr(T.data, T.indices, T.indptr, row, out)
        return out

    def statistics_of(self, rows: NDArray[np.int64]) -> Array:
        """Return the statistics (m, p) of chosen rows, as they were last completed."""
        return to_dense(self._batch.statistics_of(rows))

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch."""
        X: Points = self._batch.X
        n = X.shape[0]
        return X if n <= size else X[np.sort(rng.choice(n, size, replace=False))]

    def joined(self, pairs: Labels, frames: Frames) -> Array:
        """Return the sums (m, 2, p) of pairs of clusters, tamed in a frame for each pair."""
        return Tree(self.joined_parts(pairs, frames)).total()[0]

    def joined_parts(self, pairs: Labels, frames: Frames) -> list[Part]:
        """Do as `joined` does, as far as the tree of sums goes."""
        return self._batch.joined(pairs, frames)

    def has_gaps(self) -> bool:
        """Whether some rows have missing entries."""
        return self._batch.gaps is not None

    def complete(self, score: Score) -> None:
        """Complete the rows with gaps by the components of their labels."""
        batch = self._batch
        if batch.gaps is not None:
            batch.gaps.complete(batch.z, batch.family.completion(score), batch.T)

    def by_groups(self, on: bool) -> None:
        """Let deterministic sweeps complete rows by any group, or by that of their labels."""
        if self._batch.gaps is not None:
            self._batch.gaps.by_groups = on

    def gap_sums(self, k: int, score: Score | None = None) -> Array:
        """Return the sums (k, p) of the rows with gaps, completed by a score if there is one."""
        return Tree(self.gap_sums_parts(k, score)).total()[0]

    def gap_sums_parts(self, k: int, score: Score | None) -> list[Part]:
        """Do as `gap_sums` does, as far as the tree of sums goes."""
        return self._batch.gap_sums(k, score)

    def named_labels(self, ids: Labels, skip: int) -> tuple[Labels, Labels]:
        """Return each row's id, and its sub-label."""
        z, sub = self._batch.z[skip:], self._batch.sub[skip:]
        if len(z) <= self.sizes.leaf_rows:  # which is done before threads are asked
            out = np.empty(len(z), np.int64)
            labelling.named(z, ids, out)
            return out, sub.copy()
        return named_labels(ids, self.n_threads, z), copied(sub, self.n_threads)

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        return self._batch.n

    @property
    def labels(self) -> Labels:
        """The labels (n,)."""
        return self._batch.z

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""
        return self._batch.sub

    def assign(self, family: Family, X: Points, score: Score) -> Labels:
        """Return the best component of each row."""
        with allowed(self.n_threads):
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
        by_score = Labeller(score, statistics(slice(1)))  # which may be sparse
        cells = LONG_CELLS if by_score.fused else BLOCK_CELLS
        size = size_of_blocks(family, X, cells, self.sizes)

        def labels(rows: slice) -> Labels:
            z = at_once(rows) if easy else None
            if z is None:
                parts = cut(rows.stop, size, rows.start)
                z = np.concatenate([by_score.best_alone(statistics(part)) for part in parts])
            return z

        # rows alone take less room than their statistics: longer runs, of which there are fewer
        long = block_rows(X.shape[1], 64, BLOCK_CELLS) if easy else size
        threads = min(self.n_threads, _PAYING) if easy else self.n_threads
        return np.concatenate(together(threads, labels, cut(X.shape[0], max(size, long))))

    def few_rows(self) -> FewRows | None:
        """Return the rows of a small batch; none to a subclass with passes of its own.

        Nor if some rows have gaps: each sweep completes such rows anew, and who takes rows from
        here knows nothing of it.
        """
        batch = self._batch
        if self._few is not None:
            return self._few
        if self._has_own_passes() or (batch.gaps is not None and batch.gaps.seen is None):
            return None
        if batch.keep and 0 < batch.n <= self.sizes.leaf_rows:
            self._few = batch.few_rows()
        return self._few

    def _has_own_passes(self) -> bool:
        """Whether this is a subclass that passes over rows in its own way."""
        kind = type(self)
        return kind.sweep is not CpuEngine.sweep or kind.resplit is not CpuEngine.resplit

    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], NDArray[np.generic]]
    ) -> NDArray[np.generic]:
        """Apply ``what`` to the scores of blocks of rows."""
        blocks = cut(X.shape[0], size_of_blocks(family, X, BLOCK_CELLS, self.sizes))
        return np.concatenate(
            together(
                self.n_threads, lambda rows: what(observed_scores(family, score, X[rows])), blocks
            )
        )
