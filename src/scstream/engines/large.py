"""Passes over large batches of a family whose statistics are quadratic: see `kernels.large_rows`.

Leaves of the tree of sums are shared among threads in runs. A run is one call into compiled code
without the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines.ordered_sums import Part, Tree
from scstream.engines.sizes import Sizes
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, Products, Score, form_of
from scstream.kernels import large_rows, large_tiles
from scstream.kernels.labelling import Pairs
from scstream.kernels.large_rows import Keyed, Leaves
from scstream.kernels.large_sums import Totals
from scstream.kernels.large_tiles import Found, Run, Tiles
from scstream.kernels.nearby import Components
from scstream.kernels.screened_tiles import MOST, TOO_LARGE
from scstream.support.memory import Memory
from scstream.support.threads import together

_LN2 = float(np.log(2.0))
_HALF = 2.0**-24  # the relative rounding of float32
_MOST_LEAVES = 8  # of a run, whose rows are to stay in cache
_MOST_NODES = 5  # of the tree that such a run holds at a time
_MANY_CLUSTERS = 256  # sums over pairs of which take much memory
_RUNS = 1  # for each thread, where there are many
_NONE, _NO_LABELS = np.zeros(0), np.zeros(0, dtype=np.int64)
_NARROW = np.zeros(0, dtype=np.float32)
_WORTHWHILE = 0.6  # the share of components to score up to which the others are ruled out
_TRY_AGAIN = 50  # passes after which this is tried again
_MEMORY = Memory()  # what runs are computed in, by thread; nothing of it outlives a run
_FAR = -1e30  # the product of a centre that nobody is near


@dataclass
class Gain:
    """Whether to rule out components that are far from a tile: where clusters overlap, none is.

    It costs little more than scoring a fifth of them, and labels are the same either way.
    """

    share: float = 0.0  # of the components that were not ruled out when last tried
    passes: int = 0  # since then

    def way(self, *, labelled: bool) -> int:
        """Return how the next pass rules out components."""
        self.passes += 1
        if self.share > _WORTHWHILE and self.passes < _TRY_AGAIN:
            return large_tiles.ALL
        return large_tiles.LABELLED if labelled else large_tiles.NEAREST

    def learn(self, ways: Sequence[Labels], k: int) -> None:
        """Take note of a pass: of each run the way, components scored, and tiles."""
        if ways[0][0] != large_tiles.ALL:
            _, scored, tiles = np.sum(ways, axis=0)
            self.share, self.passes = float(scored / (tiles * k)), 0


def gain_of(k: int, d: int) -> Gain:
    """Return what passes over as many columns and about as many components have learned so far."""
    return _gain_of(k.bit_length(), d)


@lru_cache
def _gain_of(size: int, d: int) -> Gain:
    return Gain()


@dataclass(frozen=True)
class LargeBatch:
    """The rows of a large batch, or of others that are to be labelled.

    Attributes
    ----------
    X : ndarray (n, d)
    shift, scale : ndarray (d,)
        Statistics are ``(1, z, z z')`` of ``z = (x - shift) / scale``.
    n_threads : int
    sizes : Sizes
    first_row : int
        The number of the first row: a multiple of the rows of a leaf.
    Z : ndarray (n, d) or None
        The rows in the frame, if they are kept.
    """

    X: Points
    shift: Array
    scale: Array
    n_threads: int
    sizes: Sizes
    first_row: int = 0
    Z: Array | None = None

    @staticmethod
    def of(family: Family, X: Points, n_threads: int, sizes: Sizes) -> LargeBatch | None:
        """Return the rows, or None if they are of another kind."""
        frame = family.quadratic_frame() if isinstance(X, np.ndarray) and len(X) else None
        return None if frame is None else LargeBatch(X, *frame, n_threads, sizes)

    def loaded(self, first_row: int) -> LargeBatch:
        """Return the rows as a batch; in the frame they are kept, unless that takes much memory."""
        batch = replace(self, first_row=first_row)
        if 8 * self.X.size > self.sizes.kept_bytes:
            return batch
        Z = np.empty(self.X.shape)

        def job(leaves: slice) -> None:
            at = self._rows(leaves)
            np.subtract(self.X[at], self.shift, out=Z[at])
            Z[at] /= self.scale

        together(self.n_threads, job, self._runs(0))
        return replace(batch, Z=Z)

    def takes(self, score: Score) -> bool:
        """Whether rows can be scored here by such a score."""
        form = form_of(score)
        return isinstance(form, Products) and form.pruning is None

    def sweep(
        self, weight: Array, score: Score, pairs: Pairs, k: int, key: tuple[int, int, int] | None,
        labels: tuple[Labels, Labels], *, labelled: bool,
    ) -> list[Part]:  # fmt: skip
        """Write labels and sub-labels, and return the sums of each run: see `Engine.sweep`.

        Rows that are ``labelled`` already are taken in that order.
        """
        by, p = self._components(score), pairs.eta.shape[1]
        gain, ways = gain_of(len(by.eta), len(self.shift)), list[Labels]()
        way = gain.way(labelled=labelled)
        drawn = (0, 0, 0, 0) if key is None else (1, *key)

        def job(leaves: slice) -> list[Part]:
            at, Z = self._run(leaves)
            run, second, doubt = self._room(len(Z), len(by.eta), drawn=key is not None)
            run.way[:] = way, 0, 0
            totals = self._totals(k, p, second=True)
            large_rows.sweep_run(
                Z, weight[at], by, pairs, Keyed(*drawn, self.first_row + at.start),
                self._leaves(leaves), self._tiles(by), run,
                Found(labels[0][at], labels[1][at], second, doubt), totals,
            )  # fmt: skip
            ways.append(run.way.copy())
            return [
                Part(first, m, (node(totals.current, i, k, 2, p), node(totals.rows, i, k, 2),
                                node(totals.rivals, i, k, k), node(totals.between, i, k, k)))
                for i, first, m in _nodes(totals)
            ]  # fmt: skip

        def node(sums: NDArray[Any], i: int, *shape: int) -> NDArray[Any]:
            out: NDArray[Any] = sums[i].reshape(shape).copy()  # the memory is the next pass's
            return out

        parts = together(self.n_threads, job, self._runs(k))
        gain.learn(ways, len(by.eta))
        return Tree(part for some in parts for part in some).parts

    def resplit(
        self, weight: Array, z: Labels, trial: Labels, chosen: NDArray[np.bool_], pairs: Pairs, *,
        doubts: bool,
    ) -> list[Part]:  # fmt: skip
        """Write the better sub-labels of rows of the chosen clusters: see `Engine.resplit`."""
        k, p = len(chosen), pairs.eta.shape[1]

        def job(leaves: slice) -> list[Part]:
            at, Z = self._run(leaves)
            totals, tiles = self._totals(k, p, second=False), self._tiles(None)
            large_rows.resplit_run(
                Z, weight[at], chosen, pairs, doubts, self._leaves(leaves), tiles, z[at],
                trial[at], totals,
            )  # fmt: skip
            return [
                Part(
                    first, m, (totals.current[i].reshape(k, 2, p).copy(), totals.between[i].copy())
                )
                for i, first, m in _nodes(totals)
            ]

        parts = together(self.n_threads, job, self._runs(k))
        return Tree(part for some in parts for part in some).parts

    def assign(self, score: Score) -> Labels:
        """Return the best component of each row."""
        by, ways = self._components(score), list[Labels]()
        gain = gain_of(len(by.eta), len(self.shift))
        way = gain.way(labelled=False)
        out = np.empty(len(self.X), dtype=np.int64)

        def job(leaves: slice) -> None:
            at, Z = self._run(leaves)
            run, _, _ = self._room(len(Z), len(by.eta), drawn=False)
            run.way[:] = way, 0, 0
            found = Found(out[at], _NO_LABELS, _NO_LABELS, _NONE)
            large_rows.assign_run(Z, by, self._tiles(by), run, found)
            ways.append(run.way.copy())

        together(self.n_threads, job, self._runs(0))
        gain.learn(ways, len(by.eta))
        return out

    # -- runs of rows ---------------------------------------------------------------------------

    def _runs(self, k: int) -> Sequence[slice]:
        """Return runs of leaves, about equal; of one leaf where there are many clusters."""
        leaves = -(-len(self.X) // self.sizes.leaf_rows)
        at_least = -(-leaves // (_MOST_LEAVES if k <= _MANY_CLUSTERS else 1))
        n = at_least if self.n_threads == 1 else max(at_least, min(leaves, _RUNS * self.n_threads))
        edges = [leaves * i // n for i in range(n + 1)]
        return [slice(a, b) for a, b in pairwise(edges)]

    def _rows(self, leaves: slice) -> slice:
        return slice(
            self.sizes.leaf_rows * leaves.start,
            min(self.sizes.leaf_rows * leaves.stop, len(self.X)),
        )

    def _run(self, leaves: slice) -> tuple[slice, Array]:
        """Return which rows are a run, and these in the frame."""
        at = self._rows(leaves)
        return at, (self.X[at] - self.shift) / self.scale if self.Z is None else self.Z[at]

    def _leaves(self, leaves: slice) -> Leaves:
        """Return how many rows a leaf has, and the number of a run's first within the batch."""
        rows = self.sizes.leaf_rows
        return Leaves(rows, self.first_row // rows + int(leaves.start))

    def _room(self, n: int, k: int, *, drawn: bool) -> tuple[Run, Labels, Array]:
        """Return memory for a run of n rows, and for their second choices and doubts."""
        most = self.sizes.leaf_rows * _MOST_LEAVES

        def make() -> tuple[Labels, Array, Labels, Array]:
            return (np.empty(most, np.int64), np.empty(2 * most), np.empty(most, np.int64),
                    np.empty(most))  # fmt: skip

        order, u, second, doubt = _MEMORY.made("rows of a run", most, make)
        places = _MEMORY.made("places", k, lambda: np.empty(k + 2, np.int64))
        u = u[: 2 * n if drawn else 0].reshape(2, -1)
        return Run(order[:n], places, u, np.empty(3, np.int64)), second[:n], doubt[:n]

    def _totals(self, k: int, p: int, *, second: bool) -> Totals:
        """Return memory for the sums of a run: as many nodes as it needs at a time."""
        m = 1 if k > _MANY_CLUSTERS else _MOST_NODES

        def make() -> Totals:
            pairs = k * k if second else 0
            return Totals(
                np.empty((m, 2 * k * p)), np.empty((m, 2 * k), np.int64),
                np.empty((m, pairs), np.int64), np.empty((m, pairs or k)),
                np.empty((m + 1, 2), np.int64),
            )  # fmt: skip

        totals = _MEMORY.made("totals" if second else "trial totals", (m, k, p), make)
        totals.nodes[:] = 0
        return totals

    def _tiles(self, by: Components | None) -> Tiles:
        k, centres = (1, 0) if by is None else (len(by.eta), by.centre.shape[1])
        size = k, len(self.shift), centres
        return _MEMORY.made("trial tiles" if by is None else "tiles", size, lambda: Tiles.of(*size))

    def _components(self, score: Score) -> Components:
        form = form_of(score)
        assert isinstance(form, Products)
        with np.errstate(all="ignore"):  # what float32 cannot hold has an error without bound
            return _components(form, len(self.shift))


def _components(form: Products, d: int) -> Components:
    eta, const, power = form.eta, form.const, form.power
    k, p = eta.shape
    level = slope = _NARROW
    scaled, by = eta / _LN2, np.ones(k)
    if form.student:
        linear = power <= 0.0
        scaled = np.where(linear[:, None], scaled, eta)
        best = 0.0 if linear.any() else float(const.max())  # what all have in common may go
        level, slope = ((const - best) / _LN2).astype(np.float32), power.astype(np.float32)
        level[~(level < MOST)] = -np.inf
        slope[~(slope < MOST)] = 0.0
        by = np.maximum(power / _LN2, 1.0)
    size = np.abs(scaled).max(axis=0)
    weighed = (np.abs(scaled) * by[:, None]).max(axis=0)
    # of a statistic three numbers are rounded, and a parameter, p products and p sums
    reach = np.maximum(weighed * (1.1 * (p + 6) * _HALF), TOO_LARGE / MOST)
    narrow = np.zeros((k, p + -p % 4), dtype=np.float32)
    narrow[:, :p] = scaled
    return Components(
        eta, const, power, narrow, np.ascontiguousarray(scaled.T), level, slope,
        np.where(weighed < MOST, reach, np.inf).astype(np.float32), size,
        _centres(scaled, d),
    )  # fmt: skip


def _centres(eta: Array, d: int) -> NDArray[np.float32]:
    """Return where quadratic functions have their extremes, as `nearby.nearest` takes them."""
    k, (i, j) = len(eta), _triangle(d)
    out = np.zeros((k + -k % 4, d + 1 + -(d + 1) % 4), dtype=np.float32)
    out[k:, 0] = _FAR
    bent = np.empty((k, d, d))
    bent[:, i, j] = bent[:, j, i] = eta[:, 1 + d :]
    bent[:, range(d), range(d)] *= 2.0
    try:
        centre = np.linalg.solve(-bent, eta[:, 1 : 1 + d, None])[..., 0]
    except np.linalg.LinAlgError:  # some functions are flat
        return out
    level = -0.5 * (centre**2).sum(axis=1)
    good = np.isfinite(level) & (level > _FAR)
    out[:k, 0] = np.where(good, level, _FAR)
    out[:k, 1 : 1 + d][good] = centre[good]
    return out


@lru_cache
def _triangle(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    i, j = np.triu_indices(d)
    return i, j


def _nodes(totals: Totals) -> Iterator[tuple[int, int, int]]:
    """Yield the place of each node that a run comes to, its first leaf, and how many it has."""
    for i, (first, leaves) in enumerate(totals.nodes[: int(totals.nodes[-1, 0])].tolist()):
        yield i, first, leaves
