"""Clusters of shares: columns that add up to a total, such as 1 or 100."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from scstream.families import rounding, rowwise
from scstream.families.columns import Columns, numbers_of
from scstream.families.contract import Array
from scstream.families.gaussian import Gaussian
from scstream.families.packed import roots_of
from scstream.families.recoded import Recoded
from scstream.families.saved import checked
from scstream.families.scores import Points

_LITTLE = 0.005  # of a column's mean, that is added to its shares: then those of 0 have a density
_LEAST = 1e-9  # the same, of a column without any
_LOW = 0.01  # the share of those above 0 that may be as good as 0, in a column that holds 0,
_WIDEST = 0.5  # and the most that a share may be for that, in means of all columns
_WITHIN = 2.0 / 3.0  # of it: where a share that is no more than it is expected
_BELOW = 0.7  # of it: between these, and the others after division by the new sum
_STEPS = 30  # of Newton's method, from places a few deviations away


class Composition(Recoded):
    """Clusters of shares of a whole, whose sum is the same in all rows.

    Topics of a text, parts of a budget and chemical fractions add up to 1 or to 100. Their
    covariance has no inverse, and near 0 they are skewed. A cluster has a normal distribution of
    their fourth roots, with a full covariance, in the directions that leave the sum as it is.
    Such roots are nearly normal for clusters that are Dirichlet, as for those whose logarithms are
    normal.

    Parameters
    ----------
    total : float, optional
        What shares add up to. Default: the middle of the first batch's sums.
    roots : Gaussian, optional
        The family of the roots, with its prior.

    Notes
    -----
    Where the first batch has shares of 0, one of 0 was too small to be seen, or to be counted: it
    may be anything below nearly all others of its column. While clusters are learned it is at some
    place there, in another row at another one: all of them at one place would be a cluster for
    each set of columns that are 0.

    A row is divided by its sum. One share that is missing is what the others leave of the total; a
    row that lacks two, or that has no share at all, is not observed. Negative ones count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=400)
    >>> X = rng.gamma(np.array([[9.0, 3.0, 1.0], [2.0, 3.0, 8.0]])[y])
    >>> model = ScStream("composition", random_state=0).fit(X / X.sum(axis=1, keepdims=True))
    >>> model.n_clusters_
    2
    >>> about = model.clusters_[0].columns
    >>> round(sum(about[j]["mean"] for j in range(3)), 6)
    1.0
    """

    name: ClassVar[str] = "composition"

    _total: float = 1.0
    _little: Array  # (d,): what is added to shares
    _least: Array  # (d,): the least share that differs from 0, itself 0 where none was 0

    def __init__(self, total: float | None = None, roots: Gaussian | None = None) -> None:
        self.total = total
        self.roots = roots

    # -- set-up ---------------------------------------------------------------------------------

    def check_given(self) -> None:
        """Raise `ValueError` if the total or the prior are not what they must be."""
        if self.roots is not None and type(self.roots) is not Gaussian:
            raise ValueError(f"roots must be a Gaussian; got {self.roots!r}.")
        if self.total is not None and not 0.0 < self.total < np.inf:
            raise ValueError(f"total must be a positive number; got {self.total!r}.")

    def inner(self) -> Gaussian:
        """Return the family of the roots."""
        return self.roots or Gaussian()

    def learned_form(self, table: Columns) -> Self:
        """Return a copy that knows the total, and which shares differ from 0."""
        self.check_given()
        new = super().learned_form(table)
        if len(table.values) < 2:
            raise ValueError("Shares of a whole are two columns or more; there is one.")
        shares = np.maximum(numbers_of(table), 0.0)
        sums = shares.sum(axis=1)
        whole = sums > 0.0  # and nothing is missing
        new._total = 1.0 if self.total is None else float(self.total)
        if self.total is None and whole.any():
            new._total = float(np.median(sums[whole]))
        shares = shares[whole] / sums[whole, None]
        mean = shares.sum(axis=0) / max(len(shares), 1)
        new._little = np.maximum(_LITTLE * mean, _LEAST)
        new._least = np.minimum([_low(x) for x in shares.T], _WIDEST / len(mean))
        return new

    def form(self) -> dict[str, Any]:
        """Return the names, the total, what is added, and which shares differ from 0."""
        own = {"_total": self._total, "_little": self._little, "_least": self._least}
        return {**super().form(), **own}

    def width(self, d: int) -> int:
        """Return how many directions leave the sum as it is."""
        return d - 1

    def recoded(self, table: Columns) -> Array:
        """Return the roots of the shares in these directions (n, d - 1), NaN if not known."""
        shares = np.maximum(numbers_of(table) / self._total, 0.0)  # NaN stays
        gaps = np.isnan(shares)
        left = np.maximum(1.0 - rowwise.sums(np.where(gaps, 0.0, shares)), 0.0)
        shares = np.where(gaps & (gaps.sum(axis=1) == 1)[:, None], left[:, None], shares)
        sums = rowwise.sums(shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(sums[:, None] > 0.0, shares / sums[:, None], np.nan)
        low = shares < self._least
        if low.any():
            shares = np.where(low, _WITHIN * self._least, shares)
            shares = shares / rowwise.sums(shares)[:, None]
        return self._places(shares)

    def _places(self, shares: Array) -> Array:
        """Return the roots of shares (n, d) that add up to 1, across their sum (n, d - 1)."""
        return across(np.sqrt(np.sqrt(shares + self._little)))

    def prepare(self, X: Points) -> Self:
        """Return a copy whose inner family is prepared, by rows as it gets them."""
        return super().prepare(self._spread(X, 0, 0))

    def saved_form(self) -> dict[str, Any]:
        """Return the names, the total, what is added, and which shares differ from 0."""
        own = {"total": self._total, "little": self._little, "least": self._least}
        return {**super().saved_form(), **own}

    def from_saved_form(self, saved: Mapping[str, Any]) -> Self:
        """Return a copy with these names, this total, and the rest of the form."""
        new, total = super().from_saved_form(saved), saved.get("total")
        if type(total) is not float or not 0.0 < total < np.inf or len(new._names) < 2:
            raise ValueError("shares have no total")
        forms = {"little": "d+", "least": "d"}
        d = len(new._names)
        own = checked({name: saved.get(name) for name in forms}, forms)
        least = own["least"]
        if len(least) != d or least.min() < 0.0 or least.max() > _WIDEST / d:
            raise ValueError("what is added to shares is for other columns")
        new._total, new._little, new._least = total, own["little"], least
        return new

    def hyperparameters(self) -> dict[str, Any]:
        """Return the total and the prior, as a family."""
        return {"total": self._total, "roots": self._given_inner()}

    # -- shares of 0 ----------------------------------------------------------------------------

    def is_coarse(self) -> bool:
        """Whether shares of 0 are at some place each."""
        return bool(self._least.any()) or super().is_coarse()

    def unrounded(self, X: Points, batch: int, first_row: int = 0) -> Points:
        """Return rows of the other form with each share of 0 at some place above."""
        return super().unrounded(self._spread(X, batch, first_row), batch, first_row)

    def _spread(self, X: Array, batch: int, first_row: int) -> Array:
        """Return checked rows with each share that is as good as 0 at some place.

        The root of a uniform variable: more of them are near the least share that differs.
        """
        if not self._least.any():
            return X
        shares = self._roots(np.where(np.isnan(X), 0.0, X)) ** 4 - self._little
        low = (self._least > 0.0) & (shares < _BELOW * self._least)
        rows = np.arange(first_row, first_row + len(X), dtype=np.uint64)
        some = np.column_stack([rounding.uniforms(batch, rows, j) for j in range(low.shape[1])])
        high = np.where(low, 0.0, shares)
        shares = np.where(low, self._least * np.sqrt(some), high / rowwise.sums(high)[:, None])
        shares = shares / rowwise.sums(shares)[:, None]
        moved = low.any(axis=1) & ~np.isnan(X[:, 0])
        return np.where(moved[:, None], self._places(np.maximum(shares, 0.0)), X)

    # -- the family proper ----------------------------------------------------------------------

    def log_base(self, X: Array) -> Array:
        """Return the inner base measure, and the change from all shares but one to roots (n,)."""
        d = len(self._names)
        root = np.where(np.isnan(X[:, :1]), 1.0, self._roots(np.where(np.isnan(X), 0.0, X)))
        least = np.sqrt(np.sqrt(self._little))
        slope = 0.25 / np.maximum(root, least) ** 3  # of roots, by shares
        change = rowwise.sums(rowwise.log(slope)) + rowwise.log(rowwise.sums(1.0 / slope) / d)
        change += 0.5 * np.log(d) - (d - 1) * np.log(self._total)
        return super().log_base(X) + np.where(np.isnan(X[:, 0]), 0.0, change)

    def _roots(self, X: Array) -> Array:
        """Return the roots (n, d) of shares that add up to 1, by their places (n, d - 1)."""
        d = len(self._names)
        away, directions = np.zeros((len(X), d)), basis(d)
        for i in range(d - 1):
            away = away + X[:, i : i + 1] * directions[:, i]
        whole = 1.0 + float(self._little.sum())
        level = 1.0 - away.min(axis=1)  # above the solution: from there it only falls
        for _ in range(_STEPS):
            root = np.maximum(away + level[:, None], 0.0)
            more = rowwise.sums(root**4) - whole
            level = level - more / (4.0 * rowwise.sums(root**3))
        out: Array = np.maximum(away + level[:, None], 0.0)
        return out

    # -- how it shows itself --------------------------------------------------------------------

    def as_table(self, rows: Array) -> Array:
        """Return shares (n, d) of the total."""
        shares = np.maximum(self._roots(rows) ** 4 - self._little, 0.0)
        out: Array = self._total * shares / shares.sum(axis=1, keepdims=True)
        return out

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return means and variances (k, d) of the shares, by points at a deviation each way."""
        inner, own = self.part(tau)
        about = inner.describe(own)
        q = len(self._names) - 1
        away = np.sqrt(q) * roots_of(about["covariance"])
        places = about["mean"][:, None] + np.concatenate([away, -away], axis=2).swapaxes(1, 2)
        shares = self.as_table(places.reshape(-1, q)).reshape(len(tau), 2 * q, q + 1)
        return {"mean": shares.mean(axis=1), "variance": shares.var(axis=1)}

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return shares of 100, with one missing."""
        groups = rng.gamma([[90.0, 30.0, 10.0]] * 12), rng.gamma([[20.0, 30.0, 80.0]] * 18)
        shares = [100.0 * x / x.sum(axis=1, keepdims=True) for x in groups]
        shares[1][5, 1] = np.nan
        return shares[0], shares[1]


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
