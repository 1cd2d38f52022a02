"""Clusters of counts by their shares: rows of one cluster differ in how much was counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from scstream.families import rowwise
from scstream.families.columns import Columns, numbers_of
from scstream.families.composition import Composition, across, basis
from scstream.families.contract import Array
from scstream.families.gaussian import Gaussian
from scstream.families.packed import roots_of
from scstream.families.row_totals import ADDED, roots_of_shares, totals_tell
from scstream.families.saved import checked

_FORMS = {"usual": "d+", "by_total": ""}


class CountShares(Composition):
    """Clusters of counts whose row totals vary for reasons of their own.

    Cells are read to different depths, and hosts are active for minutes or all day. What rows of a
    cluster have in common are the shares of their counts, and these vary more than counts by
    chance do. A cluster has a normal distribution of the fourth roots of the shares, with a full
    covariance, as `Composition` has. Before a row is divided by its total, 3/8 is added to each of
    its counts: then a count of 0 has a place, and roots of small counts deviate as those of large
    ones do.

    Parameters
    ----------
    total : float, optional
        The total of the rows by which clusters are described. Default: the middle one of the
        first batch.
    roots : Gaussian, optional
        The family of the roots, and of the logarithm of the total, with its prior.
    by_total : bool, optional
        Whether clusters have a distribution of the logarithm of the total, too. Default: if totals
        of the first batch differ by groups of rows with like shares.

    Notes
    -----
    A count that is missing is what is usual for the others of its row; a row without any count is
    not observed. Negative ones count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=400)
    >>> share = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])[y]
    >>> active = np.exp(rng.uniform(5.0, 8.0, (400, 1)))
    >>> X = rng.poisson(active * share * rng.gamma(5.0, 0.2, share.shape))
    >>> ScStream("count-shares", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "count-shares"

    _usual: Array  # (d,): shares of all counts of the first batch
    _by_total: bool = False

    def __init__(
        self,
        total: float | None = None,
        roots: Gaussian | None = None,
        by_total: bool | None = None,
    ) -> None:
        super().__init__(total, roots)
        self.by_total = by_total

    # -- set-up ---------------------------------------------------------------------------------

    def learned_form(self, table: Columns) -> Self:
        """Return a copy that knows the usual total and shares, and whether totals tell."""
        new = super().learned_form(table)
        new._little = new._least = np.zeros(len(new._names))
        X = np.maximum(numbers_of(table), 0.0)
        sums = np.where(np.isnan(X), 0.0, X).sum(axis=0) + ADDED
        new._usual = sums / sums.sum()
        whole = X[~np.isnan(X).any(axis=1)]
        tells = self.by_total is None and len(whole) > 0 and totals_tell(whole)
        new._by_total = bool(self.by_total) or tells
        return new

    def form(self) -> dict[str, Any]:
        """Return the names, the total, the usual shares, and whether totals tell."""
        return {**super().form(), "_usual": self._usual, "_by_total": self._by_total}

    def width(self, d: int) -> int:
        """Return how many directions leave the sum as it is, and the total if that tells."""
        return d if self._by_total else d - 1

    def recoded(self, table: Columns) -> Array:
        """Return roots of shares across their sum, and the log total if that tells, NaN if none."""
        X = np.maximum(numbers_of(table), 0.0)  # NaN stays
        gaps = np.isnan(X)
        known = rowwise.sums(np.where(gaps, 0.0, self._usual))
        total = rowwise.sums(np.where(gaps, 0.0, X))
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.where(known > 0.0, total / known, np.nan)
        X = np.where(gaps, total[:, None] * self._usual, X)
        places = across(roots_of_shares(X))
        if not self._by_total:
            return places
        return np.concatenate([places, rowwise.log(total + 1.0)[:, None]], axis=1)

    def saved_form(self) -> dict[str, Any]:
        """Return the names, the total, the usual shares, and whether totals tell."""
        own = {"usual": self._usual, "by_total": float(self._by_total)}
        return {"names": list(self._names), "total": self._total, **own}

    def from_saved_form(self, saved: Mapping[str, Any]) -> Self:
        """Return a copy with these names, this total, and the rest of the form."""
        nothing = np.zeros(len(saved.get("names") or ()))
        new = super().from_saved_form({**saved, "little": nothing + 1.0, "least": nothing})
        own = checked({key: saved.get(key) for key in ("usual", "by_total")}, _FORMS)
        if len(own["usual"]) != len(new._names):
            raise ValueError("the usual shares are for other columns")
        new._little, new._usual, new._by_total = nothing, own["usual"], own["by_total"] > 0.0
        return new

    def hyperparameters(self) -> dict[str, Any]:
        """Return the total, the prior as a family, and whether totals tell."""
        return {**super().hyperparameters(), "by_total": self._by_total}

    # -- the family proper ----------------------------------------------------------------------

    def log_base(self, X: Array) -> Array:
        """Return that of shares, and the change from the total to its logarithm (n,)."""
        d = len(self._names)
        base = super().log_base(X)
        base = base - np.where(np.isnan(X[:, 0]), 0.0, (d - 1) * np.log1p(ADDED * d / self._total))
        return base - np.where(np.isnan(X[:, -1]), 0.0, X[:, -1]) if self._by_total else base

    # -- how it shows itself --------------------------------------------------------------------

    def as_table(self, rows: Array) -> Array:
        """Return counts (n, d) of rows with that total, the usual one if clusters have none."""
        total = np.full((len(rows), 1), self._total)
        if self._by_total:
            total = np.maximum(np.exp(rows[:, -1:]) - 1.0, 0.0)
        d = len(self._names)
        out = np.maximum(self._roots(rows) ** 4 * (total + ADDED * d) - ADDED, 0.0)
        out *= total / np.maximum(out.sum(axis=1, keepdims=True), 1e-300)
        return out

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return means and variances (k, d) of counts in rows with the mean's total."""
        inner, own = self.part(tau)
        about, d = inner.describe(own), len(self._names)
        mean = self.as_table(about["mean"])
        whole = mean.sum(axis=1, keepdims=True) + ADDED * d
        root = np.sqrt(np.sqrt((mean + ADDED) / whole))
        spread = basis(d) @ roots_of(about["covariance"][:, : d - 1, : d - 1])
        level = (root[..., None] ** 3 * spread).sum(axis=1) / (root**3).sum(axis=1, keepdims=True)
        v = ((spread - level[:, None]) ** 2).sum(axis=2)
        shares = v * (16.0 * root**6 + v * (168.0 * root**4 + v * (384.0 * root**2 + 96.0 * v)))
        return {"mean": mean, "variance": shares * whole**2}

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return counts of rows with totals of many sizes, with one missing."""
        shares = [0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]
        groups = [
            rng.poisson(np.exp(rng.uniform(4.0, 7.0, (n, 1))) * share).astype(float)
            for n, share in zip((12, 18), shares, strict=True)
        ]
        groups[1][5, 1] = np.nan
        return groups[0], groups[1]
