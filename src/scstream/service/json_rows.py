"""Rows of a JSON body, decoded in pieces so that other requests are answered meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
) -> tuple[Columns | None, dict[str, Any]]:
    """Return the rows of a body, and what else it says.

    Parameters
    ----------
    body : bytes
    settings : Settings
    known : sequence of str or None
        The columns that a model knows: values with other names are left out.
    """
    try:
        text = _Text(body.decode("utf-8-sig"))
        table = _Table(settings, known)
        more: dict[str, Any] = {}
        if text.next == "[":
            table.read(text)
        elif text.next == "{":
            for name in _fields(text):
                if name == "rows" and text.next == "[":
                    table.read(text)
                else:
                    more[name] = text.value()
        else:
            text.value()
        if text.next:
            raise ValueError("more than one value")
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON, or a row of it is too long.") from None
    return table.columns(), more


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
        while not mark or mark in " \t\n\r":
            self._at = _BLANK.match(self._piece, self._at).end()  # type: ignore[union-attr]
            mark = self._piece[self._at : self._at + 1]
            if not mark:
                self._move()
                if not self._piece:
                    return ""
        return mark

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
        """Return the value that begins here: one that shows if its end is missing."""
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


class _Table:
    """Rows as columns, by their names or by their numbers; what a row does not name is missing."""

    def __init__(self, settings: Settings, known: Sequence[str] | None) -> None:
        self._settings = settings
        self._known = None if known is None else frozenset(known)
        self._kind: type | None = None
        self._n = 0
        self._parts: dict[Any, list[tuple[int, NDArray[Any]]]] = {}

    def read(self, text: _Text) -> None:
        """Read a list of rows, a lot at a time."""
        text.take("[")
        lot: list[Any] = []
        size = 0
        mark = "," if text.next != "]" else text.take("]")
        while mark == ",":
            first = text.next
            if first in ("", "]"):
                raise ValueError("a row is missing")
            if first not in "[{":
                raise Refused(422, _ROWS)
            row = text.list_or_object()
            lot.append(row)
            size += len(row)
            mark = text.take(",]")
            if size > _LOT_VALUES or len(lot) == _LOT_ROWS or mark == "]":
                self._add(lot)
                lot, size = [], 0
        self._kind = self._kind or list

    def _add(self, rows: list[Any]) -> None:
        kinds = {*map(type, rows), self._kind or type(rows[0])}
        self._kind = kinds.pop()
        if kinds:
            raise Refused(422, _ROWS)
        found = self._by_number(rows) if self._kind is list else self._by_name(rows)
        for name, values in found.items():
            column = values if isinstance(values, np.ndarray) else _column(values, self._settings)
            self._parts[name].append((self._n, column))
        self._n += len(rows)

    def _by_number(self, rows: list[list[Any]]) -> Mapping[int, Any]:
        widths = {*map(len, rows), len(self._parts) if self._n else len(rows[0])}
        if len(widths) > 1:
            raise Refused(422, "All rows must have the same number of values.")
        self._expect(range(widths.pop()), len(rows))
        plain = set(map(type, chain.from_iterable(rows))) <= _NUMBERS
        return dict(enumerate(_numbers(rows).T if plain else zip(*rows, strict=True)))

    def _by_name(self, rows: list[dict[str, Any]]) -> Mapping[str, Any]:
        known = self._known
        names = dict.fromkeys(
            name for row in rows for name in row if known is None or name in known
        )
        check_names(list(names))
        self._expect(names, len(rows))
        return {name: [row.get(name) for row in rows] for name in names}

    def _expect(self, names: Sequence[int] | Mapping[str, Any], n: int) -> None:
        """Make place for values of some names in n more rows, unless they are too many."""
        for name in names:
            self._parts.setdefault(name, [])
        check_size(self._n + n, len(self._parts), self._settings)

    def columns(self) -> Columns | None:
        """Return all rows; None if none were read."""
        if self._kind is None:
            return None
        columns = [self._joined(parts) for parts in self._parts.values()]
        names = list(self._parts)
        if columns and all(column.dtype.kind == "f" for column in columns):
            table = np.column_stack(columns)
            return Columns(list(table.T), names, self._n, table)
        return Columns(columns, names, self._n)

    def _joined(self, parts: list[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
        if len(parts) == 1 and len(parts[0][1]) == self._n:
            return parts[0][1]
        words = any(column.dtype.kind == "O" for _, column in parts)
        out = np.full(self._n, None if words else np.nan, dtype=object if words else float)
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
