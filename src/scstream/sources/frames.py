"""Tables as a source: data frames, arrays, Arrow, Parquet, results of queries, iterators."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns, columns_of, is_frame, kind_of, plain_table
from scstream.sources.base import Place
from scstream.sources.listing import Listing
from scstream.sources.options import SourceOptions
from scstream.sources.table import CHUNK_ROWS, TableSource, array_of
from scstream.support.advice import Advice, advised
from scstream.support.extras import need_package
from scstream.support.messages import note

Lot = list[NDArray[Any]]
_LOOK = 1000  # rows for a look, if a batch has as many


class FramesSource(TableSource):
    """Reads tables that a program has, or an iterable of them.

    Parameters
    ----------
    data : object
        A data frame (pandas, polars), an array, a table, a record batch or a dataset of Arrow;
        what has ``fetch_record_batch`` (DuckDB) or the Arrow C stream interface; or an iterable
        of such.
    options : SourceOptions
        Rows of an iterator come once. After a resume it must begin again, and the rows that were
        read before are skipped; with ``live`` it goes on by itself.
    name : str
    """

    def __init__(self, data: Any, options: SourceOptions, name: str = "the table") -> None:
        super().__init__(name, options)
        self._data = data
        self._stream: Iterator[Lot] = iter(())
        self._again = not _comes_once(data)
        self._names: list[str] = []
        self._named = True
        self._held: deque[tuple[int, Lot]] = deque()  # by the number of their first row
        self._read = 0  # rows
        self._needed = 0  # the first row that may be asked for again
        self._begin()

    def _begin(self) -> None:
        """Take the first lot, which says what the columns are."""
        self._stream, self._read = self._lots_of(self._data), 0
        self._held.clear()
        least, first = min(self.options.batch_size, _LOOK), [*islice(self._stream, 1)]
        while first and sum(len(lot[0]) for lot in first) < least:
            more = [*islice(self._stream, 1)]
            if not more:
                break
            first += more
        if first:
            self._hold([np.concatenate(column) for column in zip(*first, strict=True)])

    def _hold(self, lot: Lot) -> tuple[int, Lot]:
        while self._held and self._held[0][0] + len(self._held[0][1][0]) <= self._needed:
            self._held.popleft()
        self._held.append((self._read, lot))
        self._read += len(lot[0])
        return self._held[-1]

    @property
    def names(self) -> Sequence[str]:
        """The columns' names, or numbers where they have none."""
        if not self._names:
            raise ValueError(f"{self.name} holds no rows.")
        return self._names

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return self._named

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, where that is known without reading."""
        return int(self._data.shape[0]) if _is_table(self._data) else None

    def _lots(self, start: int) -> Iterator[Lot]:
        while (found := self._lot_at(start)) is not None:
            first, lot = found
            yield [column[start - first :] for column in lot] if start > first else lot
            start = first + len(lot[0])

    def _lot_at(self, row: int) -> tuple[int, Lot] | None:
        """Return the lot that a row is in, and the number of its first row."""
        if self._held and row < self._held[0][0] and self._again:
            self._begin()
        for first, lot in self._held:
            if first <= row < first + len(lot[0]):
                return first, lot
        for lot in self._stream:
            found = self._hold(lot)
            if row < self._read:
                return found
        return None

    def keep_marks(self) -> None:
        """Say once that rows of an iterator come once."""
        if not self._again and not self.options.live:
            note(
                "the rows come from an iterator, which cannot go back: to resume, begin it again, "
                "and the rows that were read before are skipped"
            )

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        if self.options.live and not self._again:
            at = place["offset"]
            self._held = deque((first + at, lot) for first, lot in self._held)
            self._read += at
            place = {name: value for name, value in place.items() if name != "seen"}
        self._needed = max(0, place["offset"] - 1)
        super().seek(place)

    def _passed(self, place: Place) -> None:
        self._needed = max(0, place["offset"] - 1)

    def _replaced(self, what: str) -> ValueError:
        if self._again:
            return super()._replaced(what)
        what = "The iterator did not begin again as it was before the checkpoint."
        return advised(ValueError(what), Advice("live", True, "if it goes on by itself"))

    def _lots_of(self, data: Any) -> Iterator[Lot]:
        """Give the rows of a table or of several, a lot at a time."""
        for table in _tables(data):
            columns = table if isinstance(table, Columns) else columns_of(table)
            ordered = self._in_order(columns)
            for start in range(0, columns.n, CHUNK_ROWS):
                yield [np.array(v[start : start + CHUNK_ROWS]) for v in ordered]

    def _in_order(self, columns: Columns) -> Sequence[NDArray[Any]]:
        """Return the columns in the order of the first table."""
        names, named = list(map(str, columns.labels)), columns.names is not None
        if not self._names:
            self._names, self._named = names, named
        if names != self._names:
            columns = replace(columns, labels=names).ordered(self._names)
        return [_plain_dates(column) for column in columns.values]


def _comes_once(data: Any) -> bool:
    """Whether data can be read once only."""
    if _is_table(data) or hasattr(data, "to_batches"):
        return False
    return not isinstance(data, Iterable) or iter(data) is data


def _is_table(data: Any) -> bool:
    if hasattr(data, "fetch_record_batch"):  # a query, which looks like a frame
        return False
    return is_frame(data) or isinstance(data, np.ndarray | Columns) or _is_arrow(data)


def _is_arrow(data: Any) -> bool:
    """Whether data is a table or a record batch of Arrow."""
    return hasattr(data, "num_rows") and hasattr(data, "columns") and hasattr(data, "schema")


def _tables(data: Any) -> Iterator[Any]:
    """Give the tables that there are."""
    if _is_arrow(data):
        values = [
            array_of(column.combine_chunks() if hasattr(column, "chunks") else column)
            for column in data.columns
        ]
        yield Columns(values, list(data.schema.names), data.num_rows)
    elif _is_table(data):
        yield _checked(plain_table(data))
    else:
        for part in _parts(data):
            yield from _tables(part) if _is_table(part) or _streams(part) else [_checked(part)]


def _streams(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "fetch_record_batch")


def _parts(data: Any) -> Iterable[Any]:
    """Return what gives the parts of a stream of tables."""
    if hasattr(data, "fetch_record_batch"):
        found: Iterable[Any] = data.fetch_record_batch(CHUNK_ROWS)
    elif hasattr(data, "to_batches"):
        found = data.to_batches()
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, Iterator):
        pa = need_package("pyarrow", "parquet", "Arrow streams need pyarrow")
        found = pa.RecordBatchReader.from_stream(data)
    elif isinstance(data, Iterable):
        found = data
    else:
        raise TypeError(f"A source is a table or an iterable of tables; got {type(data).__name__}.")
    return found


def _checked(data: Any) -> Any:
    """Return a table of rows and columns, or say that it is none."""
    if not isinstance(data, Columns) and len(getattr(data, "shape", ())) != 2:
        raise TypeError(
            "A source gives tables: data frames, arrays of rows and columns, record batches; got "
            f"{type(data).__name__}."
        )
    return data


def _plain_dates(column: NDArray[Any]) -> NDArray[Any]:
    """Return dates that are objects, as those with a time zone are, as dates of NumPy."""
    if column.dtype.kind != "O" or kind_of(column) != "date":
        return column
    there = [value is not None and value == value for value in column]
    if not all(hasattr(v, "timestamp") for v, ok in zip(column, there, strict=True) if ok):
        return column
    out = np.full(len(column), np.datetime64("NaT", "us"))
    seconds = [value.timestamp() for value in column[there]]
    out[there] = (np.array(seconds) * 1e6).astype("datetime64[us]")
    return out


def open_npy(spec: str, options: SourceOptions) -> FramesSource:
    """Return the source of a NumPy array of rows, mapped into memory."""
    name = Path(spec).name
    try:
        with np.errstate(all="ignore"):  # a length that overflows is refused
            array = np.load(spec, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OverflowError) as error:
        raise ValueError(f"{name} is not a NumPy array of plain numbers: {error}") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must hold rows of numbers; it holds {array.dtype} of shape {array.shape}."
        )
    return FramesSource(array, options, name)


_WORDS = {"parquet": "a Parquet file", "arrow": "an Arrow or Feather file"}
_AHEAD = 2  # record batches that are read ahead


class DatasetSource(TableSource):
    """Reads Parquet, Arrow and Feather files as one table, one group of rows after the other."""

    def __init__(self, files: Listing, kind: str, options: SourceOptions) -> None:
        super().__init__(files.name, options)
        dataset = need_package("pyarrow.dataset", "parquet", "Parquet and Arrow need pyarrow")
        self._parts, self._sizes = [], []
        for path in files.paths:
            try:
                with files.open(path):  # pyarrow words it otherwise if there is no such file
                    pass
                one = dataset.dataset(
                    path, filesystem=files.system, format="ipc" if kind == "arrow" else kind
                )
                self._parts += list(one.get_fragments())
                self._sizes.append(one.count_rows())
            except (OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
                    raise
                raise ValueError(f"{path} is not {_WORDS[kind]}: {error}") from None
            self._check_columns(path, one.schema.names)
        self._schema = self._parts[0].physical_schema

    def _check_columns(self, path: str, names: Sequence[str]) -> None:
        lacking = [name for name in self._parts[0].physical_schema.names if name not in names]
        if lacking:
            raise ValueError(
                f"{path} lacks the columns {', '.join(map(repr, lacking[:20]))} of the files "
                "before it."
            )

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""
        return list(self._schema.names)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self._sizes)

    def _lots(self, start: int) -> Iterator[list[NDArray[Any]]]:
        for part, n in zip(self._parts, self._sizes, strict=True):
            if start >= n:
                start -= n
                continue
            groups = part.split_by_row_group() if hasattr(part, "row_groups") else [part]
            for group in groups:
                rows = group.row_groups[0].num_rows if group is not part else n
                if start < rows:
                    yield from self._rows_of(group, start)
                start = max(0, start - rows)

    def _rows_of(self, group: Any, start: int) -> Iterator[list[NDArray[Any]]]:
        """Give the rows of a part from a row on."""
        lots = group.to_batches(
            columns=self.names, batch_size=CHUNK_ROWS, batch_readahead=_AHEAD, use_threads=False
        )
        for lot in lots:
            if start < lot.num_rows:
                yield [array_of(column) for column in lot.slice(start).columns]
            start = max(0, start - lot.num_rows)


class _StreamFile:
    """A file in the format of Arrow streams, which can be read again."""

    def __init__(self, files: Listing) -> None:
        self._files = files

    def __iter__(self) -> Iterator[Any]:
        ipc = need_package("pyarrow.ipc", "parquet", "Arrow needs pyarrow")
        for path in self._files.paths:
            with self._files.open(path) as raw, ipc.open_stream(raw) as lots:
                yield from lots


def open_arrow(files: Listing, kind: str, options: SourceOptions) -> TableSource:
    """Return the source of Parquet or Arrow files; the latter have one of two formats."""
    if kind == "arrow":
        with files.open(files.paths[0]) as raw:
            streams = raw.read(4) == b"\xff" * 4
        if streams:
            return FramesSource(_StreamFile(files), options, files.name)
    return DatasetSource(files, kind, options)
