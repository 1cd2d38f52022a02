"""Compiled reading of separated text: records and fields in one pass over the bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import exact
from scstream.kernels.text_numbers import from_digits, number, short_number

SKIP = -1  # role of a field that is not looked at; text fields have roles of -2 and below
_LF, _CR, _QUOTE = 10, 13, 34


class Form(NamedTuple):
    """How fields are written, and what is read of each."""

    separator: int  # the byte between fields
    point: int  # the byte before decimals
    roles: NDArray[np.int64]  # (f,): a column of `numbers`, `SKIP`, or ``-2 - t`` for text t
    high: NDArray[np.float64]  # see `scstream.kernels.text_numbers.powers`
    low: NDArray[np.float64]


class Found(NamedTuple):
    """Where `scan` writes what it finds, with room for so many records."""

    numbers: NDArray[np.float64]  # (room, d)
    spans: NDArray[np.int64]  # (room, t, 2): where texts begin and end, quotes aside
    # (room, 5): where each record begins and ends, where the next one begins, and how many line
    # ends came before its beginning and before that of the next one
    bounds: NDArray[np.int64]
    fields: NDArray[np.int64]  # (room,): how many; -1 if something follows a closing quote
    odd: NDArray[np.int64]  # (room d, 4): no plain numbers: record, column, beginning and end

    @classmethod
    def room(cls, records: int, numbers: int, texts: int) -> Found:
        """Return room for so many records with so many numbers and texts each."""
        return cls(
            np.empty((records, numbers)),
            np.empty((records, texts, 2), np.int64),
            np.empty((records, 5), np.int64),
            np.empty(records, np.int64),
            np.empty((records * numbers, 4), np.int64),
        )


@exact
def _quick(buf: Any, a: Any, separator: Any, point: Any, high: Any, low: Any) -> Any:
    """Return where a short plain number ends that fills a field, and the number; else NaN."""
    i, m, decimals = short_number(buf, a, point)
    value = np.nan
    if i > a and i < buf.shape[0] and (buf[i] == separator or buf[i] == _LF):
        value = from_digits(m, decimals, high, low)
        if buf[a] == 45:
            value = -value
    return i, value


@exact
def _closing(buf: Any, i: Any) -> Any:
    """Return where the closing quote is, and how many line ends come before it."""
    size = buf.shape[0]
    inner = 0
    while i < size:
        if buf[i] == _QUOTE:
            if i + 1 < size and buf[i + 1] == _QUOTE:
                i += 1
            else:
                break
        elif buf[i] == _LF:
            inner += 1
        i += 1
    return i, inner


@exact
def _behind_quote(buf: Any, i: Any, separator: Any) -> Any:
    """Return where a quoted field ends, and whether anything follows its closing quote."""
    size = buf.shape[0]
    if i < size and buf[i] == _CR and (i + 1 == size or buf[i + 1] == _LF):
        i += 1
    if i >= size or buf[i] == separator or buf[i] == _LF:
        return i, False
    while i < size and buf[i] != _LF:
        i += 1
    return i, True


@exact
def _note_number(
    buf: Any, a: Any, b: Any, role: Any, row: Any, form: Any, found: Any, n_odd: Any
) -> Any:
    """Write down the number of a field; return how many odd fields there are now."""
    value = number(buf, a, b, form.point, form.high, form.low)
    found.numbers[row, role] = value
    if value == value:
        return n_odd
    found.odd[n_odd, 0] = row
    found.odd[n_odd, 1] = role
    found.odd[n_odd, 2] = a
    found.odd[n_odd, 3] = b
    return n_odd + 1


@exact
def _record(buf: Any, i: Any, final: Any, form: Any, found: Any, row: Any, n_odd: Any) -> Any:
    """Read a record that begins at i.

    Returns
    -------
    stop, fields, inner, n_odd : int
        Where its line ends, -1 if the block ends before; its fields, -1 if something follows a
        closing quote; line ends inside its quotes; and all odd fields so far.
    """
    size = buf.shape[0]
    width = form.roles.shape[0]
    f = 0
    inner = 0
    broken = False
    while True:
        a = i
        if i < size and buf[i] == _QUOTE:
            a = i + 1
            b, lines = _closing(buf, a)
            inner += lines
            if b >= size:
                return -1, f, inner, n_odd
            i, more = _behind_quote(buf, b + 1, form.separator)
            broken |= more
        else:
            if f < width and form.roles[f] >= 0:
                i, value = _quick(buf, a, form.separator, form.point, form.high, form.low)
                if value == value:
                    found.numbers[row, form.roles[f]] = value
                    f += 1
                    if buf[i] == _LF:
                        break
                    i += 1
                    continue
                i = a
            while i < size and buf[i] != form.separator and buf[i] != _LF:
                i += 1
            b = i
            if b > a and buf[b - 1] == _CR and (i == size or buf[i] == _LF):
                b -= 1
        role = form.roles[f] if f < width else SKIP
        if role >= 0:
            n_odd = _note_number(buf, a, b, role, row, form, found, n_odd)
        elif role < SKIP:
            found.spans[row, -2 - role, 0] = a
            found.spans[row, -2 - role, 1] = b
        f += 1
        if i >= size or buf[i] == _LF:
            break
        i += 1
    if i >= size and not final:
        return -1, f, inner, n_odd
    return i, -1 if broken else f, inner, n_odd


@exact
def scan(buf: Any, final: Any, form: Any, found: Any) -> Any:
    """Read the records of a block.

    Parameters
    ----------
    buf : uint8 (size,)
    final : bool
        Whether nothing follows: the last record then needs no line end.
    form : Form
    found : Found, out

    Returns
    -------
    rows, n_odd, at, breaks : int
        Records and odd fields found, where the unread rest begins, and line ends before it.
    """
    size = buf.shape[0]
    row = 0
    n_odd = 0
    at = 0
    breaks = 0
    while at < size and row < found.fields.shape[0]:
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
        stop, fields, inner, odd = _record(buf, at, final, form, found, row, n_odd)
        if stop < 0:
            break
        if fields == form.roles.shape[0]:
            n_odd = odd
        after = stop
        if stop < size:
            after += 1
            inner += 1
        if stop > at and buf[stop - 1] == _CR:
            stop -= 1
        found.bounds[row, 0] = at
        found.bounds[row, 1] = stop
        found.bounds[row, 2] = after
        found.bounds[row, 3] = breaks
        breaks += inner
        found.bounds[row, 4] = breaks
        found.fields[row] = fields
        row += 1
        at = after
    return row, n_odd, at, breaks
