"""Columns of amounts: the value that many rows have exactly, and the scale of the others.

The scale is ``unit * arcsinh(x / unit)``. Amounts far below the unit are what they are on it, those
far above go by their logarithms. Every number has a place on it, also one that comes later.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expm1

from scstream.families import rowwise
from scstream.families.column_mixture import log_evidence, representatives
from scstream.families.scores import Array

_COMMON = 0.05  # the share of rows that a common value has at least,
_COMMON_ROWS = 10  # how many these are,
_OFTENER = 5  # and how many times as many as any other value;
_ALIKE = 0.1  # the chance that two of the other rows are equal, at most:
_FEW = 2  # more different values than these are needed to show it
_SMALL = 0.2  # percentile of sizes, and
_BELOW = 1.0 / 3.0  # of it: above, amounts go by their logarithms, if they do
GAIN = 8.0  # nats by which these must describe a column's representatives better
_NARROW = 0.2  # of the mean: a deviation with which they never do
_STRAIGHT = 1e6  # times the largest amount: a unit above which none is
_TINY = 1e-150  # the least unit
_FAR = 1e150  # units that are as far as the scale goes


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


def unit_of(x: Array) -> float:
    """Return a unit on whose scale amounts (n,) are closer to a mixture of normal distributions.

    A small amount, or one so large that they stay what they are; always that if signs differ.
    """
    straight, size = straight_unit(x), float(np.abs(x).max(initial=0.0))
    if size == 0.0 or x.min() < 0.0 < x.max():
        return straight
    x = x / size
    if x.std() <= _NARROW * abs(x.mean()):
        return straight
    small, points = small_unit(x), representatives(x)
    gain = log_evidence_on_scale(points, small) - log_evidence(points)
    return small * size if gain > GAIN else straight


def small_unit(x: Array) -> float:
    """Return a unit below nearly all amounts (n,)."""
    return max(_BELOW * float(np.percentile(np.abs(x[x != 0.0]), _SMALL)), _TINY)


def log_evidence_on_scale(points: Array, unit: float) -> float:
    """Return how well normal distributions on the scale of a unit describe points (n,)."""
    change = float(np.log(np.hypot(1.0, points / unit)).sum())  # of the density, by the scale
    return log_evidence(unit * np.arcsinh(points / unit)) - change


def is_skewed(x: Array) -> bool:
    """Whether amounts (n,) go by their logarithms."""
    return unit_of(x) < straight_unit(x)


def on_scale(x: Array, unit: Array) -> Array:
    """Return the places of amounts (n, d) on the scale."""
    t = np.clip(x / unit, -_FAR, _FAR)
    size = np.abs(t)
    out: Array = np.sign(t) * rowwise.log1p(size + t * t / (1.0 + np.sqrt(1.0 + t * t)))
    return unit * out


def off_scale(y: Array, unit: Array) -> Array:
    """Return the amounts at places (n, d) on the scale."""
    out: Array = unit * np.sinh(y / unit)
    return out


def log_stretch(y: Array, unit: Array) -> Array:
    """Return the log of how many units of the data one of the scale is, at places (n, d)."""
    t = np.abs(y / unit)
    return t + rowwise.log1p(0.5 * expm1(-2.0 * t))
