"""The engine of one machine: the core and BLAS products, block by block, on threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream import core
from scstream.engines.base import Engine, FewRows, Key, Sums, finished_sweep
from scstream.engines.blocks import Blocks, block_rows, in_frame, key_words, rows_of
from scstream.engines.chunks import SIZES, Part, Sizes, Tree, chunk_rows, cut
from scstream.engines.gaps import Gaps, completion_of, rows_by_label
from scstream.engines.labels import Labeller
from scstream.engines.outputs import Best, named_labels
from scstream.families.contract import Array, Family
from scstream.families.gaps import gap_rows, observed_scores
from scstream.families.scale_mixture import LocationScale
from scstream.families.scores import SOME_ROWS, Labels, Points, Products, Score, form_of, to_dense
from scstream.families.triangular import MANY
from scstream.support.threads import allowed, copied, together

_FEW = 4096  # rows of a small batch
_LONG = 2**14  # rows that are labelled at a time by the core alone


class CpuEngine(Engine):
    """Runs the data pass on the cores of this machine.

    Labels are found in blocks of rows whose size depends on the problem alone, and sums are those
    of chunks, see `scstream.engines.chunks`, so that any number of threads gives the same bits.

    Parameters
    ----------
    n_threads : int
        Threads among which a large batch is shared.
    sizes : Sizes, optional
        How many rows are taken at a time.
    """

    def __init__(self, n_threads: int = 1, *, sizes: Sizes = SIZES) -> None:
        self.n_threads = n_threads
        self.sizes = sizes

    def load(
        self, family: Family, X: Points, weight: Array, first_row: int = 0, of: int | None = None
    ) -> None:
        """Take a batch."""
        n = X.shape[0]
        chunk = self.sizes.chunk_rows or chunk_rows(n if of is None else of)
        small = 8 * n * len(family.prior) <= self.sizes.kept_bytes
        open_rows = rows_by_label(family, X)
        many = n > chunk and rows_of(family, X) is not None
        keep, gaps, T = (small and not many) or sparse.issparse(X), None, None
        if len(open_rows):
            keep, T = small, family.statistics(X) if small or sparse.issparse(X) else None
            gaps = Gaps(family, X, open_rows, T)
            weight = gaps.weight(weight)
        self._batch = Blocks(
            family, X, keep, weight, gaps, first_row, chunk, self.n_threads, self.sizes
        )
        if gaps is not None and small:
            self._batch.T = gaps.patch(slice(0, n), T)

    # -- passes over the points -----------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        return finished_sweep(Tree(self.sweep_parts(score, sub, k, key)).total())

    def sweep_parts(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point and sum up as far as chunks go."""
        return self._batch.sweep(score, sub, k, key)

    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        current, entropy = Tree(self.resplit_parts(sub, chosen)).total()
        return current, entropy

    def resplit_parts(self, sub: Score, chosen: NDArray[np.bool_]) -> list[Part]:
        """Try new sub-labels and sum up as far as chunks go."""
        return self._batch.resplit(sub, chosen)

    def refine(
        self, sub: Score, chosen: NDArray[np.bool_], family: Family, alpha: float, rounds: int
    ) -> tuple[Array, Array]:
        """Do as `resplit` does, then, some rounds, again by the predictives of what resulted."""
        prior = family.small_gaussian()
        if prior is not None and core.takes_steps(prior.columns):
            found = self._batch.refined(sub, chosen, prior, (alpha, rounds))
            if found is not None:
                return found
        return super().refine(sub, chosen, family, alpha, rounds)

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        batch, k = self._batch, len(chosen)
        among = np.append(chosen, False)

        def keep(at: slice) -> NDArray[np.int64]:
            z, sub = batch.z[at], batch.sub[at]
            np.copyto(sub, batch.trial[at], where=among[z])
            return np.bincount(np.where(z >= 0, 2 * z + sub, 2 * k), minlength=2 * k + 1)

        rows = sum(together(self.n_threads, keep, cut(batch.n, _LONG)))
        return np.asarray(rows)[: 2 * k].reshape(k, 2)

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        batch, labels, sublabels = self._batch, np.append(label, -1), np.append(sublabel, 0)

        def rename(at: slice) -> None:
            z, sub = batch.z[at], batch.sub[at]
            cell = np.where(z >= 0, 2 * z + sub, -1)
            z[:], sub[:] = labels[cell], np.where(cell >= 0, sublabels[cell], sub)

        together(self.n_threads, rename, cut(batch.n, _LONG))

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._batch.z[:] = labels
        self._batch.sub[:] = 0

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster."""
        batch = self._batch
        row, _ = least_rows(key, batch.first_row, batch.z, k)
        out = np.zeros((k, len(batch.family.prior)))
        have = row >= 0
        out[have] = self.statistics_of(row[have])
        return out

    def statistics_of(self, rows: NDArray[np.int64]) -> Array:
        """Return the statistics (m, p) of chosen rows, as they were last completed."""
        return to_dense(self._batch.statistics_of(rows))

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch."""
        X: Points = self._batch.X
        n = X.shape[0]
        return X if n <= size else X[np.sort(rng.choice(n, size, replace=False))]

    def joined(self, pairs: Labels, places: LocationScale) -> Array:
        """Return the sums (m, 2, p) of pairs of clusters, weighted by a place for each pair."""
        return Tree(self.joined_parts(pairs, places)).total()[0]

    def joined_parts(self, pairs: Labels, places: LocationScale) -> list[Part]:
        """Do as `joined` does, as far as chunks go."""
        return self._batch.joined(pairs, places)

    def has_gaps(self) -> bool:
        """Whether some rows have missing entries."""
        return self._batch.gaps is not None

    def complete(self, score: Score) -> None:
        """Complete the rows with gaps by the components of their labels."""
        batch = self._batch
        if batch.gaps is not None:
            batch.gaps.complete(batch.z, completion_of(batch.family, score), batch.T)

    def by_groups(self, on: bool) -> None:
        """Let deterministic sweeps complete rows by any group, or by that of their labels."""
        if self._batch.gaps is not None:
            self._batch.gaps.by_groups = on

    def gap_sums(self, k: int, score: Score | None = None) -> Array:
        """Return the sums (k, p) of the rows with gaps, completed by a score if there is one."""
        return Tree(self.gap_sums_parts(k, score)).total()[0]

    def gap_sums_parts(self, k: int, score: Score | None) -> list[Part]:
        """Do as `gap_sums` does, as far as chunks go."""
        return self._batch.gap_sums(k, score)

    def named_labels(self, ids: Labels, skip: int) -> tuple[Labels, Labels]:
        """Return each row's id, and its sub-label."""
        z, sub = self._batch.z[skip:], self._batch.sub[skip:]
        return named_labels(ids, z, self.n_threads), copied(sub, self.n_threads)

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        n: int = self._batch.n
        return n

    @property
    def labels(self) -> Labels:
        """The labels (n,)."""
        return self._batch.z

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""
        return self._batch.sub

    # -- other rows -----------------------------------------------------------------------------

    def assign(self, family: Family, X: Points, score: Score) -> Labels:
        """Return the best component of each row."""
        with allowed(self.n_threads):
            gaps = gap_rows(family, X)
        if len(gaps):
            others = np.ones(X.shape[0], dtype=bool)
            others[gaps] = False
            out = np.empty(len(others), dtype=np.int64)
            out[others] = self.assign(family, X[others], score)
            out[gaps] = self.evaluate(family, X[gaps], score, Best())
            return out
        form, n = form_of(score), X.shape[0]
        rows = rows_of(family, X) if isinstance(form, Products) else None
        out = np.empty(n, dtype=np.int64)
        if rows is not None and isinstance(form, Products) and X.shape[1] < MANY:
            core.best_labels(rows, form.parts, out, self.n_threads)
            return out
        whole = family.statistics(X) if sparse.issparse(X) else None  # runs of it are no copies
        wide = rows if isinstance(form, Products) and form.triangular is not None else None

        def statistics(at: slice) -> Points:
            if wide is not None:
                return in_frame(wide._replace(X=wide.X[at]))
            return family.statistics(X[at]) if whole is None else whole[at]

        with allowed(self.n_threads):
            form.ready(lambda: statistics(slice(SOME_ROWS)))
        by_score = Labeller(score, dense=isinstance(statistics(slice(1)), np.ndarray))

        def label(at: slice) -> None:
            out[at] = by_score.best_alone(statistics(at))

        size = _FEW // 2 if wide is not None else self._block_rows(family, X)
        together(self.n_threads, label, cut(n, size))
        return out

    def few_rows(self) -> FewRows | None:
        """Return the rows of a small batch."""
        batch = self._batch
        if batch.gaps is not None or not 0 < batch.n <= _FEW:
            return None
        return FewRows(batch.weight, batch.z, batch.sub)

    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], NDArray[np.generic]]
    ) -> NDArray[np.generic]:
        """Apply ``what`` to the scores of blocks of rows."""
        blocks = cut(X.shape[0], self._block_rows(family, X))
        return np.concatenate(
            together(
                self.n_threads, lambda rows: what(observed_scores(family, score, X[rows])), blocks
            )
        )

    def _block_rows(self, family: Family, X: Points) -> int:
        """Return how many rows at a time are scored and not kept."""
        p = 64 if sparse.issparse(X) else len(family.prior)
        return self.sizes.block_rows or block_rows(p, 64)


def least_rows(key: Key, first: int, z: Labels, k: int) -> tuple[Labels, Array]:
    """Return the row of each cluster that has the least uniform, -1 for none, and the latter."""
    row, low = np.full(k, -1), np.full(k, np.inf)
    for at in cut(len(z), _LONG):
        u = np.empty((2, at.stop - at.start))
        core.uniforms((*key_words(key), first + at.start), u)
        inside = at.start + np.flatnonzero((z[at] >= 0) & (z[at] < k))
        own, before, c = u[0, inside - at.start], low.copy(), z[inside]
        np.minimum.at(low, c, own)
        least = np.flatnonzero((own == low[c]) & (own < before[c]))[::-1]
        row[c[least]] = inside[least]  # the first of equals is written last
    return row, low
