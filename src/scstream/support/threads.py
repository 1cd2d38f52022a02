"""Threads of our own, for work that lets go of the interpreter."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Number = TypeVar("_Number", bound=np.generic)
_FEW_NUMBERS = 2**15  # that are written or read as soon as a thread wakes
_MOST_SLICES = 8  # of clusters: with more each has so little to do that waking it takes longer
_allowed: ContextVar[int] = ContextVar("threads", default=1)


class _Ended:
    """How jobs ended: by an error, or by None. Whoever waits may do so again."""

    def __init__(self) -> None:
        self._errors: list[BaseException | None] = []
        self._bell = SimpleQueue[None]()

    def put(self, error: BaseException | None) -> None:
        """Take note of a job that ended."""
        self._errors.append(error)
        self._bell.put(None)

    def wait_for(self, jobs: int) -> None:
        """Wait until jobs are done, come what may: they write to memory that is used again.

        An interrupt may come when the bell has just rung: what counts is which have ended.
        """
        interrupt: BaseException | None = None
        while len(self._errors) < jobs:
            try:
                self._bell.get()
            except BaseException as error:
                interrupt = interrupt or error
        for failed in (interrupt, *self._errors):
            if failed is not None:
                raise failed


_Orders = SimpleQueue[tuple[Callable[[], None], _Ended]]


class allowed:  # reads like the function that it could be, if those did not take longer
    """A context in which stacks of large matrices may be shared among so many threads."""

    def __init__(self, n_threads: int) -> None:
        self._n = n_threads

    def __enter__(self) -> None:
        self._before = _allowed.set(self._n)

    def __exit__(self, *error: object) -> None:
        _allowed.reset(self._before)


def threads_allowed() -> int:
    """Return how many threads are allowed here."""
    return _allowed.get()


def together(
    n_threads: int, job: Callable[[_Item], _Result], items: Sequence[_Item]
) -> list[_Result]:
    """Run a job for each item on threads, of which the caller's is one, and return the results.

    A thread that only waits leaves its core idle for a moment, and the system may put two threads
    that it woke on the other one, where short jobs are over before it notices.
    """
    if n_threads == 1 or len(items) < 2:
        return [job(item) for item in items]
    left, out = iter(enumerate(items)), dict[int, _Result]()

    def work() -> None:
        for i, item in left:
            out[i] = job(item)

    done, others = _Ended(), min(n_threads, len(items)) - 1
    for _ in range(others):
        _crew(n_threads).put((work, done))
    try:
        with allowed(1):  # all threads have something to do
            work()
    finally:
        done.wait_for(others)
    return [out[i] for i in range(len(items))]


def beside(job: Callable[[], _Result]) -> Callable[[], _Result]:
    """Start a job on another thread; returns what waits for it and gives its result."""
    out, done = list[_Result](), _Ended()
    _crew(1).put((lambda: out.append(job()), done))

    def result() -> _Result:
        done.wait_for(1)
        return out[0]

    return result


def over_rows(
    job: Callable[[slice], _Result], n: int, n_threads: int | None = None, width: int = 1
) -> list[_Result]:
    """Run a job on slices of n rows of some numbers each, as many as there are threads that pay.

    Not more than are allowed, unless their number is given.
    """
    if n * width < 4 * _FEW_NUMBERS:
        return [job(slice(0, n))]
    n_threads = _allowed.get() if n_threads is None else n_threads
    parts = min(n, paying(n * width, n_threads))
    edges = [n * i // parts for i in range(parts + 1)]
    return together(n_threads, job, [slice(a, b) for a, b in pairwise(edges)])


def paying(numbers: int, n_threads: int) -> int:
    """Return how many of some threads pay for numbers that take little time each.

    Threads wake one after another: with m of them w numbers take about as long as ``w / m`` and m
    times what one wakes in.
    """
    return min(n_threads, max(math.isqrt(numbers // _FEW_NUMBERS), 1))


def copied(array: NDArray[_Number], n_threads: int) -> NDArray[_Number]:
    """Return a copy of an array (n,), made by as many threads as pay."""
    if len(array) < 2 * _FEW_NUMBERS:
        return array.copy()
    out = np.empty_like(array)
    over_rows(lambda at: np.copyto(out[at], array[at]), len(array), n_threads)
    return out


def taken(array: NDArray[_Number], rows: NDArray[np.int64]) -> NDArray[_Number]:
    """Return some rows of an array (n, d): threads that are allowed wait for memory together."""
    if not array.flags.c_contiguous:  # it would be copied
        return array[rows]
    out = np.empty((len(rows), *array.shape[1:]), array.dtype)

    def take(at: slice) -> None:
        array.take(rows[at], axis=0, out=out[at], mode="clip")  # other modes make a copy

    over_rows(take, len(rows), width=math.prod(array.shape[1:]))
    return out


def over_slices(job: Callable[[slice], _Result], k: int) -> list[_Result]:
    """Run a job on slices of k rows, shared among the threads allowed.

    Each row must be computed by itself: then the threads change nothing.
    """
    n = min(_allowed.get(), _MOST_SLICES)
    if n == 1 or k < 2 * n:
        return [job(slice(None))]
    edges = [k * i // n for i in range(n + 1)]
    return together(n, job, [slice(a, b) for a, b in pairwise(edges)])


@cache
def _crew(n_threads: int) -> _Orders:
    """Return where threads wait for something to do."""
    orders = _Orders()
    for i in range(n_threads):
        Thread(target=_serve, args=(orders,), name=f"scstream_{i}", daemon=True).start()
    return orders


def _serve(orders: _Orders) -> None:
    while True:
        work, done = orders.get()
        try:
            work()
        except BaseException as error:
            done.put(error)
        else:
            done.put(None)
        del work, done  # nothing is held while there is nothing to do


@cache
def cores() -> int:
    """Return how many cores this process could use when it was first asked."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not offered by every system
        return os.cpu_count() or 1


if hasattr(os, "register_at_fork"):  # threads do not live on in a forked process
    os.register_at_fork(after_in_child=_crew.cache_clear)
    os.register_at_fork(after_in_child=cores.cache_clear)
