"""Passes over batches of a family whose statistics are quadratic, of many columns.

See `kernels.wide_rows`, where most components are ruled out, and `kernels.wide_sums`: statistics
are made for a few rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Key
from scstream.engines.block_pass import cut
from scstream.engines.large import MOST_COLUMNS
from scstream.engines.ordered_sums import Part, Values, added_leaves
from scstream.engines.units import Units, units_of
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, Products, Score, form_of
from scstream.kernels import labelling, wide_rows, wide_sums
from scstream.kernels.crew import crew_of, for_each
from scstream.kernels.frames import TILE, Keyed, Rows
from scstream.kernels.labelling import Pairs
from scstream.kernels.pruning import Predictives, Students
from scstream.kernels.sharing import Totals
from scstream.kernels.solutions import LANES
from scstream.kernels.wide_rows import Labelled, Tile
from scstream.kernels.wide_sums import TOGETHER, Held, Listed, Sides, Work
from scstream.support.memory import Memory, for_kernels
from scstream.support.threads import together

_TILE = 256  # rows that are labelled at a time
_LISTED = 2**12  # rows that are listed sooner than another thread wakes
_COUNTED = 2**15  # rows that are counted sooner than another thread of Python's wakes
_CELLS = 2**19  # statistics of rows that are added up so
_MEMORY = Memory()
_NO_SHARES = _WIDE = np.empty(0)
_NARROW = np.empty(0, dtype=np.float32)
_NOT_SOLVED = Students(np.empty((0, 0)), np.empty((0, 0)), np.empty(0), np.empty(0))
_NO_PRODUCTS = Pairs(np.empty((0, 0)), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class WideBatch:
    """The rows of a batch of many columns.

    Attributes
    ----------
    rows : Rows
    n_threads : int
    first_row : int
        The number of the first row.
    leaf_rows : int
        The rows of a leaf of the tree of sums.
    """

    rows: Rows
    n_threads: int
    first_row: int
    leaf_rows: int

    @staticmethod
    def of(
        family: Family, X: Points, n_threads: int, first_row: int, leaf_rows: int
    ) -> WideBatch | None:
        """Return the rows, or None if they are of another kind."""
        if X.shape[1] <= MOST_COLUMNS or not isinstance(X, np.ndarray) or not len(X):
            return None
        frame = family.quadratic_frame()
        if frame is None:
            return None
        flat = for_kernels(np.ascontiguousarray(X)).reshape(-1)
        single = X.dtype == np.float32
        rows = Rows(_WIDE, flat, *frame) if single else Rows(flat, _NARROW, *frame)
        return WideBatch(rows, n_threads, first_row, leaf_rows)

    def label(
        self, score: Score, sub: Score, key: Key | None, found: Labelled
    ) -> list[slice] | None:
        """Label rows and divide them among sub-clusters; return runs that are not done.

        These come near to too many components. None if rows are scored in another way.
        """
        own, by = students_of(sub), _predictives_of(score)
        if own is None or by is None:
            return None
        n, k, d = len(found.z), len(by.narrow), len(self.rows.shift)
        tiles = -(-n // _TILE)
        threads = max(min(self.n_threads, tiles), 1)
        taken, left = np.zeros(1, dtype=np.int64), np.zeros(tiles, dtype=np.int64)
        keyed = Keyed(
            *((0, 0, 0, 0) if key is None else (1, key.seed, key.batch, key.sweep)), self.first_row
        )
        with crew_of(threads) as crew:
            size = k, d, by.columns, by.narrow.shape[1], crew.threads
            memory = _MEMORY.made("tiles", size, lambda: _tiles(*size))
            wide_rows.label(crew, self.rows, by, own, keyed, memory, found, left, taken)
        starts = _TILE * np.flatnonzero(left)
        return [slice(int(a), min(int(a) + _TILE, n)) for a in starts]

    def swept(self, found: Labelled, weight: Array, k: int, *, shared: bool) -> list[Part]:
        """Return what `Engine.sweep` sums up, rows going to both sides by shares if they do."""
        share = found.share if shared else _NO_SHARES
        counts = self._counted(found, weight, k)
        sides = Sides(found.sub, share, _NOT_SOLVED, _NO_PRODUCTS)
        sums = self._sums(found.z, weight, np.ones(k, dtype=bool), sides)
        return [
            Part(one.first, one.leaves, (one.values[0], *other.values))
            for one, other in zip(sums, counts, strict=True)
        ]

    def _counted(self, found: Labelled, weight: Array, k: int) -> list[Part]:
        """Return rows (k, 2), second choices and doubts (k, k) of labelled rows."""

        def count(leaf: slice) -> Values:
            rows, rivals = np.zeros((k, 2), np.int64), np.zeros((k, k), np.int64)
            between = np.zeros((k, k))
            labelling.tally(
                found.z[leaf], found.sub[leaf], found.second[leaf], found.doubt[leaf],
                found.own_doubt[leaf], weight[leaf], rows, rivals, between,
            )  # fmt: skip
            return rows, rivals, between

        leaves = cut(len(found.z), self.leaf_rows)
        counts = together(self._few(len(found.z), _COUNTED), count, leaves)
        return added_leaves(self.first_row // self.leaf_rows, counts)

    def _few(self, n: int, each: int) -> int:
        """Return how many threads take n rows, of which one takes so many sooner than two."""
        return max(min(self.n_threads, n // each), 1)

    def divided(
        self, z: Labels, weight: Array, chosen: NDArray[np.bool_], by: Students | Pairs,
        trial: Labels,
    ) -> list[Part]:  # fmt: skip
        """Fill the better sub-labels of rows of the chosen clusters; return sums and doubts."""
        solved, products = _NOT_SOLVED, _NO_PRODUCTS
        if isinstance(by, Students):
            solved = by
        else:
            products = by._replace(eta=_first_used(by.eta))
        return self._sums(z, weight, chosen, Sides(trial, _NO_SHARES, solved, products))

    def _sums(
        self, z: Labels, weight: Array, chosen: NDArray[np.bool_], sides: Sides
    ) -> list[Part]:
        """Return sums (k, 2, p) and doubts (k,) of the chosen clusters."""
        n, k, d = len(z), len(chosen), len(self.rows.shift)
        p, leaves = 1 + d + d * (d + 1) // 2, max(-(-n // self.leaf_rows), 1)
        first = self.first_row // self.leaf_rows
        units = units_of(first, leaves, self.n_threads, 8 * (2 * p + 1) * k)
        listed = self._listed(z, chosen, units)
        m, held = len(units.units), 1 + units.largest.bit_length()
        sums = _MEMORY.made("sums", (m, k, p), lambda: _totals(m, 2 * k * p, k))
        whole = _totals(len(units.roots), 2 * k * p, k), units.root_of()
        taken = np.zeros(1 + len(units.nodes) * k, dtype=np.int64)
        with crew_of(self._few(n * p, _CELLS)) as crew:
            size = crew.threads, held, p, d
            own = _MEMORY.made("work", size, lambda: _work(*size))
            shares = units.shares(self.leaf_rows, crew)._replace(taken=taken)
            wide_sums.add_clusters(self.rows, weight, listed, sides, shares, own, sums, whole)
        return [
            Part(first, size, (whole[0].current[i].reshape(k, 2, p), whole[0].between[i]))
            for i, (_, first, size) in enumerate(units.roots)
        ]

    def _listed(self, z: Labels, chosen: NDArray[np.bool_], units: Units) -> Listed:
        """Return the rows of chosen clusters, by unit and cluster."""
        n, m, k = len(z), len(units.units), len(chosen)
        listed = _MEMORY.made(
            "listed", (n, m, k), lambda: Listed(np.empty(n, np.int64), np.empty((m, k), np.int64))
        )
        with crew_of(self._few(n, _LISTED)) as crew:
            wide_sums.list_rows(z, chosen, units.shares(self.leaf_rows, crew), listed)
        return listed


def _predictives_of(score: Score) -> Predictives | None:
    """Return what rules components out by a score, if there are few near rows such as some."""
    form = form_of(score)
    if not isinstance(form, Products) or form.pruning is None:
        return None
    return form.pruning.predictives()


def students_of(sub: Score) -> Students | None:
    """Return what scores rows under sub-clusters by triangular solutions, if that is the way."""
    form = form_of(sub)
    return form.pruning.students() if isinstance(form, Products) and form.pruning else None


def _first_used(eta: Array) -> Array:
    """Return functionals (m, p) of statistics without the last ones, where none depends on them."""
    used = np.flatnonzero(eta.any(axis=0))
    return np.ascontiguousarray(eta[:, : used[-1] + 1 if len(used) else 1])


def _tiles(k: int, d: int, leading: int, width: int, threads: int) -> Tile:
    floats, ints = partial(for_each, threads), partial(for_each, threads, dtype=np.int64)
    singles = partial(for_each, threads, dtype=np.float32)
    which = ints((k + -k % 4,))
    which[:] = np.minimum(np.arange(which.shape[1]), k - 1)
    return Tile(
        floats((_TILE, 1 + d)), floats((_TILE, leading)), singles((TILE * width,)),
        singles((TILE,)), singles((TILE * which.shape[1],)), which, floats((_TILE, k)),
        floats((_TILE, 2)), floats((2, _TILE)), floats((d,)), ints((_TILE,)), ints((_TILE,)),
        ints((k + 1,)), ints((k,)), floats((k,)),
    )  # fmt: skip


def _work(threads: int, held: int, p: int, d: int) -> Work:
    floats, none = partial(for_each, threads), for_each(threads, (held, 0), np.int64)
    totals = Totals(floats((held, 2 * p)), none, none, floats((held, 1)))
    few = 2, TOGETHER
    rows = Held(floats((*few, d)), floats(few), for_each(threads, (2,), np.int64))
    return Work(
        floats((LANES, d)), floats((d * LANES,)), floats((d * LANES,)), floats((2, LANES)),
        floats((p,)), rows, totals,
    )  # fmt: skip


def _totals(m: int, current: int, doubts: int) -> Totals:
    """Return memory for sums and doubts of m nodes."""
    none = np.empty((m, 0), np.int64)
    return Totals(np.empty((m, current)), none, none, np.empty((m, doubts)))
