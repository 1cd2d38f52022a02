"""Contestants for small batches, each of which predicts and learns, here or on its own.

``python -m benchmarks.speed.contestants NAME FILE K N``, a process that loads one of them only,
prints the median seconds of a batch of those in the file, the first N of which it starts with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.tables import KMEANS, OURS

ROOT = Path(__file__).parents[2]
ROW_BY_ROW, BATCH_BY_BATCH = "row by row", "batch by batch"


def contestant(
    name: str, first: Sequence[np.ndarray], k: int
) -> tuple[Callable[[np.ndarray], Any], Callable[[Any], None]]:
    """Return how a contestant wants a batch, and its step by such a batch, the first ones learned.

    Names are those of the tables, and of river's clusterers with how they are fed. These take
    long, and start with the last of the first ones.
    """
    model: Any
    if name in (OURS, KMEANS):
        if name == OURS:
            from scstream import ScStream

            model = ScStream(random_state=0)
        else:
            from sklearn.cluster import MiniBatchKMeans

            model = MiniBatchKMeans(k, random_state=0)
        for X in first:
            model.partial_fit(X)
        return np.asarray, partial(_whole, model)
    from river import cluster

    kind, how = name.split(", ")
    model = getattr(cluster, kind)()
    for row in _rows(first[-1]):
        model.learn_one(row)
    return _rows, partial({ROW_BY_ROW: _one_by_one, BATCH_BY_BATCH: _by_batch}[how], model)


def alone(
    name: str, batches: Sequence[np.ndarray], k: int, first: int = 1, threads: int | None = None
) -> float:
    """Return the median seconds of a batch after some first ones, in a process of its own."""
    environment = dict(os.environ)
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "batches.npy"
        np.save(file, np.stack(batches))
        module = "benchmarks.speed.contestants"
        command = [sys.executable, "-m", module, name, str(file), str(k), str(first)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT
        )
    return float(done.stdout)


def median_step(name: str, batches: np.ndarray, k: int, first: int) -> float:
    """Return the median seconds of a batch after some first ones, and two that do not count."""
    shape, step = contestant(name, batches[:first], k)
    seconds = []
    for X in map(shape, batches[first:]):
        begin = time.perf_counter()
        step(X)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[2:]))


def _whole(model: Any, X: np.ndarray) -> None:
    model.predict(X)
    model.partial_fit(X)


def _rows(X: np.ndarray) -> list[dict[int, float]]:
    return [dict(enumerate(row)) for row in X.tolist()]


def _one_by_one(model: Any, rows: Sequence[dict[int, float]]) -> None:
    for row in rows:
        model.learn_one(row)
        model.predict_one(row)


def _by_batch(model: Any, rows: Sequence[dict[int, float]]) -> None:
    for row in rows:
        model.predict_one(row)
    for row in rows:
        model.learn_one(row)


if __name__ == "__main__":
    print(median_step(sys.argv[1], np.load(sys.argv[2]), *map(int, sys.argv[3:])))
