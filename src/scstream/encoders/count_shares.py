"""Counts as the roots of their shares, and their total where it matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from scstream.core import Floats as Array
from scstream.encoders.row_totals import ADDED, roots_of_shares, totals_tell
from scstream.encoders.shares import SharesEncoder, across
from scstream.support import rowwise


class CountSharesEncoder(SharesEncoder):
    """Counts as the fourth roots of their shares, without the sum of these.

    Before a row is divided by its total, 3/8 is added to each of its counts: then a count of 0 has
    a place, and roots of small counts deviate as those of large ones do.

    Parameters
    ----------
    total : float, optional
        The total of rows whose own is not known. Default: the middle one of the first rows.
    by_total : bool, optional
        Whether the logarithm of the total is a column of the other form, too. Default: if totals of
        the first rows differ by groups of rows with like shares.

    Notes
    -----
    A count that is missing is what is usual for the others of its row; a row without any count is
    not observed. Negative ones count as 0.

    Examples
    --------
    >>> encoder = CountSharesEncoder(by_total=True).fit([[2, 30, 5], [8, 3, 10]])
    >>> encoder.inverse_transform(encoder.transform([[2, 30, 5]])).round(6)
    array([[ 2., 30.,  5.]])
    """

    learned: ClassVar[Mapping[str, str]] = {"total_": "+", "usual_": "d+", "by_total_": ""}

    usual_: Array  # (d,): shares of all counts of the first rows
    by_total_: bool

    def __init__(self, total: float | None = None, by_total: bool | None = None) -> None:
        super().__init__(total)
        self.by_total = by_total

    def check_learned(self) -> None:
        """Set what follows; raise `ValueError` if there are too few columns."""
        self.by_total_ = self.by_total_ > 0.0
        self.little_ = self.least_ = np.zeros(self.n_features_in_)
        super().check_learned()

    def learn(self, X: Array, names: Sequence[str]) -> None:
        """Find the usual total and shares, and whether totals tell."""
        counts = np.maximum(X, 0.0)
        sums = np.where(np.isnan(counts), 0.0, counts).sum(axis=0) + ADDED
        self.usual_ = sums / sums.sum()
        whole = counts[~np.isnan(counts).any(axis=1)]
        tells = self.by_total is None and len(whole) > 0 and totals_tell(whole)
        self.by_total_ = bool(self.by_total) or tells
        super().learn(X, names)

    @property
    def widths(self) -> list[int]:
        """One column less, and the total if that tells."""
        return [self.n_features_in_ - 1 + self.by_total_]

    def encode(self, X: Array) -> Array:
        """Return roots of shares across their sum, and the log total if that tells, NaN if none."""
        X = np.maximum(X, 0.0)  # NaN stays
        gaps = np.isnan(X)
        known = rowwise.sums(np.where(gaps, 0.0, self.usual_))
        total = rowwise.sums(np.where(gaps, 0.0, X))
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.where(known > 0.0, total / known, np.nan)
        X = np.where(gaps, total[:, None] * self.usual_, X)
        places = across(roots_of_shares(X))
        if not self.by_total_:
            return places
        return np.concatenate([places, rowwise.log(total + 1.0)[:, None]], axis=1)

    def decode(self, codes: Array) -> Array:
        """Return counts (n, d) of rows with that total, the usual one if it is not known."""
        total = np.full((len(codes), 1), self.total_)
        if self.by_total_:
            total = np.maximum(np.exp(codes[:, -1:]) - 1.0, 0.0)
        d = self.n_features_in_
        out = np.maximum(self.roots(codes) ** 4 * (total + ADDED * d) - ADDED, 0.0)
        out *= total / np.maximum(out.sum(axis=1, keepdims=True), 1e-300)
        return out

    def log_jacobian(self, codes: Array) -> Array:
        """Return that of shares, and the change from the total to its logarithm (n,)."""
        d = self.n_features_in_
        gap, last = np.isnan(codes[:, 0]), codes[:, -1]
        out = super().log_jacobian(codes)
        out = out - np.where(gap, 0.0, (d - 1) * np.log1p(ADDED * d / self.total_))
        return out - np.where(np.isnan(last), 0.0, last) if self.by_total_ else out
