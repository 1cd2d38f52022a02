"""The paper's further experiments: sweeps, the deterministic sweep, labels that last.

Each gives a table, stored as a line ``{"what": "table", ...}`` that the report shows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from benchmarks.contestants.ours import FittedAnew, SampledThroughout
from benchmarks.machine import circumstances, now
from benchmarks.store import Row
from benchmarks.streams import DATASETS
from scstream import ScStream
from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.evaluate import PrequentialResult, prequential

SEEDS = 5
SWEEPS = (1, 2, 3, 5, 10)

Streams = dict[str, tuple[str, Callable[[int], Iterable[Any]]]]


def experiments(folder: Path | None) -> Iterator[Row]:
    """Run all experiments, one table after the other."""
    streams = _streams(folder)
    for title, note, models in (
        ("Sweeps a batch", _SWEEPS_NOTE, _by_sweeps()),
        ("The last sweep", _LAST_NOTE, _by_last_sweep()),
        ("Labels that last", _LABELS_NOTE, _by_persistence()),
    ):
        rows = [
            _row(name, method, family, make, stream)
            for name, (family, stream) in streams.items()
            for method, make in models.items()
        ]
        columns = ("stream", "model", "ARI", "NMI", "full NMI", "full NMI / NMI", "K", "ms a batch")
        yield {
            "what": "table",
            "dataset": title,
            "title": title,
            "columns": columns,
            "rows": rows,
            "note": note,
            "seeds": SEEDS,
            "date": now(),
            **circumstances(),
        }


_SWEEPS_NOTE = (
    "T sampled sweeps, then the deterministic one. Means over five seeds; the time is the median "
    "of learning a batch, predicting it left out."
)
_LAST_NOTE = "The last sweep of each batch deterministic, or another sampled one. T = 1."
_LABELS_NOTE = (
    "Full NMI is that of all predictions of a stream together: it falls behind the mean over "
    "batches where labels do not last. Clusters found anew in each batch are matched with those "
    "of the batch before by their centres; Mini-Batch K-Means is told K."
)


def _streams(folder: Path | None) -> Streams:
    """Return name -> family and stream of a seed."""
    return {
        "2-D, incremental": ("gaussian", lambda s: gaussian_stream(60, random_state=s)),
        "2-D, recurring": (
            "gaussian",
            lambda s: gaussian_stream(60, drift="recurring", random_state=s),
        ),
        "100-D counts": ("multinomial", lambda s: multinomial_stream(20, random_state=s)),
        "CoverType, 60 batches": (
            "gaussian",
            lambda s: DATASETS["covtype"].batches(s, "short", folder),
        ),
    }


def _by_sweeps() -> dict[str, Callable[[str, int], Any]]:
    def make(sweeps: int, family: str, seed: int) -> ScStream:
        return ScStream(family, sweeps=sweeps, random_state=seed, n_jobs=1)

    return {f"T = {sweeps}": partial(make, sweeps) for sweeps in SWEEPS}


def _by_last_sweep() -> dict[str, Callable[[str, int], Any]]:
    return {
        "deterministic": lambda family, seed: ScStream(family, random_state=seed, n_jobs=1),
        "sampled": lambda family, seed: SampledThroughout(family, random_state=seed, n_jobs=1),
    }


def _by_persistence() -> dict[str, Callable[[str, int], Any]]:
    true_k = {"gaussian": 20, "multinomial": 100}
    return {
        "ScStream": lambda family, seed: ScStream(family, random_state=seed, n_jobs=1),
        "each batch anew, matched": lambda family, seed: FittedAnew(
            ScStream(family, random_state=seed, n_jobs=1)
        ),
        "Mini-Batch K-Means": lambda family, seed: MiniBatchKMeans(
            true_k[family], random_state=seed
        ),
    }


def _row(
    name: str,
    method: str,
    family: str,
    make: Callable[[str, int], Any],
    stream: Callable[[int], Iterable[Any]],
) -> tuple[str, ...]:
    """Run a model on every seed of a stream and return the means as cells."""
    print(f"{name}, {method} ...", file=sys.stderr, flush=True)
    results = [prequential(make(family, seed), stream(seed), oracle=False) for seed in range(SEEDS)]
    means = np.mean([_figures(result) for result in results], axis=0)
    ari, nmi, full, n_clusters, ms = means
    scores = (f"{value:.3f}" for value in (ari, nmi, full, full / nmi))
    return (name, method, *scores, f"{n_clusters:.1f}", f"{ms:.1f}")


def _figures(result: PrequentialResult) -> tuple[float, ...]:
    mean = result.mean()
    ms = 1e3 * float(np.median(result.seconds_update))
    return mean["ari"], mean["nmi"], result.full_nmi, mean["n_clusters"], ms
