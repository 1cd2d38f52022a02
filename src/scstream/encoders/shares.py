"""Shares of a whole as roots, across their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from scstream.core import Floats as Array
from scstream.encoders import rounding
from scstream.encoders.base import Encoder
from scstream.support import rowwise

_LITTLE = 0.005  # of a column's mean, that is added to its shares: then those of 0 have a density
_LEAST = 1e-9  # the same, of a column without any
_LOW = 0.01  # the share of those above 0 that may be as good as 0, in a column that holds 0,
_WIDEST = 0.5  # and the most that a share may be for that, in means of all columns
_WITHIN = 2.0 / 3.0  # of it: where a share that is no more than it is expected
_BELOW = 0.7  # of it: between these, and the others after division by the new sum
_STEPS = 30  # of Newton's method, from places a few deviations away


class SharesEncoder(Encoder):
    """Columns that add up to a total as the fourth roots of their shares, without their sum.

    Such roots are nearly normal for shares that are Dirichlet, as for those whose logarithms are
    normal. The directions (d - 1) of the other form leave the sum of the roots as it is.

    Parameters
    ----------
    total : float, optional
        What shares add up to. Default: the middle of the first rows' sums.

    Notes
    -----
    A row is divided by its sum. One share that is missing is what the others leave of the total; a
    row that lacks two, or that has no share at all, is not observed. Negative ones count as 0. A
    share of 0 in a column that has some stands for any below nearly all others, see `spread`.

    Examples
    --------
    >>> import numpy as np
    >>> encoder = SharesEncoder().fit([[20.0, 30.0, 50.0], [60.0, 30.0, 10.0]])
    >>> encoder.inverse_transform(encoder.transform([[20.0, np.nan, 50.0]])).round(6)
    array([[20., 30., 50.]])
    """

    learned: ClassVar[Mapping[str, str]] = {"total_": "+", "little_": "d+", "least_": "d"}

    total_: float
    little_: Array  # (d,): what is added to shares
    least_: Array  # (d,): the least share that differs from 0, itself 0 where none was 0

    def __init__(self, total: float | None = None) -> None:
        self.total = total

    def check_learned(self) -> None:
        """Raise `ValueError` for too few columns, an odd total, or large shares that count as 0."""
        d = self.n_features_in_
        if self.total is not None and not 0.0 < self.total < np.inf:
            raise ValueError(f"total must be a positive number; got {self.total!r}.")
        if d < 2:
            raise ValueError("Shares of a whole are two columns or more; there is n_features = 1.")
        if self.least_.min() < 0.0 or self.least_.max() > _WIDEST / d:
            raise ValueError("what is added to shares is for other columns")

    def learn(self, X: Array, names: Sequence[str]) -> None:
        """Find the total, what is added, and which shares differ from 0."""
        shares = np.maximum(X, 0.0)
        sums = shares.sum(axis=1)
        whole = sums > 0.0  # and nothing is missing
        self.total_ = 1.0 if self.total is None else float(self.total)
        if self.total is None and whole.any():
            self.total_ = float(np.median(sums[whole]))
        shares = shares[whole] / sums[whole, None]
        mean = shares.sum(axis=0) / max(len(shares), 1)
        self.little_ = np.maximum(_LITTLE * mean, _LEAST)
        self.least_ = np.minimum([_low(x) for x in shares.T], _WIDEST / len(mean))
        self.check_learned()

    @property
    def widths(self) -> list[int]:
        """One column less."""
        return [self.n_features_in_ - 1]

    def encode(self, X: Array) -> Array:
        """Return the roots of the shares across their sum (n, d - 1), NaN if not known."""
        shares = np.maximum(X / self.total_, 0.0)  # NaN stays
        gaps = np.isnan(shares)
        left = np.maximum(1.0 - rowwise.sums(np.where(gaps, 0.0, shares)), 0.0)
        shares = np.where(gaps & (gaps.sum(axis=1) == 1)[:, None], left[:, None], shares)
        sums = rowwise.sums(shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(sums[:, None] > 0.0, shares / sums[:, None], np.nan)
        low = shares < self.least_
        if low.any():
            shares = np.where(low, _WITHIN * self.least_, shares)
            shares = shares / rowwise.sums(shares)[:, None]
        return self._places(shares)

    def _places(self, shares: Array) -> Array:
        """Return the roots of shares (n, d) that add up to 1, across their sum (n, d - 1)."""
        return across(np.sqrt(np.sqrt(shares + self.little_)))

    def decode(self, codes: Array) -> Array:
        """Return shares (n, d) of the total."""
        shares = np.maximum(self.roots(codes) ** 4 - self.little_, 0.0)
        out: Array = self.total_ * shares / shares.sum(axis=1, keepdims=True)
        return out

    def log_jacobian(self, codes: Array) -> Array:
        """Return the change (n,) from all shares but one to roots."""
        d = self.n_features_in_
        gap = np.isnan(codes[:, 0])
        root = np.where(gap[:, None], 1.0, self.roots(np.where(np.isnan(codes), 0.0, codes)))
        least = np.sqrt(np.sqrt(self.little_))
        slope = 0.25 / np.maximum(root, least) ** 3  # of roots, by shares
        change = rowwise.sums(rowwise.log(slope)) + rowwise.log(rowwise.sums(1.0 / slope) / d)
        change += 0.5 * np.log(d) - (d - 1) * np.log(self.total_)
        return np.where(gap, 0.0, change)

    def roots(self, codes: Array) -> Array:
        """Return the roots (n, d) of shares that add up to 1, by their places (n, d - 1)."""
        d = self.n_features_in_
        away, directions = np.zeros((len(codes), d)), basis(d)
        for i in range(d - 1):
            away = away + codes[:, i : i + 1] * directions[:, i]
        whole = 1.0 + float(self.little_.sum())
        level = 1.0 - away.min(axis=1)  # above the solution: from there it only falls
        for _ in range(_STEPS):
            root = np.maximum(away + level[:, None], 0.0)
            more = rowwise.sums(root**4) - whole
            level = level - more / (4.0 * rowwise.sums(root**3))
        out: Array = np.maximum(away + level[:, None], 0.0)
        return out

    # -- shares of 0 ----------------------------------------------------------------------------

    def is_coarse(self) -> bool:
        """Whether shares of 0 are at some place each."""
        return bool(self.least_.any())

    def spread(self, codes: Array, batch: int, first_row: int) -> Array:
        """Return encoded rows with each share that is as good as 0 at some place.

        The root of a uniform variable: more of them are near the least share that differs.
        """
        if not self.least_.any():
            return codes
        shares = self.roots(np.where(np.isnan(codes), 0.0, codes)) ** 4 - self.little_
        low = (self.least_ > 0.0) & (shares < _BELOW * self.least_)
        rows = np.arange(first_row, first_row + len(codes), dtype=np.uint64)
        some = np.column_stack([rounding.uniforms(batch, rows, j) for j in range(low.shape[1])])
        high = np.where(low, 0.0, shares)
        shares = np.where(low, self.least_ * np.sqrt(some), high / rowwise.sums(high)[:, None])
        shares = shares / rowwise.sums(shares)[:, None]
        moved = low.any(axis=1) & ~np.isnan(codes[:, 0])
        return np.where(moved[:, None], self._places(np.maximum(shares, 0.0)), codes)


def _low(x: Array) -> float:
    """Return the least share that differs from 0 for certain, of a column (n,); 0 if none is 0."""
    high = x[x > 0.0]
    return float(np.quantile(high, _LOW)) if 0 < len(high) < len(x) else 0.0


def basis(d: int) -> Array:
    """Return orthonormal directions (d, d - 1) that leave a sum as it is."""
    out = np.zeros((d, d - 1))
    for i in range(1, d):
        out[:i, i - 1] = 1.0 / i
        out[i, i - 1] = -1.0
        out[:, i - 1] *= np.sqrt(i / (i + 1.0))
    return out


def across(roots: Array) -> Array:
    """Return rows (n, d) in these directions (n, d - 1), each by itself alone."""
    before, out = np.zeros(len(roots)), np.empty((len(roots), roots.shape[1] - 1))
    for i in range(1, roots.shape[1]):
        before = before + roots[:, i - 1]
        out[:, i - 1] = np.sqrt(i / (i + 1.0)) * (before / i - roots[:, i])
    return out
