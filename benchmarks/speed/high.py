"""Many dimensions, against the work that cannot be avoided."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.speed.jobs import product, started
from benchmarks.speed.tables import Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate
from scstream.datasets import gaussian_stream


def high(options: Options) -> Result:
    """Time sweeps in many dimensions against the work that they cannot avoid."""
    shapes = ((8, 5), (16, 4)) if options.quick else ((64, 100), (128, 500))
    found = [_high(options, d, k) for d, k in shapes]
    rows = [
        [f"{f['d']}-D, {f['k']} clusters ({f['found']} at the end)", ms(f["update"]),
         ms(f["sweep"]), ms(f["product"]), ms(f["cholesky"]), digits(f["ratio"]), "2",
         holds(f["ratio"], 2.0, at_least=False)]
        for f in found
    ]  # fmt: skip
    columns = ("1,000 points", "update", "half of it: a sweep", "product", "Cholesky factors",
               "sweep / (product + factors)", "asked", "holds")  # fmt: skip
    return Result([Table(columns, rows)], {"shapes": found})


def _high(options: Options, d: int, k: int) -> dict[str, float]:
    n, turns = options.size(1000, 200), options.turns(15 if d < 100 else 5)
    stream = gaussian_stream(turns + 3, n, k, d, box=20.0, drift="none", random_state=0)
    model = started(stream)
    T = model.family_.statistics(stream[0].X)
    rng = np.random.default_rng(0)
    eta = rng.standard_normal((k, T.shape[1]))
    stack = np.broadcast_to(np.eye(d) + 0.1, (3 * k, d, d)).copy()
    rest = [stream[b].X for b in range(1, turns + 3)]
    jobs = {"update": Job(lambda turn: model.partial_fit(rest[turn]))}
    for threads in (None, 1):  # a machine that is not quiet is slower on several
        jobs[f"product {threads}"] = Job(partial(product, T, eta), threads)
        jobs[f"cholesky {threads}"] = Job(lambda turn: np.linalg.cholesky(stack), threads)
    took = alternate(jobs, turns)
    bare = min(took["product None"], took["product 1"])
    cholesky = min(took["cholesky None"], took["cholesky 1"])
    sweep = took["update"] / 2.0
    return {
        "d": d, "k": k, "found": model.n_clusters_, "update": took["update"], "sweep": sweep,
        "product": bare, "cholesky": cholesky, "ratio": sweep / (bare + cholesky),
    }  # fmt: skip
