"""How a sweep scales over the workers of a Dask cluster on this machine, and a model of its cost.

Run ``python benchmarks/scaling.py``; ``--full`` takes 2 million points and 1 to 8 workers,
``--picture FILE`` draws the model out to 1,000. Sweeps of all engines alternate, and
medians are reported. Workers have one thread each; beyond the number of cores they share them.

The model's constants come from other, smaller batches than those that it is checked with. The CPU
engine is also timed before the cluster is started: its processes take time even while they idle.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from scstream import Gaussian, ScStream
from scstream.engines import CpuEngine, DaskEngine, Engine, Key
from scstream.engines.chunks import SIZES, Part, Tree, chunk_rows
from scstream.engines.dask.shard import cut_evenly
from scstream.families.scores import LinearScore
from scstream.support.blas import single_threaded
from scstream.validation import resolve_threads

TARGET = 0.7  # of the speed of as many threads that two workers should reach


@dataclass(frozen=True)
class Problem:
    """Points of a known mixture, and parameters to sweep them with."""

    family: Gaussian
    X: np.ndarray
    score: LinearScore
    sub: LinearScore

    @property
    def k(self) -> int:
        return len(self.score.eta)

    def bytes(self, n: int, workers: int) -> float:
        """Return the bytes of a sweep of n rows, to a worker and back."""
        return bytes_of(self.k, len(self.family.prior), parts_sent(n, workers))

    @staticmethod
    def make(n: int, d: int, k: int) -> Problem:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(k, d)) * 4.0
        X = rng.normal(size=(n, d)) + centres[np.arange(n) % k]
        family = Gaussian().prepare(X[:10_000])
        some = family.statistics(X[: 20 * k])
        clusters = some.reshape(20, k, -1).sum(axis=0)
        parts = np.repeat(0.5 * clusters, 2, axis=0)
        return Problem(
            family,
            X,
            LinearScore(family.draw(rng, family.prior + clusters)),
            LinearScore(family.draw(rng, family.prior + parts)),
        )

    def load(self, engine: Engine) -> None:
        engine.load(self.family, self.X, np.ones(len(self.X)))

    def sweep(self, engine: Engine, sweep: int) -> float:
        """Return the seconds of one sampled sweep."""
        with single_threaded():
            begin = time.perf_counter()
            engine.sweep(self.score, self.sub, self.k, Key(1, 1, sweep))
            return time.perf_counter() - begin


_ROWS = chunk_rows(1)  # of a worker whose sweeps compute nothing


def alternate(jobs: dict[Any, Callable[[int], float]], rounds: int) -> dict[Any, float]:
    """Return the median seconds of each job; they take turns, after a round that does not count."""
    seconds: dict[Any, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, job in jobs.items():
            took = job(turn)
            if turn:
                seconds[name].append(took)
    return {name: float(np.median(values)) for name, values in seconds.items()}


# -- messages


def parts_sent(n: int, workers: int) -> float:
    """Return how many nodes of the tree of sums a worker completes, on average."""
    chunk = chunk_rows(n)
    edges = [-(-edge // chunk) for edge in cut_evenly(n, [1] * workers, chunk)]
    runs = [Tree(Part(i, 1, ()) for i in range(a, b)).parts for a, b in pairwise(edges)]
    return float(np.mean([len(parts) for parts in runs]))


def bytes_of(k: int, p: int, parts: float) -> float:
    """Return the bytes of a sampled sweep to a worker and back: 24 K p, and its sums."""
    return 24 * k * p + parts * (16 * k * p + 16 * k * k + 16 * k)


# -- the model of the cost


@dataclass(frozen=True)
class Cost:
    """Seconds of a sweep: ``point * n / workers + call + workers * (message + byte * bytes)``.

    Attributes
    ----------
    call, message, byte : float
        What talking costs: at all, for each message after another, and for a byte of each.
    point : dict of (bool, bool) to float
        What a worker needs for a point, by whether all cores of its machine are busy and
        whether the statistics of its rows are kept between sweeps.
    """

    call: float
    message: float
    byte: float
    point: dict[tuple[bool, bool], float] = field(default_factory=dict)

    @staticmethod
    def fit(workers: Sequence[int], sizes: Sequence[float], seconds: Sequence[float]) -> Cost:
        """Return the cost of sweeps that compute next to nothing, relative errors alike."""
        sent = np.array(workers)
        columns = np.column_stack([np.ones(len(sizes)), sent, sent * np.array(sizes)])
        weight = 1.0 / np.array(seconds)
        scale = np.abs(columns).max(axis=0)
        found, _ = nnls(columns / scale * weight[:, None], np.ones(len(sizes)))
        return Cost(*(found / scale))

    def communication(self, workers: int, size: float) -> float:
        return self.call + workers * (self.message + self.byte * size)

    def sweep(self, n: int, p: int, workers: int, size: float, *, cores: int, busy: bool) -> float:
        """Return the seconds of a sweep of n points with p statistics each.

        ``cores`` is how many workers can compute at a time, ``busy`` whether some share a machine.
        """
        point = self.point[busy, n / workers <= kept_rows(p)]
        return float(point * n / min(workers, cores) + self.communication(workers, size))


def kept_rows(p: int) -> int:
    """Return how many rows an engine has at most if it keeps their statistics."""
    return SIZES.kept_bytes // (8 * p)


class Idle(CpuEngine):
    """Answers at once, with sums of the right size."""

    def load(
        self, family: Any, X: Any, weight: Any, first_row: int = 0, of: int | None = None
    ) -> None:
        self._width, self._chunk = len(family.prior), first_row // _ROWS

    def has_gaps(self) -> bool:
        return False

    def sweep_parts(self, score: Any, sub: Any, k: int, key: Any) -> list[Part]:
        square = np.zeros((k, k))
        values = (np.zeros((k, 2, self._width)), np.zeros((k, 2)), square, square.copy())
        return [Part(self._chunk, 1, values)]


def measure_calls(client: Any, counts: Sequence[int], d: int, rounds: int) -> list[dict[str, Any]]:
    """Return sweeps that compute nothing: what it costs to talk, by workers and by bytes."""
    found = []
    for k in (5, 50, 150):
        problem = Problem.make(max(counts) * _ROWS, d, k)
        for workers in counts:
            engine = DaskEngine(client, Idle, list(client.nthreads())[:workers])
            rows = problem.X[: workers * _ROWS]
            engine.load(problem.family, rows, np.ones(len(rows)))
            size = bytes_of(k, len(problem.family.prior), 1)
            took = alternate({"": lambda turn, e=engine, q=problem: q.sweep(e, turn)}, rounds)
            found.append({"k": k, "workers": workers, "bytes": size, "seconds": took[""]})
    return found


def measure_points(
    client: Any, problem: Problem, counts: Sequence[int], cores: int, cost: Cost, rounds: int
) -> dict[tuple[bool, bool], float]:
    """Return what a worker needs for a point, see `Cost`: one alone, or as many as there are cores.

    Workers get fewer rows than in the sweeps that the model is to foretell.
    """
    n, most = len(problem.X), kept_rows(len(problem.family.prior))
    kinds = {(w > 1, n / w <= most) for w in counts} | {(True, True), (True, False)}
    sizes, jobs = {}, {}
    for busy, kept in sorted(kinds):
        workers = min(cores, max(counts)) if busy else 1
        rows = workers * (
            min(most, n // workers) // 2 if kept else min(5 * most // 4, n // workers)
        )
        engine = DaskEngine(client, workers=list(client.nthreads())[:workers])
        engine.load(problem.family, problem.X[:rows], np.ones(rows))
        talk = cost.communication(workers, problem.bytes(rows, workers))
        sizes[busy, kept] = workers / rows, talk
        jobs[busy, kept] = lambda turn, e=engine: problem.sweep(e, turn)
    took = alternate(jobs, rounds)
    return {kind: (took[kind] - talk) * share for kind, (share, talk) in sizes.items()}


# -- measuring


def measure_alone(problem: Problem, rounds: int) -> dict[str, float]:
    """Return the seconds of a sweep by the CPU engine on 1 and on 2 threads."""
    engines = {f"cpu-{n}": CpuEngine(n) for n in (1, 2)}
    for engine in engines.values():
        problem.load(engine)
    jobs = {name: lambda turn, e=engine: problem.sweep(e, turn) for name, engine in engines.items()}
    return alternate(jobs, rounds)


def measure_sweeps(
    client: Any, problem: Problem, counts: Sequence[int], rounds: int
) -> dict[str, float]:
    """Return the seconds of a sweep by engine."""
    engines: dict[str, Engine] = {f"cpu-{n}": CpuEngine(n) for n in (1, 2)}
    for workers in counts:
        mine = list(client.nthreads())[:workers]
        engines[f"dask-{workers}"] = DaskEngine(client, workers=mine)
    for engine in engines.values():
        problem.load(engine)
    jobs = {name: lambda turn, e=engine: problem.sweep(e, turn) for name, engine in engines.items()}
    return alternate(jobs, rounds)


def client_memory(client: Any, n: int, d: int) -> tuple[int, int]:
    """Return the most that the client held at once in two batches of a Dask array, and a shard."""
    from dask import array

    workers = list(client.nthreads())[:2]
    chunks = array.random.default_rng(0).normal(size=(n, d), chunks=(-(-n // 8), d))
    model = ScStream(
        random_state=0, max_sweeps=3, engine=lambda: DaskEngine(client, workers=workers)
    )
    tracemalloc.start()
    model.partial_fit(chunks)
    model.partial_fit(chunks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, 8 * n * d // 2


def draw(path: Path, result: dict[str, Any], cost: Cost) -> None:
    """Draw measured and modelled speed-up, and the model out to 1,000 workers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    k, p, n = result["clusters"], result["statistics"], result["rows"]
    seconds, cores = result["seconds"], result["cores"]
    counts = np.array(result["workers"])
    fig, (here, far) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    one = result["alone"]["cpu-1"]
    measured = [one / seconds[f"dask-{w}"] for w in counts]
    here.plot(counts, measured, "o", label="measured")
    modelled = [one / result["model"][str(w)] for w in counts]
    here.plot(counts, modelled, "-", label="model")
    here.axhline(cores, color="0.7", lw=1, label=f"{cores} cores")
    here.set(xlabel="workers on this machine", ylabel="speed against one thread", ylim=(0, None))
    here.set_title(f"{n:,} points, {k} clusters, p = {p}", fontsize=10)
    here.legend(frameon=False)
    many = np.unique(np.logspace(0, 3, 60).astype(int))
    size = max(result["bytes"].values())
    for rows in (2_000_000, 20_000_000, 200_000_000, 2_000_000_000):
        alone = one * rows / n
        sweeps = [cost.sweep(rows, p, w, size, cores=w, busy=True) for w in many.tolist()]
        far.plot(many, alone / np.array(sweeps), label=f"{rows:,} points")
    far.plot(many, many, color="0.7", lw=1, label="perfect")
    far.set(xscale="log", yscale="log", xlabel="workers of one core each")
    far.set_title("the model: speed against one thread", fontsize=10)
    far.legend(frameon=False, fontsize=8)
    fig.savefig(path, dpi=130)
    plt.close(fig)


def report(result: dict[str, Any], cost: Cost) -> None:
    seconds, k, p = result["seconds"], result["clusters"], result["statistics"]
    print(f"{result['rows']:,} points, {k} clusters, p = {p}, {result['cores']} cores")
    for name, alone in result["alone"].items():
        print(
            f"{name:8s}{1e3 * alone:10.1f} ms a sweep before the cluster is started, "
            f"{1e3 * seconds[name]:.1f} beside it"
        )
    print("workers        ms     model  of cpu-2  KiB of each")
    for workers in result["workers"]:
        took, size = seconds[f"dask-{workers}"], result["bytes"][str(workers)]
        print(
            f"{workers:7d}{1e3 * took:10.1f}{1e3 * result['model'][str(workers)]:10.1f}"
            f"{result['alone']['cpu-2'] / took:10.2f}{size / 1024:13.0f}"
        )
    for (busy, kept), point in sorted(cost.point.items()):
        print(
            f"a point: {1e9 * point:.0f} ns, {'all cores' if busy else 'one core'} busy, "
            f"statistics {'kept' if kept else 'made anew'}"
        )
    print(
        f"a sweep that computes nothing: {1e3 * cost.call:.2f} ms + {1e3 * cost.message:.2f} ms a "
        f"message + {1e9 * cost.byte:.2f} ns a byte"
    )
    if "client_peak" in result:
        peak, shard = result["client_peak"] / 2**20, result["shard"] / 2**20
        print(f"the client held at most {peak:.1f} MiB; one of two shards has {shard:.1f} MiB")
    if "dask-2" in seconds:
        ratio = result["alone"]["cpu-2"] / seconds["dask-2"]
        verdict = "holds" if ratio >= TARGET else "does NOT hold"
        print(
            f"2 workers reach {ratio:.2f} of the speed of 2 threads; at least {TARGET}: {verdict}"
        )


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="2 million points, 8 workers")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--dims", type=int, default=10)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="+", default=None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memory", action="store_true", help="measure the client's memory too")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = args.rows or (2_000_000 if args.full else 200_000)
    counts = args.workers or ([1, 2, 3, 4, 5, 6, 7, 8] if args.full else [1, 2, 4])
    counts = [w for w in counts if w * _ROWS <= rows]
    problem = Problem.make(rows, args.dims, args.clusters)
    cores = resolve_threads(None)
    alone = measure_alone(problem, args.rounds)
    with (
        LocalCluster(
            n_workers=max(counts), threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        calls = measure_calls(client, counts, args.dims, args.rounds)
        columns = ([call[name] for call in calls] for name in ("workers", "bytes", "seconds"))
        cost = Cost.fit(*columns)
        points = measure_points(client, problem, counts, cores, cost, args.rounds)
        cost = replace(cost, point=points)
        seconds = measure_sweeps(client, problem, counts, args.rounds)
        result: dict[str, Any] = {
            "rows": rows,
            "clusters": args.clusters,
            "statistics": len(problem.family.prior),
            "cores": cores,
            "workers": counts,
            "alone": alone,
            "seconds": seconds,
            "bytes": {str(w): problem.bytes(rows, w) for w in counts},
            "calls": calls,
            "cost": {"call": cost.call, "message": cost.message, "byte": cost.byte},
            "points": [
                {"busy": busy, "kept": kept, "seconds": point}
                for (busy, kept), point in points.items()
            ],
        }
        if args.memory:
            result["client_peak"], result["shard"] = client_memory(client, rows, args.dims)
    p = len(problem.family.prior)
    result["model"] = {
        str(w): cost.sweep(rows, p, w, result["bytes"][str(w)], cores=cores, busy=w > 1)
        for w in counts
    }
    report(result, cost)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    if args.picture:
        draw(args.picture, result, cost)


if __name__ == "__main__":
    main()
