"""The directions that describe rows of many columns, found from the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.encoders.frame import column_frame
from scstream.families.how_many import MOST, how_many, may_be_wide, principal
from scstream.families.scores import Array
from scstream.families.subspace import Subspace
from scstream.support.blas import single_threaded

_FULL = 1000  # columns of full covariances, at most
_ROWS = 1024  # rows that directions are found from, at most
_WORK = 4e9  # products of two numbers that may be spent on them: of very many columns fewer rows
_ONE_KIND = 5.0  # times that the deviations of most columns differ, if they are of one kind
_FLAT = 1.4  # less than a normal's 3 that the fourth moment of a column of several heaps is
_ERRORS_FLAT = 4.0  # standard errors that this must be, at least
_HELD = 0.5  # of a column's variance that is enough of it in the directions
_FLAT_COLUMNS = 8  # columns that are kept for that, at most


def refuse_too_many(d: int) -> None:
    """Raise `ValueError` where covariances of d columns would take forever."""
    if d > _FULL:
        raise ValueError(
            f"Covariances of {d} columns each have {d * (d + 1) // 2} numbers, which takes too "
            f"long for more than {_FULL} columns. Leave mean, cov and cov_strength open, so that "
            "clusters are sought in the main directions, or use family='diagonal'."
        )


@single_threaded()  # more threads may give other last digits
def main_directions(X: NDArray[np.floating[Any]], most: int = MOST) -> Subspace | None:
    """Return the directions that describe rows (n, w), None if all columns are needed.

    There are at most so many as given, besides columns that are kept as they are.
    """
    n, w = X.shape
    if not may_be_wide(n, w):
        return None
    rows = min(_ROWS, int(np.sqrt(_WORK / w)))
    some: Array = np.asarray(X[:: max(n // rows, 1)], dtype=np.float64)
    centre, deviation = column_frame(some)
    some = np.where(np.isnan(some), centre, some)
    unit = _units(deviation, some.std(axis=0) > 0.0)
    Y = (some - centre) / unit
    value, vector = principal(Y, MOST)
    q = how_many(Y, value, vector, n)
    if q is None and most == MOST:
        return None
    q = most if q is None else min(q, most)
    basis = _with_flat_columns(Y, vector[:, :q])
    inside = ((Y @ basis) ** 2).mean(axis=0)
    total = float((Y**2).sum()) / len(Y)
    least = 1e-12 * max(float(inside.max(initial=0.0)), 1e-300)
    noise = max((total - float(inside.sum())) / (w - basis.shape[1]), least)
    return Subspace(centre, unit, basis * np.sqrt(np.maximum(inside, least)), noise, 0.0)


def _units(deviation: Array, varies: NDArray[np.bool_]) -> Array:
    """Return what columns (w,) are measured in: each in its deviation, or all alike if of one kind.

    Pixels, spectra and embeddings have columns of one kind, and those that vary more say more.
    """
    if not varies.any():
        return deviation
    low, middle, high = np.percentile(deviation[varies], [25.0, 50.0, 75.0])
    if high > _ONE_KIND * low:
        return deviation
    out: Array = middle * np.maximum(1.0, deviation / (_ONE_KIND * middle))
    return out


def _with_flat_columns(Y: Array, basis: Array) -> Array:
    """Return a basis (w, q) with directions of columns flatter than noise, as of several heaps.

    Clusters that differ in a few columns alone may show in no principal direction. Columns that
    the directions of the basis hold already are left out, and those of few different numbers.
    """
    n, w = Y.shape
    square = (Y - Y.mean(axis=0)) ** 2
    fourth = (square**2).mean(axis=0) / np.maximum(square.mean(axis=0) ** 2, 1e-300)
    rest = ((Y - (Y @ basis) @ basis.T) ** 2).mean(axis=0)
    lost = rest > (1.0 - _HELD) * (Y**2).mean(axis=0)
    lack = np.where(lost, 3.0 - fourth, 0.0)
    least = max(_FLAT, _ERRORS_FLAT * np.sqrt(24.0 / n))
    flat = [int(j) for j in np.argsort(-lack) if lack[j] > least]
    chosen = [j for j in flat if 2 * len(np.unique(Y[:, j])) > n][:_FLAT_COLUMNS]
    out = basis
    for j in chosen:
        u = np.zeros(w)
        u[j] = 1.0
        u -= out @ (out.T @ u)
        length = float(np.linalg.norm(u))
        if length > 0.1:
            out = np.column_stack([out, u / length])
    return out
