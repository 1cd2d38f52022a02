"""What a Dask worker holds of a batch: a run of its rows, and an engine of its own."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Engine, EngineLost, Key
from scstream.engines.cpu import CpuEngine, least_rows
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, stack, to_dense
from scstream.support.blas import single_threaded

Chunk = tuple[Points, Array | None]  # rows and their weights, None for ones
EngineMaker = Callable[[int], Engine]  # called on the worker with the number of its threads
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h has them
_FINENESS = 16  # an even share of the rows is met up to one part in so many


class Shard:
    """A run of rows on one worker; lives there as an actor.

    Parameters
    ----------
    make_engine : callable
        Called with ``n_threads``; returns the engine that passes over the rows.
    pieces : sequence of (rows, weights)
        What the run is made of.
    first_row : int
        The number of the run's first row within the batch.
    of : int
        How many rows the batch has.
    """

    def __init__(
        self, make_engine: EngineMaker, n_threads: int, family: Family, pieces: Sequence[Chunk],
        first_row: int, of: int,
    ) -> None:  # fmt: skip
        keep_freed_memory()
        self._family, self._first, self._steps = family, first_row, 0
        self._engine = make_engine(n_threads)
        self._X, self._weight = joined_rows(pieces)
        with single_threaded():
            self._engine.load(family, self._X, self._weight, first_row, of)

    def call(self, step: int, name: str, *args: Any) -> Any:
        """Run a method, its own or else its engine's, as the ``step``-th since it was made.

        What is no method is returned. A shard that was made anew behind the caller's back, on a
        worker that came back, knows nothing of earlier steps: it must not go on as if it did.
        """
        if step != self._steps:
            raise EngineLost("A worker lost what it held and was set up again.")
        self._steps += 1
        with single_threaded():
            found = getattr(self if hasattr(self, name) else self._engine, name)
            return found(*args) if callable(found) else found

    async def picked(self, rows: NDArray[np.int64]) -> tuple[Points, Array]:
        """Return some rows, and their weights, whatever this shard is doing."""
        return self._X[rows], self._weight[rows]

    async def let_go(self) -> None:
        """Let go of everything but the labels that were named."""
        del self._engine, self._X, self._weight

    async def named(self, which: int) -> Labels:
        """Return the labels that were named, or the sub-labels."""
        return self._named[which].astype(np.int64, copy=False)

    def members(self, k: int, key: Key) -> tuple[Array, Array]:
        """Return the statistics (k, p) of the row of each cluster with the least draw (k,)."""
        z: Labels = self._engine.labels
        row, draw = least_rows(key, self._first, z, k)
        have = row >= 0
        out = np.zeros((k, len(self._family.prior)))
        if isinstance(self._engine, CpuEngine):
            out[have] = self._engine.statistics_of(row[have])
        else:
            out[have] = to_dense(self._family.statistics(self._X[row[have]]))
        return out, draw

    def name_labels(self, ids: Labels, skip: int) -> None:
        """Keep ids and sub-labels of rows but the first; the latter take a byte."""
        labels, sublabels = self._engine.named_labels(ids, skip)
        self._named: tuple[Labels, Labels] = labels, sublabels.astype(np.int8)


def joined_rows(parts: Sequence[Chunk]) -> tuple[Points, Array]:
    """Return rows and their weights below one another."""
    weights = [np.ones(X.shape[0]) if weight is None else weight for X, weight in parts]
    return stack([X for X, _ in parts]), np.concatenate(weights)


@cache
def keep_freed_memory() -> None:
    """Let this process keep memory of up to some MiB that it has freed.

    That is what the GNU C library comes to by itself, unless it is told a threshold, as Dask tells
    its workers (64 KiB). With that, the arrays of every block of rows come fresh from the system,
    page by page: a sweep takes 1.4 times as long.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # as in the GNU C library
        library.mallopt(_MMAP_THRESHOLD, 2**25)  # which is the largest that it takes
        library.mallopt(_TRIM_THRESHOLD, 2**26)


def cut_evenly(n: int, shares: Sequence[float], chunk: int) -> list[int]:
    """Return where runs of n rows begin and end that are in proportion to the shares, roughly.

    Runs are whole chunks, and begin at a multiple of a power of two of chunks, so that the sums of
    each go into a few parts.

    Examples
    --------
    >>> cut_evenly(1_000_000, [1, 1, 1], 8192)
    [0, 327680, 671744, 1000000]
    """
    chunks = max(-(-n // chunk), 1)
    unit = 2 ** max(int(np.log2(chunks / (_FINENESS * len(shares)))), 0)
    ideal = chunks * np.cumsum(shares) / np.sum(shares)
    edges = np.unique(np.append(np.rint(ideal[:-1] / unit) * unit, [0, chunks])).astype(np.int64)
    return [min(int(edge) * chunk, n) for edge in edges]
