"""CSV, TSV and JSON lines: one line per row, alone or after the input's columns.

Probabilities have six decimals, scores have four, anomalies nine.
"""

from __future__ import annotations

import csv
import io
import json
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
    """Writes a line of text for each row: CSV and TSV with a header, or JSON lines.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard output.
    format : {"csv", "tsv", "jsonl"}
    fields, append
        As in `FieldSink`. Unless the input's columns come first, it is the number of the row.
    overwrite
        As in `AddedFile`.
    """

    def __init__(
        self,
        path: str | Path,
        format: str,
        *,
        fields: Sequence[str] = WRITTEN,
        append: bool = False,
        overwrite: bool = False,
    ) -> None:
        AddedFile.__init__(self, path, overwrite=overwrite)
        FieldSink.__init__(self, fields, append=append)
        self.format = format
        self.separator = {"csv": ",", "tsv": "\t"}.get(format, "")  # none in JSON

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
        taken = names_of(batch.rows) if self.append else ["row"]
        names = column_names(self.fields, taken)
        head = self.length == 0 and self.separator
        data = self._line([*taken, *names]) if head else b""
        quick = self._quick(batch, found, names)
        self.add(data + (self._general(batch, found, names) if quick is None else quick))

    def _quick(self, batch: Batch, found: list[Any], names: list[str]) -> bytes | None:
        """Return the rows as text by the core; None where it cannot write them."""
        decimals = [DECIMALS[name] for name in self.fields]
        columns = []
        for values, places in zip(found, decimals, strict=True):
            units = in_last_decimals(values, places)
            if units is None:
                return None
            columns.append(units)
        glue = [f', "{name}": '.encode() for name in names] + [b"}\n"]
        if self.separator:
            glue = [self.separator.encode()] * len(names) + [b"\n"]
        if not self.append:
            first = b"" if self.separator else b'{"row": '
            return with_numbers([self._numbers(batch), *columns], [0, *decimals], [first, *glue])
        rows, kind = batch.rows, "csv" if self.separator else "jsonl"
        if not isinstance(rows, TextRecords) or rows.kind != kind:
            return None
        if self.separator not in ("", rows.separator):
            return None
        bounds = rows.bounds if self.separator else _open_objects(rows)
        return None if bounds is None else with_numbers(columns, decimals, glue, rows.data, bounds)

    def _general(self, batch: Batch, found: list[Any], names: list[str]) -> bytes:
        """Return rows of any values as text."""
        numbers = [] if self.append else self._numbers(batch).tolist()
        rows = dicts_of(batch.rows) if self.append else [{"row": i} for i in numbers]
        values = [_rounded(column, name) for name, column in zip(self.fields, found, strict=True)]
        for row, mine in zip(rows, zip(*values, strict=True), strict=True):
            row.update(zip(names, mine, strict=True))
        if self.separator:
            return b"".join(self._line(["" if v is None else v for v in r.values()]) for r in rows)
        lines = (json.dumps(_jsonable(row), default=str, allow_nan=False) for row in rows)
        return "".join(line + "\n" for line in lines).encode()

    def _line(self, values: Sequence[Any]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self.separator, lineterminator="\n").writerow(values)
        return text.getvalue().encode()


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
