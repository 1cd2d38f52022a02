"""Few directions in which clusters of many columns differ, and what lies outside of them.

A covariance of d columns has d (d + 1) / 2 numbers, which a few hundred rows of a hundred columns
cannot tell: clusters are then found by chance, and slowly. But columns that are many are
correlated, so most of what separates rows lies in a few directions, the principal ones. Clusters
are sought there. What is left of a row is taken for noise of one variance, the same for all
clusters, about the common centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families.frame import column_frame
from scstream.families.gaps import rows_with_gaps
from scstream.families.saved import checked
from scstream.families.scores import Array
from scstream.kernels import narrowing
from scstream.support.arithmetic import numpy_defaults
from scstream.support.blas import single_threaded

LEAST = 15  # directions, if they hold enough: as many as the compiled steps take
MOST = 24  # directions of a few rows, if they do not
_ROWS_EACH = 40  # rows for each direction beyond these
_WIDEST = 64  # directions, however many rows there are
_ROWS_A_DIRECTION = 20  # of a start: directions beyond are taken only if they stand out of noise
_ABOVE_NOISE = 1.1  # times the edge of noise
_ENOUGH = 0.58  # of the variance above the noise
_MANY_ROWS = 8  # for each column: then directions must hold most of the variance
_HOLD = 2.0 / 3.0  # of it
_LARGE = 128  # columns beyond which clusters are always sought in directions
_FULL = 1000  # columns of full covariances, at most
_ROWS = 1024  # rows that directions are found from, at most
_WORK = 4e9  # products of two numbers that may be spent on them: of very many columns fewer rows
_ONE_KIND = 5.0  # times that the deviations of most columns differ, if they are of one kind
_FLAT = 1.4  # less than a normal's 3 that the fourth moment of a column of several heaps is
_ERRORS_FLAT = 4.0  # standard errors that this must be, at least
_HELD = 0.5  # of a column's variance that is enough of it in the directions
_FLAT_COLUMNS = 8  # columns that are kept for that, at most
_NEWCOMERS = 1.5  # times the noise of the first rows that further ones may have, if all is well
_STRAYED = 1.05  # times the usual noise of rows that calls for other directions
_ERRORS = 1.0  # standard errors by which it must be more than that
_ERRORS_BELOW = 3.0  # the same for noise that has become less: by chance it must not
_LOG_2PI = float(np.log(2.0 * np.pi))


class Subspace(NamedTuple):
    """Directions in a table of w columns: ``x = centre + unit * (lift z + noise)``.

    The q coordinates z have about unit variance, and the columns of the lift are orthogonal.
    """

    centre: Array  # (w,)
    unit: Array  # (w,): what a column is measured in
    lift: Array  # (w, q)
    noise: float  # the variance in each direction that was left out, in these units
    usual: float  # that of rows after the first ones; 0 if there were none yet

    @property
    def _length(self) -> Array:
        """Lengths (q,) of the directions."""
        out: Array = np.sqrt((self.lift**2).sum(axis=0))
        return out

    @numpy_defaults
    def narrowed(self, X: NDArray[np.floating[Any]]) -> Array:
        """Return the coordinates (n, q) of rows (n, w)."""
        return self._coordinates(X)[0] / self._length

    def _coordinates(self, X: NDArray[np.floating[Any]]) -> tuple[Array, Array]:
        """Return rows (n, q) along the directions, and squared lengths (n,) of what is left."""
        X = np.ascontiguousarray(self.whole(X), dtype=np.float64)
        out, left = np.empty((len(X), self.lift.shape[1])), np.empty(len(X))
        basis = np.ascontiguousarray(self.lift / self._length)
        narrowing.coordinates(X, self.centre, self.unit, basis, out, left)
        return out, left

    def whole(self, X: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Return rows (n, w) with missing entries (NaN) as the others of a row lead to expect.

        Coordinates of unit variance and noise are what a row is made of; a row of nothing but
        gaps is at the centre.
        """
        rows = rows_with_gaps(X)
        if len(rows) == 0:
            return X
        out = np.array(X, dtype=np.float64)
        q = self.lift.shape[1]
        for i in rows:
            seen = np.isfinite(out[i])
            lift, y = self.lift[seen], (out[i, seen] - self.centre[seen]) / self.unit[seen]
            z = np.linalg.solve(lift.T @ lift + self.noise * np.eye(q), lift.T @ y)
            out[i, ~seen] = self.means(z)[~seen]
        return out

    def log_rest(self, X: NDArray[np.floating[Any]]) -> Array:
        """Return by how much the log densities (n,) of rows differ from those of coordinates."""
        w, q = self.lift.shape
        noise = max(self.usual, self.noise)
        out: Array = -0.5 * self._coordinates(X)[1] / noise
        out -= 0.5 * (w - q) * (_LOG_2PI + np.log(noise))
        out -= np.log(self.unit).sum() + np.log(self._length).sum()
        return out

    def means(self, z: Array) -> Array:
        """Return places (..., w) of coordinates (..., q)."""
        out: Array = self.centre + self.unit * (z @ self.lift.T)
        return out

    def covariances(self, cov: Array) -> Array:
        """Return covariances (k, w, w) of rows, given those of coordinates (k, q, q)."""
        w = len(self.unit)
        inside = self.lift / self._length
        out: Array = self.lift @ cov @ self.lift.T
        out += self.noise * (np.eye(w) - inside @ inside.T)
        return out * np.outer(self.unit, self.unit)

    def variances(self, cov: Array) -> Array:
        """Return the variances of columns alone, (k, w)."""
        inside = self.lift / self._length
        out: Array = np.einsum("wi,kij,wj->kw", self.lift, cov, self.lift, optimize=True)
        out += self.noise * (1.0 - (inside**2).sum(axis=1))
        return out * self.unit**2

    @classmethod
    def from_saved(cls, saved: Mapping[str, Any], q: int) -> Self:
        """Return the q directions that a checkpoint holds, or raise `ValueError`."""
        forms = {"centre": "w", "unit": "w+", "lift": "wq", "noise": "+", "usual": ""}
        space = cls(**checked(saved, forms))
        short = (space.lift**2).sum(axis=0).min(initial=1.0) <= 0.0
        if not space.lift.shape[0] > space.lift.shape[1] == q or short or space.usual < 0.0:
            raise ValueError("the directions of its many columns are not sound")
        return space

    # -- a stream that goes elsewhere -----------------------------------------------------------

    def after(self, X: NDArray[np.floating[Any]], past: float) -> Self:
        """Return the directions after some rows, itself if these lie in them as rows do.

        ``past`` is how many rows before them count. The noise of rows that were not there when the
        directions were chosen is larger than that of those that were. What is usual rises slowly,
        so that directions are chosen in several batches after a class came from elsewhere. It falls
        as slowly: clusters that drift would else be left ever longer outside of the directions.
        """
        w, q = self.lift.shape
        left = self._coordinates(X)[1] / (w - q)
        stray, error = float(left.mean()), float(left.std()) / np.sqrt(len(left))
        usual = self.usual or min(stray, _NEWCOMERS * self.noise)
        if len(left) == 1 or stray - _ERRORS * error <= _STRAYED * usual:
            if len(left) > 1 and stray + _ERRORS_BELOW * error < usual / _STRAYED:
                usual = float(np.sqrt(usual * stray))
            return self if usual == self.usual else self._replace(usual=usual)
        Y = np.concatenate([np.sqrt(past) * self.lift.T, (self.whole(X) - self.centre) / self.unit])
        total = self.noise * past * (w - q) + float((Y**2).sum())
        space = type(self)._of(self.centre, self.unit, Y, total, past + len(X), q)
        return space._replace(usual=float(np.sqrt(usual * stray)))

    @classmethod
    def _of(cls, centre: Array, unit: Array, Y: Array, total: float, n: float, q: int) -> Self:
        """Return the q principal directions of scaled rows, given their squares' total."""
        value, vector = _principal(Y, q)
        value = value[:q] / n
        left = (total / n - value.sum()) / (len(unit) - q)
        least = 1e-12 * max(float(value[0]), 1e-300)
        return cls(centre, unit, vector * np.sqrt(np.maximum(value, least)), max(left, least), 0.0)

    def turn_from(self, before: Subspace) -> tuple[Array, Array]:
        """Return how coordinates before become those of now: ``z = A z_before + noise``.

        The matrix A (q, q), and the covariance (q, q) of what was noise before.
        """
        now = self.lift / self._length**2
        was = before.lift / before._length
        outside = now - was @ (was.T @ now)
        return now.T @ before.lift, before.noise * outside.T @ outside


def refuse_too_many(d: int) -> None:
    """Raise `ValueError` where covariances of d columns would take forever."""
    if d > _FULL:
        raise ValueError(
            f"Covariances of {d} columns each have {d * (d + 1) // 2} numbers, which takes too "
            f"long for more than {_FULL} columns. Leave mean, cov and cov_strength open, so that "
            "clusters are sought in the main directions, or use family='diagonal'."
        )


def most_directions(n: int) -> int:
    """Return in how many directions clusters of n rows may be sought."""
    return min(max(n // _ROWS_EACH, MOST), _WIDEST)


def may_be_wide(n: int, w: int) -> bool:
    """Whether n rows of w columns may be better described by a few directions."""
    return w > 2 * most_directions(n)


def subspace(X: NDArray[np.floating[Any]], *, always: bool = False) -> Subspace | None:
    """Return the directions in which rows (n, w) differ most, None if all columns are needed.

    That is so where there are many rows and the directions hold too little of them, unless they
    are to be taken ``always``.
    """
    n, w = X.shape
    if not (always or may_be_wide(n, w)):
        return None
    most = min(most_directions(n), w // 2)
    rows = min(_ROWS, int(np.sqrt(_WORK / w)))
    some: Array = np.asarray(X[:: max(n // rows, 1)], dtype=np.float64)
    centre, deviation = column_frame(some)
    some = np.where(np.isnan(some), centre, some)
    unit = _units(deviation, some.std(axis=0) > 0.0)
    Y = (some - centre) / unit
    value, vector = _principal(Y, most)
    few = n < _MANY_ROWS * w or w > _LARGE
    if not (always or few or value[:most].sum() >= _HOLD * value.sum()):
        return None
    above = np.maximum(value - np.median(value), 0.0)
    enough = above[:LEAST].sum() >= _ENOUGH * above.sum()
    affordable = max(2, n // _ROWS_A_DIRECTION, _standing_out(value, *Y.shape))
    basis = vector[:, : min(LEAST if enough else most, affordable)]
    basis = np.column_stack([basis, _flat_columns(Y, basis)])
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


def _principal(Y: Array, m: int) -> tuple[Array, Array]:
    """Return squared singular values, the largest first, and the first m directions (w, m)."""
    n, w = Y.shape
    with single_threaded():  # more threads may give other last digits
        if w <= n:
            value, vector = np.linalg.eigh(Y.T @ Y)
            return value[::-1], vector[:, ::-1][:, :m]
        value, other = np.linalg.eigh(Y @ Y.T)
        kept = value > 1e-10 * value[-1]
        value, other = value[kept][::-1], other[:, kept][:, ::-1]
        return value, (Y.T @ other[:, :m]) / np.sqrt(value[:m])


def _standing_out(value: Array, n: int, w: int) -> int:
    """Return how many squared singular values (m,) of n rows of w columns are above noise.

    Those of noise alone lie below the edge of the law of Marchenko and Pastur, whose median is
    taken for that of all values.
    """
    ratio = min(n, w) / max(n, w)
    low, high = (1.0 - np.sqrt(ratio)) ** 2, (1.0 + np.sqrt(ratio)) ** 2
    x = np.linspace(low, high, 1002)[1:-1]
    below = np.cumsum(np.sqrt((high - x) * (x - low)) / x)
    median = x[np.searchsorted(below, 0.5 * below[-1])]
    return int((value > _ABOVE_NOISE * high / median * np.median(value)).sum())


def _flat_columns(Y: Array, basis: Array) -> Array:
    """Return directions (w, m) of columns flatter than noise, as of several heaps.

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
    out = np.zeros((w, 0))
    for j in chosen:
        u = np.zeros(w)
        u[j] = 1.0
        for taken in (basis, out):
            u -= taken @ (taken.T @ u)
        length = float(np.linalg.norm(u))
        if length > 0.1:
            out = np.column_stack([out, u / length])
    return out
