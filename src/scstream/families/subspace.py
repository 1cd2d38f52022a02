"""Few directions in which clusters of many columns differ, and what lies outside of them.

A covariance of d columns has d (d + 1) / 2 numbers, which a few hundred rows of a hundred columns
cannot tell: clusters are then found by chance, and slowly. But columns that are many are
correlated, so most of what separates rows lies in a few directions, the principal ones. Clusters
are sought there. What is left of a row is taken for noise of one variance, the same for all
clusters, about the common centre.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scstream import core
from scstream.families.gaps import rows_with_gaps
from scstream.families.how_many import principal
from scstream.families.scores import Array, Points
from scstream.support.arithmetic import numpy_defaults
from scstream.support.saved import checked

if TYPE_CHECKING:
    from scstream.families.contract import Family

_RUN = 128  # rows that stay near the processor
_NEWCOMERS = 1.5  # times the noise of the first rows that further ones may have, if all is well
_STRAYED = 1.05  # times the usual noise of rows that calls for other directions
_ERRORS = 1.0  # standard errors by which it must be more than that
_ERRORS_BELOW = 3.0  # the same for noise that has become less: by chance it must not
_LOG_2PI = float(np.log(2.0 * np.pi))


def narrowed(family: Family, X: Points) -> Points:
    """Return checked rows by the coordinates that engines are given; once is enough."""
    return X if family.space is None else family.space.narrowed(X)


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
        """Return the coordinates (n, q) of rows (n, w); these stay as they are."""
        if X.shape[1] == self.lift.shape[1]:
            return np.asarray(X)
        return self._coordinates(X)[0] / self._length

    def _coordinates(self, X: NDArray[np.floating[Any]]) -> tuple[Array, Array]:
        """Return rows (n, q) along the directions, and squared lengths (n,) of what is left."""
        X = np.ascontiguousarray(self.whole(X), dtype=np.float64)
        basis, none = np.ascontiguousarray((self.lift / self._length).T), np.zeros(0)
        out, left = np.empty((len(X), len(basis))), np.empty(len(X))
        for start in range(0, len(X), _RUN):
            at = slice(start, start + _RUN)
            rows = X[at] - self.centre
            rows /= self.unit
            core.score_rows(rows, core.Scores(basis, none, none), out[at])
            np.einsum("ij,ij->i", rows, rows, out=left[at])
            left[at] -= np.einsum("ij,ij->i", out[at], out[at])
        return out, np.maximum(left, 0.0)

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
        return self.centre + self.unit * (z @ self.lift.T)

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
    def from_saved(cls, saved: Any, q: int) -> Self:
        """Return the q directions that a checkpoint holds, or raise `ValueError`."""
        forms = {"centre": "w", "unit": "w+", "lift": "wq", "noise": "+", "usual": ""}
        if not isinstance(saved, tuple) or len(saved) != len(forms):
            raise ValueError("the directions of its many columns are not sound")
        space = cls(**checked(dict(zip(forms, saved, strict=True)), forms))
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
        value, vector = principal(Y, q)
        value = value[:q] / n
        left = (total / n - value.sum()) / (len(unit) - q)
        least = 1e-12 * max(float(value[0]), 1e-300)
        return cls(centre, unit, vector * np.sqrt(np.maximum(value, least)), max(left, least), 0.0)

    def turn_from(self, before: Subspace) -> tuple[Array, Array, Array]:
        """Return how coordinates before become those of now: ``z = A z_before + b + noise``.

        The matrix A (q, q'), the vector b (q,), and the covariance (q, q) of what was noise before.
        """
        now = self.lift / self._length**2
        b = ((before.centre - self.centre) / self.unit) @ now
        now = now * (before.unit / self.unit)[:, None]
        was = before.lift / before._length
        outside = now - was @ (was.T @ now)
        return now.T @ before.lift, b, before.noise * outside.T @ outside
