"""The column of the times: dates, or numbers that grow from row to row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.sources.batch_times import latest
from scstream.sources.guess.amounts import is_number, to_number
from scstream.sources.guess.dates import ISO, compact_format, seconds, usual_format
from scstream.sources.guess.keys import is_year_name
from scstream.sources.guess.values import epoch_unit, in_order, in_seconds
from scstream.sources.options import SourceOptions
from scstream.support.advice import Advice

_NAME = re.compile(
    r"(.*[\W_])?(t|ts|time|times|timestamp|datetime|date|when|epoch|at|clock|created|updated|modified"
    r"|recorded|logged|zeit|datum|zeitpunkt|zeitstempel)"
    r"(_?(utc|s|ms|us|ns))?|.*(Time|Timestamp|Date|At)",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[\[(][^\])]*[\])]\s*$")
_SORTED = 0.9  # share of steps that must not go back in time
_LATE, _LATE_ROWS = 0.1, 10  # share of the rows, in a row, and rows that come late by accident
_PLAIN = (str, int, float, np.number)
_SAMPLE = 200  # dates whose form is looked at
_SURE = 10  # numbers that are dates as 20260131 is, for a column of any name


def is_clock_name(name: str) -> bool:
    """Whether a column's name says that it holds times; a unit in brackets does not matter."""
    return _NAME.fullmatch(_UNIT.sub("", name).strip()) is not None


@dataclass(frozen=True)
class Clock:
    """A column that may be the clock.

    Attributes
    ----------
    times : ndarray (n,)
    dates : str
        As in `Role`.
    years : bool
        Whether they are years, which no cluster should be made of where they are not the clock.
    """

    times: NDArray[np.float64]
    dates: str
    years: bool = False

    @classmethod
    def of(cls, name: str, values: Sequence[Any], decimal: str, *, chosen: bool) -> Clock | None:
        """Return the clock in a column, None if it holds no times."""
        if not values:
            return None
        if isinstance(values[0], np.datetime64) or hasattr(values[0], "isoformat"):
            stamps = np.array(values, dtype="datetime64[us]").astype(np.int64) / 1e6
            return cls(stamps, "iso")
        texts = [value for value in values if isinstance(value, str)]
        if texts and not all(is_number(text, decimal) for text in texts[:_SAMPLE]):
            form = usual_format(texts[:_SAMPLE])
            if form is None:
                return None
            times = seconds(texts, form)
            return cls(times[np.isfinite(times)], form)
        form = compact_format(texts) if len(texts) == len(values) else None
        if form is not None and (chosen or is_clock_name(name) or len(texts) >= _SURE):
            return cls(seconds(texts, form), form)
        if any(type(v) is bool or not isinstance(v, _PLAIN) for v in values):
            return None
        numbers = np.array([_number(value, decimal) for value in values])
        if is_year_name(name) and _are_years(numbers):
            return cls(numbers, "", years=True)
        unit = epoch_unit(numbers[np.isfinite(numbers)]) if np.isfinite(numbers).any() else None
        sure = unit in ("ms", "us", "ns") and _grows(numbers)  # whatever it is called
        if not chosen and not sure and not (is_clock_name(name) and (unit or _grows(numbers))):
            return None
        return cls(in_seconds(numbers, unit or "")[0], unit or "")

    @property
    def is_date(self) -> bool:
        """Whether the times are dates, and not numbers of a unit of their own."""
        return self.dates != ""

    @property
    def why(self) -> str:
        """What the clock shows."""
        if not self.is_date:
            return "years in order" if self.years else "numbers in order"
        words = {"iso": "dates", "s": "seconds since 1970", "ms": "milliseconds since 1970",
                 "us": "microseconds since 1970", "ns": "nanoseconds since 1970"}  # fmt: skip
        forms = self.dates.replace(ISO, "ISO 8601").split("|")
        return words.get(self.dates, f"dates as {' or '.join(forms)}")

    def usable(self, n: int, options: SourceOptions) -> bool:
        """Whether it can separate batches."""
        least = 1.0 if self.years else _SORTED  # years go back where a table has several series
        return self._ordered(least) and not self._coarse(n, options)

    def _ordered(self, least: float = _SORTED) -> bool:
        """Whether so many steps go on, and there are not many rows in a row before earlier ones."""
        times = self.times[np.isfinite(self.times)]
        if not len(times) or in_order(self.times) < least:
            return False
        times = times[times <= latest(times)]
        place = np.arange(len(times))
        fresh = np.where(times >= np.maximum.accumulate(times), place, 0)
        return bool(
            np.max(place - np.maximum.accumulate(fresh)) < max(_LATE_ROWS, _LATE * len(times))
        )

    def _coarse(self, n: int, options: SourceOptions) -> bool:
        """Whether there are batches in which no time passes."""
        if options.period is not None or n < options.batch_size:
            return len(np.unique(self.times)) < 2
        return 2 * n > options.batch_size * len(np.unique(self.times))

    def reason_not(self, n: int, options: SourceOptions, *, taken: bool) -> str:
        """Return why it is not the clock."""
        if not self.is_date:
            word = "years" if self.years else "numbers in order"
            return f"{word}; another column is the clock" if taken else f"{word}, not a clock here"
        if options.time_column == "none":
            return "dates"
        if not self._ordered():
            return "dates that are not in order"
        if self._coarse(n, options):
            return f"dates, too few for batches of {options.batch_size:,} rows"
        return "dates; another column is the clock" if taken else "dates"

    def changes(self, key: str | int, n: int, options: SourceOptions) -> tuple[Advice, ...]:
        """Return the options that make it the clock."""
        if options.time_column == "none":
            return ()
        coarse = self._ordered() and self._coarse(n, options)
        return (Advice("time_column", key), *[Advice("period", "1d")] * coarse)


def clocks(found: Mapping[int, Clock], n: int, options: SourceOptions) -> int | None:
    """Return the column that is the clock, None if there is none."""
    if options.time_column is not None:
        return None
    usable = {j: clock for j, clock in found.items() if clock.usable(n, options)}
    return max(usable, key=lambda j: (usable[j].is_date, in_order(usable[j].times), -j),
               default=None)  # fmt: skip


def _are_years(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are years of the last thousand or the next."""
    whole = numbers[np.isfinite(numbers)]
    return bool(
        len(whole) and np.all((whole == np.floor(whole)) & (whole >= 1000) & (whole < 3000))
    )


def _grows(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers hardly ever go back, and go on."""
    return bool(in_order(numbers) == 1.0 and numbers[-1] > numbers[0])


def _number(value: Any, decimal: str) -> float:
    if isinstance(value, str):
        return to_number(value, decimal) if is_number(value, decimal) else np.nan
    return float(value)
