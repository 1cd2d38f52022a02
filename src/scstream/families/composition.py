"""Clusters of shares: columns that add up to a total, such as 1 or 100."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from scstream.encoders import SharesEncoder
from scstream.families.contract import Array
from scstream.families.encoded import Encoded, Kinds
from scstream.families.gaussian import Gaussian
from scstream.families.packed import roots_of


class Composition(Encoded):
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
    What becomes of a row says `scstream.encoders.SharesEncoder`. Where the first batch has shares
    of 0, one of 0 was too small to be seen, or to be counted: it may be anything below nearly all
    others of its column. While clusters are learned it is at some place there, in another row at
    another one: all of them at one place would be a cluster for each set of columns that are 0.

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
    kind = SharesEncoder
    inner: ClassVar[Mapping[str, Kinds]] = {"roots": (Gaussian,)}

    def __init__(self, total: float | None = None, roots: Gaussian | None = None) -> None:
        self.total = total
        self.roots = roots

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return means and variances (k, d) of the shares, by points at a deviation each way.

        Where rows have totals of their own, in rows with the mean's.
        """
        inner, own = self.parts(tau)[0]
        about, q = inner.describe(own), self.form.n_features_in_ - 1
        away = np.sqrt(q) * roots_of(about["covariance"][:, :q, :q]).swapaxes(1, 2)
        places = np.repeat(about["mean"][:, None], 2 * q, axis=1)
        places[..., :q] += np.concatenate([away, -away], axis=1)
        rows = self.form.decode(places.reshape(-1, places.shape[2])).reshape(len(tau), 2 * q, -1)
        return {"mean": rows.mean(axis=1), "variance": rows.var(axis=1)}
