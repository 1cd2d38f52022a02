"""Clusters of counts by their shares: rows of one cluster differ in how much was counted."""

from __future__ import annotations

from typing import ClassVar

from scstream.encoders import CountSharesEncoder
from scstream.families.composition import Composition
from scstream.families.gaussian import Gaussian


class CountShares(Composition):
    """Clusters of counts whose row totals vary for reasons of their own.

    Cells are read to different depths, and hosts are active for minutes or all day. What rows of a
    cluster have in common are the shares of their counts, and these vary more than counts by
    chance do. A cluster has a normal distribution of the fourth roots of the shares, with a full
    covariance, as `Composition` has.

    Parameters
    ----------
    total, by_total : optional
        The total of rows by which clusters are described, and whether clusters have a distribution
        of its logarithm, too: see `scstream.encoders.CountSharesEncoder`.
    roots : Gaussian, optional
        The family of the roots, and of the logarithm of the total, with its prior.

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

    def __init__(
        self, total: float | None = None, roots: Gaussian | None = None,
        by_total: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(total, roots)
        self.by_total = by_total
