"""Compiled reading of a number from text, as the nearest double: what Python's ``float`` gives.

These kernels are compiled without any of the fast floating-point rules.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import exact

_RANGE = 280  # powers of ten whose products with 19 digits stay well inside the doubles
_EXACT = 22  # powers of ten that are doubles themselves
_SPLIT = 134217729.0  # 2^27 + 1: halves a double into two that multiply without error
_DOUBT = 2.0**-96  # relative error that a product of two pairs of doubles may have, and more

_SPACE, _TAB = 32, 9


@cache
def powers() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 10^-280 to 10^280 as pairs of doubles that add up to them, to 106 bits."""
    whole = [Fraction(10) ** e for e in range(-_RANGE, _RANGE + 1)]
    high = [float(value) for value in whole]
    low = [float(value - Fraction(h)) for value, h in zip(whole, high, strict=True)]
    return np.array(high), np.array(low)


@exact
def _product(m: Any, high: Any, low: Any) -> Any:
    """Return the double nearest to ``m * (high + low)`` for whole m below 2^64, or NaN in doubt."""
    top = np.float64(m >> np.uint64(32)) * 4294967296.0
    bottom = np.float64(m & np.uint64(0xFFFFFFFF))
    a = top + bottom
    rest = bottom - (a - top)
    p = a * high
    t = _SPLIT * a
    a1 = t - (t - a)
    a2 = a - a1
    t = _SPLIT * high
    h1 = t - (t - high)
    h2 = high - h1
    error = ((a1 * h1 - p) + a1 * h2 + a2 * h1) + a2 * h2
    tail = error + (a * low + rest * high)
    doubt = abs(p) * _DOUBT
    best = p + (tail + doubt)
    if best != p + (tail - doubt):
        return np.nan
    return best


@exact
def number(buf: Any, a: Any, b: Any, point: Any, high: Any, low: Any) -> Any:
    """Return the number in ``buf[a:b]``, NaN if it is none or needs a closer look."""
    while a < b and (buf[a] == _SPACE or buf[a] == _TAB):
        a += 1
    while b > a and (buf[b - 1] == _SPACE or buf[b - 1] == _TAB):
        b -= 1
    negative = False
    if a < b and (buf[a] == 43 or buf[a] == 45):
        negative = buf[a] == 45
        a += 1
    m = np.uint64(0)
    digits = 0  # that are in m, leading zeros aside
    e = 0
    some = False
    behind = False  # the point
    while a < b:
        c = buf[a]
        if c == point and not behind:
            behind = True
        elif 48 <= c <= 57:
            some = True
            if digits < 19:
                m = m * np.uint64(10) + np.uint64(c - 48)
                if m > np.uint64(0):
                    digits += 1
                if behind:
                    e -= 1
            elif c != 48:
                return np.nan
            elif not behind:
                e += 1
        else:
            break
        a += 1
    if not some:
        return np.nan
    if a < b and (buf[a] == 69 or buf[a] == 101):
        a += 1
        sign = 1
        if a < b and (buf[a] == 43 or buf[a] == 45):
            sign = -1 if buf[a] == 45 else 1
            a += 1
        if a == b or b - a > 4:
            return np.nan
        power: Any = 0
        while a < b and 48 <= buf[a] <= 57:
            power = power * 10 + (np.int64(buf[a]) - 48)
            a += 1
        e += sign * power
    if a != b:
        return np.nan
    if m == 0:
        value = 0.0
    elif m <= np.uint64(9007199254740992) and -_EXACT <= e <= _EXACT:
        value = np.float64(m)
        value = value * high[_RANGE + e] if e >= 0 else value / high[_RANGE - e]
    elif -_RANGE <= e <= _RANGE:
        value = _product(m, high[_RANGE + e], low[_RANGE + e])
    else:
        return np.nan
    return -value if negative else value


@exact
def short_number(buf: Any, i: Any, point: Any) -> Any:
    """Return where a number without exponent ends, its digits, and how many are decimals.

    The end is ``i`` itself if it is not of that kind, or has more digits than a word holds.
    """
    size = buf.shape[0]
    a = i
    if i < size and buf[i] == 45:
        i += 1
    begin = i
    i, m = _digits(buf, i, np.int64(0))
    decimals = 0
    digits = i - begin
    if i < size and buf[i] == point:
        dot = i + 1
        i, m = _digits(buf, dot, m)
        decimals = i - dot
        digits += decimals
    if digits == 0 or digits > 18:
        return a, m, 0
    return i, m, decimals


@exact
def _digits(buf: Any, i: Any, m: Any) -> Any:
    """Return where a run of digits ends, and the number with these behind its own."""
    while i < buf.shape[0]:
        c = np.int64(buf[i]) - 48
        if c < 0 or c > 9:
            break
        m = m * 10 + c
        i += 1
    return i, m


@exact
def from_digits(m: Any, decimals: Any, high: Any, low: Any) -> Any:
    """Return the number that has these digits, as `short_number` finds them; NaN in doubt."""
    if m <= 9007199254740992:
        return np.float64(m) / high[_RANGE + decimals]
    e = _RANGE - decimals
    return _product(np.uint64(m), high[e], low[e])
