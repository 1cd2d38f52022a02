"""Passes over batches of a family whose statistics are quadratic, of many columns.

See `kernels.wide_rows`: statistics are made row by row, and most components ruled out before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Key
from scstream.engines.large import MOST_COLUMNS, quadratic_rows
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, Products, Score, form_of
from scstream.kernels import wide_rows
from scstream.kernels.labelling import Pairs
from scstream.kernels.large_rows import Keyed, Rows
from scstream.kernels.pruning import Predictives, Students
from scstream.kernels.wide_rows import Labelled, Tile
from scstream.support.memory import Memory
from scstream.support.threads import together

_TILE = 256  # rows that are labelled at a time
_MEMORY = Memory()
_NO_SHARES = np.empty(0)
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
    """

    rows: Rows
    n_threads: int
    first_row: int

    @staticmethod
    def of(family: Family, X: Points, n_threads: int, first_row: int) -> WideBatch | None:
        """Return the rows, or None if they are of another kind."""
        rows = quadratic_rows(family, X) if X.shape[1] > MOST_COLUMNS else None
        return None if rows is None else WideBatch(rows, n_threads, first_row)

    def labelling(
        self, score: Score, sub: Score, key: Key | None, found: Labelled
    ) -> Callable[[], list[slice]] | None:
        """Return what does as `label`, None if rows are scored in another way."""
        own, by = students_of(sub), _predictives_of(score)
        return None if own is None or by is None else partial(self.label, by, own, key, found)

    def label(
        self, by: Predictives, own: Students, key: Key | None, found: Labelled
    ) -> list[slice]:
        """Label rows and divide them among sub-clusters; return runs that are not done.

        These come near to too many components.
        """
        n, k, d = len(found.z), len(by.forms), len(self.rows.shift)
        tiles = -(-n // _TILE)
        threads = max(min(self.n_threads, tiles), 1)
        taken, left = np.zeros(1, dtype=np.int64), np.zeros(tiles, dtype=np.int64)
        keyed = Keyed(
            *((0, 0, 0, 0) if key is None else (1, key.seed, key.batch, key.sweep)), self.first_row
        )
        size = k, d, by.forms.shape[1], threads

        def make() -> list[Tile]:
            return [_tile(k, d, by.forms.shape[1]) for _ in range(threads)]

        def job(tile: Tile) -> None:
            wide_rows.label_tiles(self.rows, by, own, keyed, taken, tile, found, left)

        together(threads, job, _MEMORY.made("tiles", size, make))
        starts = _TILE * np.flatnonzero(left)
        return [slice(int(a), min(int(a) + _TILE, n)) for a in starts]

    def add(
        self, at: NDArray[np.int64], weight: Array, z: Labels, sub: Labels, share: Array | None,
        to: Array,
    ) -> None:  # fmt: skip
        """Add the rows listed to sums (k, 2, p) by label, and by sub-label or share."""
        shares = _NO_SHARES if share is None else share
        wide_rows.add_rows(self.rows, at, weight, z, sub, shares, self._work(to)[0], to)

    def divide(
        self, at: NDArray[np.int64], weight: Array, z: Labels, sub: Students | Pairs, to: Array,
        doubt: Array,
    ) -> Labels:  # fmt: skip
        """Return the better sub-labels of the rows listed, and add these up."""
        own, pairs = _NOT_SOLVED, _NO_PRODUCTS
        if isinstance(sub, Students):
            own = sub
        else:
            pairs = sub
        trial = np.empty(len(at), dtype=np.int64)
        wide_rows.divide_rows(
            self.rows, at, weight, z, own, pairs, self._work(to), trial, (to, doubt)
        )
        return trial

    @staticmethod
    def _work(sums: Array) -> tuple[Array, Array]:
        """Return memory for a row's statistics, and for a solution, of this thread."""
        p = sums.shape[2]
        return _MEMORY.made("a row", p, lambda: (np.empty(p), np.empty(_columns(p))))


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


def _tile(k: int, d: int, leading: int) -> Tile:
    return Tile(
        np.empty((_TILE, 1 + d)), np.empty((_TILE, leading)), np.empty((_TILE, k)),
        np.empty((_TILE, 2)), np.empty((2, _TILE)), np.empty(d), np.empty(_TILE, np.int64),
        np.empty(_TILE, np.int64), np.empty(k + 1, np.int64), np.empty(k, np.int64), np.empty(k),
    )  # fmt: skip


def _columns(p: int) -> int:
    """Return how many columns have so many statistics."""
    return (int(np.sqrt(8 * p + 1)) - 3) // 2
