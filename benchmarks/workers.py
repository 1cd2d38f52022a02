"""How whole updates gain from the workers of a Dask cluster, and what a first batch takes.

``python -m benchmarks.workers`` makes a cluster of one-thread workers on this machine and times
`partial_fit` of later batches, Dask arrays whose chunks are on the workers, on 1, 2, 4, ... of
them, in turns with the CPU engine on threads (``--threads``). Labels must be equal. With
``--first`` it times first batches too, each in updates by such a batch, on the same engines and
on those of PyTorch if it finds a GPU. With ``--parts`` it times the most workers against
`learn_in_parts` on them. What is judged are ratios of medians from one run.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.speed.first import MOST_UPDATES
from benchmarks.speed.timing import say, thread_counts
from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.engines import DaskEngine
from scstream.metrics import adjusted_rand_index
from scstream.parts import learn_in_parts

CHUNKS = 16  # of a batch
TIMES = 8  # as fast as one worker that sixteen should be
_BATCHES = 1000  # that the stream is made for
_PAUSE = 0.3  # seconds: workers let go of the batch before


class Stream:
    """Batches of a known mixture, in chunks that anybody can draw.

    Parameters
    ----------
    shape : sequence of int
        Rows, columns and clusters of a batch.
    seed : int
    """

    def __init__(self, shape: Sequence[int], seed: int) -> None:
        rows, self.d, self.k = shape
        self.size, self.seed = rows // CHUNKS, seed

    def chunk(self, batch: int, i: int) -> np.ndarray:
        """Return the rows of a chunk."""
        stream = gaussian_stream(
            _BATCHES * CHUNKS, self.size, self.k, self.d, box=20.0, drift="none",
            random_state=self.seed,
        )  # fmt: skip
        return stream[batch * CHUNKS + i].X

    def on(self, client: Any, workers: Sequence[str], batch: int) -> Any:
        """Return a batch as a Dask array whose chunks are on the workers."""
        from dask import array
        from distributed import wait

        futures = [
            client.submit(
                self.chunk, batch, i, workers=[workers[i * len(workers) // CHUNKS]], pure=False
            )
            for i in range(CHUNKS)
        ]
        wait(futures)
        shape = self.size, self.d
        X = array.concatenate([array.from_delayed(f, shape, dtype=float) for f in futures])
        X = client.persist(X)
        wait(X)
        return X


class Contestant:
    """An engine, and where it finds its rows."""

    def __init__(self, client: Any, workers: int = 0, **options: Any) -> None:
        self.client, self.addresses = client, sorted(client.nthreads())[:workers]
        self.options = options
        if workers:
            self.options = {"engine": lambda: DaskEngine(client, workers=self.addresses)}

    def rows(self, stream: Stream, batch: int) -> Any:
        if self.addresses:
            return stream.on(self.client, self.addresses, batch)
        return stream.on(self.client, sorted(self.client.nthreads()), batch).compute()

    def update(self, model: ScStream, stream: Stream, batch: int) -> float:
        """Let a model learn a batch; returns the seconds that it takes."""
        X = self.rows(stream, batch)
        time.sleep(_PAUSE)
        begin = time.perf_counter()
        model.partial_fit(X)
        return time.perf_counter() - begin


def contestants(client: Any, workers: Sequence[int], threads: Sequence[int]) -> dict[str, Any]:
    """Return the engines to be timed, by name."""
    out = {f"{n} workers": Contestant(client, n) for n in workers}
    out |= {f"{n} threads": Contestant(client, engine="cpu", n_jobs=n) for n in threads}
    return out


def gpu(client: Any) -> dict[str, Contestant]:
    """Return the engine of PyTorch, if it finds a GPU."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    return {"the GPU": Contestant(client, engine="torch", device="cuda")}


def measure_updates(
    stream: Stream, engines: dict[str, Contestant], turns: int
) -> dict[str, list[float]]:
    """Return the seconds of later updates by engine, which begin from one model and take turns."""
    some = next(iter(engines.values()))
    known = ScStream(random_state=0, **some.options)
    some.update(known, stream, 0)
    models = {name: copy.copy(known).set_params(**own.options) for name, own in engines.items()}
    took: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(turns + 1):
        labels = None
        for name, own in engines.items():
            seconds = own.update(models[name], stream, turn + 1)
            mine = np.asarray(models[name].labels_)
            labels = mine if labels is None else labels
            if not np.array_equal(mine, labels):
                raise AssertionError(f"{name} labels rows otherwise")
            say(f"{name}: {seconds:.3f} s")
            if turn:
                took[name].append(seconds)
    return took


def measure_parts(
    stream: Stream, client: Any, workers: int, turns: int
) -> tuple[dict[str, list[float]], float]:
    """Return the seconds of later updates by the engine and in parts, and how alike labels are.

    The two take turns, each from its own model, and learn the same batches.
    """
    exact = Contestant(client, workers)
    one = ScStream(random_state=0, **exact.options)
    exact.update(one, stream, 0)
    parted = copy.copy(one).set_params(engine="cpu")
    took: dict[str, list[float]] = {"the engine": [], "in parts": []}
    for turn in range(turns + 1):
        seconds = exact.update(one, stream, turn + 1)
        X = exact.rows(stream, turn + 1)
        time.sleep(_PAUSE)
        begin = time.perf_counter()
        parted = learn_in_parts(parted, X, client=client, n_parts=workers)
        own = time.perf_counter() - begin
        say(f"the engine: {seconds:.3f} s, in parts: {own:.3f} s")
        if turn:
            took["the engine"].append(seconds)
            took["in parts"].append(own)
    rows = stream.chunk(turns + 2, 0)
    return took, adjusted_rand_index(one.predict(rows), parted.predict(rows))


def measure_first(
    shape: Sequence[int], engines: dict[str, Contestant], seeds: int
) -> dict[str, tuple[float, float, float]]:
    """Return medians over streams: seconds of a first and a later batch, and clusters of the first.

    A short stream before the others does not count.
    """
    rows, d, k = shape
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in engines}
    for seed in range(seeds + 1):
        stream = Stream(shape if seed else (max(rows // CHUNKS, 16_000), d, k), seed)
        for name, own in engines.items():
            model = ScStream(random_state=seed, **own.options)
            first = own.update(model, stream, 0)
            clusters = model.n_clusters_
            later = float(np.median([own.update(model, stream, b) for b in range(1, 4)]))
            say(f"{name}: {first:.3f} s, {later:.3f} s a later one, {clusters} clusters")
            if seed:
                found[name].append((first, later, clusters))
    return {name: tuple(np.median(values, axis=0)) for name, values in found.items()}


def report_updates(took: dict[str, list[float]], shape: Sequence[int]) -> None:
    rows, d, k = shape
    one = float(np.median(next(iter(took.values()))))
    print(f"\n{rows:,} points in {d}-D, {k} clusters\n")
    print("| | an update, ms | from, to | times as fast as the first |")
    print("| --- | ---: | ---: | ---: |")
    for name, seconds in took.items():
        middle = float(np.median(seconds))
        low, high = 1e3 * min(seconds), 1e3 * max(seconds)
        print(f"| {name} | {1e3 * middle:.0f} | {low:.0f}, {high:.0f} | {one / middle:.2f} |")
    if "16 workers" in took:
        times = one / float(np.median(took["16 workers"]))
        print(f"\n16 workers are {times:.2f} times as fast; at least {TIMES}: {times >= TIMES}")


def report_first(found: dict[str, tuple[float, float, float]], shape: Sequence[int]) -> None:
    rows, d, k = shape
    print(f"\n{rows:,} points in {d}-D, {k} clusters\n")
    print("| | first batch, ms | a later one, ms | later ones that it takes | clusters | holds |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, (first, later, clusters) in found.items():
        times = first / later
        print(
            f"| {name} | {1e3 * first:.0f} | {1e3 * later:.0f} | {times:.2f} | {clusters:.0f} | "
            f"{'yes' if times <= MOST_UPDATES else 'no'} |"
        )


def in_cluster(n_workers: int, run: Callable[[Any], None]) -> None:
    """Run something with the client of a cluster on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, memory_limit=0,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        run(client)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--dims", type=int, default=10)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="*", default=thread_counts())
    parser.add_argument("--threads", type=int, nargs="*", default=thread_counts()[-1:])
    parser.add_argument("--turns", type=int, default=5, help="of updates, or streams with --first")
    parser.add_argument("--first", action="store_true", help="first batches instead")
    parser.add_argument("--parts", action="store_true", help="against learning in parts instead")
    args = parser.parse_args()
    shape = args.rows, args.dims, args.clusters

    def run(client: Any) -> None:
        engines = contestants(client, args.workers, args.threads)
        if args.parts:
            most = max(args.workers)
            took, alike = measure_parts(Stream(shape, 0), client, most, args.turns)
            report_updates(took, shape)
            print(f"\nARI of their labels of the next batch: {alike:.4f}")
        elif args.first:
            report_first(measure_first(shape, engines | gpu(client), args.turns), shape)
        else:
            report_updates(measure_updates(Stream(shape, 0), engines, args.turns), shape)

    in_cluster(max(args.workers), run)
    now = machine.circumstances()
    print(f"\n{now['machine']}; {now['versions']}; revision {now['revision']}")


if __name__ == "__main__":
    main()
