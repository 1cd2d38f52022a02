"""Where batches of periods end, and the times of batches.

A row whose clock is wrong must not carry the stream's clock along: all clusters would be forgotten
at once, and no later row would begin a period. Where the clock itself goes back for good, time goes
on by steps, and batches of periods become batches of as many rows as before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families.widening import CLOCK, Widening
from scstream.sources.base import Place
from scstream.support.messages import warn
from scstream.support.times import Moment, as_date, as_length

if TYPE_CHECKING:
    from scstream.sources.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NO_PERIOD = -(2**62)
_PERIODS = 5  # of late rows in a row: the clock is none
_JUDGES = 5  # rows of which most must lie in a period, or later, for it to begin after a gap
_MANY = 1000  # late rows in a row: by then the clock was set back, or started again
_SOME = 100  # late rows in a row, at least, where batches are small
_BATCHES = 2  # batches of late rows that are as many
_AHEAD = 100  # one row in so many, but at least one, may lie ahead of its batch
_FEW = 10  # rows: among fewer none is said to lie ahead


@dataclass
class Pace:
    """The time of the last batch, and all that decides about the next one.

    A batch that brings no later row has the time of the one before. Where many rows come too late
    the clock is not used any more: time goes on by the usual gap between batches.

    Attributes
    ----------
    last : float or None
        The time of the last batch.
    high : float
        The latest time that a clock showed.
    batches : int
        The number of batches.
    span, widest : float
        The time that the first batch covers and the gaps between all, and the widest of these.
    late : int
        Rows of successive batches with many before ``high``.
    step : float or None
        What time goes on by since the clock is none.
    """

    last: float | None = None
    high: float = -math.inf
    batches: int = 0
    span: float = 0.0
    widest: float = 0.0
    late: int = 0
    step: float | None = None

    @classmethod
    def of(cls, place: Place) -> Self:
        """Return how time went on up to a place."""
        return cls(**place.get("clock", {}))

    def kept(self) -> Place:
        """Return what a place holds of it."""
        return {} if self.last is None else {"clock": asdict(self)}

    def go_on(self, time: float, times: Floats) -> float:
        """Return the time of the next batch, by its latest time and those of its rows (n,)."""
        self.batches += 1
        if self.last is None:
            self.last = self.high = time
            self.span = max(0.0, time + latest(-times))
            return time
        if self.step is None and time <= self.last:
            n = len(times)
            self.late += n if 2 * np.count_nonzero(times < self.high) > n else 0
            if self.late >= _too_many(_BATCHES * n):
                self.step = self._usual()
        if self.step is not None:
            time = self.last + self.step
        elif time > self.last:
            gap = time - self.last
            self.span, self.widest = self.span + gap, max(self.widest, gap)
            self.late, self.high = 0, time
        self.last = max(time, math.nextafter(self.last, math.inf))
        return self.last

    def _usual(self) -> float:
        """Return the usual gap between batches, the widest aside: it may be a pause."""
        rest = (self.span - self.widest) / max(1, self.batches - 2)
        return rest or self.span / self.batches or 1.0


class _Lot(NamedTuple):
    """Rows among which a period may begin: their periods and lines, and all times that wait."""

    periods: Floats
    times: Sequence[Floats]
    lines: Ints
    at: int
    final: bool


class BatchTimes:
    """The periods and times of a stream's batches."""

    def __init__(
        self, where: str, schema: Schema, period: float | None, rows: int, place: Place
    ) -> None:
        self._where = where
        self._column, self._dates = schema.clock, schema.dates != ""
        self._period = period
        self._last = int(place.get("period", _NO_PERIOD))
        self._usual = rows
        # Of periods: batches, their rows, and how many a batch has since the clock is none.
        self._batches, self._rows, self._wanted = place.get("rows", (0, 0, 0))
        self._pace = Pace.of(place)
        self._open: int | None = None  # the period of the batch that is being filled
        self._ahead: tuple[int, float] | None = None  # a row that may lie ahead, and its time
        self._late = 0  # successive rows of the batch that is being filled that came late
        self._warned = False
        self._change: Widening | None = None

    def forget_open(self) -> None:
        """Forget what was seen of the batch that is being filled."""
        self._open, self._late = None, 0

    def change(self) -> Widening | None:
        """Return, once, what became of the clock in the last batch, None if nothing did."""
        change, self._change = self._change, None
        return change

    @property
    def rows_wanted(self) -> int | None:
        """How many rows the next batch has; None if its period decides."""
        return self._wanted or None if self._period is not None else self._usual

    def kept(self) -> Place:
        """Return what a place holds of times."""
        if self._period is None:
            return self._pace.kept()
        return {"period": self._last, "rows": [self._batches, self._rows, self._wanted]}

    def next_period(
        self, times: Sequence[Floats], lines: Sequence[Ints], at: int, *, final: bool
    ) -> tuple[int | None, bool]:
        """Return the row of a lot in which the next period begins, and whether that is settled.

        Rows that come late begin no period. The lots are those that wait, by their times and lines.
        """
        lot = _Lot(self._periods(times[at]), times, lines[at], at, final)
        start, known = 0, self._last
        if self._open is None:
            first, settled = self._first_after(known, lot, 0)
            if first is not None:
                self._open, start = int(lot.periods[first]), first
        found = None
        if self._open is not None:
            known = self._open - 1
            found, settled = self._first_after(self._open, lot, start)
        cut = self._count_late(~(lot.periods > known)[:found]) if settled else None
        if cut is None:
            return found, settled
        self._wanted = max(1, self._rows // self._batches) if self._batches else self._usual
        step = f"{self._shown_length(self._period or 1.0)} with every {self._wanted:,} rows"
        self._say_lost(int(lot.lines[cut - 1]), (known + 1) * (self._period or 1.0), step)
        return cut, True

    def _periods(self, times: Any) -> Any:
        """Return the period of each time."""
        assert self._period is not None
        return np.floor(times / self._period)

    def _first_after(self, known: int, lot: _Lot, start: int) -> tuple[int | None, bool]:
        """Return the first row that begins a period after a known one, and whether it is sure."""
        for row in np.flatnonzero(lot.periods[start:] > known):  # usually the first one is it
            i = start + int(row)
            if lot.periods[i] == known + 1:
                return i, True
            later = lot.times[lot.at + 1 : lot.at + _JUDGES]
            near = np.concatenate(
                [lot.times[lot.at][i : i + _JUDGES], *(t[:_JUDGES] for t in later)]
            )
            judges = self._periods(near[:_JUDGES])
            if len(judges) < _JUDGES and not lot.final:
                return None, False
            if 2 * np.count_nonzero(judges >= judges[0]) > len(judges):
                return i, True
            self._warn(int(lot.lines[i]), float(lot.times[lot.at][i]))
        return None, True

    def of_batch(self, times: Floats, lines: Ints) -> float:
        """Return the time of a batch: the end of its period, or that of its latest row."""
        kind = Moment if self._dates else float
        there = np.isfinite(times)
        if there.any():
            times, lines = times[there], lines[there]
        else:  # as if all were late
            high = self._pace.high if self._pace.last is not None else 1.0
            times = np.full(len(times), np.nextafter(high, -np.inf))
        if self._period is None:
            return kind(self._by_pace(times, lines))
        if self._wanted:
            period = int(self._periods(latest(times))) if there.any() else self._last
            self._last = max(self._last + 1, period)
        else:
            self._last = self._last + 1 if self._open is None else self._open
            self._batches, self._rows = self._batches + 1, self._rows + len(times)
        self.forget_open()
        return kind((self._last + 1) * self._period)

    def _by_pace(self, times: Floats, lines: Ints) -> float:
        """Return the time of the latest row, or a later one where the clock has gone back."""
        pace, time = self._pace, latest(times)
        if self._ahead is not None and time < self._ahead[1]:
            self._warn(*self._ahead)
        last = int(np.argmax(times))
        self._ahead = (int(lines[last]), float(times[last])) if times[last] > time else None
        before = pace.step
        time = pace.go_on(time, times)
        if pace.step is not None and before is None:
            step = f"{self._shown_length(pace.step)} with each batch"
            self._say_lost(int(lines[-1]), pace.high, step)
        return time

    def _count_late(self, late: NDArray[np.bool_]) -> int | None:
        """Return behind which row the late ones in a row are too many for a clock, if they are."""
        place = np.arange(1, len(late) + 1)
        fresh = np.maximum.accumulate(np.where(late, 0, place))
        runs = place - fresh + np.where(fresh == 0, self._late, 0)
        usual = self._rows // self._batches if self._batches else self._usual
        too_many = np.flatnonzero(runs >= _too_many(_PERIODS * usual))
        if len(runs):
            self._late = int(runs[-1])
        return int(place[too_many[0]]) if len(too_many) else None

    def _say_lost(self, line: int, before: float, step: str) -> None:
        """Say that a clock is none any more, and keep it for an event."""
        self._change = Widening(self._column, CLOCK, f"steps of {step}")
        warn(
            f"{self._where} {line}: the times in {self._column!r} go back for good: none is later "
            f"than {self._shown(before)}. It is not used as a clock from here on; time goes on by "
            f"{step}."
        )

    def _shown(self, time: float) -> str:
        return as_date(time) if self._dates else f"{time:g}"

    def _shown_length(self, length: float) -> str:
        return as_length(length) if self._dates else f"{length:.3g}"

    def _warn(self, line: int, time: float) -> None:
        if self._warned:
            return
        self._warned = True
        warn(
            f"{self._where} {line}: its time, {self._shown(time)}, is far ahead of the rows around "
            "it. Such rows do not move the clock; they count with the batch they are in."
        )


def _too_many(n: int) -> int:
    """Return how many late rows in a row are no accident, where n are several batches."""
    return min(_MANY, max(_SOME, n))


def latest(times: Any) -> float:
    """Return the time of the latest row, without a few that are ahead of all others.

    They are by more than the others' times cover, late rows aside.

    Examples
    --------
    >>> times = np.arange(100.0)
    >>> times[50] = 1e9
    >>> latest(times), latest(np.append(times, 2e9)), latest(times[:5])
    (99.0, 1000000000.0, 4.0)
    """
    n = len(times)
    if n < _FEW:
        return float(times.max())
    few = max(1, n // _AHEAD)
    ordered = np.sort(times)
    tail = ordered[n - few - 1 :]
    gaps = np.diff(tail)
    widest = int(np.argmax(gaps))
    if gaps[widest] > tail[widest] - ordered[few]:
        return float(tail[widest])
    return float(tail[-1])
