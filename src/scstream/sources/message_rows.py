"""JSON messages as rows of a table: fields, their kinds, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from scstream.families.columns import Column
from scstream.sources.base import MalformedRow
from scstream.sources.chunks import Table
from scstream.sources.nested import flat
from scstream.sources.places import unsound

Name = str | int  # a field of an object, or a place in an array
Kind = Literal["number", "truth", "text"]

_NAMES = {"number": "a number", "truth": "true or false", "text": "text"}
_KINDS: dict[type, Kind] = {int: "number", float: "number", bool: "truth", str: "text"}


class MessageTable:
    """The columns of a stream of messages: what they are called and what kind they hold.

    Parameters
    ----------
    columns : sequence or dict, optional
        Names, or names and kinds. What is not given is learned from the first messages.
    numeric : bool, default=False
        Whether all columns hold numbers; true and false are 1 and 0 then.
    complete : bool, default=False
        Whether every column must have a value in every row.

    Attributes
    ----------
    complete : bool or list of bool
        Which columns must have a value in every row.
    """

    def __init__(
        self,
        columns: Sequence[Name] | Mapping[Name, Kind | None] | None = None,
        *,
        numeric: bool = False,
        complete: bool = False,
    ) -> None:
        self._numeric = numeric
        self.complete: bool | list[bool] = complete
        self._chosen = columns is not None  # then other fields of a message do not matter
        self._names: list[Name] | None = None
        self._places: list[int] = []  # the names as places in an array
        self._kinds: list[Kind | None] = []
        if columns is None:
            return
        if isinstance(columns, str) or len(columns) != len(set(columns)) or not columns:
            raise ValueError(f"columns is {columns!r}; it must be a list of different names.")
        kinds = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns)
        for name, kind in kinds.items():
            if kind not in ("number", "truth", "text", None):
                raise ValueError(
                    f"Column {name!r} has kind {kind!r}; it must be 'number', 'truth' or 'text'."
                )
        self._names = list(kinds)
        self._kinds = [kind or ("number" if numeric else None) for kind in kinds.values()]

    def read(self, value: bytes | None) -> tuple[dict[str, Any], list[Any]]:
        """Return a message's record and its row, or raise `MalformedRow`."""
        record = _parse(value)
        fields = flat(record) if isinstance(record, dict) else record
        names, kinds = self._names, self._kinds
        if names is None:
            names = list(fields) if isinstance(fields, dict) else list(range(len(fields)))
            kinds = ["number" if self._numeric else None] * len(names)
            if not names:
                raise MalformedRow("it holds no field.")
        row = self._pick(fields, names)
        if self._numeric:
            row = [float(entry) if type(entry) is bool else entry for entry in row]
        if not (all(kind == "number" for kind in kinds) and _are_numbers(row)):
            kinds = [_check(*entry) for entry in zip(names, row, kinds, strict=True)]
            self._check_complete(names, row)
        self._names, self._kinds = names, kinds
        if isinstance(record, list):
            record = {str(place): entry for place, entry in enumerate(record)}
        return record, row

    def _check_complete(self, names: list[Name], row: list[Any]) -> None:
        needed = self.complete
        if isinstance(needed, bool):
            needed = [needed] * len(row)
        for name, entry, must in zip(names, row, needed, strict=True):
            if must and entry is None:
                raise MalformedRow(f"field {name!r} is null, and its family needs every value.")

    def _pick(self, record: Any, names: list[Name]) -> list[Any]:
        if isinstance(record, dict):
            missing = [name for name in names if name not in record]
            if missing:
                raise MalformedRow(f"it has no field {missing[0]!r}.")
            if not self._chosen and len(record) > len(names):
                extra = next(name for name in record if name not in names)
                raise MalformedRow(f"it has a field {extra!r} that the first message did not have.")
            return [record[name] for name in names]
        places = self._numbered(names)
        need = max(places) + 1
        if len(record) < need or (not self._chosen and len(record) > need):
            raise MalformedRow(f"it has {len(record)} entries, not {need}.")
        return [record[place] for place in places]

    def _numbered(self, names: list[Name]) -> list[int]:
        """Return the places in an array that are meant."""
        if self._places:
            return self._places
        if not all(str(name).isdecimal() for name in names):  # from a command line it is text
            raise MalformedRow(f"it is an array; the stream has the fields {names}.")
        places = [int(name) for name in names]
        if names is self._names:  # else they are those of a first message that may be malformed
            self._places = places
        return places

    def columns(self, rows: list[list[Any]]) -> Any:
        """Return rows that were read as numbers (n, d), or as columns where some are none.

        From now on a column that held nothing but null so far counts as one of numbers.
        """
        if not rows:
            return np.empty((0, len(self._kinds)))
        assert self._names is not None
        self._kinds = [kind or "number" for kind in self._kinds]
        if all(kind == "number" for kind in self._kinds):
            return np.array(rows, dtype=np.float64)  # None becomes NaN
        values = [
            _column(entries, kind)
            for entries, kind in zip(zip(*rows, strict=True), self._kinds, strict=True)
        ]
        return Table(values, list(self._names), len(rows))

    def to_json(self) -> list[list[Any]]:
        """Return names and kinds for a place; in a JSON object numbers would become text."""
        return [list(pair) for pair in zip(self._names or [], self._kinds, strict=True)]

    def resumed(self, saved: list[list[Any]]) -> MessageTable:
        """Return a table that continues with the names and kinds of a place."""
        _check_saved(saved)
        if not saved:  # nothing had been read yet
            return self
        pairs = zip(self._names or [], self._kinds, strict=True)
        if self._chosen and not (
            self._names == [name for name, _ in saved]
            and all(kind in (None, was) for (_, kind), (_, was) in zip(pairs, saved, strict=True))
        ):
            raise ValueError(
                f"The place was left with the columns {saved}, but columns is {self.to_json()}."
            )
        table = MessageTable(dict(saved), numeric=self._numeric)
        table._chosen, table.complete = self._chosen, self.complete
        return table


def _check_saved(saved: Any) -> None:
    """Raise `ValueError` unless these are names and kinds of columns."""
    if not isinstance(saved, list) or not all(
        isinstance(pair, list)
        and len(pair) == 2
        and type(pair[0]) in (str, int)
        and pair[1] in ("number", "truth", "text", None)
        for pair in saved
    ):
        raise unsound("columns", saved)


def _parse(value: bytes | None) -> Any:
    """Return the object or array in a message."""
    if value is None:
        raise MalformedRow("it has no value.")
    try:
        record = _DECODER.decode(value.decode())
    except (ValueError, RecursionError) as error:
        raise MalformedRow(f"it is not JSON ({error}).") from None
    if not isinstance(record, dict | list):
        raise MalformedRow("it is neither a JSON object nor an array.")
    return record


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number; null stands for a missing value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _are_numbers(row: list[Any]) -> bool:
    """Whether a row certainly holds finite numbers alone: one pass for what is usual."""
    if not set(map(type, row)) <= {int, float}:
        return False
    try:
        return math.isfinite(sum(row))
    except OverflowError:
        return False


def _check(name: Name, entry: Any, kind: Kind | None) -> Kind | None:
    """Return the kind of a column that holds this entry, or say why it cannot."""
    if entry is None:
        return kind
    found = _KINDS.get(type(entry))
    if found is None:
        raise MalformedRow(
            f"field {name!r} holds {_short(entry)}, not a number, text, true, false or null."
        )
    if kind is not None and found != kind:
        raise MalformedRow(f"field {name!r} holds {_short(entry)}, which is not {_NAMES[kind]}.")
    if found == "number" and not _is_finite(entry):
        raise MalformedRow(f"field {name!r} holds {_short(entry)}, which is too large.")
    return found


def _is_finite(entry: float) -> bool:
    try:
        return math.isfinite(entry)
    except OverflowError:  # a whole number beyond what a float can hold
        return False


def _short(entry: Any) -> str:
    text = json.dumps(entry)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _column(entries: Sequence[Any], kind: Kind | None) -> Column:
    if kind == "number":
        return np.array(entries, dtype=np.float64)
    if kind == "truth" and None not in entries:
        return np.array(entries, dtype=bool)
    return np.array(entries, dtype=object)
