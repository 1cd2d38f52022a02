"""Compiled reading of separated text: records, fields and numbers in one pass over the bytes.

These kernels are compiled without any of the fast floating-point rules: a number must come out
as the nearest double, the same that Python's ``float`` gives.
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

SKIP = -1  # role of a field that is not looked at; text fields have roles of -2 and below
_LF, _CR, _QUOTE, _SPACE, _TAB = 10, 13, 34, 32, 9


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
        power = 0
        while a < b and 48 <= buf[a] <= 57:
            power = power * 10 + (buf[a] - 48)
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
def _short(buf: Any, i: Any, point: Any) -> Any:
    """Return where a number without exponent ends, its digits, and how many are decimals.

    The end is ``i`` itself if it is not of that kind, or has more digits than a word holds.
    """
    size = buf.shape[0]
    a = i
    if i < size and buf[i] == 45:
        i += 1
    begin = i
    m = np.int64(0)
    while i < size:
        c = np.int64(buf[i]) - 48
        if c < 0 or c > 9:
            break
        m = m * 10 + c
        i += 1
    decimals = 0
    digits = i - begin
    if i < size and buf[i] == point:
        i += 1
        dot = i
        while i < size:
            c = np.int64(buf[i]) - 48
            if c < 0 or c > 9:
                break
            m = m * 10 + c
            i += 1
        decimals = i - dot
        digits += decimals
    if digits == 0 or digits > 18:
        return a, m, 0
    return i, m, decimals


@exact
def scan(
    buf: Any, final: Any, sep: Any, point: Any, roles: Any, high: Any, low: Any,
    numbers: Any, spans: Any, bounds: Any, fields: Any, odd: Any,
) -> Any:  # fmt: skip
    """Read the records of a block.

    Parameters
    ----------
    buf : uint8 (size,)
    final : bool
        Whether nothing follows: the last record then needs no line end.
    sep, point : int
        The bytes between fields and before decimals.
    roles : int64 (f,)
        For each field the column of ``numbers`` that it fills, `SKIP`, or ``-2 - t`` to note its
        span as text t.
    high, low : float64
        See `powers`.
    numbers : float64 (cap, d), out
    spans : int64 (cap, t, 2), out
        Where the text fields begin and end, quotes aside.
    bounds : int64 (cap, 5), out
        Where each record begins and ends, where the next one begins, and how many line ends came
        before its beginning and before that of the next one.
    fields : int64 (cap,), out
        The number of fields; -1 if something follows a closing quote.
    odd : int64 (capacity, 4), out
        Fields that are no plain number: record, column, beginning and end.

    Returns
    -------
    rows, n_odd, at, breaks : int
        Records and odd fields found, where the unread rest begins, and line ends before it.
    """
    size = buf.shape[0]
    width = roles.shape[0]
    row = 0
    n_odd = 0
    at = 0
    breaks = 0
    while at < size and row < fields.shape[0]:
        if buf[at] == _LF:  # an empty line
            at += 1
            breaks += 1
            continue
        if buf[at] == _CR and (at + 1 == size or buf[at + 1] == _LF):
            if at + 1 == size and not final:
                break
            breaks += at + 1 < size
            at = min(at + 2, size)
            continue
        i = at
        f = 0
        inner = 0
        first_odd = n_odd
        broken = False
        whole = False
        stop = size
        while True:
            a = i
            if i < size and buf[i] == _QUOTE:
                a = i + 1
                i = a
                while i < size:
                    if buf[i] == _QUOTE:
                        if i + 1 < size and buf[i + 1] == _QUOTE:
                            i += 1
                        else:
                            break
                    elif buf[i] == _LF:
                        inner += 1
                    i += 1
                b = i
                if i >= size:
                    break  # the quote is open
                i += 1
                if i < size and buf[i] == _CR and (i + 1 == size or buf[i + 1] == _LF):
                    i += 1
                if i < size and buf[i] != sep and buf[i] != _LF:
                    broken = True
                    while i < size and buf[i] != _LF:
                        i += 1
            else:
                if f < width and roles[f] >= 0:
                    i, m, decimals = _short(buf, a, point)
                    value = np.nan
                    if i > a and i < size and (buf[i] == sep or buf[i] == _LF):
                        if m <= 9007199254740992:
                            value = np.float64(m) / high[_RANGE + decimals]
                        else:
                            e = _RANGE - decimals
                            value = _product(np.uint64(m), high[e], low[e])
                    if value == value:
                        numbers[row, roles[f]] = -value if buf[a] == 45 else value
                        f += 1
                        if buf[i] == _LF:
                            whole = True
                            stop = i
                            break
                        i += 1
                        continue
                    i = a
                while i < size and buf[i] != sep and buf[i] != _LF:
                    i += 1
                b = i
                if b > a and buf[b - 1] == _CR and (i == size or buf[i] == _LF):
                    b -= 1
            if f < width:
                role = roles[f]
                if role >= 0:
                    value = number(buf, a, b, point, high, low)
                    numbers[row, role] = value
                    if value != value:
                        odd[n_odd, 0] = row
                        odd[n_odd, 1] = role
                        odd[n_odd, 2] = a
                        odd[n_odd, 3] = b
                        n_odd += 1
                elif role < SKIP:
                    spans[row, -2 - role, 0] = a
                    spans[row, -2 - role, 1] = b
            f += 1
            if i >= size:
                whole = final
                stop = i
                break
            if buf[i] == _LF:
                whole = True
                stop = i
                break
            i += 1
        if not whole:
            n_odd = first_odd
            break
        if stop < size:
            after = stop + 1
            inner += 1
        else:
            after = stop
        if stop > at and buf[stop - 1] == _CR:
            stop -= 1
        if f != width or broken:
            n_odd = first_odd
        bounds[row, 0] = at
        bounds[row, 1] = stop
        bounds[row, 2] = after
        bounds[row, 3] = breaks
        breaks += inner
        bounds[row, 4] = breaks
        fields[row] = -1 if broken else f
        row += 1
        at = after
    return row, n_odd, at, breaks
