"""BLAS on one thread: the matrices are small, and the threads that pay are our own."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded() -> Any:
    """Return a context in which BLAS keeps to one thread."""
    return _controller().limit(limits=1, user_api="blas")
