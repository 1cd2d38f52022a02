"""CSV, TSV and JSON lines: one line per row, alone or after the input's columns.

Probabilities have six decimals, scores have four, anomalies nine.
"""

from __future__ import annotations

import csv
import io
import json
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.core import lay_out
from scstream.sinks.base import (
    WRITTEN,
    FieldSink,
    check_format,
    column_names,
    count_of,
    dicts_of,
    names_of,
)  # fmt: skip
from scstream.sinks.files import AddedFile
from scstream.sources.base import Batch, Place
from scstream.sources.records import TextRecords

DECIMALS = {"label": 0, "group": 0, "probability": 6, "score": 4, "anomaly": 9}
_WIDEST = 21  # characters of a whole number and its decimal point
_LARGEST = 9e15  # whole numbers up to here are exact


class LineSink(AddedFile, FieldSink):
    """Writes a line of text for each row.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard output.
    fields : sequence of {"label", "probability", "score", "anomaly", "group"}
    append : bool
        Whether the input's columns come first. Otherwise it is the number of the row.
    overwrite : bool
        Whether an existing file may be replaced.
    whole : bool
        Whether the file appears as a whole, with `finish`.
    """

    format: str

    def __init__(
        self,
        path: str | Path,
        *,
        fields: Sequence[str] = WRITTEN,
        append: bool = False,
        overwrite: bool = False,
        whole: bool = False,
    ) -> None:
        AddedFile.__init__(self, path, overwrite=overwrite, whole=whole)
        FieldSink.__init__(self, fields, append=append)

    def check(self, place: Place) -> None:
        """Make sure that the file can be begun at a place."""
        check_format(place, self.format, self.path)
        super().check(place)

    def truncate(self, place: Place) -> None:
        """Go back to a place."""
        self._rows = count_of(place, "rows")
        super().truncate(place)

    def place(self) -> Place:
        """Return the file's length, the rows in it and its format."""
        return {**super().place(), "rows": self._rows, "format": self.format}

    def _write(self, batch: Batch, found: list[Any]) -> None:
        data = self._head(batch) if self.length == 0 else b""
        self.add(data + self._body(batch, self._numbers(batch), found))

    def _head(self, batch: Batch) -> bytes:
        """Return what comes before the first row."""
        return b""

    def _body(self, batch: Batch, numbers: NDArray[np.int64], found: list[Any]) -> bytes:
        """Return the rows as text: by the compiled pass where that can be."""
        whole = [
            in_last_decimals(values, DECIMALS[name])
            for name, values in zip(self.fields, found, strict=True)
        ]
        columns = [column for column in whole if column is not None]
        if len(columns) == len(whole):
            if not self.append:
                return self._plain(numbers, columns)
            if isinstance(batch.rows, TextRecords):
                spliced = self._spliced(batch.rows, columns)
                if spliced is not None:
                    return spliced
        rows = dicts_of(batch.rows) if self.append else [{"row": i} for i in numbers.tolist()]
        names = column_names(self.fields, list(rows[0]) if self.append else ())
        values = [_rounded(column, name) for name, column in zip(self.fields, found, strict=True)]
        for row, mine in zip(rows, zip(*values, strict=True), strict=True):
            row.update(zip(names, mine, strict=True))
        return self._general(rows)

    @abstractmethod
    def _plain(self, numbers: NDArray[np.int64], columns: list[NDArray[np.int64]]) -> bytes:
        """Return numbers of rows and their fields as text."""

    @abstractmethod
    def _spliced(self, rows: TextRecords, columns: list[NDArray[np.int64]]) -> bytes | None:
        """Return the rows with the fields behind their text; None if they are of another kind."""

    @abstractmethod
    def _general(self, rows: list[dict[str, Any]]) -> bytes:
        """Return rows of any values as text."""

    def _decimals(self) -> list[int]:
        return [DECIMALS[name] for name in self.fields]


class CsvSink(LineSink):
    """Writes CSV, or TSV, with a header."""

    def __init__(self, path: str | Path, *, separator: str = ",", **options: Any) -> None:
        super().__init__(path, **options)
        self.separator = separator
        self.format = "tsv" if separator == "\t" else "csv"

    def _head(self, batch: Batch) -> bytes:
        taken = names_of(batch.rows) if self.append else ["row"]
        return self._line([*taken, *column_names(self.fields, taken)])

    def _plain(self, numbers: NDArray[np.int64], columns: list[NDArray[np.int64]]) -> bytes:
        sep = self.separator.encode()
        glue = [b"", *[sep] * len(columns), b"\n"]
        return with_numbers([numbers, *columns], [0, *self._decimals()], glue)

    def _spliced(self, rows: TextRecords, columns: list[NDArray[np.int64]]) -> bytes | None:
        if rows.kind != "csv" or rows.separator != self.separator:
            return None
        glue = [*[self.separator.encode()] * len(columns), b"\n"]
        return with_numbers(columns, self._decimals(), glue, rows.data, rows.bounds)

    def _general(self, rows: list[dict[str, Any]]) -> bytes:
        return b"".join(self._line(["" if v is None else v for v in r.values()]) for r in rows)

    def _line(self, values: Sequence[Any]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self.separator, lineterminator="\n").writerow(values)
        return text.getvalue().encode()


class JsonSink(LineSink):
    """Writes JSON lines, an object each."""

    format = "jsonl"

    def _plain(self, numbers: NDArray[np.int64], columns: list[NDArray[np.int64]]) -> bytes:
        glue = [b'{"row": ', *(f', "{name}": '.encode() for name in self.fields), b"}\n"]
        return with_numbers([numbers, *columns], [0, *self._decimals()], glue)

    def _spliced(self, rows: TextRecords, columns: list[NDArray[np.int64]]) -> bytes | None:
        bounds = _open_objects(rows)
        if bounds is None:
            return None
        names = column_names(self.fields, rows.names)
        glue = [*(f', "{name}": '.encode() for name in names), b"}\n"]
        return with_numbers(columns, self._decimals(), glue, rows.data, bounds)

    def _general(self, rows: list[dict[str, Any]]) -> bytes:
        lines = (json.dumps(_jsonable(row), default=str, allow_nan=False) for row in rows)
        return "".join(line + "\n" for line in lines).encode()


def in_last_decimals(values: NDArray[Any], decimals: int) -> NDArray[np.int64] | None:
    """Return numbers (n,) in units of their last decimal; None if one is too large or none."""
    scaled = np.rint(values * 10.0**decimals)
    if len(scaled) and not np.abs(scaled).max() < _LARGEST:
        return None
    return scaled.astype(np.int64)


def with_numbers(
    columns: Sequence[NDArray[np.int64]],
    decimals: Sequence[int],
    glue: Sequence[bytes],
    data: bytes = b"",
    bounds: NDArray[np.int64] | None = None,
) -> bytes:
    """Return rows of numbers as text, behind parts ``data[a:b]`` of other text (n, 2).

    Parameters
    ----------
    columns : sequence of int64 (n,)
        m of them, in units of their last decimal.
    decimals : sequence of int
        How many each has.
    glue : sequence of bytes
        What comes before each number, and behind the last: m + 1 of them.
    data, bounds : bytes, int64 (n, 2)
    """
    values = np.column_stack(columns)
    n, m = values.shape
    if bounds is None:
        bounds = np.zeros((n, 2), dtype=np.int64)
    at = np.cumsum([0, *map(len, glue)])
    joints = np.frombuffer(b"".join(glue), dtype=np.uint8)
    room = int((bounds[:, 1] - bounds[:, 0]).sum()) + n * (len(joints) + m * _WIDEST)
    out, source = np.empty(room, dtype=np.uint8), np.frombuffer(data, dtype=np.uint8)
    places, starts = np.asarray(decimals, dtype=np.int64), np.ascontiguousarray(bounds)
    used = lay_out(values, places, joints, at, source, starts, out)
    return out[:used].tobytes()


def _open_objects(rows: TextRecords) -> NDArray[np.int64] | None:
    """Return where each object is, its closing brace aside; None if one is no filled object."""
    if rows.kind != "jsonl":
        return None
    bounds = rows.bounds.copy()
    for i, (a, b) in enumerate(bounds.tolist()):
        text = rows.data[a:b].rstrip()
        if not text.endswith(b"}") or text[:-1].strip() == b"{":
            return None
        bounds[i, 1] = a + len(text) - 1
    return bounds


def _rounded(values: NDArray[Any], name: str) -> list[Any]:
    out: list[Any] = (np.round(values, DECIMALS[name]) if DECIMALS[name] else values).tolist()
    return out


def _jsonable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without NaN and infinities, which JSON does not have."""
    return {
        name: None if isinstance(v, float) and not np.isfinite(v) else v for name, v in row.items()
    }
