"""Passes over the rows of a batch on threads: labels block by block, sums chunk by chunk.

Where statistics are ``(1, z, z z')`` of few columns the core does both at once, and nothing else is
stored. Of many columns rows ``(1, z)`` are enough for both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from scstream import core
from scstream.core import Cut, Rows, Scores
from scstream.engines import sums
from scstream.engines.base import Key
from scstream.engines.chunks import Part, Sizes, Values, cut, parts_of, summed
from scstream.engines.gaps import Draws, Gaps, completion_of
from scstream.engines.labels import Labeller, label_members
from scstream.families.contract import Array, Family, GaussianPrior
from scstream.families.left_out import LeftOutScore, Members
from scstream.families.scale_mixture import LocationScale
from scstream.families.scores import (
    SOME_ROWS,
    Labels,
    LinearScore,
    Points,
    Products,
    Score,
    form_of,
    to_dense,
)
from scstream.families.triangular import MANY
from scstream.support.once import once
from scstream.support.threads import together

CELLS = 2**19  # statistics and scores of a block
_MOST = 4096  # rows of a block


class Blocks:
    """A batch on one machine, to be passed over.

    Attributes
    ----------
    family : Family
    X : Points
        The checked rows.
    keep : bool
        Whether their statistics are kept, once something needs them.
    weight : ndarray (n,)
    gaps : Gaps or None
        The rows whose statistics depend on their labels.
    first_row : int
        The number of the first row, where others hold more of the batch.
    chunk : int
        Rows of a chunk.
    z, sub, trial : ndarray (n,)
        Labels, sub-labels and sub-labels on trial, which passes fill.
    n_threads : int
    sizes : Sizes
    """

    def __init__(
        self, family: Family, X: Points, keep: bool, weight: Array, gaps: Gaps | None,
        first_row: int, chunk: int, n_threads: int, sizes: Sizes,
    ) -> None:  # fmt: skip
        self.family, self.X, self.keep, self.weight, self.gaps = family, X, keep, weight, gaps
        self.first_row, self.chunk = first_row, chunk
        self._cut = Cut(chunk, first_row // chunk, n_threads)
        self.n_threads, self.sizes = n_threads, sizes
        self.n = n = X.shape[0]
        self.z: Labels = np.full(n, -1)
        self.sub: Labels = np.zeros(n, np.int64)
        self.trial: Labels = np.zeros(n, np.int64)
        rows = None if gaps is not None else rows_of(family, X)
        self._few = rows if rows is not None and X.shape[1] < MANY else None
        self._wide = rows if rows is not None and X.shape[1] >= MANY else None
        if self._few is None:
            _ = self._found
        if rows is None and gaps is None:
            _ = self.T

    @once
    def _found(self) -> tuple[Labels, Array, Array]:
        """What sweeps find besides: second choices (n,), entropies (2, n), shares (n,)."""
        return np.empty(self.n, np.int64), np.empty((2, self.n)), np.empty(self.n)

    @once
    def T(self) -> Points | None:
        """The statistics of the rows (n, p), if they are kept."""
        return self.family.statistics(self.X) if self.keep else None

    @once
    def _in_frame(self) -> Array:
        """Rows ``(1, z)`` (n, 1 + d) of many columns."""
        assert self._wide is not None
        return in_frame(self._wide)

    @once
    def _is_dense(self) -> bool:
        """Whether statistics are dense."""
        quadratic = self._few is not None or self._wide is not None
        return quadratic or isinstance(self.statistics(slice(0, 1)), np.ndarray)

    # -- labels and sums ------------------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Label every point, drawn with a key, and sum up as far as chunks go."""
        form, pairs = form_of(score), form_of(sub)
        if self._few is not None and isinstance(form, Products) and isinstance(pairs, Products):
            return self._swept(self._few, form.parts, pairs.parts, k, key)
        z, sides, (second, entropies, share) = self.z, self.sub, self._found
        wide = self._wide is not None and _has_factors(score) and _has_factors(sub)
        label = self._labelling(score, k, key, second, entropies[0])

        def label_block(rows: slice) -> None:
            T = self._in_frame[rows] if wide else self.statistics(rows)
            u = self._uniforms(key, rows)
            label(rows, T, u[0])
            own = sub.pairs(T, np.clip(z[rows], 0, k - 1))
            core.choose_sublabels(own, u[1], sides[rows], share[rows], entropies[1, rows])

        def add_chunk(rows: slice) -> Values:
            z, w, part = self.z[rows], self.weight[rows], share[rows]
            counts = sums.counted(z, sides[rows], second[rows], entropies[:, rows], w, k)
            out = z >= k
            z[out], sides[rows][out] = -1, 0
            if self._wide is not None:
                return self._products(rows, z, part, k), *counts
            side = sides[rows]

            def add(T: Points, at: slice) -> Array:
                if key is None:
                    return sums.by_share(T, w[at], z[at], part[at], k)
                return sums.by_label(T, w[at], z[at], side[at], k)

            return self._added(rows, add), *counts

        together(self.n_threads, label_block, self._blocks(k, wide))
        return self._over_chunks(add_chunk)

    def _swept(
        self, rows: Rows, scores: Scores, pairs: Scores, k: int, key: Key | None
    ) -> list[Part]:
        """Sweep over rows of few columns."""
        keyed = None if key is None else (*key_words(key), self.first_row)
        runs, p = self._cut.runs(self.n), scores.eta.shape[1]
        m = len(runs)
        out = (
            np.empty((m, k, 2, p)), np.empty((m, k, 2), np.int64), np.empty((m, k, k), np.int64),
            np.empty((m, k, k)),
        )  # fmt: skip
        core.sweep(rows, self.weight, scores, pairs, keyed, self.z, self.sub, self._cut, out)
        return parts_of(runs, out)

    def _labelling(
        self, score: Score, k: int, key: Key | None, second: Labels, entropy: Array
    ) -> Callable[[slice, Points, Array], None]:
        """Return what labels a block of rows with its statistics, and completes those with gaps."""
        form_of(score).ready(lambda: self.statistics(slice(0, SOME_ROWS)))
        labels = Labeller(score, dense=self._is_dense)
        gaps, weighs = self.gaps, self.gaps is not None and self.family.weighs_rows
        completion = None if gaps is None else completion_of(self.family, score)

        def label(rows: slice, T: Points, u: Array) -> None:
            z = self.z[rows]
            as_came = gaps.as_came(rows) if gaps is not None and weighs else T
            if gaps is not None and gaps.everywhere and not weighs:
                pass  # all are labelled below
            elif isinstance(score, LeftOutScore):
                members = Members(as_came, z, self.weight[rows])
                label_members(score, members, u, second[rows], entropy[rows])
            else:
                labels.draw(as_came, u, z, second[rows], entropy[rows])
            if gaps is not None and completion is not None and weighs:
                gaps.weigh(rows, as_came, np.minimum(z, k - 1), completion, T)
            elif gaps is not None and completion is not None:
                found = gaps.label(rows, T, score, completion, Draws(k, key, self.first_row, u))
                z[found.at] = found.z
                second[rows][found.at], entropy[rows][found.at] = found.second, found.entropy

        return label

    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> list[Part]:
        """Try new sub-labels and sum up as far as chunks go."""
        k, pairs = len(chosen), form_of(sub)
        if self._few is not None and isinstance(pairs, Products):
            return self._tried(self._few, pairs.parts, chosen)
        among = np.append(chosen, False)  # a label of -1 finds the last entry
        by = self._shortened(sub) if self._wide is not None else None
        wide, by = by is not None, sub if by is None else by
        if isinstance(pairs, Products):
            pairs.ready(lambda: self.statistics(slice(0, SOME_ROWS)))

        def divided(T: Points, z: Labels, w: Array, at: NDArray[np.int64]) -> Array:
            """Fill the sub-labels of rows on trial, and return the entropies (k,) about them."""
            scores = by.pairs(T, z)
            gap = scores[:, 1] - scores[:, 0]
            self.trial[at] = gap > 0.0
            entropy = np.bincount(z, w * np.logaddexp(0.0, -np.abs(gap)), k)
            return entropy.astype(np.float64, copy=False)

        def add_chunk(rows: slice) -> Values:
            entropy = np.zeros(k)
            if self._wide is None:
                current = np.zeros((k, 2, len(self.family.prior)))
            for block in cut(rows.stop, self.chunk if wide else self._block_rows(2), rows.start):
                z = self.z[block]
                at = np.flatnonzero(among[z])
                if len(at) == 0:
                    continue
                z, at = z[at], block.start + at
                w = self.weight[at]
                if wide:
                    entropy += divided(self._in_frame[at], z, w, at)
                    continue
                everyone = len(at) == block.stop - block.start  # then it is no copy
                T = self.statistics(block) if everyone else self.statistics_of(at)
                entropy += divided(T, z, w, at)
                if self._wide is None:
                    current += sums.by_label(T, w, z, self.trial[at], k)
            if self._wide is not None:
                z = np.where(among[self.z[rows]], self.z[rows], -1)
                side = self.trial[rows].astype(np.float64)
                current = self._products(rows, z, side, k)
            return current, entropy

        return self._over_chunks(add_chunk)

    def _tried(self, rows: Rows, pairs: Scores, chosen: NDArray[np.bool_]) -> list[Part]:
        """Try new sub-labels of rows of few columns."""
        runs, k, p = self._cut.runs(self.n), len(chosen), pairs.eta.shape[1]
        out = np.empty((len(runs), k, 2, p)), np.empty((len(runs), k))
        core.try_sublabels(rows, self.weight, pairs, chosen, self.z, self.trial, self._cut, out)
        return parts_of(runs, out)

    def refined(
        self, sub: Score, chosen: NDArray[np.bool_], prior: GaussianPrior, how: tuple[float, int]
    ) -> tuple[Array, Array] | None:
        """Return what `Engine.refine` finds in one chunk; None if there are more, or it fails."""
        cuts, k = form_of(sub), len(chosen)
        if self._few is None or self.n > self.chunk or not isinstance(cuts, Products):
            return None
        out = np.empty((k, 2, len(prior.row))), np.empty(k)
        of = self.weight, cuts.parts, chosen, prior, how, self.z, self.trial
        return out if core.refine(self._few, *of, out) else None

    def _shortened(self, sub: Score) -> Score | None:
        """Return what scores rows ``(1, z)`` as a score does, if products do not matter to it."""
        if _has_factors(sub):
            return sub
        form, used = form_of(sub), 1 + self.X.shape[1]
        if not isinstance(form, Products) or form.student or form.eta[:, used:].any():
            return None
        return LinearScore(np.ascontiguousarray(form.eta[:, :used]))

    def joined(self, pairs: Labels, places: LocationScale) -> list[Part]:
        """Return sums (m, 2, p) of pairs, weighted by a place each, as far as chunks go."""
        k = int(max(self.z.max(initial=0), pairs.max(initial=0))) + 1
        p = len(self.family.prior)

        def one(chunk: slice) -> Values:
            out = np.zeros((len(pairs), 2, p))
            for rows in cut(chunk.stop, self._block_rows(k), chunk.start):
                seen = None if self.gaps is None else self.gaps.seen
                T = self.family.statistics(self.X[rows]) if seen is None else seen[rows]
                places.add_pairs(T, self.weight[rows], self.z[rows], pairs, out)
            return (out,)

        return self._over_chunks(one)

    def gap_sums(self, k: int, score: Score | None) -> list[Part]:
        """Return sums (k, p) of the rows with gaps, as far as chunks go."""
        gaps, p = self.gaps, len(self.family.prior)
        completion = None if gaps is None or score is None else completion_of(self.family, score)

        def one(chunk: slice) -> Values:
            if gaps is None:
                return (np.zeros((k, p)),)
            return (gaps.sums(chunk, self.z, self.weight, completion, k),)

        return self._over_chunks(one)

    # -- rows -----------------------------------------------------------------------------------

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

    def _uniforms(self, key: Key | None, rows: slice) -> Array:
        """Return uniforms (2, m) of a run of rows, none without a key."""
        u = np.empty((2, 0 if key is None else rows.stop - rows.start))
        if key is not None:
            core.uniforms((*key_words(key), self.first_row + rows.start), u)
        return u

    def _over_chunks(self, job: Callable[[slice], Values]) -> list[Part]:
        chunks = cut(self.n, self.chunk)
        return summed(self.n_threads, job, chunks, self.first_row // self.chunk)

    def _added(self, rows: slice, add: Callable[[Points, slice], Array]) -> Array:
        """Return the sums of a chunk, block by block where statistics are not kept."""
        size = self.chunk if self.T is not None else _MOST
        parts = [
            add(self.statistics(at), slice(at.start - rows.start, at.stop - rows.start))
            for at in cut(rows.stop, size, rows.start)
        ]
        return parts[0] if len(parts) == 1 else np.add.reduce(parts)

    def _products(self, rows: slice, z: Labels, share: Array, k: int) -> Array:
        """Return the sums (k, 2, p) of a chunk of rows of many columns."""
        out = np.empty((k, 2, len(self.family.prior)))
        Z = np.ascontiguousarray(self._in_frame[rows, 1:])
        core.sum_products(Z, self.weight[rows], share, z, out)
        return out

    def _blocks(self, k: int, wide: bool) -> list[slice]:
        return cut(self.n, self.sizes.block_rows or (_MOST // 2 if wide else self._block_rows(k)))

    def _block_rows(self, k: int) -> int:
        if self.sizes.block_rows is not None:
            return self.sizes.block_rows
        return block_rows(len(self.family.prior) if self._is_dense else 0, k)


def rows_of(family: Family, X: Points) -> Rows | None:
    """Return rows whose statistics are ``(1, z, z z')``, None if they are of another kind."""
    frame = family.quadratic_frame() if isinstance(X, np.ndarray) and len(X) else None
    return None if frame is None else Rows(np.ascontiguousarray(X), *frame)


def in_frame(rows: Rows) -> Array:
    """Return rows ``(1, z)`` (n, 1 + d)."""
    out = np.empty((len(rows.X), 1 + len(rows.shift)))
    out[:, 0] = 1.0
    np.subtract(rows.X, rows.shift, out=out[:, 1:])
    out[:, 1:] /= rows.scale
    return out


def _has_factors(score: Score) -> bool:
    """Whether a score reads no more than ``(1, z)`` of rows."""
    form = form_of(score)
    return isinstance(form, Products) and form.triangular is not None


def key_words(key: Key) -> tuple[int, int, int]:
    """Return the words of a key."""
    return key.seed, key.batch, key.sweep


@cache
def block_rows(p: int, k: int) -> int:
    """Return the rows of a block with so many statistics and scores.

    It divides a chunk, and never depends on the threads.
    """
    return int(2 ** np.clip(round(np.log2(CELLS / (p + k + 1))), 8, 12))
