"""What a Dask worker holds of a batch: a run of its rows, and an engine of its own."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Engine, EngineLost, Key
from scstream.engines.chunks import Part, Tree
from scstream.engines.cpu import CpuEngine, least_rows
from scstream.engines.dask.moving import Piece
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, Score, stack, to_dense
from scstream.families.taming import Frames
from scstream.support.blas import single_threaded

Chunk = tuple[Points, Array | None]  # rows and their weights, None for ones
EngineMaker = Callable[[int], Engine]  # called on the worker with the number of its threads
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h has them
_FINENESS = 16  # an even share of the rows is met up to one part in so many
PATIENCE = 2.0  # seconds without an answer after which one looks whether the worker is there
_HELPERS = 4  # to whom a shard passes a call on, at most
_NOT_LOADED = -1  # instead of the number of steps taken
_SUMMED = frozenset({"sweep", "resplit", "gap_sums", "joined"})  # what returns parts of sums


class Peer(NamedTuple):
    """A shard as others call it, and the worker that it is on."""

    actor: Any
    worker: str


class Place(NamedTuple):
    """A shard, what its run of rows is made of, and which others have some of it, by number."""

    peer: Peer
    pieces: Sequence[Piece]
    holders: dict[int, Peer]


class Shard:
    """A run of rows on one worker; lives there as an actor.

    Parameters
    ----------
    make_engine : callable
        Called with ``n_threads``; returns the engine that passes over the rows.
    read : callable
        Makes rows and weights of a chunk.
    chunks : sequence
        From which rows are taken, by this shard and others.
    first_row : int
        The number of the run's first row within the batch.
    of : int
        How many rows the batch has.
    """

    def __init__(
        self,
        make_engine: EngineMaker,
        n_threads: int,
        family: Family,
        read: Callable[[Any], Chunk],
        chunks: Sequence[Any],
        first_row: int,
        of: int,
    ) -> None:
        keep_freed_memory()
        self._family, self._first, self._of = family, first_row, of
        self._engine = make_engine(n_threads)
        self._chunks = [read(chunk) for chunk in chunks]
        self._steps = _NOT_LOADED
        self._helpers: list[Peer] = []

    async def cut(self, piece: Piece) -> Chunk:
        """Return rows of a chunk, and their weights, whatever this shard is doing."""
        return self._cut(piece)

    def _cut(self, piece: Piece) -> Chunk:
        X, weight = self._chunks[piece.chunk]
        rows = slice(piece.start, piece.stop)
        return X[rows], None if weight is None else weight[rows]

    async def lead(self, place: Place, others: Sequence[Place]) -> bool:
        """Take the rows, and pass calls on to these shards from now on, whose runs follow.

        Returns whether this shard or one of them has rows with missing entries.
        """
        groups = led_by(others)
        self._helpers = [group[0].peer for group in groups]
        asked = [group[0].peer.actor.lead(group[0], group[1:]) for group in groups]
        await _in_thread(self._load, await self._pieces(place))
        return any([self._engine.has_gaps(), *[await self._answer(other) for other in asked]])

    async def _pieces(self, place: Place) -> list[Chunk]:
        """Return the pieces of the run; those that others have are on their way at once."""
        holders = [place.holders.get(piece.shard) for piece in place.pieces]
        asked = [
            holder and holder.actor.cut(piece)
            for holder, piece in zip(holders, place.pieces, strict=True)
        ]
        return [
            self._cut(piece) if holder is None else await awaited(part, [holder.worker])
            for holder, piece, part in zip(holders, place.pieces, asked, strict=True)
        ]

    def _load(self, parts: list[Chunk]) -> None:
        """Join the pieces of the run."""
        self._X = stack([X for X, _ in parts])
        self._weight = np.concatenate(
            [np.ones(X.shape[0]) if weight is None else weight for X, weight in parts]
        )
        with single_threaded():
            self._engine.load(self._family, self._X, self._weight, self._first, self._of)
        self._steps = 0

    def call(self, step: int, name: str, *args: Any) -> Any:
        """Run a method, its own or else its engine's, the ``step``-th since the batch was loaded.

        A shard that was made anew behind the caller's back, on a worker that came back, knows
        nothing of earlier steps: it must not go on as if it did.
        """
        if step != self._steps:
            raise EngineLost("A worker lost what it held and was set up again.")
        self._steps += 1
        self._chunks.clear()  # every shard has its rows by now
        with single_threaded():
            return getattr(self if hasattr(self, name) else self._engine, name)(*args)

    async def call_all(self, step: int, name: str, given: bytes) -> list[Any]:
        """Run a method here and on all shards that this one leads; returns their answers in order.

        Sums are added up on the way, as far as the tree of sums goes, to one answer. The worker's
        event loop passes the call on, as it came, before a thread begins with the rows: a thread
        that passed it on itself would keep the interpreter from the loop, by 5 ms at a time.
        """
        asked = [helper.actor.call_all(step, name, given) for helper in self._helpers]
        answers = [await _in_thread(self._call_packed, step, name, given)]
        for other in asked:
            answers += await self._answer(other)
        if name not in _SUMMED:
            return answers
        return [Tree(part for parts in answers for part in parts).parts]

    def _call_packed(self, step: int, name: str, given: bytes) -> Any:
        return self.call(step, name, *unpacked(given))

    async def _answer(self, asked: Any) -> Any:
        """Wait for what a helper answers, as long as all are there: this worker must go on."""
        return await awaited(asked, [helper.worker for helper in self._helpers])

    async def picked(self, rows: NDArray[np.int64]) -> list[tuple[Points, Array]]:
        """Return those of the batch's rows, and weights, that are here or on shards led from here.

        The rows are in order. Others are passed on; nothing waits for a sweep that goes on.
        """
        asked = [helper.actor.picked(rows) for helper in self._helpers]
        a, b = np.searchsorted(rows, [self._first, self._first + len(self._weight)])
        own = rows[a:b] - self._first
        parts = [(self._X[own], self._weight[own])]
        for other in asked:
            parts += await self._answer(other)
        return parts

    async def let_go(self) -> None:
        """Let go of everything but the labels that were named, here and on shards led from here."""
        for helper in self._helpers:
            helper.actor.let_go()
        del self._engine, self._X, self._weight

    async def named(self, which: int) -> Labels:
        """Return the labels that were named, or the sub-labels."""
        return self._named[which].astype(np.int64, copy=False)

    # -- the contract, for this run of rows -----------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Return the parts of a sweep."""
        return self._sent(self._engine.sweep_parts(score, sub, k, key))

    def resplit(self, sub: Score, chosen: NDArray[np.bool_], doubts: bool) -> list[Part]:
        """Return the parts of new sub-labels tried."""
        return self._sent(self._engine.resplit_parts(sub, chosen, doubts=doubts))

    def gap_sums(self, k: int, score: Score | None) -> list[Part]:
        """Return the parts of the sums of the rows with gaps."""
        assert isinstance(self._engine, CpuEngine)
        return self._sent(self._engine.gap_sums_parts(k, score))

    def joined(self, pairs: Labels, frames: Frames) -> list[Part]:
        """Return the parts of the sums of pairs of clusters, tamed in a frame for each pair."""
        assert isinstance(self._engine, CpuEngine)
        return self._sent(self._engine.joined_parts(pairs, frames))

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

    def labels(self) -> Labels:
        """Return a copy of the labels."""
        return self._engine.labels.copy()

    def sublabels(self) -> Labels:
        """Return a copy of the sub-labels."""
        return self._engine.sublabels.copy()

    def first_labels(self, n: int) -> Labels:
        """Return the labels of the first n rows of the run."""
        return self._engine.first_labels(n).copy()

    def name_labels(self, ids: Labels, skip: int) -> None:
        """Keep ids and sub-labels of rows but the first of the batch; the latter take a byte."""
        labels, sublabels = self._engine.named_labels(ids, max(skip - self._first, 0))
        self._named: tuple[Labels, Labels] = labels, sublabels.astype(np.int8)

    def _sent(self, parts: list[Part]) -> list[Part]:
        ends = self._first + len(self._weight) == self._of
        return Tree(parts).closed() if ends else parts


async def awaited(answer: Any, workers: Collection[str]) -> Any:
    """Wait in a worker's event loop for an answer as long as some workers live."""
    from distributed import get_worker

    task = asyncio.ensure_future(answer)
    while not (await asyncio.wait([task], timeout=PATIENCE))[0]:
        check_there(workers, await get_worker().scheduler.ncores())
    return task.result()


async def _in_thread(job: Callable[..., Any], *args: Any) -> Any:
    """Run something in the thread that a worker has for its actors, and wait for it."""
    from distributed import get_worker

    thread = get_worker().executors["actor"]
    return await asyncio.get_running_loop().run_in_executor(thread, job, *args)


def packed(args: tuple[Any, ...]) -> bytes:
    """Return the arguments of a call, packed once for all shards."""
    from distributed.protocol import pickle

    untyped: Any = pickle
    out: bytes = untyped.dumps(args)
    return out


def unpacked(given: bytes) -> tuple[Any, ...]:
    """Return what was packed."""
    from distributed.protocol import pickle

    untyped: Any = pickle
    out: tuple[Any, ...] = untyped.loads(given)
    return out


def check_there(workers: Collection[str], there: Collection[str]) -> None:
    """Raise if one of the workers is not among those that are there."""
    gone = set(workers) - set(there)
    if gone:
        raise EngineLost(f"The Dask worker {gone.pop()} is gone.")


def led_by(others: Sequence[Any]) -> list[Sequence[Any]]:
    """Return shards in groups of neighbours, the first of each of which leads the group.

    Examples
    --------
    >>> led_by(range(1, 10))
    [range(1, 4), range(4, 6), range(6, 8), range(8, 10)]
    """
    n = min(len(others), _HELPERS)
    edges = [-(-len(others) * i // n) for i in range(n + 1)] if n else [0]
    return [others[a:b] for a, b in pairwise(edges)]


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
