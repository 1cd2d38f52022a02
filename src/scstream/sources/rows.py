"""Rows on their way into batches: what files, tables and messages share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.sources.base import Batch, Place, Source
from scstream.sources.chunks import Chunk, Cutter, Floats, Ints
from scstream.sources.guess.columns import columns_of_look, used_roles
from scstream.sources.guess.dates import seconds
from scstream.sources.guess.looks import Look
from scstream.sources.guess.values import in_seconds
from scstream.sources.options import SourceOptions
from scstream.sources.places import check_counts
from scstream.sources.schema import Schema
from scstream.support.advice import Advice, advised
from scstream.support.messages import warn

LOOK_ROWS = 1000  # that are looked at, at most


class RowSource(Source):
    """A source that reads chunks of rows and cuts them into batches.

    Attributes
    ----------
    unit : str
        What rows are counted by in messages.
    """

    unit = "line"

    def __init__(self, name: str, options: SourceOptions) -> None:
        self.name = name
        self.options = options
        self._place: Place = {}
        self._found: Schema | None = None
        self._complete: Sequence[bool] | None = None
        self._cutter: Cutter | None = None
        self._told_of_units = self._told_of_no_time = False

    @abstractmethod
    def _chunks(self) -> Iterator[Chunk | None]:
        """Read on from ``self._place``; None if there is nothing more just now."""

    @abstractmethod
    def _end(self) -> Place:
        """Return the place behind everything that was read."""

    @property
    def schema(self) -> Schema:
        """What the columns are; known once there was a chunk."""
        assert self._found is not None
        return self._found

    def _look(self, look: Look, *, named: bool = True) -> None:
        """Find out from a look at the first rows what the columns are."""
        roles = columns_of_look(look, self.options, self.name)
        self._found = Schema.of_roles(roles, *used_roles(roles, self.options), named)

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        check_counts(place)
        self._found = Schema.of_place(place)
        self._place = {name: value for name, value in place.items() if name != "seen"}

    def _kept(self) -> Place:
        """Return what a place holds besides where it is."""
        return self.schema.to_place()

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
                last = last if cutter.size else monotonic()  # when the first that waits came
                cutter.add(chunk)
                for batch in self._given(cutter.ready()):
                    yield batch
                    last = monotonic()
            if cutter is not None and cutter.size and self._waited(last):
                yield from self._given(cutter.remaining())
        if cutter is not None:
            yield from self._given(cutter.remaining(self._end()))

    def _given(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            yield batch
            self._passed(batch.place)

    def _passed(self, place: Place) -> None:
        """Take note of the place of a batch that was taken: no reader goes back before it."""
        return

    def _waiting(self) -> int:
        """Return how many rows wait for a batch."""
        return 0 if self._cutter is None else self._cutter.size

    def _waited(self, last: float) -> bool:
        return self.options.wait is not None and monotonic() - last >= self.options.wait

    def _new_cutter(self) -> Cutter:
        schema, place = self.schema, {**self._place, **self._kept()}
        self._cutter = Cutter(self.name, self.unit, schema, self.options, place)
        if self._complete is None and self.options.complete:
            self._complete = [True] * len(schema.used)
        if self._complete is not None:
            if len(self._complete) != len(schema.used):
                raise advised(
                    ValueError(
                        f"The model learned from {len(self._complete)} columns, but the table has "
                        f"{len(schema.used)}. Choose them."
                    ),
                    Advice("columns"),
                    Advice("exclude"),
                )
            self._cutter.require(self._complete)
        return self._cutter

    def _times(self, held: NDArray[Any], lines: Ints, bad: dict[int, str]) -> Floats:
        """Return the times in a column of dates, of their texts or of numbers.

        A row with a bad time is refused, one without a time only if the user named the clock.
        """
        schema, texts = self.schema, held.dtype.kind == "O" and self.schema.time_is_text
        if texts:
            time = seconds([date or "" for date in held], schema.dates)
        elif held.dtype.kind == "M":
            time = held.astype("datetime64[us]").astype(np.int64) / 1e6
            time[np.isnat(held)] = np.nan
        else:
            numbers = held.astype(np.float64)
            time, odd = in_seconds(numbers, schema.dates)
            self._tell_unit(numbers, lines, odd)
        for i in np.flatnonzero(~np.isfinite(time)).tolist():
            nothing = not texts or held[i] is None
            if self.options.time_column is not None or not nothing:
                word = "nothing" if nothing else shown(held[i])
                bad.setdefault(i, f"column {schema.clock!r} holds {word}, which is not a time")
            elif i not in bad and not self._told_of_no_time:
                self._told_of_no_time = True
                warn(
                    f"{self.name}, {self.unit} {lines[i]}: the row has no time in "
                    f"{schema.clock!r}. Such rows count with the batch they are in."
                )
        return time

    def _tell_unit(self, numbers: Floats, lines: Ints, odd: Ints) -> None:
        """Say once that some times that are numbers are in another unit than the first ones."""
        if len(odd) and not self._told_of_units:
            self._told_of_units = True
            warn(
                f"{self.name}, {self.unit} {lines[odd[0]]}: the time {numbers[odd[0]]:.15g} "
                "is in another unit than the first ones (parts of a second since 1970). Such "
                "times are converted."
            )


def shown(field: str) -> str:
    """Return a field as it is quoted in a message."""
    return repr(field if len(field) <= 40 else field[:40] + "...")


def as_word(value: float | None) -> str | None:
    """Return a number or truth value as the word that a text file would have for it."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if whole else str(value)


def assemble(schema: Schema, numbers: Floats, words: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return columns in their order, from their numbers (n, d) and their words."""
    numeric, text = iter(numbers.T), iter(words)
    return [next(text) if kind == "text" else next(numeric) for kind in schema.kinds]
