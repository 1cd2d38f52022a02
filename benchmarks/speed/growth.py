"""Growth with rows, columns, clusters and sweeps, of time and of memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.speed.jobs import product, started, updates
from benchmarks.speed.tables import Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate, exponent, say, thread_counts
from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.engines.blocks import block_rows
from scstream.sampler import learner
from scstream.support.threads import cores

Shape = tuple[int, int, int, int]  # rows, columns, clusters, sweeps


def growth(options: Options) -> Result:
    """Fit the growth of an update's time with n, D, K and T, by threads; measure its memory."""
    quick = options.quick
    axes: dict[str, tuple[Sequence[int], Callable[[int], Shape]]] = {
        "n": ((500, 1000) if quick else (4000, 16_000, 64_000, 256_000), lambda n: (n, 5, 20, 1)),
        "D": ((2, 4) if quick else (2, 4, 8, 16, 32, 64), lambda d: (4000, d, 20, 1)),
        "K": ((5, 10) if quick else (20, 40, 80, 160, 320), lambda k: (8000, 5, k, 1)),
        "T": ((1, 2) if quick else (1, 2, 4, 8, 16), lambda t: (1000, 5, 20, t)),
    }
    threads = sorted({1, cores()}) if quick else thread_counts()
    rows, figures = [], {}
    for axis, (sizes, shape) in axes.items():
        say(f"  against {axis}")
        grown = _grown(options, [shape(size) for size in sizes], threads)
        figures[axis] = {"sizes": list(sizes), "seconds": grown}
        for n, (seconds, products) in grown.items():
            rows.append(_growth_row(axis, n, sizes, seconds))
            outside = [s - p for s, p in zip(seconds, products, strict=True)]
            if axis == "K" and n == threads[-1] and min(outside) > 0.0:
                rows.append(_growth_row("K, without the products", n, sizes, outside))
            elif axis == "K" and n == threads[-1]:
                say("  the products took longer than the updates: the machine is too busy")
    columns = ("against", "threads", "sizes", "update", "exponent", "between the last two",
               "asked", "holds")  # fmt: skip
    memory = [line for n in sorted({1, threads[-1]}) for line in _memory(options, n)]
    figures["memory"] = memory
    return Result([Table(columns, rows), _memory_table(memory)], figures)


def _grown(
    options: Options, shapes: Sequence[Shape], threads: Sequence[int]
) -> dict[int, tuple[list[float], list[float]]]:
    """Return the seconds of updates of so many rows, columns, clusters and sweeps, by threads.

    Beside them, the seconds of the products of those sweeps, and of the deterministic one.
    """
    jobs, models = {}, []
    for i, (n, d, k, t) in enumerate(shapes):
        stream = gaussian_stream(4, n, k, d, box=40.0, drift="none", random_state=0)
        for m in threads:
            models.append((k, started(stream, sweeps=t, n_jobs=m)))
            jobs[f"update {i} {m}"] = Job(updates(models[-1][1], [b.X for b in stream[1:]]))
        T = models[-1][1].family_.statistics(stream[0].X)
        eta = np.ones((k, T.shape[1]))
        for m in {1, *threads}:
            jobs[f"product {i} {m}"] = Job(partial(product, T, eta), m)
    took = alternate(jobs, options.turns(9))
    for k, model in models:
        if not 0.9 * k <= model.n_clusters_ <= 1.1 * k:
            say(f"  {model.n_clusters_} clusters were found where {k} were meant")
    return {
        m: (
            [took[f"update {i} {m}"] for i in range(len(shapes))],
            [
                (t + 1) * min(took[f"product {i} {m}"], took[f"product {i} 1"])
                for i, (_, _, _, t) in enumerate(shapes)
            ],
        )
        for m in threads
    }


def _growth_row(
    axis: str, threads: int, sizes: Sequence[int], seconds: Sequence[float]
) -> list[str]:
    whole, last = exponent(sizes, seconds), exponent(sizes[-2:], seconds[-2:])
    asked = {"n": 1.0, "T": 1.0}.get(axis)
    if axis == "K, without the products":
        asked = exponent(sizes[-2:], [k * np.log(k) for k in sizes[-2:]])
    verdict = ["", ""]
    if asked is not None:  # overheads flatter the small sizes: the last two are judged
        verdict = [f"{asked:.2f}", holds(last, asked + 0.1, at_least=False)]
    return [
        axis, str(threads), ", ".join(f"{size:,}" for size in sizes), ", ".join(map(ms, seconds)),
        f"{whole:.2f}", f"{last:.2f}", *verdict,
    ]  # fmt: skip


def _memory(options: Options, threads: int) -> list[dict[str, float]]:
    """Return what an update holds and what its sweeps and moves add, for ever more rows."""
    d, k = 5, 20
    sizes = (1000, 2000) if options.quick else (20_000, 80_000, 320_000, 1_280_000)
    shape = {"n_clusters": k, "n_features": d, "drift": "none", "random_state": 0}
    out = []
    for n in sizes:
        stream = gaussian_stream(2, n, **shape)
        X = stream[1].X
        model = started(stream, n_jobs=threads).partial_fit(X)  # so that all is compiled
        found = model.n_clusters_
        held, added = traced_update(model, X)
        chunk = 8 * found * block_rows(len(model.family_.prior), found)
        out.append({"n": n, "threads": threads, "k": found, "batch": X.nbytes, "held": held,
                    "added": added, "chunk_x_k": chunk})  # fmt: skip
    return out


def traced_update(model: ScStream, X: Any) -> tuple[int, int]:
    """Return the bytes that an update holds once the batch is loaded, and those added at most.

    The first are labels, entropies, weights and, of a batch that is not too large, the statistics
    of its rows; the second are what sweeps and moves need on top.
    """
    seen = []

    def traced(*arguments: Any) -> Any:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        out = later_batch(*arguments)
        seen.append((before, tracemalloc.get_traced_memory()[1] - before))
        return out

    later_batch = learner.later_batch
    tracemalloc.start()
    try:
        with mock.patch.object(learner, "later_batch", traced):
            model.partial_fit(X)
    finally:
        tracemalloc.stop()
    return seen[0]


def _memory_table(memory: Sequence[Mapping[str, float]]) -> Table:
    rows = [
        [f"{m['n']:,}", str(m["threads"]), str(m["k"]), f"{m['batch'] / 2**20:.1f}",
         digits(m["held"] / m["n"]), f"{m['added'] / 2**20:.2f}",
         digits(m["added"] / m["chunk_x_k"]), "3",
         holds(m["added"] / m["chunk_x_k"], 3.0, at_least=False)]
        for m in memory
    ]  # fmt: skip
    columns = ("rows", "threads", "clusters", "the batch, MiB", "held beside it, bytes a row",
               "sweeps and moves, MiB", "times chunk x K", "asked", "holds")  # fmt: skip
    return Table(columns, rows)
