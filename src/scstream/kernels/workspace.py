"""Memory that kernels work in."""

from __future__ import annotations

from typing import Any

import numpy as np

LINE = 8  # floats that the cache moves at a time


def in_lines(n: int, kind: Any) -> Any:
    """Return room for n numbers, all 0, that begins where a line of the cache does."""
    size = n * np.dtype(kind).itemsize
    room = np.zeros(size + 8 * LINE, np.uint8)
    first = -room.ctypes.data % (8 * LINE)
    return room[first : first + size].view(kind)
