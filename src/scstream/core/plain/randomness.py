"""Uniforms by row: Philox 4x32 with ten rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIRST, _SECOND = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


def uniforms(key: tuple[int, int, int, int], start: int, n: int) -> NDArray[np.float64]:
    """Return two uniforms in [0, 1) for each of n rows from one on: (2, n).

    The key is (seed, batch, sweep, number of row 0). The counter is (row, sweep, batch).
    """
    seed, batch, sweep, first = (np.uint64(word) for word in key)
    row = first + np.arange(start, start + n, dtype=np.uint64)
    a, b = row & _LOW, row >> _HALF
    c, d = np.full(n, sweep & _LOW), np.full(n, batch & _LOW)
    k, m = seed & _LOW, seed >> _HALF
    for _ in range(10):
        p, q = _FIRST * a, _SECOND * c
        a, b, c, d = (q >> _HALF) ^ b ^ k, q & _LOW, (p >> _HALF) ^ d ^ m, p & _LOW
        k, m = (k + _STEPS[0]) & _LOW, (m + _STEPS[1]) & _LOW
    return np.stack([_unit(a, b), _unit(c, d)])


def fill_uniforms(key: tuple[int, int, int, int], out: NDArray[np.float64]) -> None:
    """Fill two uniforms (2, n) for each of n rows."""
    out[:] = uniforms(key, 0, out.shape[1])


def _unit(high: Words, low: Words) -> NDArray[np.float64]:
    """Return the number in [0, 1) that two words of 32 bits are."""
    whole = ((high << _HALF) | low) >> np.uint64(11)
    return whole.astype(np.float64) * 2.0**-53
