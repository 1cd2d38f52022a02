"""Which directions describe rows of many columns, and how many of them it takes.

Noise alone spreads the principal values of few rows by a known law. The directions whose values
lie above it hold what the columns have in common. Groups of rows that are near each other in them
then say whether what is left is noise: that has the same centre and the same variance in all
groups. If it has not, clusters differ there too, and more directions are taken, or all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.frame import column_frame
from scstream.families.k_means import k_means
from scstream.families.scores import Array
from scstream.families.subspace import Subspace, principal

LEAST = 15  # directions, noise or not: as many as the compiled steps take, for classes to come
MOST = 48  # directions; and columns that are never too many
_ROWS_EACH = 5  # rows for each direction, where these are more than the least
_MANY_ROWS = 20  # for each: directions of noise, or all columns, may then be taken without need
_ROWS_OF_ALL = 8  # rows for each column, if all columns are taken because they are needed
_LARGE = 128  # columns beyond which clusters are always sought in directions
_FULL = 1000  # columns of full covariances, at most
_ROWS = 1024  # rows that directions are found from, at most
_WORK = 4e9  # products of two numbers that may be spent on them: of very many columns fewer rows
_ONE_KIND = 5.0  # times that the deviations of most columns differ, if they are of one kind
_HOLD = 0.8  # of the variance that is enough to be held
_NOISE = 0.1  # of the values are those of noise, at least
_ABOVE_NOISE = 1.1  # times the edge of noise
_ROWS_A_GROUP = 20  # rows of a group that shows whether what is left is noise
_LITTLE = 0.05  # of what is left that groups may tell by chance
_MUCH = 1.0 / 3.0  # of it that lies between clusters, not within them
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


def may_be_wide(n: int, w: int) -> bool:
    """Whether n rows of w columns may be better described by a few directions."""
    return w > min(max(n // _MANY_ROWS, MOST), _LARGE)


def main_directions(X: NDArray[np.floating[Any]]) -> Subspace | None:
    """Return the directions that describe rows (n, w), None if all columns are needed."""
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
    q = _how_many(Y, value, vector, n)
    if q is None:
        return None
    basis = _with_flat_columns(Y, vector[:, :q])
    inside = ((Y @ basis) ** 2).mean(axis=0)
    total = float((Y**2).sum()) / len(Y)
    least = 1e-12 * max(float(inside.max(initial=0.0)), 1e-300)
    noise = max((total - float(inside.sum())) / (w - basis.shape[1]), least)
    return Subspace(centre, unit, basis * np.sqrt(np.maximum(inside, least)), noise, 0.0)


def _how_many(Y: Array, value: Array, vector: Array, n: int) -> int | None:
    """Return how many principal directions describe n rows like Y, None if all columns do.

    Those that hold most of the variance, as a rule. Where there is a level of noise, and nothing
    else below it, those above it are enough if they are fewer; and they are taken if they are more
    and the others lie between clusters. Where clusters differ below that level too, nothing is
    noise.
    """
    w = Y.shape[1]
    least, most = max(min(LEAST, n // _MANY_ROWS), 2), min(MOST, max(n // _ROWS_EACH, LEAST))
    q = int(np.searchsorted(np.cumsum(value), _HOLD * value.sum())) + 1
    q = min(max(q, least), most)
    above = max(_above_noise(value, *Y.shape), least)
    if above > most:
        return q
    if _share_told(Y, vector[:, :above], len(value)) > _LITTLE:
        return None if w <= _LARGE and n >= _ROWS_OF_ALL * w else q
    if above < q or _share_told(Y, vector[:, :q], len(value)) > _MUCH:
        return above
    return q


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


def _above_noise(value: Array, n: int, w: int) -> int:
    """Return how many squared singular values (m,) of n rows of w columns are above noise.

    Those of noise alone follow the law of Marchenko and Pastur. Their level is taken from the
    lowest values, as the higher ones may hold more than noise.
    """
    ratio = len(value) / max(n, w)
    low, high = (1.0 - np.sqrt(ratio)) ** 2, (1.0 + np.sqrt(ratio)) ** 2
    x = np.linspace(low, high, 1002)[1:-1]
    below = np.cumsum(np.sqrt((high - x) * (x - low)) / x)
    lowest = x[np.searchsorted(below, _NOISE * below[-1])]
    return int((value > _ABOVE_NOISE * high / lowest * np.quantile(value, _NOISE)).sum())


def _share_told(Y: Array, basis: Array, rank: int) -> float:
    """Return which share of the rest of rows (n, w), outside of a basis (w, q), is told by groups.

    That is by how much a variance about a group's own centre is less than one for all rows. Groups
    are of rows near each other inside, which says nothing about a rest that is noise: the share is
    0 then, or less.
    """
    n, left = len(Y), rank - basis.shape[1]
    Z = Y @ basis
    square = (Y**2).sum(axis=1) - (Z**2).sum(axis=1)
    whole = (float(square.sum()) - n * _outside(Y.mean(axis=0), basis)) / (n - 1)
    if n < 2 * _ROWS_A_GROUP or left < 1 or whole <= 1e-10 * float((Y**2).sum()) / n:
        return 0.0
    z = k_means(Z, n // _ROWS_A_GROUP, np.random.default_rng(0))
    count = np.bincount(z)
    logs = 0.0
    for group in np.flatnonzero(count > 1):
        mine = z == group
        own = (square[mine].sum() - count[group] * _outside(Y[mine].mean(axis=0), basis)) / (
            count[group] - 1
        )
        logs += count[group] * np.log(max(own / whole, 1e-6))
    return float(1.0 - np.exp(logs / max(count[count > 1].sum(), 1)))


def _outside(y: Array, basis: Array) -> float:
    """Return the squared length of what of a row (w,) is outside of a basis (w, q)."""
    return float(y @ y - ((y @ basis) ** 2).sum())


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
