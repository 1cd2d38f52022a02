"""Rows of JSON, from lines of a file or messages of a broker: their columns and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.sources.base import MalformedRow
from scstream.sources.chunks import Chunk, Floats, Ints
from scstream.sources.guess.amounts import is_number
from scstream.sources.guess.head import refuse_other
from scstream.sources.guess.looks import Look
from scstream.sources.guess.values import ALSO_MISSING, MISSING, MOSTLY
from scstream.sources.options import SourceOptions
from scstream.sources.records import TextRecords, flat, flat_names
from scstream.sources.rows import LOOK_ROWS, RowSource, as_word
from scstream.sources.text import TextSource
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
        self._warned = chosen  # of fields that come later: chosen columns need no others

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


def row_of(text: bytes) -> tuple[Any, str | None]:
    """Return the row in a line or message, or an empty one and what is wrong with it."""
    if not text.strip():
        return {}, "it is empty"
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"not JSON: {error}"
    if not isinstance(row, dict | list):
        return {}, "neither an object nor an array"
    return flat(row) if isinstance(row, dict) else row, None


def _row_of_line(line: bytes) -> tuple[Any, str | None]:
    """Return the same of a line, which may be one of JSON that goes over several."""
    row, wrong = row_of(line)
    if wrong is not None and (line.startswith(b"[") or line.strip() == b"{"):
        wrong = "not JSON in lines, as jq -c '.[]' writes the rows of an array"
    return row, wrong


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


class JsonSource(TextSource, JsonRows):
    """Reads JSON lines."""

    heads = 0

    def _begin(self, text: bytes, final: bool) -> int | None:
        """Find out from the first rows what the columns are and what each one holds."""
        rows, error = [], None
        if not self._enough(text, final):
            return None
        refuse_other(text, self.name)
        for a, b, _, line in _lines(text, final)[:LOOK_ROWS].tolist():
            row, wrong = _row_of_line(text[a:b])
            if wrong is None:
                rows.append(row)
            elif error is None and text[a:b].strip():
                error = MalformedRow(f"{self.name}, line {self._lines + line + 1}: {wrong}.")
        if not rows:
            if final and error is not None:
                raise error
            return None
        self._look_at(rows)
        return 0

    def _parse(self, text: bytes, final: bool) -> tuple[Chunk | None, int]:
        lines = _lines(text, final)
        taken = int(lines[-1, 2]) if len(lines) else 0
        full = np.array([bool(text[a:b].strip()) for a, b in lines[:, :2].tolist()], dtype=bool)
        lines = lines[full]
        if not len(lines):
            return None, taken
        read = [_row_of_line(text[a:b]) for a, b in lines[:, :2].tolist()]
        chunk = self._chunk(
            [row for row, _ in read],
            lines[:, 2:] + np.array([self._offset, self._lines + 1]),
            lines[:, 3] + (self._lines + 1),
            np.arange(self._rows + 1, self._rows + len(lines) + 1),
            self._records_of(text, lines[:, :2]),
            {i: wrong for i, (_, wrong) in enumerate(read) if wrong is not None},
        )
        return chunk, taken

    def _records_of(self, text: bytes, bounds: Ints) -> TextRecords:
        return TextRecords("jsonl", self.schema.names, text, bounds)


def _lines(text: bytes, final: bool) -> Ints:
    """Return beginning, end, beginning of the next, and number from 0 of each whole line."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    after = ends + 1
    if final and (not len(after) or after[-1] < len(text)) and text:
        ends, after = np.append(ends, len(text)), np.append(after, len(text))
    begins = np.append(0, after[:-1]) if len(after) else after
    return np.column_stack([begins, ends, after, np.arange(len(ends))])
