"""Rows of counts, against their non-zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.speed.jobs import ALL_NEW, started, updates
from benchmarks.speed.tables import Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate, exponent, say
from scstream import ScStream
from scstream.datasets import multinomial_stream


def counts(options: Options) -> Result:
    """Time updates by rows of counts against their non-zeros."""
    n, turns = options.size(1000, 200), options.turns(15)
    k = options.size(100, 5)
    rows = []
    dense = multinomial_stream(turns + 3, n, k, 100, drift="none", random_state=0)
    nonzeros = int(np.count_nonzero(dense[1].X))
    model, rest = started(dense, "multinomial"), [dense[b].X for b in range(1, turns + 3)]
    took = alternate({"dense": Job(lambda turn: model.partial_fit(rest[turn]))}, turns)["dense"]
    rows.append(_count_row(f"{n:,} x 100, dense", nonzeros, model, took))
    width, densities = options.size(2000, 200), (10, 20, 40, 80, 160, 320)
    models, jobs, sizes = {}, {}, {}
    for trials in densities[:3] if options.quick else densities:
        stream = multinomial_stream(
            4, n, k, width, n_trials=trials, concentration=0.2, drift="none", sparse=True,
            random_state=0,
        )  # fmt: skip
        name = f"{n:,} x {width:,} CSR, rows of {trials}"
        sizes[name] = int(stream[1].X.nnz)
        models[name] = started(stream, "multinomial")
        jobs[name] = Job(updates(models[name], [b.X for b in stream[1:]]))
    seconds = alternate(jobs, turns)
    rows += [_count_row(name, sizes[name], models[name], seconds[name]) for name in jobs]
    news = _newsgroups(options)
    if news is not None:
        took = alternate({"news": Job(updates(*news))}, turns)["news"]
        rows.append(_count_row("20 newsgroups", news[1][0].nnz, news[0], took))
    whole = exponent(list(sizes.values()), list(seconds.values()))
    last = exponent(list(sizes.values())[-2:], list(seconds.values())[-2:])
    note = (
        f"The CSR rows have one shape and a growing number of non-zeros: fitted exponent "
        f"{whole:.2f}, {last:.2f} between the last two (asked: at most 1; "
        f"{holds(max(whole, last), 1.05, at_least=False)}, with 0.05 for noise)."
    )
    columns = ("counts", "non-zeros", "clusters", "update", "ns per non-zero and cluster")
    figures = {"nonzeros": sizes, "seconds": seconds, "exponent": whole, "last": last}
    return Result([Table(columns, rows, note)], figures)


def _count_row(name: str, nonzeros: int, model: ScStream, seconds: float) -> list[str]:
    k = model.n_clusters_
    return [name, f"{nonzeros:,}", str(k), ms(seconds), digits(1e9 * seconds / (nonzeros * k))]


def _newsgroups(options: Options) -> tuple[ScStream, list[Any]] | None:
    file = None if options.data is None else options.data / "20news.npz"
    if file is None or not file.exists():
        say("  20news.npz is not in the folder of data: left out")
        return None
    with np.load(file) as held:
        parts = (held["data"].astype(np.float64), held["indices"], held["indptr"])
        X = sparse.csr_array(parts, shape=tuple(held["shape"]))
    batches = [X[start : start + 1000] for start in range(0, 6000, 1000)]
    sweeps = options.size(100, 1)
    model = ScStream("multinomial", random_state=0, max_sweeps=sweeps, rules=ALL_NEW)
    return model.partial_fit(batches[0]), batches[1:]
