"""How time goes on from batch to batch, also where a clock does not."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scstream.sources.base import Place

Floats = NDArray[np.float64]
_MANY = 1000  # late rows in a row: by then the clock was set back, or started again
_SOME = 100  # late rows in a row, at least, where batches are small
_BATCHES = 2  # batches of late rows that are as many
_LONG = 10  # times as many rows of one time as ever before: the clock stands still
_MOVES = 2  # batches by which a clock has shown that it goes on
_PARTS = (1e3, 1e6, 1e9)  # units that a clock may change to
_JUMP = 100.0  # usual gaps between batches: a longer one may be a change of the unit
_NEAR = 10.0  # usual gaps within which the next batch is expected
_AHEAD = 100  # one row in so many, but at least one, may lie ahead of its batch
_FEW = 10  # rows: among fewer none is said to lie ahead


@dataclass
class Pace:
    """The time of the last batch, and all that decides about the next one.

    A batch that brings no later row has the time of the one before. Where many rows come too late,
    or one time lasts much longer than ever before, the clock is not used any more: time goes on by
    the usual gap between batches, or farther where rows are later than that.

    Attributes
    ----------
    last : float or None
        The time of the last batch.
    high : float
        The latest time that a clock showed.
    extent : float
        From the first to the last row of the first batch.
    gaps, moves, waits : int
        Gaps between batches until time last went on, those in which it did, and gaps since.
    span, widest : float
        The sum of the gaps, and the widest of them.
    late, still : int
        Rows since time went on: of batches with many before ``high``, and of all.
    most : int
        The most rows of one time up to then.
    scale : float
        What the clock's times are divided by, since its unit changed.
    step : float or None
        What time goes on by since the clock is none.
    """

    last: float | None = None
    high: float = -math.inf
    extent: float = 0.0
    gaps: int = 0
    moves: int = 0
    waits: int = 0
    span: float = 0.0
    widest: float = 0.0
    late: int = 0
    still: int = 0
    most: int = 0
    scale: float = 1.0
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
        if self.last is None:
            self.last = self.high = time
            self.extent = max(0.0, time + latest(-times))
            self.most = _most_of_one(times)
            return time
        if self.step is None and time <= self.last:
            self._wait(times)
        if self.step is not None:
            time = max(time, self.last + self.step)
        elif time > self.last:
            self._move(time, times)
        self.last = max(time, math.nextafter(self.last, math.inf))
        return self.last

    def _move(self, time: float, times: Floats) -> None:
        """Take note of a batch that brought later rows."""
        assert self.last is not None
        gap = time - self.last
        self.gaps, self.moves = self.gaps + self.waits + 1, self.moves + 1
        self.span, self.widest = self.span + gap, max(self.widest, gap)
        self.most = max(self.most, self.still, _most_of_one(times))
        self.late = self.still = self.waits = 0
        self.high = time

    def _wait(self, times: Floats) -> None:
        """Take note of a batch that brought no later row; stop waiting if these are many."""
        n, late = len(times), int(np.count_nonzero(times < self.high))
        self.late += n if 2 * late > n else 0
        self.still, self.waits = self.still + n, self.waits + 1
        stuck = self.moves >= _MOVES and self.still >= max(_MANY, _LONG * self.most)
        if self.late >= many(_BATCHES * n) or stuck:
            self.step = self.usual()

    def usual(self) -> float:
        """Return the usual gap between batches, the widest aside: it may be a pause."""
        if self.gaps > 1 and self.span > self.widest:
            return (self.span - self.widest) / (self.gaps - 1)
        return self.extent or self.span / max(self.gaps, 1) or 1.0

    def change_unit(self, time: float) -> float | None:
        """Return by what a later unit is finer if the latest time of a batch shows that it changed.

        Such a time is far from the next one, and near it in another unit.
        """
        if self.last is None or self.step is not None:
            return None
        usual, now = self.usual(), time / self.scale
        if self.high < now <= self.high + _JUMP * usual:
            return None
        for parts in _PARTS:
            for by in (parts, 1.0 / parts):
                if self.high < now / by <= self.high + _NEAR * usual:
                    self.scale *= by
                    return by
        return None


def many(n: int) -> int:
    """Return how many late rows in a row are no accident, where n are several batches."""
    return min(_MANY, max(_SOME, n))


def _most_of_one(times: Floats) -> int:
    """Return how many rows the most frequent time has."""
    return int(np.unique(times, return_counts=True)[1].max())


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
