"""BLAS on one thread: the matrices are small, and the threads that pay are our own."""

from __future__ import annotations

from contextlib import ContextDecorator
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Limit(ContextDecorator):
    """The limit, in force from the first that enters to the last that leaves.

    Nested limits would lift each other when threads enter and leave in turns, as the workers of
    an in-process cluster do. And threadpoolctl's own take longer than a small batch.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [(library, library.num_threads) for library in _libraries()]
                for library, n in self._before:
                    if n != 1:
                        library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, n in self._before:
                    if n != 1:
                        library.set_num_threads(n)


_limit = _Limit()


def single_threaded() -> _Limit:
    """Return a context in which BLAS keeps to one thread."""
    return _limit
