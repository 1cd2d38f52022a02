"""Scores in float32 that tell, for most rows, which clusters need no exact score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.scores import Labels, Points, Score, unfinished_pairs
from scstream.kernels import screened_blocks, screened_tiles

_LN2 = float(np.log(2.0))
_HALF = 2.0**-24  # the relative rounding of float32
_WIDER = 2.0**-29  # that of float64 against it
_LOOSE = 0.25  # an error that leaves little certain
_FEW = 0.125  # the share of rows that may have such errors

_unalarmed = np.errstate(all="ignore")  # what float32 cannot hold has an error without bound
_NOTHING, _NO_LABELS = np.zeros(0), np.zeros(0, dtype=np.int64)

Floats = NDArray[np.float32]


class Screen:
    """Products of statistics with the parameters of k components, in float32.

    The components are padded to a multiple of 4 with ones that no row takes. Products are taken
    in float64 where the error, which is bounded for each row, would be too large.

    Parameters
    ----------
    eta, const, power : ndarray (k, p), (k,), (k,)
        Scores are ``const - power log(T @ eta)``, or ``T @ eta`` where these two are empty.
    """

    @_unalarmed
    def __init__(self, eta: Array, const: Array, power: Array) -> None:
        self.exact = eta, const, power
        self.linear = len(const) == 0
        k, p = eta.shape
        more = -k % 4
        self.level = self.slope = np.zeros(0, dtype=np.float32)
        if not self.linear:
            self._eta, self._fill, self._rounding = eta, 1.0, float(power.max()) * _HALF
            reach = (np.abs(eta) * power[:, None]).max(axis=0)
            self.level = np.append(const - const.max(), [-np.inf] * more).astype(np.float32)
            self.slope = np.append(_LN2 * power, [0.0] * more).astype(np.float32)
        else:
            self._eta, self._fill, self._rounding = eta / _LN2, -np.inf, 0.0
            reach = np.abs(self._eta).max(axis=0)
        # two factors are rounded, and p products and sums, in whatever order
        self._reach = reach * (1.1 * (p + 3) * _HALF)
        self._narrow = self._eta.astype(np.float32)
        self._padded = k + more

    def products(self, T: Array) -> tuple[Floats, Array]:
        """Return the products (k or more, n), and by how much scores may be wrong (n,).

        Those of linear scores are in units of log 2, and where float64 was needed they are less
        the best of the row.
        """
        n, k = len(T), len(self._eta)
        small, off = np.empty(T.shape, dtype=np.float32), np.empty(n)
        loose = screened_tiles.narrow(T, self._reach, _LOOSE, small, off)
        S = np.empty((self._padded, n), dtype=np.float32)
        S[k:] = self._fill
        if loose <= _FEW * n:
            np.dot(self._narrow, small.T, out=S[:k])
            return S, off
        self._fill_wide(T, S[:k])
        return S, off * _WIDER + self._rounding

    @_unalarmed
    def _fill_wide(self, T: Array, S: Floats) -> None:
        wide = self._eta @ T.T
        if self.linear:
            wide -= wide.max(axis=0)
        S[:] = wide

    def best(self, T: Array) -> Labels:
        """Return the best component (n,) of each row."""
        z = np.empty(len(T), dtype=np.int64)
        scores, terms = self.products(T), (self.level, self.slope)
        screened_blocks.best_labels(*scores, *terms, T, *self.exact, z, _NO_LABELS, _NOTHING)
        return z


def screened(score: Score, T: Points, *, linear: bool) -> Screen | None:
    """Return the screen of a score for dense rows, if it has one and is linear, or is not."""
    parts: tuple[Any, ...] = unfinished_pairs(score, T)
    return Screen(*parts) if parts and (len(parts[1]) == 0) == linear else None
