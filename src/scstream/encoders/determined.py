"""Columns that others determine, or nearly: copies, totals beside their parts, two scales of one.

Along the direction in which such columns agree no cluster has any width, and no density fits that.
So a column that those before it determine, to within what numbers were rounded to, is known a
little less exactly than it is. And the middle of each column is then somewhere rows cannot be:
the medians of two columns do not add up to the median of their total.
"""

from __future__ import annotations

import numpy as np

from scstream.core import Floats as Array
from scstream.encoders.frame import OUTLYING, ROUNDING
from scstream.support.blas import single_threaded

_ROWS = 4096  # about so many are looked at,
_ROWS_EACH = 10  # and at least so many for each column
_NEARLY = 0.03  # of its deviation, that a column has besides the others: worth a closer look
_WIDTH = 1e-3  # the same, up to which it is determined
_ROUNDED = 1.5  # times what is due to rounding, up to which it is
_DIGITS = 12  # of decimals that are looked for
_WHOLE = 1e-3  # parts of a step that a rounded number is off, at most
_EXACT = 1e-7  # of a column's deviation, that squares and products show
_FAR = 25.0  # squared deviations from the mean of rows: rows cannot lie at medians so far away
_TINY = 1e-300


@single_threaded()  # more threads may give other last digits
def determined(X: Array, step: Array) -> tuple[Array, Array | None]:
    """Return widths of cells (d,) of rows, those of determined columns included, and a place (d,).

    That is where means are expected if the columns' middles will not do, otherwise None.
    """
    X = np.asarray(X[:: max(X.shape[0] // _ROWS, 1)], dtype=np.float64)
    X = X[~np.isnan(X).any(axis=1)]
    if X.shape[1] < 2 or len(X) < _ROWS_EACH * X.shape[1]:
        return step, None
    low, middle, high = np.percentile(X, (25.0, 50.0, 75.0), axis=0)
    core = np.where(high > low, OUTLYING * (high - low), np.inf)
    X = X[(np.abs(X - middle) <= core).all(axis=1)]
    n, d = X.shape
    if n < _ROWS_EACH * d:
        return step, None
    Z = X - middle
    mean = Z.mean(axis=0)
    Z -= mean
    deviation = np.sqrt((Z**2).mean(axis=0))
    varies = deviation > ROUNDING * np.abs(X).max(axis=0)
    Z *= np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0)
    off = np.where(varies, mean / np.where(varies, deviation, 1.0), 0.0)
    C = np.where(np.outer(varies, varies), Z.T @ Z / n, np.eye(d))
    alone, far = _eliminated(C, off)
    if not (alone < _NEARLY**2).any():
        return step, None
    place = middle + mean if far > max(_FAR, d) else None
    return _with_cells(X, C, np.sqrt(np.maximum(alone, 0.0)), deviation, step), place


def _eliminated(C: Array, off: Array) -> tuple[Array, float]:
    """Return what columns have besides those before them (d,), and how far away a place is.

    Both are squares: of the columns with correlations C (d, d), and the place ``off`` (d,) in
    deviations from the mean.
    """
    C, off = C.copy(), off.copy()
    alone, far = np.diagonal(C).copy(), 0.0
    for j in range(len(C)):
        alone[j] = C[j, j]
        own = max(alone[j], _EXACT**2)
        far += off[j] ** 2 / own
        if alone[j] > _EXACT**2:
            off[j + 1 :] -= off[j] * C[j, j + 1 :] / own
            C[j + 1 :, j + 1 :] -= np.outer(C[j + 1 :, j], C[j, j + 1 :]) / own
    return alone, far


def _with_cells(X: Array, C: Array, alone: Array, deviation: Array, step: Array) -> Array:
    """Return widths of cells (d,) with those of determined columns."""
    out = step.copy()
    usual = [_usual(x) for x in X.T]
    for j in np.flatnonzero((alone < _NEARLY) & (step == 0.0)):
        width = _WIDTH * min(usual[j], deviation[j])
        if width < _EXACT * deviation[j]:
            continue  # a few numbers far out of all others hide what the others are
        before = np.flatnonzero(alone[:j] >= _NEARLY)
        slope = np.linalg.lstsq(C[np.ix_(before, before)], C[before, j], rcond=None)[0]
        slope *= deviation[j] / np.maximum(deviation[before], _TINY)
        coarse = [_resolution(X[:, j], usual[j])]
        coarse += [
            abs(b) * _resolution(X[:, i], usual[i]) for b, i in zip(slope, before, strict=True)
        ]
        rounded = float(np.sqrt(np.square(coarse).sum() / 12.0))
        if alone[j] * deviation[j] <= max(width, _ROUNDED * rounded):
            out[j] = max(np.sqrt(12.0) * width, float(np.max(coarse)))
    return out


def _usual(x: Array) -> float:
    """Return how far numbers (n,) are from their middle, as a rule, if they are elsewhere."""
    away = np.abs(x - np.median(x))
    return float(np.median(away[away > 0.0])) if away.any() else 0.0


def _resolution(x: Array, usual: float) -> float:
    """Return the power of ten to which numbers (n,) are rounded, 0 if they are not.

    They are told from each other by steps no larger than they are usually apart.
    """
    if usual == 0.0:
        return 0.0
    first = int(np.floor(np.log10(usual)))
    for k in range(first, first - _DIGITS, -1):
        unit = 10.0**k
        if np.abs(x / unit - np.rint(x / unit)).max() < _WHOLE:
            return unit
    return 0.0
