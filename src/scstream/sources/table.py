"""Binary tables: NumPy arrays, read in place, and Parquet files (``scstream[parquet]``)."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import absent, kind_of
from scstream.sources.base import Place, Unread
from scstream.sources.chunks import Chunk, Floats, Layout
from scstream.sources.guess.columns import columns_of_look, used_roles
from scstream.sources.guess.dates import ISO
from scstream.sources.guess.dialect import spread
from scstream.sources.guess.looks import Look
from scstream.sources.guess.values import EPOCHS, in_seconds
from scstream.sources.options import SourceOptions
from scstream.sources.places import check_counts, unsound
from scstream.sources.records import ColumnRecords
from scstream.sources.rows import RowSource, as_word, used_columns, words_of
from scstream.support.advice import Advice, advised
from scstream.support.extras import need_package

CHUNK_ROWS = 65536  # of a chunk


class TableSource(RowSource):
    """Reads a table of columns by row number."""

    def __init__(self, name: str, options: SourceOptions) -> None:
        if options.follow:
            raise ValueError("Only CSV, TSV and JSON lines can be followed.")
        if name == "-":
            raise ValueError("Standard input is read as CSV, TSV or JSON lines only.")
        super().__init__(name, options)
        self._at = 0
        self._found: tuple[list[int], int | None] | None = None  # columns, and that of the times
        self._unit = ""  # of times that are numbers: a part of a second, since 1970
        self._dates = False  # whether the times are dates

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The columns' names."""

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return True

    @abstractmethod
    def _lots(self, start: int) -> Iterator[list[NDArray[Any]]]:
        """Give the columns in lots of rows, from a row on."""

    @property
    def layout(self) -> Layout:
        """What the columns are."""
        used, time = self._columns()
        dates = time is not None and self._dates
        clock = "" if time is None else self.names[time]
        return Layout(self.name, self.names, used, "row", dates, self.named, clock)

    def _columns(self) -> tuple[list[int], int | None]:
        """Return the columns to learn from, and that of the times."""
        if self._found is None:
            self._found = used_columns(self.names, self.options)
        return self._found

    def _look(self) -> None:
        """Find out from the first rows what the columns are."""
        first = next(self._lots(0), None)
        if first is None or not len(first[0]):
            raise ValueError(f"{self.name} holds no rows.")
        total = len(first[0])
        columns = [column[spread(total)] for column in first]
        there = [_there(column) for column in columns]
        look = Look(self.names, there, len(columns[0]), total, typed=True)
        roles = columns_of_look(look, self.options, self.name)
        self._found = used_roles(roles, self.options)
        time = self._found[1]
        self._unit = "" if time is None else roles[time].dates

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """How many rows there are; None if that is not known."""

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        check_counts(place)
        seen, at = place.get("seen"), place["offset"]
        rows = self.n_rows
        if rows is not None and at > rows:
            raise self._replaced(f"has {rows:,} rows, but {at:,} were read before")
        if seen is not None and seen != self._looks(at):
            raise self._replaced("does not match what was read before")
        used, time = place.get("used"), place.get("time")
        if used is not None:
            names = range(len(self.names))
            sound = isinstance(used, list) and {*map(type, used)} == {int} and {*used} <= {*names}
            if not sound or (time is not None and time not in names):
                raise unsound("used", used)
            unit = place.get("unit", "")
            if unit not in ("", ISO, *EPOCHS):
                raise unsound("unit", unit)
            self._found, self._unit = (used, time), unit
        super().seek({name: value for name, value in place.items() if name != "seen"})

    def _kept(self) -> Place:
        if not self.options.guess:
            return {}
        used, time = self._columns()
        return {"used": used, "time": time, "unit": self._unit}

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
        if self.options.guess and self._found is None:
            self._look()
        used, time = self._columns()
        words = words_of(self.options, self.names)
        for columns in self._lots(self._at):
            n = len(columns[0])
            columns = [_as_words(c) if j in words else c for j, c in enumerate(columns)]
            row = np.arange(self._at + 1, self._at + n + 1)
            bad: dict[int, str] = {}
            values = _values([columns[j] for j in used], [self.names[j] for j in used], bad)
            when = None if time is None else _times(columns[time], self.names[time])
            if when is not None and time is not None:
                self._dates = columns[time].dtype.kind == "M" or self._unit in EPOCHS
                seconds, odd = in_seconds(when, self._unit)
                self._tell_unit(when, row, odd)
                when = seconds
                self._refuse_no_time(when, None, row, bad)
            self._at += n
            records = ColumnRecords(self.names, columns)
            yield Chunk(values, np.column_stack([row, row]), row, row, records, when, bad)

    def share_before(self, place: Place) -> float | None:
        """Return the share of the rows before a place."""
        return place["offset"] / self.n_rows if self.n_rows else None

    def _end(self) -> Place:
        return {"offset": self._at, "line": self._at, "row": self._at}


class NpySource(TableSource):
    """Reads a NumPy array of rows, mapped into memory."""

    def __init__(self, spec: str, options: SourceOptions) -> None:
        super().__init__(Path(spec).name if spec != "-" else spec, options)
        try:
            with np.errstate(all="ignore"):  # a length that overflows is refused
                array = np.load(spec, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OverflowError) as error:
            raise ValueError(
                f"{self.name} is not a NumPy array of plain numbers: {error}"
            ) from None
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.name} must hold rows of numbers; it holds {array.dtype} of shape "
                f"{array.shape}."
            )
        self._array = array

    @property
    def names(self) -> Sequence[str]:
        """The columns' numbers."""
        return [str(j) for j in range(self._array.shape[1])]

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return False

    def _look(self) -> None:
        """All columns are numbers, and none has a name that could say more."""
        if not len(self._array):
            raise ValueError(f"{self.name} holds no rows.")
        if self.options.time_column == "none":
            self.options = replace(self.options, time_column=None)
        if self.options.period is not None and self.options.time_column is None:
            raise advised(
                ValueError("A period needs times: name their column."), Advice("time_column")
            )
        self._columns()

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._array)

    def _lots(self, start: int) -> Iterator[list[NDArray[Any]]]:
        for a in range(start, len(self._array), CHUNK_ROWS):
            lot = np.array(self._array[a : a + CHUNK_ROWS], dtype=np.float64)
            yield list(lot.T)


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


def _as_words(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of numbers or truth values as words; others stay as they are."""
    if kind_of(column) not in ("number", "truth"):
        return column
    return np.array([as_word(value) for value in column.tolist()], dtype=object)


def _values(
    columns: list[NDArray[Any]], names: list[str], bad: dict[int, str]
) -> Floats | list[NDArray[Any]]:
    """Return numbers (n, d), or columns where some are text; note rows that are not finite."""
    out = []
    for column, name in zip(columns, names, strict=True):
        kind = kind_of(column)
        if kind in ("date", "other"):
            raise ValueError(f"Column {name!r} holds neither numbers nor text. Leave it out.")
        if kind != "text":
            column = column.astype(np.float64)
            for i in np.flatnonzero(np.isinf(column)).tolist():
                bad.setdefault(i, f"column {name!r} holds {column[i]}, which is not finite")
        out.append(column)
    if all(column.dtype.kind == "f" for column in out):
        return np.column_stack(out)
    return out


def _times(column: NDArray[Any], name: str) -> Floats:
    """Return times as numbers; dates as seconds since 1970."""
    if column.dtype.kind == "M":
        time = column.astype("datetime64[us]").astype(np.int64) / 1e6
        time[np.isnat(column)] = np.nan
    else:
        try:
            time = column.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"Column {name!r} holds neither numbers nor dates, so it cannot be the clock."
            ) from None
    return time
