"""``scstream bench``: a short check of speed and quality of this installation."""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from scstream.cli.values import add_command, add_quiet, whole
from scstream.support.progress import Bar

_CASES = ((2, 8), (10, 15))  # columns and clusters


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "bench",
        main,
        "Check speed and quality of this installation on built-in streams: rows a "
        "second of learning, of labelling and of reading CSV, and how well the clusters are found "
        "(ARI; 1 is perfect), next to an oracle that knows the truth. Takes seconds and needs no "
        "extras.",
    )
    parser.add_argument("--batches", type=whole(5), default=30, metavar="N", help="default: 30")
    parser.add_argument("--batch-size", type=whole(100), default=1000, metavar="N",
                        help="default: 1000")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")
    add_quiet(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    with Bar("measuring", len(_CASES) * args.batches) as bar:
        results = [_measure(case, args, bar) for case in range(len(_CASES))]
    if args.json:
        print(json.dumps({"machine": _machine(), "results": results}, indent=2))
        return 0
    print(_machine())
    print(f"{'':<10}{'learn':>12}{'label':>12}{'read CSV':>12}{'ARI':>8}{'oracle':>8}")
    for r in results:
        speeds = "".join(f"{r[name]:>12,.0f}" for name in ("learn", "label", "read"))
        name = f"{r['columns']} columns"
        print(f"{name:<10}{speeds}{r['ari']:>8.3f}{r['oracle_ari']:>8.3f}")
    print("speeds in rows per second, without the first batch")
    return 0


def _machine() -> str:
    import numba

    return (
        f"Python {platform.python_version()}, NumPy {np.__version__}, numba {numba.__version__}, "
        f"{platform.machine()}"
    )


def _measure(case: int, args: argparse.Namespace, bar: Bar) -> dict[str, Any]:
    """Return speed and quality on one stream."""
    (columns, clusters), batches, size = _CASES[case], args.batches, args.batch_size
    from scstream.datasets import gaussian_stream
    from scstream.evaluate import prequential
    from scstream.model import ScStream

    stream = gaussian_stream(
        n_batches=batches, n_clusters=clusters, n_features=columns, batch_size=size, random_state=0
    )

    def progress(batch: int, scores: dict[str, float]) -> None:
        bar.show(case * batches + batch + 1, f"{columns} columns, ARI {scores['ari']:.3f}")

    result = prequential(ScStream(random_state=0), stream, progress=progress)
    mean = result.mean()
    return {
        "columns": columns,
        "learn": size / median(result.seconds_update[1:].tolist()),
        "label": size / median(result.seconds_predict[1:].tolist()),
        "read": _reading(np.concatenate([batch.X for batch in stream])),
        "ari": mean["ari"],
        "oracle_ari": mean["oracle_ari"],
    }


def _reading(X: Any) -> float:
    """Return how many rows of CSV are read in a second."""
    from scstream.sources import open_source

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        np.savetxt(file, X, fmt="%.6g", delimiter=",")
        seconds = []
        for _ in range(3):  # the first may compile
            start = perf_counter()
            with open_source(file) as source:
                rows = sum(batch.n for batch in source)
            seconds.append(perf_counter() - start)
    return rows / min(seconds)
