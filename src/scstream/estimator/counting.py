"""Columns that only count up, as times, row numbers and ids: a model cuts them into stretches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scstream.families.contract import Array

_FEWEST = 20  # rows that show it
_GLANCE = 100  # rows that show what most columns are: none that counts up
_MOVES = 0.5  # the share of steps that lead on at least; the others stay where they are
_EVEN = 1e-6  # of a step, by which the steps of a row number differ at most


class Trend(NamedTuple):
    """A column that has only risen, or only fallen, so far."""

    direction: float
    last: float
    even: bool  # whether by the same step each time, within one batch


class Course(NamedTuple):
    """The columns that may count up, by their names, of the batches and rows looked at."""

    batches: int
    rows: int
    trends: dict[Any, Trend]


def followed(before: Course | None, columns: Sequence[tuple[Any, Array]]) -> Course:
    """Return the course after the next batch, whose columns (n,) have their names in front.

    One column alone is what clusters are asked of, whatever it is.
    """
    rows = len(columns[0][1]) if columns else 0
    if rows == 0:
        return before or Course(0, 0, {})
    found: dict[Any, Trend] = {}
    for name, column in columns if len(columns) > 1 else ():
        known = None if before is None else before.trends.get(name)
        if before is None or known is not None:
            trend = _trend(column[:_GLANCE], known) and _trend(column, known)
            found |= {} if trend is None else {name: trend}
    if before is None:
        return Course(1, rows, found)
    return Course(before.batches + 1, before.rows + rows, found)


def _trend(x: Array, known: Trend | None) -> Trend | None:
    """Return where a column (n,) leads, None if it goes to and fro."""
    direction = float(np.sign(x[-1] - x[0])) if known is None else known.direction
    step = direction * np.diff(x if known is None else np.append(known.last, x))
    if len(step) == 0 or not (step >= 0.0).all() or np.mean(step > 0.0) < _MOVES:
        return None
    even = known is None and bool(np.ptp(step) <= _EVEN * step.max())
    return Trend(direction, float(x[-1]), even)


def warning_of_counting(course: Course) -> str:
    """Return a warning of columns that count up from batch to batch, or evenly, if there are any.

    Rows may be sorted by a column of the usual kind. Then it does not go on in the next batch.
    """
    on = course.batches > 1
    found = [name for name, trend in course.trends.items() if on or trend.even]
    if not found or course.rows < _FEWEST:
        return ""
    name, more = found[0], len(found) - 1
    also = "" if not more else " So does another." if more == 1 else f" So do {more} others."
    way = "rises" if course.trends[name].direction > 0 else "falls"
    return (
        f"Column {name!r} only {way} from row to row{' and from batch to batch' if on else ''}, as "
        f"times, row numbers and ids do.{also} The model would divide it into stretches, each a "
        "cluster. Leave it out; the time of a batch is given by partial_fit(X, time=...). If rows "
        "were sorted by it, shuffle them."
    )
