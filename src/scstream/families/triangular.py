"""Scores of rows of many columns by triangular factors: the first columns rule most clusters out.

A quadratic form is ``c + |W z - b|^2`` with a lower triangular W. What the first rows of W add to
it is a lower bound, and needs the first columns alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtrs

from scstream import core
from scstream.support.threads import over_slices

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

MANY = 32  # columns from which this is quicker than all products
REACH = 37.0  # nats below the best from which a component does not matter
_MOST = 32  # leading columns
_ROUNDING = 1e-9  # of a distance, more than what rounding adds to a part of it
_NONE = np.zeros(0)
_LARGEST = 1e-9  # part of the mean eigenvalue that rounding may have taken


@dataclass(frozen=True)
class Triangular:
    """Components ``c - |W z - b|^2``, or ``level - power log(c + |W z - b|^2)``.

    Attributes
    ----------
    W : ndarray (k, d, d)
    b : ndarray (k, d)
    c, level, power : ndarray (k,)
        The power is 0 where there is no logarithm.
    """

    W: Array
    b: Array
    c: Array
    level: Array
    power: Array

    @staticmethod
    def of(eta: Array, level: Array, power: Array) -> Triangular | None:
        """Return components given as products with ``(1, z, z z')``; see `scstream.core.Scores`.

        None if their quadratic forms do not bend as those of densities do.
        """
        k, p = eta.shape
        d = _columns(p)
        student = np.zeros(k, dtype=bool) if len(power) == 0 else power > 0.0
        sign = np.where(student, 1.0, -1.0)[:, None]
        i, j = np.triu_indices(d)
        Q = np.zeros((k, d, d))
        Q[:, i, j] = 0.5 * sign * eta[:, 1 + d :]
        Q += np.swapaxes(Q, 1, 2)
        flipped = _cholesky(Q[:, ::-1, ::-1])
        if flipped is None:
            return None
        W = np.ascontiguousarray(np.swapaxes(flipped, 1, 2)[:, ::-1, ::-1])
        slope = -0.5 * sign * eta[:, 1 : 1 + d]
        b = np.stack([dtrtrs(w.T, y, lower=0)[0] for w, y in zip(W, slope, strict=True)])
        c = eta[:, 0] - sign[:, 0] * np.einsum("kd,kd->k", b, b)
        none = np.zeros(k)
        return Triangular(W, b, c, *((level, power) if len(power) else (none, none)))

    @staticmethod
    def of_factors(factors: Array, level: Array, power: Array) -> Triangular:
        """Return Student-t predictives by factors: see `scstream.core.factor`."""
        k, p = factors.shape
        d = _columns(p)
        W = np.empty((k, d, d))
        over_slices(lambda at: core.invert_factors(factors[at], W[at]), k)
        slope = np.sqrt(factors[:, :1] / (factors[:, :1] + 1.0))
        W *= slope[:, :, None]
        return Triangular(W, slope * factors[:, 1 : 1 + d], np.ones(k), level, power)

    @staticmethod
    def joined(parts: Sequence[Triangular]) -> Triangular:
        """Return the components of several side by side."""
        names = ("W", "b", "c", "level", "power")
        return Triangular(*(np.concatenate([getattr(x, name) for x in parts]) for name in names))

    def scores(self, Z: Array) -> Array:
        """Return scores (n, k) of rows (n, d), upper bounds of those that do not matter."""
        rows = np.arange(len(Z))
        out = np.empty((len(Z), len(self.c)))
        core.leading_distances(Z, self.W, self.b, min(Z.shape[1] // 4, _MOST), out)
        out *= 1.0 - _ROUNDING
        out = self._finished(out, slice(None))
        best = np.argmax(out, axis=1)
        order = np.argsort(best, kind="stable")
        out[order, best[order]] = self._scored(Z, order, best[order], _NONE)
        least = out[rows, best] - REACH
        near = out > least[:, None]
        near[rows, best] = False
        which, some = map(np.ascontiguousarray, np.nonzero(near.T))
        out[some, which] = self._scored(Z, some, which, self._far(least[some], which))
        return out

    def _far(self, least: Array, which: Labels) -> Array:
        """Return squared distances (m,) from which on scores are less than some."""
        c, power = self.c[which], self.power[which]
        linear = c - least
        if not self.power.any():
            return linear
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            students = np.exp((self.level[which] - least) / power) - c
        return np.where(power > 0.0, students, linear)

    def pairs(self, Z: Array, z: Labels) -> Array:
        """Return scores (n, 2) of rows under the components ``2 z[i]`` and ``2 z[i] + 1``."""
        order = np.argsort(z, kind="stable")
        out = np.empty((len(Z), 2))
        for side in range(2):
            out[order, side] = self._scored(Z, order, 2 * z[order] + side, _NONE)
        return out

    def _scored(self, Z: Array, rows: Labels, which: Labels, far: Array) -> Array:
        """Return scores (m,) of rows under components, which are in ascending order.

        Where distances are beyond ``far`` (m,) they are upper bounds.
        """
        square = np.empty(len(rows))
        core.distances(Z, self.W, self.b, rows, which, far, square)
        return self._finished(square, which)

    def _finished(self, square: Array, which: Labels | slice) -> Array:
        """Return scores by squared distances, in their place."""
        c, power = self.c[which], self.power[which]
        if not self.power.any():
            return np.subtract(c, square, out=square)
        linear = None if self.power.all() else c - square
        students = np.maximum(np.add(square, c, out=square), 1.0, out=square)
        np.multiply(np.log(students, out=students), power, out=students)
        np.subtract(self.level[which], students, out=students)
        return students if linear is None else np.where(power > 0.0, students, linear)


def _columns(p: int) -> int:
    """Return the columns of rows with p statistics."""
    return int((2.0 * p + 0.25) ** 0.5 - 1.0)


def _cholesky(Q: Array) -> Array | None:
    """Return Cholesky factors (k, d, d), of matrices that rounding has spoilt those nearby."""
    try:
        return np.asarray(np.linalg.cholesky(Q))
    except np.linalg.LinAlgError:
        mended = [_nearby(one) for one in Q]
        whole = [one for one in mended if one is not None]
        return np.stack(whole) if len(whole) == len(Q) else None


def _nearby(Q: Array) -> Array | None:
    """Return the Cholesky factor of a matrix with a little more on its diagonal, if it has one."""
    d = len(Q)
    level = max(float(np.trace(Q)) / d, 0.0)
    for more in (0.0, 1e-300, *(level * np.geomspace(1e-16, _LARGEST, 8))):
        try:
            return np.asarray(np.linalg.cholesky(Q + more * np.eye(d)))
        except np.linalg.LinAlgError:
            continue
    return None
