"""One long stream from an array: points a second, and memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.tables import Result, Table
from benchmarks.speed.timing import Options, say
from scstream import ScStream
from scstream.datasets import gaussian_stream


def stream(options: Options) -> Result:
    """Learn one long stream from an array: points a second, and memory."""
    n_batches = max(10, options.points // 1000) if not options.quick else 20
    X = np.empty((1000 * n_batches, 2))
    for b, batch in enumerate(gaussian_stream(n_batches, random_state=0)):
        X[1000 * b : 1000 * (b + 1)] = batch.X
    model, early = ScStream(random_state=0).partial_fit(X[:1000]), 0.0
    begin = time.perf_counter()
    for b in range(1, n_batches):
        model.partial_fit(X[1000 * b : 1000 * (b + 1)])
        if b == n_batches // 10:
            early = resident()
        if b % 1000 == 0:
            say(f"  {b:,} of {n_batches:,} batches")
    seconds, late = time.perf_counter() - begin, resident()
    rate = 1000 * (n_batches - 1) / seconds
    row = [f"{len(X):,}", f"{rate:,.0f}", f"{early:.0f}", f"{late:.0f}", str(model.n_clusters_)]
    columns = ("points", "points a second", "MiB after a tenth", "MiB at the end", "clusters")
    note = "The array itself is part of the memory, from the beginning."
    figures = {"points": len(X), "rate": rate, "early_mib": early, "late_mib": late}
    return Result([Table(columns, [row], note)], figures)


def resident() -> float:
    """Return the resident memory in MiB; where the system does not tell, its peak so far."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(s for s in status.read_text().splitlines() if s.startswith("VmRSS"))
        return int(line.split()[1]) / 2**10
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
