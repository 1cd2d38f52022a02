"""Separated text: its records and fields, and numbers written as text."""

from __future__ import annotations

import re
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scstream.core import Form, Found, Ints, Text

_NUMBER = re.compile(rb"[ \t]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?[ \t]*")
_SKIP = -1


def scan(text: Text, final: bool, form: Form, found: Found) -> tuple[int, int, int, int]:
    """Read the records of a block of separated text."""
    block, separator, roles = text.tobytes(), bytes([form.separator]), form.roles.tolist()
    at = rows = n_odd = breaks = 0
    while at < len(block) and rows < len(found.fields):
        if block.startswith(b"\n", at):  # an empty line
            at, breaks = at + 1, breaks + 1
            continue
        if block[at : at + 2] in (b"\r\n", b"\r"):
            if at + 1 == len(block) and not final:
                break
            breaks += at + 1 < len(block)
            at = min(at + 2, len(block))
            continue
        fields, stop, broken = _record(block, at, separator)
        if stop < 0 or (stop == len(block) and not final):
            break
        odd = _read(block, fields, roles, form.point, rows, found)
        count = -1 if broken else len(fields)
        if count == len(roles):
            found.odd[n_odd : n_odd + len(odd)] = np.array(odd, np.int64).reshape(-1, 4)
            n_odd += len(odd)
        after = min(stop + 1, len(block))
        ends = breaks + block.count(b"\n", at, after)
        end = stop - 1 if block[at:stop].endswith(b"\r") else stop
        found.bounds[rows] = at, end, after, breaks, ends
        found.fields[rows] = count
        at, rows, breaks = after, rows + 1, ends
    return rows, n_odd, at, breaks


def _record(block: bytes, i: int, separator: bytes) -> tuple[list[tuple[int, int]], int, bool]:
    """Return the fields of a record, where it ends (-1: not in this block), and if it is broken."""
    fields: list[tuple[int, int]] = []
    broken = False
    while True:
        if block.startswith(b'"', i):
            a = i + 1
            b = block.find(b'"', a)
            while b >= 0 and block.startswith(b'"', b + 1):
                b = block.find(b'"', b + 2)
            if b < 0:
                return fields, -1, broken
            i = b + 1
            if block[i : i + 2] in (b"\r\n", b"\r"):
                i += 1
            if not (i == len(block) or block[i : i + 1] in (separator, b"\n")):
                broken, i = True, _first(block, i, b"\n")
        else:
            a, line = i, _first(block, i, b"\n")
            i = min(_first(block, i, separator), line)
            b = i - 1 if i == line and block[a:i].endswith(b"\r") else i
        fields.append((a, b))
        if i == len(block) or block.startswith(b"\n", i):
            return fields, i, broken
        i += 1


def _first(block: bytes, start: int, what: bytes) -> int:
    """Return where something first stands, the end if it does not."""
    place = block.find(what, start)
    return len(block) if place < 0 else place


def _read(
    block: bytes, fields: list[tuple[int, int]], roles: list[int], point: int, row: int,
    found: Found,
) -> list[tuple[int, int, int, int]]:  # fmt: skip
    """Write down the numbers and texts of a record; return the fields that are no plain numbers."""
    odd = []
    for (a, b), role in zip(fields, roles, strict=False):
        if role >= 0:
            value = _number(block[a:b], point)
            found.numbers[row, role] = value
            if value != value:
                odd.append((row, role, a, b))
        elif role < _SKIP:
            found.spans[row, -2 - role] = a, b
    return odd


def _number(field: bytes, point: int) -> float:
    """Return the number in a field, NaN if it is written in another way."""
    if point != ord("."):
        field = field.replace(b".", b"x").replace(bytes([point]), b".")
    if not _NUMBER.fullmatch(field):
        return float("nan")
    value = float(field)
    return value if isfinite(value) else float("nan")


def lay_out(
    values: Ints, decimals: Ints, glue: Text, glue_at: Ints, data: Text, bounds: Ints, out: Text
) -> int:
    """Write rows of numbers as text, and return how long it is."""
    at, source = glue_at.tolist(), data.tobytes()
    joints = [glue[a:b].tobytes() for a, b in pairwise(at)]
    columns = [
        [joint + _written(v, places) for v in column]
        for joint, column, places in zip(joints, values.T.tolist(), decimals.tolist(), strict=False)
    ]
    starts = [source[a:b] for a, b in bounds.tolist()]
    text = b"".join(
        start + b"".join(cells) + joints[-1]
        for start, cells in zip(starts, zip(*columns, strict=True), strict=True)
    )
    out[: len(text)] = np.frombuffer(text, np.uint8)
    return len(text)


def _written(value: int, places: int) -> bytes:
    """Return a whole number, in units of its last decimal, as text."""
    sign, digits = ("-" if value < 0 else ""), str(abs(value)).rjust(places + 1, "0")
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{sign}{whole}.{decimals}".encode() if places else f"{sign}{whole}".encode()
