"""The engine of one machine: BLAS products and compiled kernels, block by block, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import _kernels, tree
from scstream.engines.base import Engine, Key, Sums, finished_sweep
from scstream.engines.tree import Part, Tree, Values
from scstream.families.base import Array, Family
from scstream.families.scores import Labels, Points, Score

_KEPT_BYTES = 2**27  # a batch's statistics are kept between passes up to this size
_MOST_ROWS = 4096  # of a block
_WIDE = 4096
_Result = TypeVar("_Result")


class CpuEngine(Engine):
    """Runs the data pass on the cores of this machine.

    Everything is computed in blocks of rows whose size depends on the problem alone, and sums
    are taken along a fixed tree, so that any number of threads gives the same bits.

    Parameters
    ----------
    n_threads : int
        Threads among which the blocks of a large batch are shared.
    blocks_per_task : int
        How many blocks a thread takes at a time; no result depends on it.
    """

    def __init__(self, n_threads: int = 1, blocks_per_task: int = 1) -> None:
        self.n_threads = n_threads
        self.blocks_per_task = blocks_per_task

    def load(self, family: Family, X: Points, weight: Array, first_row: int = 0) -> None:
        """Take a batch."""
        n = X.shape[0]
        self._first = first_row
        self._family, self._X, self._weight = family, X, weight
        self._z = np.full(n, -1, dtype=np.int64)
        self._sub = np.zeros(n, dtype=np.int64)
        self._trial = np.zeros(n, dtype=np.int64)
        self._second = np.full(n, -1, dtype=np.int64)
        self._doubt = np.zeros(n)
        self._sub_doubt = np.zeros(n)
        small = 8 * n * len(family.prior) <= _KEPT_BYTES
        self._T = family.statistics(X) if small or sparse.issparse(X) else None

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        return finished_sweep(Tree(self.sweep_parts(score, sub, k, key)).total())

    def sweep_parts(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point and sum up as far as the tree goes."""
        z, second, doubt = self._z, self._second, self._doubt

        def label(rows: slice) -> Values:
            T = self._statistics(rows)
            scores = score.block(T)
            if key is None:
                _kernels.best(scores, z[rows], second[rows], doubt[rows])
                own = sub.pairs(T, np.minimum(z[rows], k - 1))
                _kernels.best_pair(own, self._sub[rows], self._sub_doubt[rows])
            else:
                u = np.empty((2, len(scores)))
                _kernels.uniforms(key.seed, key.batch, key.sweep, self._first + rows.start, u)
                _kernels.draw(scores, u[0], z[rows], second[rows], doubt[rows])
                own = sub.pairs(T, np.minimum(z[rows], k - 1))
                _kernels.draw_pair(own, u[1], self._sub[rows], self._sub_doubt[rows])
            current = self._sum(T, rows, z[rows], self._sub[rows], k)
            rivals = np.zeros((k, k), dtype=np.int64)
            between = np.zeros((k, k))
            counts = np.zeros((k, 2), dtype=np.int64)
            _kernels.tally(
                z[rows], self._sub[rows], second[rows], doubt[rows], self._sub_doubt[rows],
                self._weight[rows], rivals, between, counts,
            )  # fmt: skip
            return current, counts, rivals, between

        return self._leaves(label, k)

    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        sums, doubts = Tree(self.resplit_parts(sub, chosen)).total()
        return sums, doubts

    def resplit_parts(self, sub: Score, chosen: NDArray[np.bool_]) -> list[Part]:
        """Try new sub-labels and sum up as far as the tree goes."""
        k = len(chosen)
        among = np.append(chosen, False)  # a label of -1 finds the last entry

        def divide(rows: slice) -> Values:
            mine = np.flatnonzero(among[self._z[rows]])
            if len(mine) == 0:
                return np.zeros((k, 2, len(self._family.prior))), np.zeros(k)
            at = mine + rows.start
            T, z, w = self._statistics(rows)[mine], self._z[at], self._weight[at]
            trial, doubt = np.empty(len(mine), dtype=np.int64), np.empty(len(mine))
            _kernels.best_pair(sub.pairs(T, z), trial, doubt)
            self._trial[at] = trial
            out = np.zeros((k, 2, T.shape[1]))
            _add_by_label(T, w, z, trial, out)
            doubts: Array = np.bincount(z, w * doubt, k).astype(np.float64, copy=False)
            return out, doubts

        return self._leaves(divide, k)

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        mine = np.append(chosen, False)[self._z]
        self._sub[mine] = self._trial[mine]
        inside = self._z >= 0
        flat = np.bincount(2 * self._z[inside] + self._sub[inside], minlength=2 * len(chosen))
        return flat.reshape(-1, 2)

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        inside = self._z >= 0
        at = self._z[inside], self._sub[inside]
        self._z[inside] = label[at]
        self._sub[inside] = sublabel[at]

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._z[:] = labels
        self._sub[:] = 0

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster."""
        u = np.empty((2, len(self._z)))
        _kernels.uniforms(key.seed, key.batch, key.sweep, self._first, u)
        row = np.full(k, -1, dtype=np.int64)
        _kernels.least(self._z, u[0], row)
        out = np.zeros((k, len(self._family.prior)))
        have = row >= 0
        at = row[have]
        T = self._family.statistics(self._X[at]) if self._T is None else self._T[at]
        out[have] = T if isinstance(T, np.ndarray) else T.toarray()
        return out

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch."""
        n = self._X.shape[0]
        if n <= size:
            return self._X
        return self._X[np.sort(rng.choice(n, size, replace=False))]

    @property
    def labels(self) -> Labels:
        """The labels (n,)."""
        return self._z

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""
        return self._sub

    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], NDArray[np.generic]]
    ) -> NDArray[np.generic]:
        """Apply ``what`` to the scores of blocks of rows."""
        blocks = _cut(X.shape[0], block_rows(len(family.prior), 64))
        parts = self._map(lambda rows: what(score.block(family.statistics(X[rows]))), blocks)
        return np.concatenate(list(parts))

    def _statistics(self, rows: slice) -> Points:
        return self._family.statistics(self._X[rows]) if self._T is None else self._T[rows]

    def _sum(self, T: Points, rows: slice, z: Labels, sub: Labels, k: int) -> Array:
        out = np.zeros((k, 2, T.shape[1]))
        _add_by_label(T, self._weight[rows], z, sub, out)
        return out

    def _blocks(self, k: int) -> list[slice]:
        p = len(self._family.prior)
        # sums are as wide as a dictionary, however few of its words a row has: make few of them
        wide = p > _WIDE and sparse.issparse(self._X)
        return _cut(len(self._z), _MOST_ROWS if wide else block_rows(p, k))

    def _leaves(self, job: Callable[[slice], Values], k: int) -> list[Part]:
        """Run a job over the blocks and return its sums as far as the tree goes."""
        sums, blocks = Tree(), self._blocks(k)
        leaf, first = tree.LEAF_ROWS, self._first // tree.LEAF_ROWS
        for rows, values in zip(blocks, self._map(job, blocks), strict=True):
            if rows.start % leaf == 0:
                kept = values
            else:
                for into, more in zip(kept, values, strict=True):
                    into += more
            if rows.stop % leaf == 0 or rows is blocks[-1]:
                sums.add(Part(first + rows.start // leaf, 1, kept))
        return sums.parts

    def _map(self, job: Callable[[slice], _Result], blocks: list[slice]) -> Iterator[_Result]:
        """Run a job over the blocks, on threads where there are several, in order.

        Results are handed on one by one: sums over a wide dictionary are not kept.
        """
        if len(blocks) == 1 or self.n_threads == 1:
            yield from map(job, blocks)
            return
        step = self.blocks_per_task
        tasks = [blocks[i : i + step] for i in range(0, len(blocks), step)]
        with ThreadPoolExecutor(self.n_threads) as pool:
            for parts in pool.map(lambda task: [job(rows) for rows in task], tasks):
                yield from parts


def block_rows(p: int, k: int) -> int:
    """Return the rows of a block, so that statistics and scores stay in cache.

    The size never depends on the threads: it fixes the order of the sums.
    """
    return int(np.clip(2.0 ** np.round(np.log2(2**18 / (p + k))), 256, _MOST_ROWS))


def _cut(n: int, size: int) -> list[slice]:
    return [slice(a, min(a + size, n)) for a in range(0, max(n, 1), size)]


def _add_by_label(T: Points, w: Array, z: Labels, sub: Labels, out: Array) -> None:
    if isinstance(T, np.ndarray):
        _kernels.add_by_label(T, w, z, sub, out)
    else:
        _kernels.add_by_label_csr(T.data, T.indices, T.indptr, w, z, sub, out)
