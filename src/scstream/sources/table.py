"""Tables of columns, read by row number: in memory, Parquet, Arrow, NumPy."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import absent, kind_of
from scstream.sources.base import Place, Unread
from scstream.sources.chunks import Chunk
from scstream.sources.guess.dialect import spread
from scstream.sources.guess.looks import Look
from scstream.sources.options import SourceOptions
from scstream.sources.records import ColumnRecords
from scstream.sources.rows import RowSource, as_word
from scstream.support.extras import need_package

CHUNK_ROWS = 65536  # of a chunk


class TableSource(RowSource):
    """Reads a table of columns by row number."""

    unit = "row"

    def __init__(self, name: str, options: SourceOptions) -> None:
        if options.follow:
            raise ValueError("Only CSV, TSV and JSON lines can be followed.")
        super().__init__(name, options)
        self._at = 0

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The columns' names."""

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return True

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """How many rows there are; None if that is not known."""

    @abstractmethod
    def _lots(self, start: int) -> Iterator[list[NDArray[Any]]]:
        """Give the columns in lots of rows, from a row on."""

    def _look_at_first(self) -> None:
        """Find out from the first rows what the columns are."""
        first = next(self._lots(0), None)
        if first is None or not len(first[0]):
            raise ValueError(f"{self.name} holds no rows.")
        total = len(first[0])
        columns = [column[spread(total)] for column in first]
        there = [_there(column) for column in columns]
        look = Look(self.names, there, len(columns[0]), total, typed=True)
        self._look(look, named=self.named)

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        super().seek(place)
        seen, at, rows = place.get("seen"), place["offset"], self.n_rows
        if rows is not None and at > rows:
            raise self._replaced(f"has {rows:,} rows, but {at:,} were read before")
        if seen is not None and seen != self._looks(at):
            raise self._replaced("does not match what was read before")

    def _replaced(self, what: str) -> ValueError:
        return ValueError(
            f"{self.name} {what}: it is not what the checkpoint was made with. Put it back, "
            "or start over with another folder for checkpoints and new outputs."
        )

    def unread(self, place: Place) -> Unread | None:
        """Return how many rows lie behind a place."""
        rows = self.n_rows
        return None if rows is None else Unread(rows - place["offset"], "rows")

    def mark(self, place: Place) -> Place:
        """Return a place with a digest of the columns and of the last row before it."""
        return {**place, "seen": self._looks(place["offset"])}

    def _looks(self, at: int) -> str:
        """Return a digest of the columns' names and types, and of the row before a place."""
        lot = next(self._lots(at - 1), None) if at else None
        text = "" if lot is None else ColumnRecords(self.names, lot).text(0)
        kinds = [] if lot is None else [column.dtype.kind for column in lot]
        return hashlib.sha256(json.dumps([list(self.names), kinds, text]).encode()).hexdigest()[:32]

    def _chunks(self) -> Iterator[Chunk | None]:
        self._at = self._place.get("offset", 0)
        if self._found is None:
            self._look_at_first()
        schema = self.schema
        for columns in self._lots(self._at):
            n = len(columns[0])
            row = np.arange(self._at + 1, self._at + n + 1)
            bad: dict[int, str] = {}
            used = zip(schema.used, schema.kinds, strict=True)
            taken = [_values(columns[j], self.names[j], kind, bad) for j, kind in used]
            time = None if schema.time is None else self._times(columns[schema.time], row, bad)
            self._at += n
            yield Chunk(
                taken,
                np.column_stack([row, row]),
                row,
                row,
                ColumnRecords(self.names, columns),
                time,
                bad,
            )

    def share_before(self, place: Place) -> float | None:
        """Return the share of the rows before a place."""
        return place["offset"] / self.n_rows if self.n_rows else None

    def _end(self) -> Place:
        return {"offset": self._at, "line": self._at, "row": self._at}


def require_parquet() -> Any:
    """Return pyarrow's Parquet module, or say how to install it."""
    return need_package("pyarrow.parquet", "parquet", "Parquet needs pyarrow")


def array_of(column: Any) -> NDArray[Any]:
    """Return a column of Arrow as numbers with NaN, as dates, or as objects with None."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):  # which no family takes; the column may be left out
        nested = np.empty(len(column), dtype=object)
        for i, value in enumerate(column.to_pylist()):
            nested[i] = value
        return nested
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_integer(column.type) and column.null_count:
        column = column.cast(pa.float64())
    out: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return out


def _there(column: NDArray[Any]) -> list[Any]:
    """Return the values of a column that are not missing."""
    if column.dtype.kind == "O":
        return [v for v in column if v is not None and not (isinstance(v, float) and v != v)]
    return [*column[~(np.isnat(column) if column.dtype.kind in "mM" else absent(column))]]


def _values(column: NDArray[Any], name: str, kind: str, bad: dict[int, str]) -> NDArray[Any]:
    """Return a column as numbers or words; note rows that are not finite."""
    held = kind_of(column)
    if kind == "text" and held in ("number", "truth"):
        return np.array([as_word(value) for value in column.tolist()], dtype=object)
    if held in ("date", "other"):
        raise ValueError(f"Column {name!r} holds neither numbers nor text. Leave it out.")
    if held == "text":
        return column
    column = column.astype(np.float64)
    for i in np.flatnonzero(np.isinf(column)).tolist():
        bad.setdefault(i, f"column {name!r} holds {column[i]}, which is not finite")
    return column
