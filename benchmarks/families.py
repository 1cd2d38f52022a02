"""Quality of the untuned model on streams of every family: prequential ARI against an oracle's.

Run ``python benchmarks/families.py``. ``--seeds 5 --first 0`` chooses the seeds, ``--only poisson``
some of the streams, ``--batches 30`` a length. The oracle knows the true mixture at every moment
and sees the same entries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from scstream import Product, ScStream
from scstream.datasets import (
    Stream,
    directional_stream,
    gaussian_stream,
    mixed_stream,
    multinomial_stream,
)
from scstream.evaluate import prequential

Make = Callable[[int, int], Stream]


def table(columns: dict[str, int], **options: Any) -> Make:
    return lambda batches, seed: mixed_stream(columns, batches, random_state=seed, **options)


MIXED = {"diagonal": 2, "poisson": 2, "gamma": 1, "bernoulli": 2, "categorical": 2}

STREAMS: dict[str, Make] = {
    "gaussian": lambda batches, seed: gaussian_stream(batches, random_state=seed),
    "multinomial": lambda batches, seed: multinomial_stream(
        batches, n_clusters=20, n_features=50, n_trials=50, random_state=seed
    ),
    "directional": lambda batches, seed: directional_stream(batches, random_state=seed),
    "diagonal": table({"diagonal": 3}),
    "spherical": table({"spherical": 3}),
    "poisson": table({"poisson": 5}),
    "gamma": table({"gamma": 6}),
    "exponential": table({"exponential": 14}),
    "bernoulli": table({"bernoulli": 30}),
    "categorical": table({"categorical": 10}),
    "mixed": table(MIXED),
    "diagonal, 30 % missing": table({"diagonal": 5}, missing=0.3),
    "mixed, 30 % missing": table(MIXED, missing=0.3),
}

HEADER = (
    "| stream | ARI | the oracle's | share | least share | clusters found / true "
    "| ms a batch | s |\n|" + " --- |" * 8
)


def family_of(name: str, stream: Stream) -> Any:
    """Return the family for a stream: that of its one kind of columns, or the product."""
    columns = getattr(stream[0].truth, "columns", {name: []})
    return next(iter(columns)) if len(columns) == 1 else Product(columns)


def run(name: str, make: Make, seeds: range, batches: int) -> None:
    rows = []
    began = time.perf_counter()
    for seed in seeds:
        stream = make(batches, seed)
        model = ScStream(family_of(name, stream), random_state=seed)
        result = prequential(model, stream)
        mean = result.mean()
        keys = ("ari", "oracle_ari", "n_clusters", "n_true")
        rows.append([*(mean[key] for key in keys), 1e3 * np.median(result.seconds_update)])
    r = np.array(rows)
    m = r.mean(axis=0)
    print(
        f"| {name} | {m[0]:.3f} | {m[1]:.3f} | {m[0] / m[1]:.3f} | {(r[:, 0] / r[:, 1]).min():.3f} "
        f"| {m[2]:.1f} / {m[3]:.1f} | {m[4]:.1f} | {time.perf_counter() - began:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--batches", type=int, default=60, help="length of the streams")
    parser.add_argument("--only", nargs="+", help="names of streams")
    args = parser.parse_args()
    print(HEADER)
    for name, make in STREAMS.items():
        if not args.only or name in args.only:
            run(name, make, range(args.first, args.first + args.seeds), args.batches)


if __name__ == "__main__":
    main()
