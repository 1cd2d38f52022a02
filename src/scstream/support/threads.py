"""Threads of our own, for compiled kernels that let go of the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_allowed: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def allowed(n_threads: int) -> Iterator[None]:
    """Let stacks of large matrices be shared among so many threads, within the context."""
    before = _allowed.set(n_threads)
    try:
        yield
    finally:
        _allowed.reset(before)


def mapped(
    n_threads: int, job: Callable[[_Item], _Result], items: Iterable[_Item]
) -> Iterator[_Result]:
    """Run a job for each item on threads, and return the results in order."""
    return _pool(n_threads).map(job, items)


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

    others = [_pool(n_threads).submit(work) for _ in range(min(n_threads, len(items)) - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()
    return [out[i] for i in range(len(items))]


def over_slices(job: Callable[[slice], _Result], k: int) -> list[_Result]:
    """Run a job on slices of k rows, shared among the threads allowed.

    Each row must be computed by itself: then the threads change nothing.
    """
    n = _allowed.get()
    if n == 1 or k < 2 * n:
        return [job(slice(None))]
    edges = [k * i // n for i in range(n + 1)]
    return together(n, job, [slice(a, b) for a, b in pairwise(edges)])


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="scstream")


@cache
def cores() -> int:
    """Return how many cores this process could use when it was first asked."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not offered by every system
        return os.cpu_count() or 1


if hasattr(os, "register_at_fork"):  # the threads of a pool do not live on in a forked process
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=cores.cache_clear)
