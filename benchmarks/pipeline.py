"""What reading, parsing and writing cost: ``scstream run`` on a CSV against the model alone.

Run ``python benchmarks/pipeline.py``. ``--rows 1000000`` is the full size, ``--columns 10``,
``--batch-size 1000`` and ``--repeats 3`` change the rest. The ways take turns, so that a machine
that slows down slows all of them; medians are shown. Times are of the processor, on one thread.

- memory: `partial_fit` on batches that are in memory
- memory, scored: the same, with the probability and the anomaly score of each row
- read: the CSV is read and cut into batches, nothing else
- run: ``scstream run`` with label, probability and score of each row written to a CSV
- run, labels: the same with ``--fields label``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from scstream import ScStream
from scstream.cli import main as scstream
from scstream.pipeline import assess, learner_of
from scstream.sources import SourceOptions, open_source

Floats = NDArray[np.float64]


def make_rows(n: int, d: int, clusters: int = 15) -> Floats:
    """Return rows of clusters that drift slowly."""
    rng = np.random.default_rng(0)
    y = rng.integers(clusters, size=n)
    start, way = rng.normal(scale=8.0, size=(2, clusters, d))
    drift = np.linspace(0.0, 0.5, n)[:, None]
    return start[y] + drift * way[y] + rng.normal(size=(n, d))


def write_csv(X: Floats, path: Path) -> None:
    header = ",".join(f"x{j}" for j in range(X.shape[1]))
    np.savetxt(path, X, "%.6g", ",", header=header, comments="")


def memory(X: Floats, size: int, scored: bool) -> None:
    model = ScStream(random_state=0, n_jobs=1)
    for a in range(0, len(X), size):
        rows = X[a : a + size]
        before = learner_of(model)
        model.partial_fit(rows)
        after = learner_of(model)
        if scored and after is not None:
            assess(after, rows, model.labels_)
            assess(before or after, rows)


def read(path: Path, size: int) -> None:
    with open_source(path, SourceOptions(size)) as source:
        for _ in source:
            pass


def run(path: Path, size: int, fields: str) -> None:
    argv = ["run", str(path), "-o", str(path.with_suffix(".out.csv")), "--fields", fields]
    argv += ["--overwrite"]
    argv += ["--family", "gaussian", "--batch-size", str(size), "--random-state", "0"]
    status = scstream([*argv, "--n-jobs", "1", "--quiet"])
    if status != 0:
        raise SystemExit(status)


def timed(way: Callable[[], None]) -> float:
    start = time.process_time()
    way()
    return time.process_time() - start


def measure(ways: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each way; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            seconds[name].append(timed(way))
    return {name: median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    X, size = make_rows(args.rows, args.columns), args.batch_size
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_csv(X[: 2 * size], path)
        run(path, size, "label,probability,score")  # compiles what is not compiled yet
        memory(X[: 2 * size], size, True)
        write_csv(X, path)
        found = measure(
            {
                "memory": lambda: memory(X, size, False),
                "memory, scored": lambda: memory(X, size, True),
                "read": lambda: read(path, size),
                "run": lambda: run(path, size, "label,probability,score"),
                "run, labels": lambda: run(path, size, "label"),
            },
            args.repeats,
        )
    print(f"{args.rows:,} rows of {args.columns} columns in batches of {size:,}\n")
    print("| way | seconds | rows a second | speed of memory | of memory, scored |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, seconds in found.items():
        shares = [found["memory"] / seconds, found["memory, scored"] / seconds]
        print(
            f"| {name} | {seconds:.2f} | {args.rows / seconds:,.0f} "
            f"| {shares[0]:.2f} | {shares[1]:.2f} |"
        )


if __name__ == "__main__":
    main()
