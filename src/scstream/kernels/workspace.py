"""Memory that kernels work in: compiled code takes arrays from it, which takes no time.

Kernels that made arrays of their own would have to count who holds them, and that takes longer
than most of what they do to a small batch. So only kernels that count nothing, `compiling.bare`,
may call these. Numbers written out are wrapped by callers, for numba compiles a function once more
for each of them.
"""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

from scstream.kernels.arguments import Int, Workspace
from scstream.kernels.compiling import part

LINE = 8  # floats that the cache moves at a time


class _Kept(local):
    """What each thread keeps: kernels run without the interpreter's lock."""

    room = Workspace(np.empty(0), np.empty(0, np.int64), np.empty(0, np.float32))


_KEPT = _Kept()


def room_of(floats: int, ints: int, singles: int = 0) -> Workspace:
    """Return memory for so many numbers, the same for every call of a thread."""
    room = _KEPT.room
    if len(room.floats) < floats or len(room.ints) < ints or len(room.singles) < singles:
        floats, ints = max(floats, len(room.floats)), max(ints, len(room.ints))
        short = in_lines(max(singles, len(room.singles)), np.float32)
        room = _KEPT.room = Workspace(in_lines(floats, float), in_lines(ints, np.int64), short)
    return room


def in_lines(n: int, kind: Any) -> Any:
    """Return room for n numbers, all 0, that begins where a line of the cache does."""
    size = n * np.dtype(kind).itemsize
    room = np.zeros(size + 8 * LINE, np.uint8)
    first = -room.ctypes.data % (8 * LINE)
    return room[first : first + size].view(kind)


@part
def next_line(at: Int) -> Any:
    """Return the next place among floats where a line of the cache begins.

    Vectors that are as long as a line take twice as long to load from two of them.
    """
    return (at + (LINE - 1)) // LINE * LINE


@part
def line(room: Any, at: Int, m: Int) -> Any:
    """Return m numbers from a place in a workspace, and the place behind them."""
    if at + m > len(room):
        raise MemoryError("The workspace is too small.")
    return room[at : at + m], at + m


@part
def table(room: Any, at: Int, m: Int, p: Int) -> Any:
    """Return a table (m, p) from a place in a workspace, and the place behind it."""
    if at + m * p > len(room):
        raise MemoryError("The workspace is too small.")
    return room[at : at + m * p].reshape(m, p), at + m * p
