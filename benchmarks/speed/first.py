"""The first batch, to convergence, against a fit of Mini-Batch K-Means."""

from __future__ import annotations

from sklearn.cluster import MiniBatchKMeans

from benchmarks.speed.tables import KMEANS, OURS, Result, Table, digits
from benchmarks.speed.timing import Job, Options, alternate
from scstream import ScStream
from scstream.datasets import gaussian_stream


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
    return Result([table], {"seconds": took})
