"""Rows of JSON, from lines of a file or messages of a broker: their columns and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.sources.chunks import Chunk, Floats, Ints
from scstream.sources.guess.amounts import is_number
from scstream.sources.guess.looks import Look
from scstream.sources.guess.values import ALSO_MISSING, MISSING, MOSTLY
from scstream.sources.options import SourceOptions
from scstream.sources.records import TextRecords, flat, flat_names
from scstream.sources.rows import RowSource, as_word
from scstream.support.advice import Advice, advised
from scstream.support.messages import warn

_MOST_FIELDS = 10_000  # that a look takes for columns
_PLAIN = {int, float}


class JsonRows(RowSource):
    """A source whose rows are objects or arrays of JSON."""

    def __init__(self, name: str, options: SourceOptions) -> None:
        super().__init__(name, options)
        self._missing = {*MISSING, *ALSO_MISSING, *map(str.lower, options.missing)}
        chosen = options.columns is not None or options.kinds is not None
        self._warned = chosen  # of fields that come later: who chooses columns needs no others

    def _look_at(self, rows: list[Any]) -> None:
        """Find out from the first rows what the columns are and what each one holds."""
        names = _names(rows)
        if len(names) > _MOST_FIELDS and not self._warned:
            what = f"more than {_MOST_FIELDS:,} different fields in its first {len(rows):,} rows"
            raise advised(
                ValueError(f"{self.name} has {what}. Choose some of them."), Advice("columns")
            )
        values = [[_get(row, name, j) for row in rows] for j, name in enumerate(names)]
        there = [self._as_numbers([v for v in col if _is_there(v)]) for col in values]
        look = Look(names, there, len(rows), len(rows), typed=True)
        self._look(look, named=isinstance(rows[0], dict))

    def _as_numbers(self, values: list[Any]) -> list[Any]:
        """Return the values of a column, with numbers in quotes as numbers.

        If all are whole numbers in quotes they stay words: so are codes written.
        """
        read = [self._quoted(v) if isinstance(v, str) else v for v in values]
        quoted = [r for v, r in zip(values, read, strict=True) if isinstance(v, str)]
        numbers = [r for r in quoted if isinstance(r, float)]
        texts = sum(isinstance(r, str) for r in quoted)
        codes = len(quoted) == len(values) and all(r.is_integer() for r in numbers)
        if codes or len(numbers) < MOSTLY * (len(numbers) + texts):
            return values
        return [r for r in read if r is not None]

    def _quoted(self, text: str) -> float | str | None:
        """Return the number in a text, None for a word of a missing value, or else the text."""
        if text.strip().lower() in self._missing:
            return None
        return float(text) if is_number(text, grouped=False) else text

    def _chunk(
        self, rows: list[Any], after: Ints, line: Ints, row: Ints, records: TextRecords,
        bad: dict[int, str],
    ) -> Chunk:  # fmt: skip
        """Return rows (n,) as a chunk; note in ``bad`` those that hold what they should not."""
        schema = self.schema
        if not self._warned:
            self._warn_of_fields(rows, line)
        wanted = zip(schema.used, schema.kinds, strict=True)
        columns = [self._column(rows, j, kind, bad) for j, kind in wanted]
        time = None
        if schema.time is not None:
            held = "text" if schema.time_is_text else "number"
            time = self._times(self._column(rows, schema.time, held, bad), line, bad)
        return Chunk(columns, after, line, row, records, time, bad)

    def _warn_of_fields(self, rows: list[Any], lines: Ints) -> None:
        """Report the first field that none of the rows had from which the columns are known."""
        known = set(self.schema.names)
        for row, line in zip(rows, lines.tolist(), strict=True):
            if isinstance(row, dict) and not row.keys() <= known:
                new = next((n for n in row if n not in known and row[n] not in (None, {})), None)
                if new is None:
                    continue
                warn(
                    f"{self.name}, {self.unit} {line}: field {new!r} occurs here for the first "
                    "time. It is not learned from, since the columns are found in the first rows."
                )
                self._warned = True
                return

    def _column(self, rows: list[Any], j: int, kind: str, bad: dict[int, str]) -> NDArray[Any]:
        """Return a column; note the rows where it holds something else."""
        name = self.schema.names[j]
        values = [_get(row, name, j) for row in rows]
        if kind != "text" and set(map(type, values)) <= _PLAIN:
            out = _floats(values)
            if out is not None and np.isfinite(out).all():
                return out
        if kind != "text":
            values = [self._quoted(v) if isinstance(v, str) else v for v in values]
        take = _word if kind == "text" else _number
        column = np.empty(len(rows), dtype=object if kind == "text" else np.float64)
        for i, value in enumerate(values):
            column[i], wrong = take(value)
            if wrong:
                shown = json.dumps(value)
                shown = shown if len(shown) <= 40 else shown[:40] + "..."
                bad.setdefault(i, f"column {name!r} holds {shown}, which is {wrong}")
        return column


def row_of(line: bytes) -> tuple[Any, str | None]:
    """Return the row in a line, or an empty one and what is wrong with it."""
    if not line.strip():
        return {}, "an empty line"
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        if line.startswith(b"[") or line.strip() == b"{":
            return {}, "not JSON in lines, as jq -c '.[]' writes the rows of an array"
        return {}, f"not JSON: {error}"
    if not isinstance(row, dict | list):
        return {}, "neither an object nor an array"
    return flat(row) if isinstance(row, dict) else row, None


def _names(rows: list[Any]) -> list[str]:
    """Return the fields of objects, in the order in which they come first, or places in arrays."""
    if isinstance(rows[0], dict):
        return flat_names([row for row in rows if isinstance(row, dict)])
    return [str(j) for j in range(max(len(row) for row in rows if isinstance(row, list)))]


def _get(row: Any, name: str, j: int) -> Any:
    if isinstance(row, dict):
        return row.get(name)
    return row[j] if j < len(row) else None


def _is_there(value: Any) -> bool:
    return value is not None and value == value  # NaN is not


def _floats(values: list[Any]) -> Floats | None:
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def _number(value: Any) -> tuple[float, str | None]:
    """Return a number, NaN for what is missing, and what is wrong."""
    if value is None or value != value:
        return np.nan, None
    if not isinstance(value, int | float):
        return np.nan, "not a number"
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    return number, None if np.isfinite(number) else "not finite"


def _word(value: Any) -> tuple[str | None, str | None]:
    """Return a word, None for what is missing, and what is wrong."""
    if isinstance(value, int | float):
        value = as_word(value)
    if value is None or isinstance(value, str):
        return value or None, None
    return None, "not text"
