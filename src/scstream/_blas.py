"""BLAS on one thread: the matrices are small, and the threads that pay are our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _Limit:
    """The limit, in force from the first that enters to the last that leaves.

    Nested limits of threadpoolctl's own would lift each other when threads enter and leave in
    turns, as the workers of an in-process cluster do.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limiter = Lock(), 0, None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                limiter: Any = self._limiter
                limiter.restore_original_limits()


_limit = _Limit()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Return a context in which BLAS keeps to one thread."""
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()
