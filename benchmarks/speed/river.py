"""The same small batches against river's clusterers, which take a row at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed.contestants import BATCH_BY_BATCH, ROW_BY_ROW, alone, contestant
from benchmarks.speed.tables import OURS, Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate
from scstream.datasets import gaussian_stream

FIRST = 50  # batches, after which our clusters have settled: the first few take twice as long
ASKED = {"DBSTREAM": 60.0, "CluStream": 250.0}


def river(options: Options) -> Result:
    """Time small batches against river's clusterers, in turns and each on its own."""
    turns = options.turns(5)
    size, first = options.size(1000, 50), options.size(FIRST, 1)
    batches = [batch.X for batch in gaussian_stream(turns + 2 + first, size, random_state=0)]
    names = [OURS, *(f"{kind}, {how}" for kind in ASKED for how in (ROW_BY_ROW, BATCH_BY_BATCH))]
    jobs = {name: Job(_steps(name, batches, first)) for name in names}
    in_turns = alternate(jobs, turns)
    apart = {name: alone(name, batches, 20, first) for name in names}
    lines = [[f"**{OURS}**", ms(in_turns[OURS]), "1", ms(apart[OURS]), "1", "", ""]]
    for name in names[1:]:
        factors = [took[name] / took[OURS] for took in (in_turns, apart)]
        goal, verdict = ASKED[name.split(",")[0]], ["", ""]
        if name.endswith(ROW_BY_ROW):
            held = [holds(factor, goal, at_least=True) for factor in factors]
            verdict = [f"{goal:.0f}", f"{held[0]} in turns, {held[1]} alone"]
        lines.append([f"river's {name}", ms(in_turns[name]), digits(factors[0]), ms(apart[name]),
                      digits(factors[1]), *verdict])  # fmt: skip
    columns = ("method", "in turns", f"times {OURS}'s", "alone", f"times {OURS}'s", "asked",
               "holds")  # fmt: skip
    return Result([Table(columns, lines)], {"seconds": in_turns, "alone": apart})


def _steps(name: str, batches: list[np.ndarray], first: int) -> Callable[[int], None]:
    shape, step = contestant(name, batches[:first], 20)
    rest: list[Any] = [shape(X) for X in batches[first:]]
    return lambda turn: step(rest[turn])
