"""What file sources share: columns by name or number, chunks cut into batches, places."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np

from scstream.sources.base import Batch, Place, Source
from scstream.sources.chunks import Chunk, Cutter, Floats, Ints, Layout
from scstream.sources.options import SourceOptions
from scstream.support.advice import Advice, advised
from scstream.support.messages import warn
from scstream.support.printable import printable_name


class RowSource(Source):
    """A source that reads chunks of rows and cuts them into batches."""

    def __init__(self, name: str, options: SourceOptions) -> None:
        self.name = name
        self.options = options
        self._place: Place = {}
        self._complete: Sequence[bool] | None = None
        self._cutter: Cutter | None = None
        self._told_of_units = self._told_of_no_time = False

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """What the columns are; known once there was a chunk."""

    @abstractmethod
    def _chunks(self) -> Iterator[Chunk | None]:
        """Read on from ``self._place``; None if there is nothing more just now."""

    @abstractmethod
    def _end(self) -> Place:
        """Return the place behind everything that was read."""

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        self._place = dict(place)

    def require(self, complete: Sequence[bool]) -> None:
        """Refuse from now on rows that lack a value in these columns (d,)."""
        self._complete = complete
        if self._cutter is not None:
            self._cutter.require(complete)

    def __iter__(self) -> Iterator[Batch]:
        """Read on from where the source stands."""
        last = monotonic()
        cutter: Cutter | None = None
        for chunk in self._chunks():
            if chunk is not None:
                cutter = cutter or self._new_cutter()
                cutter.add(chunk)
                last = monotonic()
                for batch in cutter.ready():
                    yield batch
                    self._passed(batch.place)
            elif cutter is not None and cutter.size and self._waited(last):
                for batch in cutter.remaining():
                    yield batch
                    self._passed(batch.place)
        if cutter is not None:
            for batch in cutter.remaining(self._end()):
                yield batch
                self._passed(batch.place)

    def _passed(self, place: Place) -> None:
        """Take note of the place of a batch that was taken: nobody goes back before it."""
        return

    def _waited(self, last: float) -> bool:
        return self.options.wait is not None and monotonic() - last >= self.options.wait

    def _new_cutter(self) -> Cutter:
        layout = self.layout
        place = {**self._place, **self._kept()}
        self._cutter = Cutter(layout, self.options, place)
        if self._complete is None and self.options.complete:
            self._complete = [True] * len(layout.used)
        if self._complete is not None:
            if len(self._complete) != len(layout.used):
                raise advised(
                    ValueError(
                        f"The model learned from {len(self._complete)} columns, but the table has "
                        f"{len(layout.used)}. Choose them."
                    ),
                    Advice("columns"),
                    Advice("exclude"),
                )
            self._cutter.require(self._complete)
        return self._cutter

    def _refuse_no_time(self, time: Floats, dates: Any, lines: Ints, bad: dict[int, str]) -> None:
        """Refuse rows with a bad time, and those without one if the user named the clock.

        ``dates`` are the times as text, None where there is nothing; None if they are numbers.
        """
        named = not self.options.guess or self.options.time_column is not None
        name = self.layout.clock
        for i in np.flatnonzero(~np.isfinite(time)).tolist():
            nothing = dates is None or dates[i] is None
            if named or not nothing:
                held = "nothing" if nothing else shown(dates[i])
                bad.setdefault(i, f"column {name!r} holds {held}, which is not a time")
            elif i not in bad and not self._told_of_no_time:
                self._told_of_no_time = True
                warn(
                    f"{self.name}, {self.layout.unit} {lines[i]}: the row has no time in {name!r}. "
                    "Such rows count with the batch they are in."
                )

    def _tell_unit(self, numbers: Floats, lines: Ints, odd: Ints) -> None:
        """Say once that some times that are numbers are in another unit than the first ones."""
        if len(odd) and not self._told_of_units:
            self._told_of_units = True
            warn(
                f"{self.name}, {self.layout.unit} {lines[odd[0]]}: the time {numbers[odd[0]]:.15g} "
                "is in another unit than the first ones (parts of a second since 1970). Such "
                "times are converted."
            )

    def _kept(self) -> Place:
        """Return what a place holds besides where it is."""
        return {}


def shown(field: str) -> str:
    """Return a field as it is quoted in a message."""
    return repr(field if len(field) <= 40 else field[:40] + "...")


def find_column(column: str | int, names: Sequence[str]) -> int:
    """Return where the column of that name, or else of that number from 0, is."""
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    text = str(column)
    if text.isascii() and text.isdecimal() and int(text) < len(names):
        return int(text)
    shown = ", ".join(map(printable_name, names[:20])) + (", ..." if len(names) > 20 else "")
    raise ValueError(f"There is no column {text!r}; there are {len(names)}: {shown}.")


def words_of(options: SourceOptions, names: Sequence[str]) -> set[int]:
    """Return where the columns are that hold words whatever they look like."""
    return {find_column(column, names) for column in options.text}


def as_word(value: float | None) -> str | None:
    """Return a number or truth value as the word that a text file would have for it."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if whole else str(value)


def used_columns(names: Sequence[str], options: SourceOptions) -> tuple[list[int], int | None]:
    """Return the columns to learn from, and that of the times."""
    time = None
    if options.time_column is not None:
        time = find_column(options.time_column, names)
    out = {find_column(column, names) for column in options.exclude}
    if options.columns is None:
        used = [j for j in range(len(names)) if j != time and j not in out]
    else:
        used = [find_column(column, names) for column in options.columns]
        used = [j for j in used if j not in out]
    if not used:
        raise ValueError("There is no column to learn from.")
    if len(set(used)) < len(used):
        raise ValueError(f"A column is named twice: {[names[j] for j in used]}.")
    return used, time
