"""The plain core against the native one: the same batches by both, in turns."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from unittest import mock

from benchmarks.speed.jobs import started
from benchmarks.speed.tables import Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate
from scstream import ScStream, core
from scstream.core import plain as plain_core
from scstream.datasets import gaussian_stream

SHAPES = ((1000, 20, 2, 30), (409_600, 80, 5, 3))  # rows, clusters, columns, turns
MOST = 25.0  # times as slow


def plain(options: Options) -> Result:
    """Time predictions and updates by both cores."""
    rows, figures = [], {}
    for size, k, d, usual in SHAPES:
        n, turns = options.size(size, 1000), options.turns(usual)
        stream = gaussian_stream(turns + 3, n, k, d, box=20.0, drift="none", random_state=0)
        jobs = {}
        for name, kind in (("native", core._core), ("plain", plain_core)):
            model = started(stream)
            for what in ("predict", "partial_fit"):
                run = partial(_step, kind, model, what, [batch.X for batch in stream[1:]])
                jobs[f"{what}, {name}"] = Job(run)
        took = alternate(jobs, turns)
        figures[f"{n} x {d}"] = took
        for what in ("predict", "partial_fit"):
            native, slow = took[f"{what}, native"], took[f"{what}, plain"]
            verdict = holds(slow / native, MOST, at_least=False)
            rows.append([f"{n:,} points, {d}-D, {k} clusters", what, ms(native), ms(slow),
                         digits(slow / native), f"{MOST:g}", verdict])  # fmt: skip
    columns = ("batch", "step", "native", "plain", "plain / native", "asked", "holds")
    return Result([Table(columns, rows)], figures)


def _step(kind: ModuleType, model: ScStream, what: str, batches: list, turn: int) -> None:
    with mock.patch.object(core, "_core", kind):
        getattr(model, what)(batches[turn])
