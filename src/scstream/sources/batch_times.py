"""Where batches of periods end, and the times of batches.

A row whose clock is wrong must not carry the stream's clock along: all clusters would be forgotten
at once, no later row would begin a period, and time would stand still from then on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.sources.base import Place
from scstream.support.messages import warn
from scstream.support.times import Moment, as_date

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NO_PERIOD = -(2**62)
_JUDGES = 5  # rows of which most must lie in a period, or later, for it to begin after a gap
_AHEAD = 100  # one row in so many, but at least one, may lie ahead of its batch
_MANY = 1000  # late rows in a row: by then the clock was set back, or started again
_FEW = 10  # rows: among fewer none is said to lie ahead


class _Lot(NamedTuple):
    """Rows among which a period may begin: their periods and lines, and all times that wait."""

    periods: Floats
    times: Sequence[Floats]
    lines: Ints
    at: int
    final: bool


class BatchTimes:
    """The periods and times of a stream's batches.

    Parameters
    ----------
    name : str
        What the source is called in messages.
    unit : str
        What its rows are counted by.
    dates : bool
        Whether times are dates.
    period : float or None
        The length of time that a batch covers.
    robust : bool
        Whether batches of a number of rows have a time in any case; else the model refuses what
        goes back.
    place : dict
        Of the last batch.
    """

    def __init__(
        self, name: str, unit: str, *, dates: bool, period: float | None, robust: bool, place: Place
    ) -> None:
        self._name, self._unit, self._dates = name, unit, dates
        self._period = period
        self._robust = robust
        self._last = int(place.get("period", _NO_PERIOD))
        self._clock: float | None = place.get("clock")  # the time of the last batch
        self._open: int | None = None  # the period of the batch that is being filled
        self._ahead: tuple[int, float] | None = None  # a row that may lie ahead, and its time
        self._late = 0  # successive rows that came late
        self._warned = self._warned_of_late = False

    def forget_open(self) -> None:
        """Forget what was seen of the batch that is being filled."""
        self._open = None

    def kept(self) -> Place:
        """Return what a place holds of times."""
        if self._period is not None:
            return {"period": self._last}
        return {} if self._clock is None else {"clock": self._clock}

    def next_period(
        self, times: Sequence[Floats], lines: Sequence[Ints], at: int, *, final: bool
    ) -> tuple[int | None, bool]:
        """Return the row of a lot in which the next period begins, and whether that is settled.

        Rows that come late begin no period.

        Parameters
        ----------
        times, lines : sequence of ndarray (n,)
            Of the lots of rows that wait.
        at : int
            The lot.
        final : bool
            Whether no row comes after them.
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
        if found is None and settled:
            self._count_late(lot.periods <= known, lot.lines, known + 1)
        return found, settled

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
            judges = self._periods(_from(lot.times, lot.at, i))
            if len(judges) < _JUDGES and not lot.final:
                return None, False
            if 2 * np.count_nonzero(judges >= judges[0]) > len(judges):
                return i, True
            self._warn(int(lot.lines[i]), float(lot.times[lot.at][i]))
        return None, True

    def of_batch(self, times: Floats, lines: Ints) -> float:
        """Return the time of a batch: the end of its period, or that of its latest row."""
        kind = Moment if self._dates else float
        if self._period is None:
            return kind(self._later_than_last(times, lines) if self._robust else times.max())
        self._last = self._last + 1 if self._open is None else self._open
        self._open, self._late = None, 0
        return kind((self._last + 1) * self._period)

    def _later_than_last(self, times: Floats, lines: Ints) -> float:
        """Return the time of the latest row, or just after the last batch if all come late."""
        time = latest(times)
        if self._ahead is not None and time < self._ahead[1]:
            self._warn(*self._ahead)
        last = int(np.argmax(times))
        self._ahead = (int(lines[last]), float(times[last])) if times[last] > time else None
        if self._clock is not None:
            # Batches of one time differ by a last place, so the clock may be a little later.
            late = time < self._clock and not math.isclose(time, self._clock)
            self._count_late(np.full(len(times), late), lines, self._clock)
            time = max(time, math.nextafter(self._clock, math.inf))
        self._clock = time
        return time

    def _count_late(self, late: NDArray[np.bool_], lines: Ints, before: float) -> None:
        """Count successive rows whose times lie before one, and report when they are many."""
        fresh = np.flatnonzero(~late)
        self._late = len(late) - 1 - int(fresh[-1]) if len(fresh) else self._late + len(late)
        if self._late < _MANY or self._warned_of_late:
            return
        self._warned_of_late = True
        still = "" if self._period is None else ", and no batch ends"
        warn(
            f"{self._name}, {self._unit} {lines[-1]}: times have gone back, {self._late:,} rows in "
            f"a row are before {self._shown(before * (self._period or 1.0))}. Until later ones "
            f"come, time stands still{still}."
        )

    def _shown(self, time: float) -> str:
        return as_date(time) if self._dates else f"{time:g}"

    def _warn(self, line: int, time: float) -> None:
        if self._warned:
            return
        self._warned = True
        warn(
            f"{self._name}, {self._unit} {line}: its time, {self._shown(time)}, is far ahead of "
            "the rows around it. Such rows do not move the clock; they count with the batch they "
            "are in."
        )


def latest(times: Floats) -> float:
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


def _from(times: Sequence[Floats], at: int, i: int) -> Floats:
    """Return the times of a row of a lot and of the next ones."""
    found = times[at][i : i + _JUDGES]
    for more in times[at + 1 :]:
        if len(found) >= _JUDGES:
            break
        found = np.append(found, more[: _JUDGES - len(found)])
    return found
