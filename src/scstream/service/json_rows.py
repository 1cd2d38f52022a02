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
    more: dict[str, Any] = {}
    table: _Table | None = None
    try:
        text = _Text(body.decode("utf-8-sig"))
        if text.next == "[":
            table = _Table(text, settings, known)
        elif text.next == "{":
            for _ in _items(text, "{}"):
                if text.next != '"':
                    raise ValueError("a name is missing")
                name = text.value()
                text.take(":")
                if name in more or len(more) >= _MOST_FIELDS:
                    raise Refused(422, "The object has too many fields, or two of the same name.")
                more[name] = None
                if name == "rows" and text.next == "[":
                    table = _Table(text, settings, known)
                else:
                    more[name] = text.value()
        else:
            text.value()
        if text.next:
            raise ValueError("more than one value")
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON, or a row of it is too long.") from None
    if table is None:
        return None, more
    more.pop("rows", None)
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
        while self._piece:
            self._at = _BLANK.match(self._piece, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._piece):
                return self._piece[self._at]
            self._move()
        return ""

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


def _items(text: _Text, ends: str) -> Iterator[None]:
    """Stop at each item of a list or an object, which is to be read before the next one."""
    text.take(ends[0])
    mark = "," if text.next != ends[1] else text.take(ends[1])
    while mark == ",":
        yield
        mark = text.take("," + ends[1])


class _Table:
    """Rows as columns, by their names or by their numbers; what a row does not name is missing."""

    def __init__(self, text: _Text, settings: Settings, known: Sequence[str] | None) -> None:
        self._settings = settings
        self._known = None if known is None else frozenset(known)
        self._names: dict[Any, None] = {}
        self._lots: list[tuple[int, dict[Any, NDArray[Any]]]] = []  # number of rows, and columns
        lot: list[Any] = []
        size = self._n = 0
        for _ in _items(text, "[]"):
            if text.next not in ("[", "{"):
                raise Refused(422, _ROWS) if text.next not in ("", "]") else ValueError
            lot.append(text.list_or_object())
            size += len(lot[-1])
            if size > _LOT_VALUES or len(lot) == _LOT_ROWS:
                self._add(lot)
                lot, size = [], 0
        if lot:
            self._add(lot)

    def _add(self, rows: list[Any]) -> None:
        if len({*map(type, rows)}) > 1:
            raise Refused(422, _ROWS)
        found = self._by_number(rows) if isinstance(rows[0], list) else self._by_name(rows)
        if self._n and len({*map(type, (*found, *self._names))}) > 1:
            raise Refused(422, _ROWS)
        self._names |= dict.fromkeys(found)
        self._n += len(rows)
        check_size(self._n, len(self._names), self._settings)
        self._lots.append((len(rows), {name: self._column(v) for name, v in found.items()}))

    def _by_number(self, rows: list[list[Any]]) -> Mapping[int, Any]:
        widths = {*map(len, rows), len(self._names) if self._n else len(rows[0])}
        if len(widths) > 1:
            raise Refused(422, "All rows must have the same number of values.")
        check_size(self._n + len(rows), widths.pop(), self._settings)
        plain = set(map(type, chain.from_iterable(rows))) <= _NUMBERS
        return dict(enumerate(_numbers(rows).T if plain else zip(*rows, strict=True)))

    def _by_name(self, rows: list[dict[str, Any]]) -> Mapping[str, Any]:
        known = self._known
        names = dict.fromkeys(
            name for row in rows for name in row if known is None or name in known
        )
        check_names(list(names))
        check_size(self._n + len(rows), len(names), self._settings)
        return {name: [row.get(name) for row in rows] for name in names}

    def _column(self, values: Any) -> NDArray[Any]:
        """Return values as numbers with NaN for null, or as objects if some are words."""
        if isinstance(values, np.ndarray):
            return values
        kinds, most = set(map(type, values)), self._settings.longest_word
        if kinds <= _NUMBERS:
            return _numbers(values)
        if list in kinds or dict in kinds:
            raise Refused(422, _KINDS)
        words = [value for value in values if type(value) is str]
        if max(map(len, words)) > most:
            raise Refused(422, f"A word is longer than {most:,} characters.")
        try:
            "".join(words).encode()
        except UnicodeEncodeError:
            reason = "A word holds half a character, which Unicode does not allow."
            raise Refused(422, reason) from None
        return np.array(values, dtype=object)

    def columns(self) -> Columns:
        """Return all rows."""
        columns = []
        for name in self._names:
            parts = [lot.get(name, np.full(n, np.nan)) for n, lot in self._lots]
            columns.append(np.concatenate(parts))
        if columns and all(column.dtype.kind == "f" for column in columns):
            table = np.column_stack(columns)
            return Columns(list(table.T), list(self._names), self._n, table)
        return Columns(columns, list(self._names), self._n)


def _numbers(values: Sequence[Any]) -> NDArray[Any]:
    """Return numbers, truth values and null as finite numbers and NaN."""
    try:
        numbers = np.array(values, dtype=float)
    except OverflowError:  # a whole number
        numbers = np.full(1, np.inf)
    if np.isinf(numbers).any():
        raise Refused(422, "A number is infinite, or too large for a double.")
    return numbers
