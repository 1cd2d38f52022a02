"""Rows as they came, next to the numbers: for sinks that repeat them, and for rejected rows."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_DEPTH = 8  # levels that are flattened; what is below stays as it is
_FIELDS = 2000  # fields of a flat row; objects that are met later stay as they are


class Records(ABC):
    """Some rows as they came, in order."""

    names: Sequence[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: slice | NDArray[Any]) -> Records:
        """Return some of the rows."""

    @abstractmethod
    def text(self, i: int) -> str:
        """Return a row as text."""

    @abstractmethod
    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts of plain values by column name."""


@dataclass(frozen=True)
class TextRecords(Records):
    """Rows of a text file: the bytes they came in, and where each one is.

    Attributes
    ----------
    kind : {"csv", "jsonl"}
    names : sequence of str
    data : bytes
    bounds : int64 (n, 2)
        Where each record begins and ends, without its line end.
    separator : str
        Between the fields of CSV.
    """

    kind: str
    names: Sequence[str]
    data: bytes
    bounds: Ints
    separator: str = ","

    def __len__(self) -> int:
        return len(self.bounds)

    def take(self, rows: slice | NDArray[Any]) -> TextRecords:
        """Return some of the rows."""
        bounds = self.bounds[rows]
        return TextRecords(self.kind, self.names, self.data, bounds, self.separator)

    def text(self, i: int) -> str:
        """Return a row as it came."""
        a, b = self.bounds[i]
        return self.data[a:b].decode("utf-8", "replace")

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts; numbers of CSV as numbers."""
        if self.kind == "jsonl":
            return [_as_dict(json.loads(self.text(i)), self.names) for i in range(len(self))]
        fields = (split(self.text(i), self.separator) for i in range(len(self)))
        return [dict(zip(self.names, map(_plain, row), strict=False)) for row in fields]


@dataclass(frozen=True)
class ColumnRecords(Records):
    """Rows of a binary table, by columns."""

    names: Sequence[str]
    columns: Sequence[NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def take(self, rows: slice | NDArray[Any]) -> ColumnRecords:
        """Return some of the rows."""
        return ColumnRecords(self.names, [column[rows] for column in self.columns])

    def text(self, i: int) -> str:
        """Return a row as JSON."""
        return json.dumps(self.take(slice(i, i + 1)).dicts()[0], default=str)

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts."""
        columns = [column.tolist() for column in self.columns]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]


def join(parts: Sequence[Records]) -> Records:
    """Return the rows of several lots as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, ColumnRecords):
        lots = [part.columns for part in parts if isinstance(part, ColumnRecords)]
        return ColumnRecords(first.names, [np.concatenate(c) for c in zip(*lots, strict=True)])
    assert isinstance(first, TextRecords)
    data, bounds, length = [], [], 0
    for part in parts:
        assert isinstance(part, TextRecords)
        if len(part) == 0:
            continue
        a, b = int(part.bounds[0, 0]), int(part.bounds[-1, 1])
        data.append(part.data[a:b])
        bounds.append(part.bounds + (length - a))
        length += b - a
    together = np.concatenate(bounds) if bounds else first.bounds[:0]
    return TextRecords(first.kind, first.names, b"".join(data), together, first.separator)


def split(record: str, separator: str) -> list[str]:
    """Return the fields of one record of CSV, of any length, line ends within quotes included."""
    if '"' not in record:
        return record.split(separator) if record else []
    fields: list[str] = []
    i = 0
    while True:
        field = ""
        if record.startswith('"', i):
            parts, i = [], i + 1
            while True:
                end = record.find('"', i)
                end = len(record) if end < 0 else end
                parts.append(record[i:end])
                i = end + 1
                if not record.startswith('"', i):
                    break
                i += 1
            field = '"'.join(parts)
        end = record.find(separator, i)
        if end < 0:
            return [*fields, field + record[i:]]
        fields.append(field + record[i:end])
        i = end + 1


def _as_dict(value: Any, names: Sequence[str]) -> dict[str, Any]:
    return flat(value) if isinstance(value, dict) else dict(zip(names, value, strict=False))


def _plain(field: str) -> Any:
    """Return a field as a number if it is one, None if it is empty, else as it is."""
    if not field:
        return None
    try:
        value = float(field)
    except ValueError:
        return field
    if not np.isfinite(value):
        return field
    return int(field) if field.lstrip("+-").isdecimal() else value


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose nested objects are fields of their own, named by their path.

    Lists stay as they are, and so do objects too deep within others.

    Examples
    --------
    >>> flat({"user": {"age": 3, "home": {"zip": "1"}}, "tags": ["a"]})
    {'user.age': 3, 'user.home.zip': '1', 'tags': ['a']}
    """
    for _ in range(_DEPTH):
        if dict not in map(type, row.values()):
            break
        out: dict[str, Any] = {}
        room = _FIELDS - len(row)
        for name, value in row.items():
            if type(value) is dict and 0 < len(value) <= room:
                room -= len(value)
                for inner, held in value.items():
                    out.setdefault(f"{name}.{inner}", held)
            else:
                out.setdefault(name, value)
        row = out
    return row


def flat_names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the fields of flat rows, in the order in which they come first.

    A field that is null or empty where others have an object is none.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    above = {name.rpartition(".")[0] for name in names} & names.keys()
    held = {name for name in above if any(row.get(name) not in (None, {}) for row in rows)}
    return [name for name in names if name not in above or name in held]
