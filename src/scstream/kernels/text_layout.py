"""Compiled writing of numbers as text, whole batches at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import kernel

_WIDEST = 21  # characters of a whole number and its decimal point
_LARGEST = 9e15  # whole numbers up to here are exact


def fixed(values: NDArray[Any], decimals: int) -> NDArray[np.int64] | None:
    """Return numbers (n,) in units of their last decimal; None if one is too large or none."""
    scaled = np.rint(values * 10.0**decimals)
    if len(scaled) and not np.abs(scaled).max() < _LARGEST:
        return None
    return scaled.astype(np.int64)


def lay_out(
    columns: Sequence[NDArray[np.int64]],
    decimals: Sequence[int],
    glue: Sequence[bytes],
    data: bytes = b"",
    bounds: NDArray[np.int64] | None = None,
) -> bytes:
    """Return rows of numbers as text.

    Parameters
    ----------
    columns : sequence of int64 (n,)
        m of them, in units of their last decimal.
    decimals : sequence of int
        How many each has.
    glue : sequence of bytes
        What comes before each number, and behind the last: m + 1 of them.
    data, bounds : bytes, int64 (n, 2)
        What each row begins with: ``data[a:b]``. Nothing by default.
    """
    values = np.column_stack(columns)
    n, m = values.shape
    if bounds is None:
        bounds = np.zeros((n, 2), dtype=np.int64)
    joints = np.frombuffer(b"".join(glue), dtype=np.uint8)
    at = np.cumsum([0, *map(len, glue)])
    room = int((bounds[:, 1] - bounds[:, 0]).sum()) + n * (len(joints) + m * _WIDEST)
    out = np.empty(room, dtype=np.uint8)
    source = np.frombuffer(data, dtype=np.uint8)
    used = _lay_out(values, np.asarray(decimals), joints, at, source, bounds, out)
    return out[:used].tobytes()


@kernel
def _lay_out(
    values: Any, decimals: Any, glue: Any, glue_at: Any, data: Any, bounds: Any, out: Any
) -> Any:
    n, m = values.shape
    digits = np.empty(24, dtype=np.uint8)
    at = 0
    for i in range(n):
        for j in range(bounds[i, 0], bounds[i, 1]):
            out[at] = data[j]
            at += 1
        for c in range(m + 1):
            for j in range(glue_at[c], glue_at[c + 1]):
                out[at] = glue[j]
                at += 1
            if c == m:
                break
            v = values[i, c]
            if v < 0:
                out[at] = 45
                at += 1
                v = -v
            k = 0
            while v > 0 or k <= decimals[c]:
                digits[k] = 48 + v % 10
                v //= 10
                k += 1
            while k > 0:
                k -= 1
                out[at] = digits[k]
                at += 1
                if k == decimals[c] and k > 0:
                    out[at] = 46
                    at += 1
    return at
