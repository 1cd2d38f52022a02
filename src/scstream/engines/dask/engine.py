"""The engine of several machines: a batch in shards on the workers of a Dask cluster.

Each worker holds a run of rows in an actor, with an engine of its own. A sweep sends the
parameters to each and adds up the sums that come back; points and labels stay where they are. Draws
are keyed by the number of the row within the batch and sums are taken along one fixed tree
(`scstream.engines.chunks`), so the labels are those that one machine would give, whatever the
number of workers.

Actors, because a sweep is one call to each worker and nothing else: a call and its answer, with
the parameters of 50 clusters in 10-D, took 5 ms with actors and 26 ms with tasks pinned to
workers, which the scheduler has to book one by one. A task that mutates what a worker holds
would also be repeated silently, on fresh labels, if the worker died; an actor's loss is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Engine, EngineLost, Key, Sums, finished_sweep
from scstream.engines.chunks import Tree, Values, chunk_rows
from scstream.engines.cpu import CpuEngine
from scstream.engines.dask.rows import (
    DaskRows,
    Fetch,
    lost_is_an_error,
    named_array,
    require_dask,
)
from scstream.engines.dask.shard import EngineMaker, Shard, cut_evenly, joined_rows
from scstream.families.contract import Array, Family
from scstream.families.scale_mixture import LocationScale
from scstream.families.scores import Labels, Points, Score

PATIENCE = 2.0  # seconds without an answer after which one looks whether the workers are there


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
    chunk : int, optional
        Rows of a chunk, of which a worker holds whole ones: see `Sizes` of the workers' engines.
    """

    takes_collections = True

    def __init__(
        self,
        client: Any = None,
        shard_engine: EngineMaker = CpuEngine,
        workers: Collection[str] | None = None,
        chunk: int | None = None,
    ) -> None:
        self.client = current_client() if client is None else client
        self.shard_engine = shard_engine
        self.workers = workers
        self.chunk = chunk
        self._workers: list[str] = []
        self._actors: list[Any] = []
        self._edges: list[int] = [0]
        self._steps = 0
        self._rows: DaskRows | None = None
        self._gaps = False

    # -- the batch ------------------------------------------------------------------------------

    def read(self, X: Any, check: Callable[[Any], Points]) -> DaskRows:
        """Return the rows of a Dask collection, checked on the workers."""
        return DaskRows.read(self.client, X, check)

    def load(
        self, family: Family, X: Points, weight: Array, first_row: int = 0, of: int | None = None
    ) -> None:
        """Take a batch: local rows are sent once, those of a cluster move among workers only."""
        self._let_go()
        threads, n = self._threads(), X.shape[0]
        of = first_row + n if of is None else of
        chunk = self.chunk or chunk_rows(of)
        with self._talking():
            workers = list(threads)
            if isinstance(X, DaskRows):
                workers = in_order(workers, X.lengths.tolist(), X.holders())
            self._edges = cut_evenly(n, [threads[worker] for worker in workers], chunk)
            runs = list(pairwise(self._edges))
            self._workers = workers[: len(runs)]
            if isinstance(X, DaskRows):
                parts = [X.run(a, b) for a, b in runs]
            else:
                parts = [
                    self.client.scatter([(X[a:b], weight[a:b])], workers=[worker], hash=False)
                    for (a, b), worker in zip(runs, self._workers, strict=True)
                ]
            shards = self._made(
                [
                    (self.shard_engine, threads[worker], family, own, first_row + a, of)
                    for worker, own, (a, _) in zip(self._workers, parts, runs, strict=True)
                ]
            )
            self._waited(require_dask().wait, shards)
            self._actors = self._proxies(shards)
            self._gaps = any(self._all("has_gaps"))
        if isinstance(X, DaskRows):
            self._rows, X.picked = X, self._picked

    def _let_go(self) -> None:
        """Forget the batch before, whose rows are on no worker any more."""
        self._actors, self._workers, self._steps = [], [], 0
        if self._rows is not None:
            self._rows.picked = None
        self._rows = None

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

    # -- calls ----------------------------------------------------------------------------------

    def _made(self, args: list[tuple[Any, ...]]) -> list[Any]:
        """Return futures of a shard on each worker: one message to all.

        Orders for one worker at a time would take the scheduler twice as long.
        """
        import dask
        from dask.delayed import delayed

        placed: Any = dask
        make, tasks = delayed(Shard, pure=False), []
        for worker, own in zip(self._workers, args, strict=True):
            with placed.annotate(workers=[worker]):
                tasks.append(make(*own))
        futures: list[Any] = self.client.compute(tasks, actors=True, optimize_graph=False)
        return futures

    def _all(self, name: str, *args: Any) -> list[Any]:
        """Call a method of every shard with the same arguments."""
        return self._each(name, [args] * len(self._actors))

    def _each(self, name: str, args: list[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every shard with its own arguments."""
        step, self._steps = self._steps, self._steps + 1
        with self._talking():
            calls = [
                actor.call(step, name, *own) for actor, own in zip(self._actors, args, strict=True)
            ]
            return [self._waited(call.result) for call in calls]

    def _summed(self, name: str, *args: Any) -> Values:
        """Return the sums over all shards, whose parts come in their order."""
        return Tree(part for parts in self._all(name, *args) for part in parts).total()

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Raise `EngineLost` if a worker is gone; its shards are not asked for rows again."""
        try:
            with lost_is_an_error():
                yield
        except EngineLost:
            if self._rows is not None:
                self._rows.picked = None
            raise

    def _waited(self, wait: Callable[..., Any], *args: Any) -> Any:
        """Wait for something as long as all workers live."""
        while True:
            try:
                return wait(*args, timeout=PATIENCE)
            except TimeoutError:
                gone = set(self._workers) - set(self.client.nthreads())
                if gone:
                    raise EngineLost(f"The Dask worker {gone.pop()} is gone.") from None

    # -- the contract ---------------------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        return finished_sweep(self._summed("sweep_parts", score, sub, k, key))

    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        current, entropy = self._summed("resplit_parts", sub, chosen)
        return current, entropy

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

    def by_groups(self, on: bool) -> None:
        """Let deterministic sweeps complete rows by any group, or by that of their labels."""
        if self._gaps:
            self._all("by_groups", on)

    def gap_sums(self, k: int, score: Score | None = None) -> Array:
        """Return the sums (k, p) of the rows with gaps, completed by a score if there is one."""
        return self._summed("gap_sums_parts", k, score)[0]

    def joined(self, pairs: Labels, places: LocationScale) -> Array:
        """Return the sums (m, 2, p) of pairs of clusters, weighted by a place for each pair."""
        return self._summed("joined_parts", pairs, places)[0]

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
        return self._picked(rows)()[0]

    def _picked(self, rows: NDArray[np.int64]) -> Fetch:
        """Ask for rows, in ascending order; returns what fetches them and their weights."""
        cuts = np.split(rows, np.searchsorted(rows, self._edges[1:-1]))
        with self._talking():
            asked = [
                actor.picked(cut - edge)
                for actor, cut, edge in zip(self._actors, cuts, self._edges, strict=False)
            ]

        def fetched() -> tuple[Points, Array]:
            with self._talking():
                return joined_rows([self._waited(part.result) for part in asked])

        return fetched

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        return self._edges[-1]

    @property
    def labels(self) -> Labels:
        """The labels (n,), fetched from the workers."""
        return np.concatenate(self._all("labels"))

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,), fetched from the workers."""
        return np.concatenate(self._all("sublabels"))

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
        skips = [(ids, max(skip - edge, 0)) for edge in self._edges[:-1]]
        if self._rows is None:
            labels, sublabels = zip(*self._each("named_labels", skips), strict=True)
            return np.concatenate(labels), np.concatenate(sublabels)
        self._each("name_labels", skips)
        lengths = np.diff(np.maximum(self._edges, skip))
        return named_array(self._actors, 0, lengths), named_array(self._actors, 1, lengths)

    def bring_labels(self, ids: Labels, skip: int) -> Callable[[], tuple[Any, Any]]:
        """Return what `named_labels` does. Once they are taken shards keep such arrays only."""
        brought = super().bring_labels(ids, skip)
        if self._rows is None:
            return brought

        def last() -> tuple[Any, Any]:
            with self._talking():
                for actor in self._actors:
                    actor.let_go()
            self._let_go()
            return brought()

        return last

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


def in_order(
    workers: Sequence[str], lengths: Sequence[int], has: Sequence[Collection[str]]
) -> list[str]:
    """Return workers such that, if they get runs of rows in that order, little has to move.

    ``has`` says by chunk which workers have it, and ``lengths`` how many rows it has.

    Examples
    --------
    >>> in_order(["a", "b", "c"], [5, 5], [["b"], ["a"]])
    ['b', 'c', 'a']
    """
    rows, places = dict.fromkeys(workers, 0.0), dict.fromkeys(workers, 0.0)
    begin, total = 0.0, max(sum(lengths), 1)
    for n, holders in zip(lengths, has, strict=True):
        for worker in rows.keys() & holders:
            rows[worker] += n
            places[worker] += n * (begin + 0.5 * n) / total
        begin += n
    idle = [worker for worker in workers if not rows[worker]]
    place = {worker: (i + 0.5) / len(idle) for i, worker in enumerate(idle)}
    return sorted(workers, key=lambda w: places[w] / rows[w] if rows[w] else place[w])
