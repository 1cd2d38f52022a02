"""BLAS on one thread: the matrices are small, and the threads that pay are our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def single_threaded() -> Iterator[None]:
    """Return a context in which BLAS keeps to one thread."""
    # threadpoolctl's own context does the same, but takes longer than a small batch
    before = [(library, library.num_threads) for library in _libraries()]
    for library, n in before:
        if n != 1:
            library.set_num_threads(1)
    try:
        yield
    finally:
        for library, n in before:
            if n != 1:
                library.set_num_threads(n)
