"""Numbers that were rounded or counted: how coarse they are, and places within their cells.

A density knows no ties. Where a column holds few different numbers, or one alone, clusters have
no spread in it: no prior fits that, and it outweighs the other columns. Where rows come again and
again, as whole numbers in two columns do, each of them would be a cluster, however fine columns are
as a whole: clusters may be narrow and far apart. So a column is judged by numbers that are close
to each other, and repeated rows are counted without the columns that are not rounded.
A rounded number stands for a cell, so it is taken for a place about there, another one each time.
The places are normal: a uniform spread would be divided into clusters. And they are spread so far
that the rows of neighbouring numbers leave no valley, which many rows would show: a cluster that
has several numbers would become one for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from scstream.core import Floats as Array

_ROWS = 4096  # about so many show how coarse columns are
_TIES = 4  # rows for each different number of a coarse column, at least
_SAME = 1e-13  # of a column's largest number, and
_SAME_BESIDE = 1e-6  # of its scale, by which one number differs from itself computed otherwise
_COARSE = 0.2  # deviations, of numbers that are close, that a step is wide at least,
_APART = 3.0  # steps that are between others,
_AGAIN = 1.25  # unless there are so many rows for each different one, by coarse columns alone
_NARROW = 0.01  # the same where a column has no deviation, only a size
_CELL = 0.45 * np.sqrt(12.0)  # steps that a cell is wide: places deviate by .45 steps
_CELL_OF_FEW = 0.5 * np.sqrt(12.0)  # the same where the column deviates by less than a step


def steps(X: Array, scale: Array) -> Array:
    """Return the width of the cells of each column (d,), 0 where it is fine; missing is NaN.

    That is the middle gap between neighbouring numbers, and some more: cells overlap. A column of
    one number alone gets narrow cells, which hardly move its mean. Copies of a few rows are no
    cells, but what they are.
    """
    X = np.asarray(X[:: max(X.shape[0] // _ROWS, 1)], dtype=np.float64)
    known = [np.sort(x[~np.isnan(x)]) for x in X.T]
    step = np.array([_step(x, s) for x, s in zip(known, scale, strict=True)])
    if not step.any():
        return step
    different = len(np.unique(X[:, step > 0.0], axis=0))
    if step.all() and different <= 2 * len(step):
        return np.zeros(len(scale))
    alone = _alone(step, scale)
    spread = np.array([spread_of_close(x, s) for x, s in zip(known, step, strict=True)])
    fine = (step < _COARSE * spread) & ~alone & (len(X) < _AGAIN * different)
    cell = np.where(step > scale, _CELL_OF_FEW, _CELL) * step
    return np.where(fine, 0.0, np.where(alone, step, cell))


def _step(x: Array, scale: float) -> float:
    """Return the middle gap between neighbouring numbers, 0 if there are too many for the rows."""
    gaps = np.diff(x)
    gaps = gaps[gaps > min(_SAME * np.abs(x).max(initial=0.0), _SAME_BESIDE * scale)]
    if _TIES * (len(gaps) + 1) > len(x):
        return 0.0
    return float(np.median(gaps)) if len(gaps) else _NARROW * scale


def spread_of_close(x: Array, step: float) -> float:
    """Return the deviation of ordered numbers (n,) within stretches in which they are close."""
    if step == 0.0:
        return 0.0
    x = x - x[0]  # sums of large numbers are coarse
    start = np.flatnonzero(np.diff(x, prepend=-np.inf) > _APART * step)
    rows = np.diff(np.append(start, len(x)))
    middle = np.repeat(np.add.reduceat(x, start) / rows, rows)
    return float(np.sqrt(np.mean((x - middle) ** 2)))


def _alone(step: Array, scale: Array) -> NDArray[np.bool_]:
    """Return which columns hold one number alone."""
    return np.isclose(step, _NARROW * scale, rtol=1e-12, atol=0.0)


def widened(scale: Array, step: Array) -> Array:
    """Return the scales (d,) of columns whose numbers are spread over their cells."""
    return np.where(_alone(step, scale), step, np.hypot(scale, step / np.sqrt(12.0)))


class Rounding(Protocol):
    """Spreads numbers that stand for cells over these."""

    def spread(self, X: Any, batch: int, first_row: int = 0) -> Any:
        """Return checked rows with each such number moved to a place near its cell.

        The places depend on nothing but the numbers of the batch and of the rows, of which the
        first one's is given.
        """
        ...


@dataclass(frozen=True)
class StepRounding:
    """Spreads columns over cells of the widths ``step`` (d,), 0 for those that are not rounded."""

    step: Array

    def spread(self, X: Array, batch: int, first_row: int = 0) -> Array:
        """Return rows with such numbers at places near their cells."""
        return unrounded(X, self.step, batch, first_row)


def unrounded(X: Array, step: Array, batch: int, first_row: int) -> Array:
    """Return rows with each coarse number at some place about its cell.

    The places depend on the numbers of the batch, of the row in it, and of the column alone.
    """
    coarse = np.flatnonzero(step).tolist()
    if not coarse:
        return X
    out = X.copy()
    rows = np.arange(first_row, first_row + len(X), dtype=np.uint64)
    for j in coarse:
        out[:, j] += step[j] / np.sqrt(12.0) * ndtri(uniforms(batch, rows, j))
    return out


def uniforms(batch: int, rows: NDArray[np.uint64], column: int) -> Array:
    """Return a number in (0, 1) for each row: counters whose bits are mixed (splitmix64)."""
    start = batch * 0xDA942042E4DD58B5 + (column + 1) * 0x9E3779B97F4A7C15
    x = rows * np.uint64(0xD1342543DE82EF95) + np.uint64(start % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    x ^= x >> np.uint64(31)
    return np.ldexp((x >> np.uint64(11)).astype(np.float64) + 0.5, -53)
