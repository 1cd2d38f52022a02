"""Rows of a JSON body, decoded in pieces so that other requests are answered meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns
from scstream.service.refused import Refused, check_names, check_size
from scstream.service.settings import Settings

_PIECE = 2**18  # characters that are decoded at once, and those of the longest row
_LOT_VALUES = 2**15  # that become arrays at once
_LOT_ROWS = 500  # fewer than let Python's garbage collector look through the whole process
_MOST_FIELDS = 20  # beside the rows
_NUMBERS = {int, float, bool, type(None)}
_BLANK = re.compile(r"[ \t\n\r]*")
_ROWS = "Each row must be a list of values, or each an object of names and values."
_KINDS = "Values must be numbers, words or null."


def read_json(
    body: bytes, settings: Settings, known: Sequence[str] | None
) -> tuple[Any, dict[str, Any]]:
    """Return the rows of a body, an array or columns with names, and what else it says.

    Parameters
    ----------
    body : bytes
    settings : Settings
    known : sequence of str or None
        The columns that a model knows: values with other names are left out.
    """
    try:
        text = _Text(body.decode("utf-8-sig"))
        rows: Any = None
        more: dict[str, Any] = {}
        if text.next == "[":
            rows = _rows(text, settings, known)
        elif text.next == "{":
            for name in _fields(text):
                if name == "rows" and text.next == "[":
                    rows = _rows(text, settings, known)
                else:
                    more[name] = text.value()
        else:
            text.value()
        if text.next:
            raise ValueError("more than one value")
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON, or a row of it is too long.") from None
    if rows is None:
        raise Refused(422, 'Send {"rows": [[...], ...]}, or a list of rows.')
    return rows, more


class _Text:
    """A text of JSON, of which a piece at a time is decoded."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._at = 0
        self._piece = text[:_PIECE]
        self._decode = json.JSONDecoder(object_pairs_hook=_object).raw_decode

    @property
    def next(self) -> str:
        """The next character that is not blank; nothing at the end."""
        mark = self._piece[self._at : self._at + 1]
        if mark and mark not in " \t\n\r":
            return mark
        self._at = _BLANK.match(self._piece, self._at).end()  # type: ignore[union-attr]
        while self._at == len(self._piece) and self._piece:
            self._move()
            self._at = _BLANK.match(self._piece).end()  # type: ignore[union-attr]
        return self._piece[self._at : self._at + 1]

    def take(self, marks: str) -> str:
        """Pass over the next character, which must be one of some."""
        mark = self.next
        if not mark or mark not in marks:
            raise ValueError(f"there is no {marks}")
        self._at += 1
        return mark

    def value(self) -> Any:
        """Return the next value, which may be of any kind."""
        _ = self.next
        self._move()
        return self.list_or_object()

    def list_or_object(self) -> Any:
        """Return the next value: one that shows if its end is missing."""
        try:
            found, self._at = self._decode(self._piece, self._at)
        except ValueError:
            if self._at == 0:
                raise
            self._move()
            found, self._at = self._decode(self._piece, 0)
        return found

    def _move(self) -> None:
        """Begin the piece where reading stands."""
        self._start += self._at
        self._piece, self._at = self._text[self._start : self._start + _PIECE], 0


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused(422, "An object has two values of the same name.")
    return found


def _fields(text: _Text) -> Iterator[str]:
    """Return the names of an object's fields; each value is to be read before the next one."""
    seen: set[str] = set()
    text.take("{")
    mark = "," if text.next != "}" else text.take("}")
    while mark == ",":
        if text.next != '"':
            raise ValueError("a name is missing")
        name = text.value()
        text.take(":")
        if name in seen or len(seen) >= _MOST_FIELDS:
            raise Refused(422, "The object has too many fields, or two of the same name.")
        seen.add(name)
        yield name
        mark = text.take(",}")


def _rows(text: _Text, settings: Settings, known: Sequence[str] | None) -> Any:
    """Return a list of rows as an array, or as columns if they have names."""
    table: _Lists | _Objects | None = None
    n = 0
    for lot in _lots(text):
        n += len(lot)
        if table is None:
            table = _Lists(settings) if isinstance(lot[0], list) else _Objects(settings, known)
        if not set(map(type, lot)) <= {table.kind}:
            raise Refused(422, _ROWS)
        check_size(n, 0, settings)
        table.add(lot, n)
    return np.empty((0, 0)) if table is None else table.whole(n)


def _lots(text: _Text) -> Iterator[list[Any]]:
    text.take("[")
    lot: list[Any] = []
    size = 0
    mark = "," if text.next != "]" else text.take("]")
    while mark == ",":
        if text.next in ("", "]"):
            raise ValueError("a row is missing")
        if text.next not in "[{":
            raise Refused(422, _ROWS)
        row = text.list_or_object()
        lot.append(row)
        size += len(row)
        mark = text.take(",]")
        if size > _LOT_VALUES or len(lot) == _LOT_ROWS or mark == "]":
            yield lot
            lot, size = [], 0


class _Lists:
    """Rows of values without names."""

    kind = list

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._width: int | None = None
        self._parts: list[NDArray[Any]] = []

    def add(self, rows: list[list[Any]], n: int) -> None:
        """Add a lot of rows, with which there are n."""
        widths = set(map(len, rows)) | {len(rows[0]) if self._width is None else self._width}
        self._width = widths.pop()
        if widths:
            raise Refused(422, "All rows must have the same number of values.")
        check_size(n, self._width, self._settings)
        if set(map(type, chain.from_iterable(rows))) <= _NUMBERS:
            self._parts.append(_numbers(rows))
            return
        part = np.empty((len(rows), self._width), dtype=object)
        for j, values in enumerate(zip(*rows, strict=True)):
            part[:, j] = _column(values, self._settings)
        self._parts.append(part)

    def whole(self, n: int) -> NDArray[Any]:
        """Return the rows: numbers, or objects where some are words."""
        return np.concatenate(self._parts)


class _Objects:
    """Rows that name their values; what a row does not name is missing."""

    kind = dict

    def __init__(self, settings: Settings, known: Sequence[str] | None) -> None:
        self._settings = settings
        self._known = None if known is None else frozenset(known)
        self._parts: dict[str, list[tuple[int, NDArray[Any]]]] = {}

    def add(self, rows: list[dict[str, Any]], n: int) -> None:
        """Add a lot of rows, with which there are n."""
        names = dict.fromkeys(
            name for row in rows for name in row if self._known is None or name in self._known
        )
        check_names(list(names))
        for name in names:
            self._parts.setdefault(name, [])
        check_size(n, len(self._parts), self._settings)
        start = n - len(rows)
        for name in names:
            column = _column([row.get(name) for row in rows], self._settings)
            self._parts[name].append((start, column))

    def whole(self, n: int) -> Columns:
        """Return the columns."""
        columns = [self._joined(parts, n) for parts in self._parts.values()]
        names = list(self._parts)
        if columns and all(column.dtype.kind == "f" for column in columns):
            table = np.column_stack(columns)
            return Columns(list(table.T), names, n, table)
        return Columns(columns, names, n)

    @staticmethod
    def _joined(parts: list[tuple[int, NDArray[Any]]], n: int) -> NDArray[Any]:
        words = any(column.dtype.kind == "O" for _, column in parts)
        out = np.full(n, None if words else np.nan, dtype=object if words else float)
        for start, column in parts:
            out[start : start + len(column)] = column
        return out


def _column(values: Sequence[Any], settings: Settings) -> NDArray[Any]:
    """Return values as numbers with NaN for null, or as objects if some are words."""
    kinds = set(map(type, values))
    if kinds <= _NUMBERS:
        return _numbers(values)
    if list in kinds or dict in kinds:
        raise Refused(422, _KINDS)
    words = [value for value in values if type(value) is str]
    if max(map(len, words)) > settings.longest_word:
        raise Refused(422, f"A word is longer than {settings.longest_word:,} characters.")
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise Refused(422, "A word holds half a character, which Unicode does not allow.") from None
    return np.array(values, dtype=object)


def _numbers(values: Sequence[Any]) -> NDArray[Any]:
    """Return numbers, truth values and null as finite numbers and NaN."""
    try:
        numbers = np.array(values, dtype=float)
    except OverflowError:  # a whole number
        numbers = np.full(1, np.inf)
    if np.isinf(numbers).any():
        raise Refused(422, "A number is infinite, or too large for a double.")
    return numbers
