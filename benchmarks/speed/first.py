"""The first batch, to convergence: against a fit of Mini-Batch K-Means, and against later ones."""

from __future__ import annotations

import time

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.speed.tables import KMEANS, OURS, Result, Table, digits, holds
from benchmarks.speed.timing import Job, Options, alternate
from scstream import ScStream
from scstream.datasets import gaussian_stream

LARGE = ((50_000, 20, 4, 20.0), (409_600, 80, 5, 20.0), (1_000_000, 50, 10, 20.0))  # n, k, d, box
MOST_UPDATES = 6


def first(options: Options) -> Result:
    """Time the first batch against a fit of Mini-Batch K-Means."""
    turns = options.turns(9)
    batches = [
        gaussian_stream(1, options.size(1000, 200), random_state=seed)[0].X
        for seed in range(turns + 2)
    ]

    def ours(turn: int) -> None:
        ScStream(random_state=0).partial_fit(batches[turn])

    def kmeans(turn: int) -> None:
        MiniBatchKMeans(20, random_state=0).fit(batches[turn])

    took = alternate(
        {OURS: Job(ours), KMEANS: Job(kmeans), f"{KMEANS}, 1 thread": Job(kmeans, 1)}, turns
    )
    fastest = min(took[KMEANS], took[f"{KMEANS}, 1 thread"])
    rows = [[name, f"{seconds:.3g} s", digits(seconds / fastest)] for name, seconds in took.items()]
    note = (
        f"Asked: at most 0.5 s on a machine of 2 Neoverse-N1 cores; it is {took[OURS]:.2g} s here, "
        f"{digits(took[OURS] / fastest)} fits of {KMEANS}."
    )
    table = Table(("first batch", "seconds", f"times a fit of {KMEANS}"), rows, note)
    larger, figures = _large(options)
    return Result([table, larger], {"seconds": took, "large": figures})


def _large(options: Options) -> tuple[Table, list[dict[str, float]]]:
    """Return first batches of many rows in updates by such a batch; seeds are the turns."""
    figures, rows = [], []
    for n, k, d, box in LARGE:
        size = options.size(n, n // 100)
        figures.append(_first_and_later(options, size, k, d, box))
        figure = figures[-1]
        times = figure["first"] / figure["later"]
        rows.append([
            f"{size:,} x {d}-D, {k} clusters",
            *(f"{figure[name]:.3g} s" for name in ("first", "later")),
            digits(times),
            digits(figure["wrong"]),
            f"{figure['ari']:.3f}",
            holds(times, MOST_UPDATES, at_least=False),
        ])  # fmt: skip
    columns = ("first batch", "takes", "a later one", "later ones that it takes",
               "clusters too many or few", "ARI", f"at most {MOST_UPDATES}")  # fmt: skip
    return Table(columns, rows), figures


def _first_and_later(options: Options, n: int, k: int, d: int, box: float) -> dict[str, float]:
    """Return medians over the turns, each with another stream; K and ARI are the first batch's."""
    out: dict[str, list[float]] = {"first": [], "later": [], "wrong": [], "ari": []}
    for seed in range(options.turns(5)):
        batches = gaussian_stream(4, n, k, d, box=box, drift="none", random_state=seed)
        model = ScStream(random_state=seed)
        took = []
        for b, batch in enumerate(batches):
            begin = time.perf_counter()
            model.partial_fit(batch.X)
            took.append(time.perf_counter() - begin)
            if b == 0:
                out["wrong"].append(abs(model.n_clusters_ - k))
                out["ari"].append(adjusted_rand_score(batch.y, model.labels_))
        out["first"].append(took[0])
        out["later"].append(float(np.median(took[1:])))
    return {name: float(np.median(values)) for name, values in out.items()}
