"""How updates and predictions gain from cores, beside what bounds them.

``python -m benchmarks.cores`` times `predict` and `partial_fit` of later batches on 1, 2, 4, ...
threads, the bare product of statistics and parameters in float64, and Mini-Batch K-Means told the
number of clusters, in turns; ``--shapes`` and ``--threads`` choose, ``--json FILE`` saves the
figures, ``--docs`` writes the tables into ``benchmarks/published/speed.md`` and their last rows
into ``docs/performance.md``. What is judged are ratios of medians from one run.

Before each turn is a pause, so that threads of others come to rest. Caches are cold then: a small
batch takes two to three times as long as when batches follow each other (`benchmarks.speed`), and
so does one of K-Means.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from benchmarks import machine
from benchmarks.speed import summary, tables
from benchmarks.speed.jobs import ALL_NEW, started
from benchmarks.speed.timing import Job, alternate, thread_counts
from scstream import Gaussian, ScStream
from scstream.datasets import Batch, gaussian_stream

_PAUSE = 0.1  # seconds: idle threads of OpenMP and BLAS spin for a while, and would slow the next
_SHORT_PAUSE = 0.02  # between turns of small batches, which are many


@dataclass(frozen=True)
class Shape:
    """How large a batch is."""

    rows: int
    columns: int
    clusters: int
    box: float = 8.0


SHAPES = {
    "small": Shape(1_000, 2, 20),
    "frame": Shape(409_600, 5, 80),
    "long": Shape(2_000_000, 10, 50),
    "wide": Shape(20_000, 64, 100),
}


def measured(shape: Shape, threads: Sequence[int], turns: int) -> dict[str, float]:
    """Return the median seconds of each contestant, by name and threads."""
    batches = turns + 2  # each turn has rows of its own: a model would count them twice
    stream = gaussian_stream(
        batches + 1, shape.rows, shape.clusters, shape.columns, box=shape.box, drift="none",
        random_state=0,
    )  # fmt: skip
    first, *later = [stream[i] for i in range(batches + 1)]
    few = slice(None, None, max(1, shape.rows // 200_000))
    T = Gaussian().prepare(first.X[:10_000]).statistics(first.X)
    eta = np.random.default_rng(0).standard_normal((shape.clusters, T.shape[1]))
    jobs = {}
    for n in threads:
        ours = _model(shape, first, n)
        theirs = MiniBatchKMeans(shape.clusters, random_state=0, n_init=1, compute_labels=False)
        with threadpool_limits(n):
            theirs.partial_fit(first.X[few])

        def update(turn: int, model: ScStream = ours) -> None:
            model.partial_fit(later[turn].X)

        def predict(turn: int, model: ScStream = ours) -> None:
            model.predict(later[turn].X)

        def k_means(turn: int, model: MiniBatchKMeans = theirs) -> None:
            model.predict(later[turn].X)
            model.partial_fit(later[turn].X)

        jobs[f"update {n}"] = Job(update)
        jobs[f"predict {n}"] = Job(predict)
        jobs[f"product {n}"] = Job(lambda turn: T @ eta.T, n)
        jobs[f"k-means {n}"] = Job(k_means, n)
    pause = _PAUSE if shape.rows > SHAPES["small"].rows else _SHORT_PAUSE
    return alternate(jobs, turns, pause)


def _model(shape: Shape, first: Batch, threads: int) -> ScStream:
    """Return a model that knows its clusters; a large one is told those of its first batch."""
    if shape.rows > SHAPES["small"].rows:
        return started([first], n_jobs=threads)
    model = ScStream(random_state=0, n_jobs=threads, rules=ALL_NEW)
    for _ in range(20):
        model.partial_fit(first.X)
    return model


def table(name: str, took: dict[str, float], threads: Sequence[int]) -> str:
    """Return a shape's figures as lines of Markdown."""
    kinds, shape = ("update", "predict", "product", "k-means"), SHAPES[name]
    lines = [
        f"{shape.rows:,} points in {shape.columns}-D, {shape.clusters} clusters, milliseconds:",
        "",
        "| threads | update | predict | bare product | K-Means, both | update, predict, product: "
        "times one thread | update / 2 products | K-Means / ours |",
        "|" + " --- |" * 8,
    ]
    for n in threads:
        ms = [f"{1e3 * took[f'{kind} {n}']:.3g}" for kind in kinds]
        gains = [f"{took[f'{kind} {threads[0]}'] / took[f'{kind} {n}']:.2g}" for kind in kinds[:3]]
        ours = took[f"update {n}"] + took[f"predict {n}"]
        cells = [str(n), *ms, " / ".join(gains),
                 f"{took[f'update {n}'] / (2 * took[f'product {n}']):.2f}",
                 f"{took[f'k-means {n}'] / ours:.2f}"]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--threads", nargs="+", type=int, default=None)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args(arguments)
    threads = options.threads or thread_counts()
    figures, found, where = {}, [], machine.at_present()
    for name in options.shapes:
        turns = 50 * options.turns if name == "small" else options.turns
        figures[name] = measured(SHAPES[name], threads, turns)
        found.append(table(name, figures[name], threads))
        print(found[-1], end="\n\n", flush=True)
    if options.docs:
        summary.publish("cores", "\n\n".join([*found, f"*{tables.told(where)}*"]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
