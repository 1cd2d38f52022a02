"""Rows of a Dask collection: checked where they are, and cut into runs without coming here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import EngineLost, RemoteRows
from scstream.engines.dask.shard import Chunk, joined_rows
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points
from scstream.families.subspace import narrowed

Check = Callable[[Any], Points]  # makes sound rows of a chunk, or raises `ValueError`
Fetch = Callable[[], tuple[Points, Array]]  # fetches rows and their weights


def is_collection(X: Any) -> bool:
    """Whether it is a Dask array, data frame, or the like."""
    return hasattr(X, "__dask_graph__")


def require_dask() -> Any:
    """Return the module ``distributed``, or say how to get it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "The Dask engine needs dask and distributed: pip install 'scstream[dask]'."
        ) from error
    return distributed


class DaskRows(RemoteRows):
    """A batch in chunks on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    parts : list of Delayed
        Chunks, see `scstream.engines.dask.shard.Chunk`, as Dask is to compute them.
    shapes : ndarray (chunks, 2), optional
        Rows and columns of each chunk, where they are known; else the workers are asked.

    Attributes
    ----------
    picked : callable or None
        Asks for rows where an engine has loaded them, while it holds them: see `order`.
    """

    picked: Callable[[NDArray[np.int64]], Fetch] | None = None

    def __init__(
        self, client: Any, parts: list[Any], shapes: NDArray[np.int64] | None = None
    ) -> None:
        self._client, self._parts = client, parts
        self._futures: list[Any] | None = None
        if shapes is None:
            shapes = np.array(self._gathered(self._begun(_shape)), dtype=np.int64).reshape(-1, 2)
        self._shapes, self.lengths = shapes, shapes[:, 0]
        self.shape = int(self.lengths.sum()), int(shapes[0, 1])

    @classmethod
    def read(cls, client: Any, X: Any, check: Check) -> DaskRows:
        """Return a collection's rows, checked on the workers."""
        from dask.delayed import delayed

        task = delayed(partial(_read, check), pure=False)
        return cls(client, [task(block) for block in blocks_of(X)], _known_shapes(X))

    def weighed(self, weight: Any, check: Callable[[Any], Array]) -> DaskRows:
        """Return the rows with weights (n,), a local array or a Dask one, checked likewise."""
        weighed = self._with(
            partial(_weighed, check), weight_blocks(weight, self.lengths), shapes=self._shapes
        )
        weighed.chunks()  # from rows that are there, while they are held
        return weighed

    def _with(
        self, job: Callable[..., Chunk], *others: Iterable[Any],
        shapes: NDArray[np.int64] | None = None,
    ) -> DaskRows:  # fmt: skip
        """Return the rows with what a job makes of each chunk in its place."""
        from dask.delayed import delayed

        self.chunks()  # which others will ask for
        task = delayed(job, pure=False)
        parts = [task(*own) for own in zip(self._parts, *others, strict=True)]
        return DaskRows(self._client, parts, shapes)

    def chunks(self) -> list[Any]:
        """Return futures of the chunks, computed if they are not there."""
        if self._futures is None:
            self._futures = self._client.compute(self._parts, optimize_graph=False)
        return self._futures

    def holders(self) -> list[Collection[str]]:
        """Return the workers that have each chunk, when all are there."""
        chunks = self.chunks()
        require_dask().wait(chunks)
        with lost_is_an_error():
            for chunk in chunks:
                if chunk.status != "finished":
                    chunk.result()  # raises what was wrong with it
        has = self._client.who_has(chunks)
        return [has.get(chunk.key, ()) for chunk in chunks]

    def run(self, start: int, stop: int) -> list[Any]:
        """Return what a run of rows is made of: chunks, and parts of such cut where they are."""
        from dask.delayed import delayed

        cut, out, begin = delayed(_taken, pure=False), [], 0
        for chunk, n in zip(self.chunks(), self.lengths.tolist(), strict=True):
            a, b = max(start - begin, 0), min(stop - begin, n)
            if a < b:
                out.append(chunk if b - a == n else cut(chunk, slice(a, b)))
            begin += n
        return out

    def release(self) -> None:
        """Let go of the chunks, which are in the shards; asked for, they are computed again."""
        self._futures = None

    def _begun(self, job: Callable[..., Any], *others: Iterable[Any]) -> list[Any]:
        """Return futures of what a job makes of each chunk, done where the chunk is."""
        with lost_is_an_error():
            done: list[Any] = self._client.map(job, self.chunks(), *others, pure=False)
            return done

    def _gathered(self, done: list[Any]) -> list[Any]:
        with lost_is_an_error():
            return list(self._client.gather(done))

    def order(self, rows: NDArray[np.int64] | slice) -> Fetch:
        """Have the given rows picked now; returns what fetches them and their weights."""
        if self.picked is not None:
            return self.picked(np.arange(self.shape[0]) if isinstance(rows, slice) else rows)
        within: list[Any] = [rows] * len(self.lengths)
        if not isinstance(rows, slice):
            ends = np.cumsum(self.lengths)
            cuts = np.split(rows, np.searchsorted(rows, ends[:-1]))
            within = [at - end + n for at, end, n in zip(cuts, ends, self.lengths, strict=True)]
        begun, held = self._begun(_taken, within), self.chunks().copy()

        def fetched() -> tuple[Points, Array]:
            parts = self._gathered(begun)
            held.clear()  # let go of before, they might be gone before the tasks are known
            return joined_rows(parts)

        return fetched

    def here(self, values: Any) -> Any:
        """Fetch a Dask array; one that is here stays as it is."""
        if not is_collection(values):
            return values
        with lost_is_an_error():
            return self._client.compute(values).result()

    def after(self, rows: Points, weight: Array) -> DaskRows:
        """Return the batch with local rows before it."""
        from dask.delayed import delayed

        return DaskRows(self._client, [delayed((rows, weight), pure=False), *self._parts])

    def unrounded(self, family: Family, batch: int) -> DaskRows:
        """Return the rows with coarse numbers at places within their cells."""
        begins = (np.cumsum(self.lengths) - self.lengths).tolist()
        return self._with(partial(_unrounded, family, batch), begins, shapes=self._shapes)

    def narrowed(self, family: Family) -> DaskRows:
        """Return the rows by the coordinates in which the family computes."""
        return self._with(partial(_narrowed, family))


def check_collection(X: Any) -> None:
    """Raise if it is no Dask array or data frame of rows and columns."""
    if not hasattr(X, "to_delayed") or getattr(X, "ndim", 0) != 2:
        raise ValueError(
            "Expected 2D array: a Dask collection must be a data frame or an array of two "
            f"dimensions; got {X!r}."
        )


def blocks_of(X: Any) -> list[Any]:
    """Return a collection's chunks of whole rows, one Delayed each."""
    return list(np.ravel((X.rechunk({1: -1}) if hasattr(X, "chunks") else X).to_delayed()))


def _known_shapes(X: Any) -> NDArray[np.int64] | None:
    """Return rows and columns of each chunk of a Dask array, or None if some are not known.

    A check of rows changes neither.
    """
    if not hasattr(X, "chunks") or np.isnan(X.shape).any():
        return None
    return np.array([(n, X.shape[1]) for n in X.chunks[0]], dtype=np.int64)


def weight_blocks(weight: Any, lengths: NDArray[np.int64]) -> list[Any]:
    """Return row weights, a local array or a Dask one, in chunks of the given lengths."""
    if not is_collection(weight):
        weight = np.asarray(weight)
    elif hasattr(weight, "to_dask_array"):
        weight = weight.to_dask_array(lengths=True)
    elif np.isnan(weight.shape).any():
        weight = weight.compute_chunk_sizes()
    n = int(lengths.sum())
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {n} rows; "
            f"it has shape {weight.shape}."
        )
    if is_collection(weight):
        return list(weight.rechunk((tuple(lengths.tolist()),)).to_delayed())
    return np.split(weight, np.cumsum(lengths)[:-1])


def evaluated(X: Any, job: Callable[[Any], NDArray[Any]], like: NDArray[Any]) -> Any:
    """Return the Dask array of what a job makes of each chunk's rows; ``like`` has no rows."""
    from dask import array
    from dask.delayed import delayed

    da: Any = array  # whose functions have no types
    run, blocks = delayed(job, pure=False), blocks_of(X)
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
    pieces = [
        da.from_delayed(run(block), (n, *like.shape[1:]), dtype=like.dtype)
        for block, n in zip(blocks, lengths, strict=True)
    ]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def named_array(actors: list[Any], which: int, lengths: NDArray[np.int64]) -> Any:
    """Return the Dask array of the first or the second thing that each shard has named."""
    from dask import array
    from dask.highlevelgraph import HighLevelGraph

    name = f"labels-{uuid4()}"
    tasks: dict[Any, Any] = {(name, i): (_named, actor, which) for i, actor in enumerate(actors)}
    make: Any = array.Array  # which has no types
    graph = HighLevelGraph.from_collections(name, tasks)
    return make(graph, name, (tuple(lengths.tolist()),), dtype=np.int64)


def _named(actor: Any, which: int) -> Labels:
    labels: Labels = actor.named(which).result()
    return labels


def _read(check: Check, block: Any) -> Chunk:
    return check(block), None


def _weighed(check: Callable[[Any], Array], chunk: Chunk, weight: Any) -> Chunk:
    return chunk[0], check(weight)


def _unrounded(family: Family, batch: int, chunk: Chunk, first_row: int) -> Chunk:
    assert family.rounding is not None
    return family.rounding.spread(chunk[0], batch, first_row), chunk[1]


def _narrowed(family: Family, chunk: Chunk) -> Chunk:
    return narrowed(family, chunk[0]), chunk[1]


def _shape(chunk: Chunk) -> tuple[int, int]:
    n, d = chunk[0].shape
    return n, d


def _taken(chunk: Chunk, rows: NDArray[np.int64] | slice) -> Chunk:
    X, weight = chunk
    return X[rows], None if weight is None else weight[rows]


@contextmanager
def lost_is_an_error() -> Iterator[None]:
    """Raise `EngineLost` for the several ways in which Dask says that a worker is gone."""
    from distributed.comm.core import CommClosedError

    try:
        yield
    except CancelledError as error:
        raise EngineLost(
            "Rows of the batch were lost with a Dask worker, and Dask cannot compute them again."
        ) from error
    except (OSError, RuntimeError) as error:
        # that of the actor's own file system has a subclass of its own, such as FileNotFoundError
        unreachable = isinstance(error, CommClosedError) or type(error) is OSError
        if unreachable or "Worker holding Actor was lost" in str(error):
            raise EngineLost("A Dask worker is gone.") from error
        raise
