"""Rows on their way from a file to a batch: chunks as they are read, cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns, absent
from scstream.sources.base import SKIP, Batch, MalformedRow, Place, Reject
from scstream.sources.batch_times import BatchTimes
from scstream.sources.missing import Missing
from scstream.sources.options import SourceOptions
from scstream.sources.records import Records, join
from scstream.sources.schema import Schema
from scstream.support.advice import advice_of, advised
from scstream.support.messages import warn

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_FAR = 4e18  # the latest time that is read: there are later ones, in whole periods
_MOST_TOLD = 10  # reasons of one message for rows that cannot be read
_NEEDED = (
    "and the family needs every value (others, such as 'diagonal', take a value as not observed)"
)


class Table(Columns):
    """Columns that are taken where a data frame is, without one."""

    @property
    def columns(self) -> list[Any]:
        """The names of the columns."""
        return list(self.labels)

    def __getitem__(self, at: tuple[Any, int]) -> NDArray[Any]:
        rows, j = at
        part: NDArray[Any] = self.values[j][rows]
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.column_stack(self.values).astype(dtype)


@dataclass(frozen=True)
class Chunk:
    """Rows as they were read.

    Attributes
    ----------
    values : list of ndarray (n,)
        The columns that are learned from: numbers, or objects with None for missing.
    after : int64 (n, 2)
        Where the source stands behind each row: the place in the file, and the lines before it.
    line : int64 (n,)
        The line where each row begins, from 1.
    row : int64 (n,)
        The number of each row, from 1.
    records : Records
    time : float64 (n,), optional
    bad : dict of int to str
        Rows, by their place in the chunk, that could not be read, and why.
    name : str
        The file they are in, where there are several.
    """

    values: list[NDArray[Any]]
    after: Ints
    line: Ints
    row: Ints
    records: Records
    time: Floats | None = None
    bad: dict[int, str] = field(default_factory=dict)
    name: str = ""

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: slice | NDArray[Any]) -> Chunk:
        """Return some of the rows, without those that could not be read."""
        return Chunk(
            [v[rows] for v in self.values],
            self.after[rows],
            self.line[rows],
            self.row[rows],
            self.records.take(rows),
            None if self.time is None else self.time[rows],
            name=self.name,
        )


class Cutter:
    """Cuts chunks into batches, by rows or by time, and sorts out rows that cannot be taken."""

    def __init__(
        self, name: str, unit: str, schema: Schema, options: SourceOptions, place: Place
    ) -> None:
        self.name = name
        self.unit = unit
        self.schema = schema
        self.options = options
        self.place = place
        self._missing = Missing(options.missing, options.decimal)
        self._good: list[Chunk] = []
        self._rejects: list[Reject] = []
        self._error: MalformedRow | None = None
        self._complete: Sequence[bool] | None = None
        self._times = BatchTimes(
            f"{name}, {unit}", schema, options.period, options.batch_size, place
        )
        self._quiet = 0  # chunks that are known to lie in the batch that is being filled
        self._final = False  # whether no row comes after those that wait
        self._size = 0
        self._last = ""  # the file in which the last batch ends
        self._warned = False  # of rows without a value

    def require(self, complete: Sequence[bool]) -> None:
        """Refuse from now on rows that lack a value in these columns."""
        self._complete = complete if any(complete) else None
        held, self._good = self._good, []
        self._times.forget_open()
        self._quiet = self._size = 0
        later, self._error = self._error, None
        for chunk in held:
            self.add(chunk)
        if self._error is None:
            self._error = later

    def add(self, chunk: Chunk) -> None:
        """Take rows in, as far as they can be taken."""
        if self._error is not None:
            return
        time = None if chunk.time is None else np.clip(chunk.time, -_FAR, _FAR)
        values = [self._missing.left_out(column) for column in chunk.values]
        chunk = replace(chunk, values=values, time=time)
        bad = dict(chunk.bad)
        for j, needed in enumerate(self._complete or ()):
            for i in np.flatnonzero(absent(values[j])).tolist() if needed else ():
                bad.setdefault(i, f"column {self.schema.labels[j]!r} is missing, {_NEEDED}")
        if bad:
            chunk = self._sort_out(chunk, bad)
        if len(chunk):
            self._warn_of_nothing(chunk)
            self._good.append(chunk)
            self._size += len(chunk)

    def _warn_of_nothing(self, chunk: Chunk) -> None:
        """Report the first row without a value, as spreadsheets leave them below a table."""
        empty = np.arange(0 if self._warned else len(chunk))
        for column in chunk.values:
            empty = empty[absent(column[empty])] if len(empty) else empty
        if len(empty):
            self._warned = True
            warn(
                f"{self._name(chunk)}, {self.unit} {chunk.line[empty[0]]}: the row has no "
                "value in any column that is learned from. Such rows get the label of the largest "
                "cluster, and count with it."
            )

    def _sort_out(self, chunk: Chunk, bad: dict[int, str]) -> Chunk:
        """Return the rows that can be taken; keep the others, or the first of them as an error."""
        if self.options.on_error == "stop":
            i = min(bad)
            advice = [one for i in sorted(bad)[:_MOST_TOLD] for one in advice_of(bad[i])]
            error = MalformedRow(self._refusal(chunk, bad))
            self._error = advised(error, *dict.fromkeys(advice), SKIP)
            return chunk.take(slice(0, i))
        for i in sorted(bad):
            self._rejects.append(
                Reject(
                    int(chunk.line[i]),
                    int(chunk.row[i]),
                    bad[i],
                    chunk.records.text(i),
                    file=chunk.name,
                )
            )
        keep = np.ones(len(chunk), dtype=bool)
        keep[list(bad)] = False
        return chunk.take(keep)

    def _name(self, chunk: Chunk) -> str:
        return chunk.name or self.name

    def _refusal(self, chunk: Chunk, bad: dict[int, str]) -> str:
        """Return what is wrong, with the first row or with several."""
        name, unit, first = self._name(chunk), self.unit, min(bad)
        if len(bad) == 1:
            return f"{name}, {unit} {chunk.line[first]}: {bad[first]}."
        reasons: dict[str, list[str]] = {}
        for i in sorted(bad):
            reasons.setdefault(bad[i], []).append(str(chunk.line[i]))
        told = [
            f"{unit}{'s' * (len(lines) > 1)} {_listed(lines)}: {reason}"
            for reason, lines in reasons.items()
        ]
        if len(told) > _MOST_TOLD:
            told[_MOST_TOLD:] = [f"and {len(told) - _MOST_TOLD:,} other reasons"]
        return "\n  - ".join([f"{name}: {len(bad):,} rows cannot be read:", *told])

    def ready(self) -> Iterator[Batch]:
        """Give the batches that are complete; then raise what ended the stream, if anything did."""
        while True:
            n = self._enough()
            if n is None:
                break
            yield self._batch(n)
        if self._error is not None:
            raise self._error

    def remaining(self, end: Place | None = None) -> Iterator[Batch]:
        """Give all rows that wait: batches that are complete, and what is left as one.

        With ``end``, the place behind everything that was read, rows that were left out at the
        end are part of the last one.
        """
        self._final = True
        yield from self.ready()
        self._final = False
        tail = bool(self._rejects) and end is not None
        if self._size or tail:
            yield self._batch(self._size, end)

    @property
    def size(self) -> int:
        """The rows that wait."""
        return self._size

    def _enough(self) -> int | None:
        """Return how many rows the next batch has, None if it is not complete yet."""
        wanted = self._times.rows_wanted
        if wanted is not None:
            return wanted if self._size >= wanted else None
        n = sum(len(chunk) for chunk in self._good[: self._quiet])
        times = [chunk.time for chunk in self._good if chunk.time is not None]
        lines = [chunk.line for chunk in self._good]
        for at in range(self._quiet, len(self._good)):
            later, settled = self._times.next_period(times, lines, at, final=self._final)
            if later is not None:
                return n + later
            if not settled:
                return None
            n += len(lines[at])
            self._quiet += 1
        return None

    def _batch(self, n: int, end: Place | None = None) -> Batch:
        """Return the first n rows."""
        chunk = self._take(n)
        time = None
        if chunk is not None and chunk.time is not None:
            time = self._times.of_batch(chunk.time, chunk.line)
        place = dict(self.place) if end is None else {**self.place, **end}
        rejects = self._rejects
        if chunk is not None and end is None:
            offset, lines = chunk.after[-1].tolist()
            place |= {"offset": offset, "line": lines, "row": int(chunk.row[-1])}
            rejects = [r for r in rejects if r.row < place["row"]]
        self._rejects = self._rejects[len(rejects) :]
        place |= self._times.kept()
        self.place = place
        if chunk is None:
            return Batch(np.empty((0, len(self.schema.used))), place, rejects=rejects)
        lines = chunk.line
        return Batch(
            self._rows(chunk.values, n),
            place,
            time,
            chunk.records if self.options.keep_rows else None,
            chunk.row,
            rejects,
            f"{self._name(chunk)}, {self.unit}s {lines[0]} to {lines[-1]}"
            if chunk.name == self._last
            else f"{chunk.name}, line {lines[0]}, to {self._last}, line {lines[-1]}",
            self._times.change(),
        )

    def _rows(self, values: list[NDArray[Any]], n: int) -> Table:
        """Return rows as a table, with all numbers as one array if there is nothing else."""
        numbers = all(column.dtype.kind == "f" for column in values)
        matrix = np.column_stack(values) if numbers else None
        columns = values if matrix is None else list(matrix.T)
        return Table(columns, self.schema.keys, n, matrix, settled=True)

    def _take(self, n: int) -> Chunk | None:
        parts, self._size = [], self._size - n
        while n:
            first = self._good[0]
            if len(first) <= n:
                parts.append(self._good.pop(0))
            else:
                parts.append(first.take(slice(0, n)))
                self._good[0] = first.take(slice(n, None))
            n -= len(parts[-1])
        self._quiet = 0
        self._last = parts[-1].name if parts else ""
        return _joined(parts) if parts else None


def _listed(lines: list[str], most: int = 5) -> str:
    more = f" and {len(lines) - most:,} more" if len(lines) > most else ""
    return ", ".join(lines[:most]) + more


def _joined(parts: list[Chunk]) -> Chunk:
    """Return several chunks as one."""
    if len(parts) == 1:
        return parts[0]
    times = [part.time for part in parts if part.time is not None]
    return replace(
        parts[0],
        values=[np.concatenate(v) for v in zip(*(part.values for part in parts), strict=True)],
        after=np.concatenate([part.after for part in parts]),
        line=np.concatenate([part.line for part in parts]),
        row=np.concatenate([part.row for part in parts]),
        records=join([part.records for part in parts]),
        time=np.concatenate(times) if times else None,
        bad={},
    )
