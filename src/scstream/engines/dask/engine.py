"""The engine of several machines: a batch in shards on the workers of a Dask cluster.

Each worker holds a run of rows in an actor, with an engine of its own. A sweep sends the
parameters to the first of them. Each passes them on to a few others and adds up the sums that come
back; points and labels stay where they are. Draws are keyed by the number of the row within the
batch and sums are taken along one fixed tree (`scstream.engines.ordered_sums`), so the labels are
those that one machine would give, whatever the number of workers.

Actors, because a sweep is one call to each worker and nothing else: a call and its answer, with
the parameters of 50 clusters in 10-D, took 5 ms with actors and 26 ms with tasks pinned to
workers, which the scheduler has to book one by one. A task that mutates what a worker holds
would also be repeated silently, on fresh labels, if the worker died; an actor's loss is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Engine, Key, RemoteRows, Sums, finished_sweep
from scstream.engines.cpu import CpuEngine
from scstream.engines.dask.rows import DaskRows, joined_array, lost_is_an_error, require_dask
from scstream.engines.dask.shard import EngineMaker, Shard, answered, cut_evenly
from scstream.engines.ordered_sums import LEAF_ROWS, Part, Tree, Values
from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points, Score, stack
from scstream.families.taming import Frames


class DaskEngine(Engine):
    """Runs the data pass on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; by default the client that this process last made.
    shard_engine : callable, optional
        Called on each worker with the number of its threads; returns the engine that passes
        over the worker's rows. By default `CpuEngine`. Only with that one are the results the
        same to the last bit on any number of workers.
    workers : collection of str, optional
        Addresses of the workers that may hold rows; all by default.
    leaf_rows : int, optional
        A worker holds whole groups of so many rows: see `Sizes` of the workers' engines.
    """

    takes_collections = True

    def __init__(
        self,
        client: Any = None,
        shard_engine: EngineMaker = CpuEngine,
        workers: Collection[str] | None = None,
        leaf_rows: int = LEAF_ROWS,
    ) -> None:
        self.client = current_client() if client is None else client
        self.shard_engine = shard_engine
        self.workers = workers
        self.leaf_rows = leaf_rows
        self._workers: list[str] = []
        self._actors: list[Any] = []
        self._edges: list[int] = [0]
        self._steps = 0
        self._remote = self._gaps = False

    # -- the batch ------------------------------------------------------------------------------

    def read(self, X: Any, check: Callable[[Any], Points]) -> DaskRows:
        """Return the rows of a Dask collection, checked on the workers."""
        return DaskRows.read(self.client, X, check)

    def load(self, family: Family, X: Points, weight: Array, first_row: int = 0) -> None:
        """Take a batch: local rows are sent once, those of a cluster move among workers only."""
        self._actors, self._workers, self._steps = [], [], 0
        threads = self._threads()
        n = X.shape[0]
        self._edges = cut_evenly(n, list(threads.values()), self.leaf_rows)
        self._remote = isinstance(X, RemoteRows)
        runs = list(zip(self._edges[:-1], self._edges[1:], strict=True))
        with lost_is_an_error():
            if isinstance(X, DaskRows):
                sources, cuts = self._cut_remote(X, runs, list(threads))
            else:
                sources, cuts = self._scatter(X, weight, runs, list(threads))
            shards = self._on_each(
                Shard,
                [
                    (self.shard_engine, threads[worker], family, source, cut, first_row + a, b == n)
                    for worker, source, cut, (a, b) in zip(
                        self._workers, sources, cuts, runs, strict=True
                    )
                ],
                actors=True,
            )
            self._actors = self._proxies(self._done(shards))
            first, *others = zip(self._actors, self._workers, strict=True)
            self._gaps = self._answer(first[0].lead(others))

    def _proxies(self, shards: list[Any]) -> list[Any]:
        """Return what calls the shards; their workers are known, so that none is asked for it."""
        from distributed import actor

        make: Any = actor.Actor  # which has no types
        for shard in shards:
            if shard.status != "finished":
                shard.result()
        own = zip(self._workers, shards, strict=True)
        with self.client.as_current():
            return [make(Shard, worker, shard.key) for worker, shard in own]

    def _threads(self) -> dict[str, int]:
        """Return the workers that are there and the number of threads of each."""
        found: dict[str, int] = self.client.nthreads()
        if self.workers is not None:
            found = {worker: n for worker, n in found.items() if worker in self.workers}
        if not found:
            raise RuntimeError("The Dask cluster has no workers left that could hold the batch.")
        return found

    def _scatter(
        self, X: Points, weight: Array, runs: list[tuple[int, int]], workers: list[str]
    ) -> tuple[list[list[Any]], list[list[tuple[int, int]]]]:
        """Send each worker its run of local rows; returns each one's chunks and where to cut."""
        self._workers = workers[: len(runs)]
        sources = [
            self.client.scatter([(X[a:b], weight[a:b])], workers=[worker], hash=False)
            for (a, b), worker in zip(runs, self._workers, strict=True)
        ]
        return sources, [[(0, b - a)] for a, b in runs]

    def _cut_remote(
        self, X: DaskRows, runs: list[tuple[int, int]], workers: list[str]
    ) -> tuple[list[list[Any]], list[list[tuple[int, int]]]]:
        """Do the same with chunks that are on the workers already."""
        chunks = X.chunks()
        pieces = [X.pieces(a, b) for a, b in runs]
        self._workers = self._nearest(workers, pieces, chunks)
        sources = [[chunks[i] for i, _ in piece] for piece in pieces]
        return sources, [[cut for _, cut in piece] for piece in pieces]

    def _nearest(self, free: list[str], pieces: list[Any], chunks: list[Any]) -> list[str]:
        """Return a worker for each run, of those still free the one that holds most of it."""
        has = self.client.who_has(chunks)
        chosen = []
        for piece in pieces:
            held = dict.fromkeys(free, 0)
            for i, (start, stop) in piece:
                for worker in has.get(chunks[i].key, ()):
                    if worker in held:
                        held[worker] += stop - start
            best = max(held, key=lambda worker: held[worker])
            free = [worker for worker in free if worker != best]
            chosen.append(best)
        return chosen

    # -- calls ----------------------------------------------------------------------------------

    def _on_each(self, job: Any, args: list[tuple[Any, ...]], *, actors: bool = False) -> list[Any]:
        """Return futures of a job's results on each worker, which stay there: one message to all.

        Orders for one worker at a time would take the scheduler twice as long.
        """
        import dask
        from dask.delayed import delayed

        placed: Any = dask
        make, tasks = delayed(job, pure=False), []
        for worker, own in zip(self._workers, args, strict=True):
            with placed.annotate(workers=[worker]):
                tasks.append(make(*own))
        futures: list[Any] = self.client.compute(tasks, actors=actors, optimize_graph=False)
        return futures

    def _all(self, name: str, *args: Any) -> list[Any]:
        """Call a method of every shard with the same arguments, which they pass on.

        Returns an answer of each, or one of all where these are sums.
        """
        step, self._steps = self._steps, self._steps + 1
        with lost_is_an_error():
            answers: list[Any] = self._answer(self._actors[0].call_all(step, name, *args))
            return answers

    def _each(self, name: str, args: list[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every shard with its own arguments: what has to do with single rows."""
        step, self._steps = self._steps, self._steps + 1
        with lost_is_an_error():
            calls = [
                actor.call(step, name, *own) for actor, own in zip(self._actors, args, strict=True)
            ]
            return [self._answer(call) for call in calls]

    def _answer(self, future: Any) -> Any:
        """Wait for an answer as long as all workers live."""
        return answered(future, self._workers, lambda: self.client)

    def _done(self, tasks: list[Any]) -> list[Any]:
        """Return the same futures when their tasks are done, as long as all workers live."""
        answered(_All(tasks), self._workers, lambda: self.client)
        return tasks

    # -- the contract ---------------------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        return finished_sweep(_joined(self._all("sweep", score, sub, k, key)))

    def resplit(
        self, sub: Score, chosen: NDArray[np.bool_], *, doubts: bool = True
    ) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        current, doubt = _joined(self._all("resplit", sub, chosen, doubts))
        return current, doubt

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        rows: NDArray[np.int64] = np.sum(self._all("adopt", chosen), axis=0)
        return rows

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        self._all("relabel", label, sublabel)

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._each("start", [(cut,) for cut in np.split(labels, self._edges[1:-1])])

    def has_gaps(self) -> bool:
        """Whether some worker's rows have missing entries."""
        return self._gaps

    def complete(self, score: Score) -> None:
        """Complete the rows with gaps by the components of their labels."""
        self._all("complete", score)

    def gap_sums(self, k: int, score: Score | None = None) -> Array:
        """Return the sums (k, p) of the rows with gaps, completed by a score if there is one."""
        return _joined(self._all("gap_sums", k, score))[0]

    def joined(self, pairs: Labels, frames: Frames) -> Array:
        """Return the sums (m, 2, p) of pairs of clusters, tamed in a frame for each pair."""
        return _joined(self._all("joined", pairs, frames))[0]

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster."""
        found = self._all("members", k, key)
        first = np.argmin([draw for _, draw in found], axis=0)
        out: Array = np.stack([rows for rows, _ in found])[first, np.arange(k)]
        return out

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch."""
        n = self.n_rows
        rows = np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
        cuts = np.split(rows, np.searchsorted(rows, self._edges[1:-1]))
        within = [(cut - edge,) for cut, edge in zip(cuts, self._edges[:-1], strict=True)]
        return stack(self._each("take", within))

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        return self._edges[-1]

    @property
    def labels(self) -> Labels:
        """The labels (n,), fetched from the workers."""
        return np.concatenate(self._each("labels", [()] * len(self._actors)))

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,), fetched from the workers."""
        return np.concatenate(self._each("sublabels", [()] * len(self._actors)))

    def keep_labels(self) -> None:
        """Remember the labels where they are."""
        self._all("keep_labels")

    def labels_changed(self) -> int:
        """Return how many labels are not those last kept."""
        return sum(self._all("labels_changed"))

    def restore_labels(self) -> None:
        """Set the labels to those last kept."""
        self._all("restore_labels")

    def first_labels(self, n: int) -> Labels:
        """Return the labels of the first n rows."""
        left = [(max(n - edge, 0),) for edge in self._edges[:-1]]
        return np.concatenate(self._each("first_labels", left))

    def named_labels(self, ids: Labels, skip: int) -> tuple[Any, Any]:
        """Return ids and sub-labels: Dask arrays on the workers if the rows were there before."""
        skips = [max(skip - edge, 0) for edge in self._edges[:-1]]
        if not self._remote:
            found = self._each("named_labels", [(ids, s) for s in skips])
            labels, sublabels = zip(*found, strict=True)
            return np.concatenate(labels), np.concatenate(sublabels)
        step, self._steps = self._steps, self._steps + 1
        with lost_is_an_error():
            own = zip(self._actors, skips, strict=True)
            pairs = self._on_each(_left_there, [(actor, step, ids, skip) for actor, skip in own])
            self._done(pairs)  # the actors go when the engine does
        lengths = np.diff(self._edges) - np.minimum(skips, np.diff(self._edges))
        return _array(pairs, 0, lengths), _array(pairs, 1, lengths)

    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], Any]
    ) -> NDArray[Any]:
        """Apply ``what`` to the scores of local rows, here: sending them would cost more."""
        return CpuEngine().evaluate(family, X, score, what)


def current_client() -> Any:
    """Return the client that this process last made, or say how to make one."""
    distributed = require_dask()
    try:
        return distributed.Client.current()
    except ValueError:
        raise RuntimeError(
            "engine='dask' needs a cluster, and this process is not connected to one. "
            "Make a client first: client = distributed.Client(address), or "
            "distributed.Client() for a cluster on this machine."
        ) from None


class _All:
    """Tasks that are waited for together."""

    def __init__(self, tasks: list[Any]) -> None:
        self._tasks = tasks

    def result(self, timeout: float) -> None:
        """Wait until all are done, well or not."""
        require_dask().wait(self._tasks, timeout=timeout)


def _joined(answers: list[list[Part]]) -> Values:
    """Return the sums over all shards, whose parts come in their order."""
    return Tree(part for parts in answers for part in parts).total()


def _left_there(actor: Any, step: int, ids: Labels, skip: int) -> tuple[Labels, Labels]:
    """Return ids and sub-labels of a shard, on its worker; the latter take little room."""
    labels, sublabels = actor.call(step, "named_labels", ids, skip).result()
    return labels, sublabels.astype(np.int8)


def _array(pairs: list[Any], which: int, lengths: NDArray[np.int64]) -> Any:
    """Return a Dask array of the first or the second of a pair of arrays on each worker."""
    from dask.delayed import delayed

    item = delayed(_item, pure=False)
    parts = [item(pair, which) for pair in pairs]
    return joined_array(parts, lengths.tolist(), np.zeros(0, dtype=np.int64))


def _item(pair: tuple[Labels, Labels], which: int) -> Labels:
    return pair[which].astype(np.int64, copy=False)
