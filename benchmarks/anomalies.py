"""How many ordinary rows `anomaly` flags: shares below 0.001 and 0.01, as multiples of these.

Run ``python benchmarks/anomalies.py``. ``--seeds 5 --first 0`` chooses the seeds, and ``--only
Poisson`` streams by the beginnings of their names. Each stream has 46 batches of 1,000 rows, the
last 40 of which are judged before they are learned.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable

import numpy as np

from scstream import ScStream
from scstream.datasets import gaussian_stream, mixed_stream, multinomial_stream

BATCHES, JUDGED_FROM = 46, 6
Make = Callable[[str, int], Iterable]


def reals(d: int, clusters: int = 10) -> Make:
    return lambda drift, s: gaussian_stream(BATCHES, 1000, clusters, d, drift=drift, random_state=s)


def table(kind: str, d: int) -> Make:
    return lambda drift, s: mixed_stream({kind: d}, BATCHES, drift=drift, random_state=s)


def counts(d: int) -> Make:
    return lambda drift, s: multinomial_stream(
        BATCHES, n_clusters=10, n_features=d, drift=drift, random_state=s
    )


STREAMS: dict[str, tuple[str, Make]] = {
    **{f"Gaussian, {d}": ("gaussian", reals(d)) for d in (2, 8, 16, 64, 128)},
    "Gaussian, 64, 20 clusters": ("gaussian", reals(64, 20)),
    **{f"diagonal, {d}": ("diagonal", table("diagonal", d)) for d in (2, 16)},
    **{f"Poisson, {d}": ("poisson", table("poisson", d)) for d in (2, 16)},
    **{f"multinomial, {d}": ("multinomial", counts(d)) for d in (16, 100)},
    **{f"Bernoulli, {d}": ("bernoulli", table("bernoulli", d)) for d in (16, 64)},
    "categorical, 8": ("categorical", table("categorical", 8)),
}

HEADER = "| family, columns | still: 0.001 | 0.01 | moving: 0.001 | 0.01 | s |\n|" + " --- |" * 6


def flagged(family: str, batches: Iterable, seed: int) -> tuple[float, float]:
    """Return the shares of rows below 0.001 and 0.01, as multiples of these."""
    model, shares = ScStream(family, random_state=seed), []
    for b, batch in enumerate(batches):
        if b >= JUDGED_FROM:
            shares.append(model.anomaly(batch.X))
        model.partial_fit(batch.X)
    every = np.concatenate(shares)
    return float((every < 0.001).mean() / 0.001), float((every < 0.01).mean() / 0.01)


def cells(family: str, make: Make, drift: str, seeds: range) -> str:
    """Return the mean and the range of the first multiple, and the mean of the second."""
    thousandth, hundredth = np.transpose(
        [flagged(family, make(drift, seed), seed) for seed in seeds]
    )
    low, high = thousandth.min(), thousandth.max()
    return f"{thousandth.mean():.2f} ({low:.2f} to {high:.2f}) | {hundredth.mean():.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of names")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.seeds)
    print(HEADER)
    for name, (family, make) in STREAMS.items():
        if name.startswith(tuple(args.only)):
            began = time.perf_counter()
            both = [cells(family, make, drift, seeds) for drift in ("none", "incremental")]
            print(
                f"| {name} | {' | '.join(both)} | {time.perf_counter() - began:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
