"""JSON lines: an object or an array a line."""

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
from scstream.sources.listing import Listing
from scstream.sources.nested import flat, flat_names
from scstream.sources.options import SourceOptions
from scstream.sources.records import TextRecords
from scstream.sources.rows import as_word, assemble
from scstream.sources.text import Start, TextSource
from scstream.support.advice import Advice, advised
from scstream.support.messages import warn

_SAMPLE = 1000  # rows that are looked at
_MOST_FIELDS = 10_000  # that a look takes for columns
_PLAIN = {int, float}


class JsonSource(TextSource):
    """Reads JSON lines."""

    heads = 0

    def __init__(self, files: Listing, options: SourceOptions) -> None:
        super().__init__(files, options)
        self._missing = {*MISSING, *ALSO_MISSING, *map(str.lower, options.missing)}
        chosen = options.columns is not None or options.kinds is not None
        self._warned = chosen  # of fields that come later: who chooses columns needs no others

    def _begin(self, text: bytes, final: bool) -> int | None:
        """Find out from the first rows what the columns are and what each one holds."""
        rows, error = [], None
        if not self._enough(text, final):
            return None
        refuse_other(text, self.name)
        for a, b, _, line in _lines(text, final)[:_SAMPLE].tolist():
            row, wrong = _load(text[a:b])
            if wrong is None:
                rows.append(row)
            elif error is None and text[a:b].strip():
                error = MalformedRow(f"{self.name}, line {self._at.lines + line + 1}: {wrong}.")
        if not rows:
            if final and error is not None:
                raise error
            return None
        named = isinstance(rows[0], dict)
        names = _names(rows)
        if len(names) > _MOST_FIELDS and not self._warned:
            what = f"more than {_MOST_FIELDS:,} different fields in its first {len(rows):,} rows"
            raise advised(
                ValueError(f"{self.name} has {what}. Choose some of them."), Advice("columns")
            )
        values = [[_get(row, name, j) for row in rows] for j, name in enumerate(names)]
        there = [self._as_numbers([v for v in col if _is_there(v)]) for col in values]
        self._look(Look(names, there, len(rows), len(rows), typed=True), named=named)
        return 0

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

    def _parse(self, text: bytes, start: Start) -> tuple[Chunk | None, int, int]:
        schema = self.schema
        lines = _lines(text, start.final)
        taken = int(lines[-1, 2]) if len(lines) else 0
        breaks = text.count(b"\n", 0, taken)
        number = lines[:, 3]
        full = np.array([bool(text[a:b].strip()) for a, b in lines[:, :2].tolist()], dtype=bool)
        lines, number = lines[full], number[full]
        if not len(lines):
            return None, taken, breaks
        rows, bad = [], {}
        for i, (a, b) in enumerate(lines[:, :2].tolist()):
            row, wrong = _load(text[a:b])
            rows.append(row)
            if wrong is not None:
                bad[i] = wrong
        if not self._warned:
            self._warn_of_fields(rows, number + (start.lines + 1))
        columns = [self._column(rows, j, k, bad) for j, k in self._wanted()]
        numbers = [c for c, kind in zip(columns, schema.kinds, strict=False) if kind != "text"]
        words = [c for c, kind in zip(columns, schema.kinds, strict=False) if kind == "text"]
        chunk = Chunk(
            assemble(schema, _matrix(numbers, len(rows)), words),
            np.column_stack([lines[:, 2] + start.offset, number + (start.lines + 1)]),
            number + (start.lines + 1),
            np.arange(start.rows + 1, start.rows + len(rows) + 1),
            TextRecords("jsonl", schema.names, text, lines[:, :2]),
            None
            if schema.time is None
            else self._times(columns[-1], number + (start.lines + 1), bad),
            bad,
        )
        return chunk, taken, breaks

    def _warn_of_fields(self, rows: list[Any], lines: Ints) -> None:
        """Report the first field that none of the rows had from which the columns are known."""
        known = set(self.schema.names)
        for row, line in zip(rows, lines.tolist(), strict=True):
            if isinstance(row, dict) and not row.keys() <= known:
                new = next((n for n in row if n not in known and row[n] not in (None, {})), None)
                if new is None:
                    continue
                warn(
                    f"{self.name}, line {line}: field {new!r} occurs here for the first time. It "
                    "is not learned from, since the columns are found in the first rows."
                )
                self._warned = True
                return

    def _wanted(self) -> list[tuple[int, str]]:
        """Return the columns to take and what they hold, that of the times last."""
        schema = self.schema
        wanted = list(zip(schema.used, schema.kinds, strict=True))
        if schema.time is not None:
            wanted.append((schema.time, "text" if schema.time_is_text else "number"))
        return wanted

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

    def _unreadable(self, line: bytes, reason: str) -> Chunk:
        chunk, _, _ = self._parse(line, Start(self._at.offset, self._at.lines, self._at.rows, True))
        assert chunk is not None  # only a line that is too long comes here
        chunk.bad[0] = reason
        return chunk


def _lines(text: bytes, final: bool) -> Ints:
    """Return beginning, end, beginning of the next, and number from 0 of each whole line."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    after = ends + 1
    if final and (not len(after) or after[-1] < len(text)) and text:
        ends, after = np.append(ends, len(text)), np.append(after, len(text))
    begins = np.append(0, after[:-1]) if len(after) else after
    return np.column_stack([begins, ends, after, np.arange(len(ends))])


def _load(line: bytes) -> tuple[Any, str | None]:
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


def _matrix(columns: list[NDArray[Any]], n: int) -> Floats:
    return np.column_stack(columns) if columns else np.empty((n, 0))
