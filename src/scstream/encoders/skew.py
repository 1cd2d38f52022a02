"""Which value many rows have exactly, and which scale suits the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scstream.core import Floats as Array
from scstream.encoders.column_mixture import log_evidence, representatives
from scstream.encoders.scale import log_stretch, on_scale

_COMMON = 0.05  # the share of rows that a common value has at least,
_COMMON_ROWS = 10  # how many these are,
_OFTENER = 5  # and how many times as many as any other value;
_ALIKE = 0.1  # the chance that two of the other rows are equal, at most:
_FEW = 2  # more different values than these are needed to show it
_SMALL = 0.2  # percentile of sizes, and
_BELOW = 1.0 / 3.0  # of it: above, amounts go by their logarithms, if they do
GAIN = 8.0  # nats by which these must describe a column's representatives better
_MANY_POINTS = 1024  # represent a column where fewer leave open whether logarithms suit it
_POINTS = 512  # represent a column where roots are compared with logarithms
_ALL = 2.0  # nats by which roots must be better for all columns together, see `scales_of`
_COUNTED = 100.0  # half of the whole numbers that may be counts are no larger
_REMEMBERED = 4096  # columns, as a table is looked at twice
_NARROW = 0.2  # of the mean: a deviation with which they never do
_STRAIGHT = 1e6  # times the largest amount: a unit above which none is
_TINY = 1e-150  # the least unit


def common_value(x: Array) -> float:
    """Return the value that many rows (n,) have exactly, if the others are spread out, or NaN."""
    values, counts = np.unique(x, return_counts=True)
    if len(counts) <= _FEW:
        return np.nan
    *others, most = np.sort(counts).tolist()
    rest = len(x) - most
    alike = sum(n * (n - 1) for n in others) / (rest * (rest - 1))
    often = most >= max(_COMMON_ROWS, _COMMON * len(x), _OFTENER * others[-1])
    return float(values[np.argmax(counts)]) if often and alike <= _ALIKE else np.nan


def straight_unit(x: Array) -> float:
    """Return a unit so large that the scale leaves amounts (n,) as they are."""
    return _STRAIGHT * float(np.abs(x).max(initial=_TINY))


def scales_of(columns: Sequence[Array]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the units (d,) of scales on which amounts are more normal, and which go by roots (d,).

    Units are small amounts, or so large that amounts stay what they are; always that if signs
    differ. Whether roots or logarithms suit a column is clear from it alone only if they differ by
    `GAIN`. Otherwise all columns decide: those of a table are mostly skewed alike.
    """
    skewed = np.array([is_skewed(x) for x in columns], dtype=bool)
    asked = skewed & np.array([not _is_counted(x) for x in columns], dtype=bool)
    more = np.array([_more(x) if is_so else 0.0 for x, is_so in zip(columns, asked, strict=True)])
    root = more > (-GAIN if more.sum() > _ALL else GAIN)
    both = zip(columns, skewed, strict=True)
    unit = [_unit_below(x) if is_so else straight_unit(x) for x, is_so in both]
    return np.array(unit), root & asked


def _is_counted(x: Array) -> bool:
    """Whether amounts (n,) are small whole numbers.

    Roots suit these too, but clusters that overlap widely then merge into one.
    """
    return len(x) > 0 and float(np.median(np.abs(x))) <= _COUNTED and bool(np.all(x == np.rint(x)))


def is_skewed(x: Array) -> bool:
    """Whether amounts (n,) go by their logarithms, or their roots."""
    size = float(np.abs(x).max(initial=0.0))
    if size == 0.0 or x.min() < 0.0 < x.max():
        return False
    x = x / size
    narrow = bool(x.std() <= _NARROW * abs(x.mean()))
    if narrow:
        return False
    unit = small_unit(x)
    gain = _gain(representatives(x).tobytes(), unit)
    if 0.0 < gain <= GAIN:  # of more rows there is more to see
        gain = _gain(representatives(x, _MANY_POINTS).tobytes(), unit)
    return gain > GAIN


@lru_cache(_REMEMBERED)
def _evidence(points: bytes, unit: float | None = None, *, root: bool = False) -> float:
    """Return how well normal distributions describe points, as they are without a unit."""
    y = np.frombuffer(points)
    return log_evidence(y) if unit is None else log_evidence_on_scale(y, unit, root=root)


def _gain(points: bytes, unit: float) -> float:
    """Return the nats by which logarithms of points are better than these as they are."""
    return _evidence(points, unit) - _evidence(points)


def _more(x: Array) -> float:
    """Return the nats by which roots of skewed amounts (n,) are better than logarithms."""
    x = x / float(np.abs(x).max())
    points, unit = representatives(x, _POINTS).tobytes(), small_unit(x)
    return _evidence(points, unit, root=True) - _evidence(points, unit)


def _unit_below(x: Array) -> float:
    """Return the same as `small_unit` of amounts that may be tiny."""
    size = float(np.abs(x).max())
    return small_unit(x / size) * size


def small_unit(x: Array) -> float:
    """Return a unit below nearly all amounts (n,)."""
    return max(_BELOW * float(np.percentile(np.abs(x[x != 0.0]), _SMALL)), _TINY)


def log_evidence_on_scale(points: Array, unit: float, *, root: bool = False) -> float:
    """Return how well normal distributions on the scale of a unit describe points (n,)."""
    y = on_scale(points[:, None], np.array([unit]), np.array([root]))
    return log_evidence(y[:, 0]) - float(log_stretch(y, np.array([unit]), np.array([root])).sum())
