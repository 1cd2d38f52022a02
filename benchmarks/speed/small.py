"""Small batches, against Mini-Batch K-Means told the number of clusters, at its fastest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.contestants import alone, contestant
from benchmarks.speed.tables import KMEANS, OURS, Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate
from scstream import ScStream
from scstream.datasets import gaussian_stream

K = 20


def small(options: Options) -> Result:
    """Time small batches against Mini-Batch K-Means told the number of clusters."""
    turns = options.turns(300)
    batches = [batch.X for batch in gaussian_stream(turns + 3, random_state=0)]
    first, rest = batches[0], batches[1:]
    ours = ScStream(random_state=0).partial_fit(first)
    free = contestant(KMEANS, [first], K)[1]
    with threadpool_limits(1):  # it keeps the number of threads of its first batch
        single = contestant(KMEANS, [first], K)[1]
    each: list[tuple[float, float]] = []
    took = alternate(
        {
            OURS: Job(_in_parts(ours, rest, each)),
            "here": Job(lambda turn: free(rest[turn])),
            "here, 1 thread": Job(lambda turn: single(rest[turn]), threads=1),
        },
        turns,
    )
    # caches are cold after a turn of another's: like is compared with like
    ours_alone = alone(OURS, batches, K)
    others_alone = {
        "alone": alone(KMEANS, batches, K),
        "alone, 1 thread": alone(KMEANS, batches, K, threads=1),
    }
    here = {name: seconds for name, seconds in took.items() if name != OURS}
    parts = dict(zip(("predict", "partial_fit"), np.median(each[2:], axis=0), strict=True))
    in_turns = min(here.values()) / took[OURS]
    apart = min(others_alone.values()) / ours_alone
    rows = [[f"**{OURS}**", f"in turns, {ours.n_clusters_} clusters found", ms(took[OURS])]]
    rows += [["", f"of which {name}", ms(seconds)] for name, seconds in parts.items()]
    rows += [[f"**{OURS}**", "alone", ms(ours_alone)]]
    rows += [[KMEANS, name.replace("here", "in turns"), ms(seconds)]
             for name, seconds in {**here, **others_alone}.items()]  # fmt: skip
    note = (
        f"Times as fast as the fastest {KMEANS}: **{digits(in_turns)}** in turns, "
        f"**{digits(apart)}** alone (asked: 1, hoped for: 2; "
        f"{holds(min(in_turns, apart), 1.0, at_least=True)})."
    )
    figures = {"seconds": {**took, **others_alone, "ours alone": ours_alone}, "parts": parts,
               "in_turns": in_turns, "alone": apart}  # fmt: skip
    return Result([Table(("method", "how", "a batch"), rows, note)], figures)


def _in_parts(
    model: ScStream, batches: Sequence[Any], parts: list[tuple[float, float]]
) -> Callable[[int], None]:
    """Return the job of one batch after the other; ``parts`` gets the seconds of either step."""

    def run(turn: int) -> None:
        X = batches[turn]
        begin = time.perf_counter()
        model.predict(X)
        middle = time.perf_counter()
        model.partial_fit(X)
        parts.append((middle - begin, time.perf_counter() - middle))

    return run
