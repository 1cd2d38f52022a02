"""Clusters of counts by their shares: rows of one cluster differ in how much was counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from scstream.encoders import CountSharesEncoder
from scstream.encoders.row_totals import ADDED
from scstream.encoders.shares import basis
from scstream.families.contract import Array
from scstream.families.encoded import Encoded, Kinds
from scstream.families.gaussian import Gaussian
from scstream.families.packed import roots_of


class CountShares(Encoded):
    """Clusters of counts whose row totals vary for reasons of their own.

    Cells are read to different depths, and hosts are active for minutes or all day. What rows of a
    cluster have in common are the shares of their counts, and these vary more than counts by
    chance do. A cluster has a normal distribution of the fourth roots of the shares, with a full
    covariance, as `Composition` has.

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
    What becomes of a row says `scstream.encoders.CountSharesEncoder`.

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
    kind = CountSharesEncoder
    inner: ClassVar[Mapping[str, Kinds]] = {"roots": (Gaussian,)}

    def __init__(
        self,
        total: float | None = None,
        roots: Gaussian | None = None,
        by_total: bool | None = None,
    ) -> None:
        self.total = total
        self.roots = roots
        self.by_total = by_total

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return means and variances (k, d) of counts in rows with the mean's total."""
        inner, own = self.parts(tau)[0]
        about, d = inner.describe(own), self.form.n_features_in_
        mean = self.form.decode(about["mean"])
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
