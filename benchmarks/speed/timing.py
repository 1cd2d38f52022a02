"""How time is taken: in turns in one process, medians of several."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from scstream.support.threads import cores


@dataclass(frozen=True)
class Options:
    """What is run, and how large. The sizes are those of the page unless ``--quick``."""

    repeat: int | None = None  # turns of each measurement; every section has its own number
    data: Path | None = None
    anchors: Path | None = None
    points: int = 10_000_000  # of the long stream
    quick: bool = False  # small sizes, to see that everything runs

    def turns(self, usual: int) -> int:
        return self.repeat if self.repeat is not None else 2 if self.quick else usual

    def size(self, usual: int, quick: int) -> int:
        return quick if self.quick else usual


@dataclass(frozen=True)
class Job:
    """Something to be timed, given the number of the turn; libraries may be held to threads."""

    run: Callable[[int], object]
    threads: int | None = None

    def limits(self) -> AbstractContextManager[object]:
        return nullcontext() if self.threads is None else threadpool_limits(self.threads)


def alternate(jobs: Mapping[str, Job], turns: int, pause: float = 0.0) -> dict[str, float]:
    """Return the median seconds of each job.

    They take turns, each turn in another order, after two turns that do not count. In a pause
    before each of them the threads of the one before come to rest.
    """
    names, seconds = list(jobs), {name: [] for name in jobs}
    for turn in range(turns + 2):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            if pause:  # even none at all would hand the core to others
                time.sleep(pause)
            with jobs[name].limits():
                begin = time.perf_counter()
                jobs[name].run(turn)
                took = time.perf_counter() - begin
            if turn >= 2:
                seconds[name].append(took)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def cycled(items: Sequence[Any]) -> Callable[[int], Any]:
    return lambda turn: items[turn % len(items)]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope on log-log axes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def thread_counts() -> list[int]:
    """Return 1, 2, 4 ... threads, as many as there are cores at most."""
    return sorted({*(2**i for i in range(cores().bit_length())), cores()})
