"""Gamma and exponential clusters (columns of positive durations) under gamma priors."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scstream.families.contract import Array
from scstream.families.draws import log_gammas
from scstream.families.factorised import ColumnScore, Plane, Rated
from scstream.families.merging import best_merged
from scstream.families.scores import Points, Score
from scstream.support import rowwise
from scstream.support.given import positive_vector

_SHAPES = 2.0 ** np.arange(0, 11)  # of the data, among which the evidence chooses
_STRENGTHS = 2.0 ** np.arange(-4, 8)  # the same of the prior
_MEANS = 2.0 ** np.arange(-2, 4)  # and its means, against the column's own


class Gamma(Rated):
    """Clusters of positive numbers, independent columns each with a rate of its own.

    A column's entries have a gamma distribution whose shape is the same in all clusters.

    Parameters
    ----------
    shape : float or array-like (d,), optional
        The shape of the entries' distribution: 1 is the exponential, more is more regular. By
        default it is at least 1.
    mean : float or array-like (d,), optional
        The mean expected of a cluster.
    strength : float or array-like (d,), optional
        How close clusters stay to it: the shape of their rates' gamma prior.

    Notes
    -----
    What is left open is set for each column from the first batch and its clusters: the values
    under which the clusters are the most probable. Missing entries are left out. The unit of a
    column does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.gamma(4, [1, 9, 2], (90, 3)), rng.gamma(4, [8, 1, 9], (90, 3))]
    >>> ScStream("gamma", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "gamma"
    positive_only: ClassVar[bool] = True
    n_statistics: ClassVar[int] = 3
    filling: ClassVar[float] = 1.0
    kept: ClassVar[Mapping[str, str]] = {
        "_scale": "d+", "_shape": "d+", "_mean": "d+", "_strength": "d+",
    }  # fmt: skip

    _scale: Array  # (d,): the unit in which the family computes
    _shape: Array  # (d,): the data's shape

    def __init__(
        self,
        shape: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        strength: ArrayLike | None = None,
    ) -> None:
        self.shape = shape
        self.mean = mean
        self.strength = strength

    # -- set-up ---------------------------------------------------------------------------------

    def refusal(self, x: Array) -> str | None:
        """Return why numbers cannot be durations."""
        low = x.min(initial=1.0)
        if low > 0:
            return None
        return (
            f"holds {low:g}: '{self.name}' takes positive numbers. Leave such entries empty if "
            "they mean not known, or use 'gaussian' or 'diagonal'."
        )

    def prepare(self, X: Points) -> Self:
        """Return a copy with its unit and a prior, the open parts of it still to be adapted."""
        d = X.shape[1]
        new = copy.copy(self)
        new._scale = np.array([np.median(x) if len(x) else 1.0 for x in _observed(X)])
        mean = positive_vector(self.mean, d, "mean", new._scale) / new._scale
        new._shape = positive_vector(self.shape, d, "shape")
        return new.having(mean, positive_vector(self.strength, d, "strength"))

    def prior_blocks(self) -> list[Array]:
        """Return the blocks of gamma densities of rates."""
        c = self._shape
        return [self._strength / c, self._strength * self._mean / c, 0.0 * c]

    def _shaped(self, c: Array) -> Self:
        """Return a copy with another shape of the entries (d,)."""
        new = copy.copy(self)
        new._shape = c
        return new.remade()

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the open parts that make the clusters most probable.

        Each shape is judged by the clusters that would be left under it, see `merging`. Beside
        other columns, by which clusters stay apart, the shape at most doubles each time.
        """
        if all(v is not None for v in (self.shape, self.mean, self.strength)):
            return self
        new = self
        if self.shape is None:
            trials = [self._shaped(np.full(len(self._shape), c)) for c in _SHAPES]
            if self.alone:
                count, x, _ = self.split_up(self.prior + clusters)
                clusters = best_merged(trials, clusters, np.log(x / count))
            (c,) = self.best_by_column(trials, clusters, "_shape")
            new = self._shaped(c if self.alone else np.minimum(c, 2.0 * self._shape))
        count, x, _ = (block.sum(axis=0) for block in self.split_up(clusters))
        pooled = (x + 0.01) / (count + 0.01)
        return new.best_of([pooled * m for m in _MEANS], _STRENGTHS, clusters)

    def hyperparameters(self) -> dict[str, Any]:
        """Return the entries' shapes and the prior's means and shapes."""
        return {**super().hyperparameters(), "mean": self._mean * self._scale}

    # -- the family proper ----------------------------------------------------------------------

    def blocks(self, X: Array) -> list[Array]:
        """Return the entries and their logs, in the family's unit."""
        Z = X / self._scale
        return [Z, rowwise.log(Z)]

    def log_base(self, X: Points) -> Array:
        """Return the change of unit (n,); the entries' own part goes with the statistics."""
        return rowwise.sums(np.where(np.isnan(X), 0.0, -np.log(self._scale)))

    def log_partitions(self, tau: Array) -> Array:
        """Return the log-normalisers of gamma densities of rates, the entries' own included."""
        count, x, log_x = self.split_up(tau)
        a = self._shape * count
        own = (self._shape - 1.0) * log_x - count * gammaln(self._shape)
        out: Array = gammaln(a) - a * np.log(x) + own
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw rates from gamma densities."""
        count, x, _ = self.split_up(tau)
        a = self._shape * count
        log_rate = log_gammas(rng, a) - np.log(x)
        each = self._shape * log_rate - gammaln(self._shape)
        own = np.broadcast_to(self._shape - 1.0, a.shape)
        zero = np.zeros((len(tau), 1))
        return np.concatenate([zero, each, -np.exp(log_rate), own], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by compound gamma predictives (Lomax for the exponential)."""
        count, x, _ = self.split_up(self.prior + s)
        a, c = self._shape * count, self._shape
        each = gammaln(a + c) - gammaln(a) - gammaln(c) - c * np.log(x)
        own = np.broadcast_to(c - 1.0, a.shape)
        eta = np.concatenate([log_weight[:, None], each, 0.0 * a, own], axis=1)
        return ColumnScore(eta, np.ones(a.shape), 1.0 / x, 0.0 * a, a + c)

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' means, and the shape that they share."""
        count, x, _ = self.split_up(tau)
        a = self._shape * count
        mean = self._shape * x / np.maximum(a - 1.0, 0.5 * a) * self._scale
        return {"mean": mean, "shape": np.broadcast_to(self._shape, mean.shape)}

    # -- moves ----------------------------------------------------------------------------------

    def spread(self, sums: list[Array]) -> Array:
        """Return the variances of gamma distributions with the groups' means."""
        return (sums[1] / np.maximum(sums[0], 1e-300)) ** 2 / self._shape

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return the difference of the two groups' expected rates, and the cut's offset."""
        rates = []
        for s in (first, second):
            count, x, _ = self.split_up(self.prior + s)
            rates.append(self._shape * count / x)
        a, b = rates
        return a - b, (self._shape * (np.log(a) - np.log(b))).sum(axis=1)

    def spread_out(self, X: Array) -> Array:
        """Return logs, whose deviation does not depend on the rate."""
        return rowwise.log(X / self._scale)


class Exponential(Gamma):
    """Clusters of waiting times, independent columns each with a rate of its own.

    Parameters
    ----------
    mean : float or array-like (d,), optional
        The mean expected of a cluster.
    strength : float or array-like (d,), optional
        How close clusters stay to it: the shape of their rates' gamma prior.

    Notes
    -----
    The same as ``Gamma(shape=1)``. What is left open is set from the first batch.
    """

    name: ClassVar[str] = "exponential"

    def __init__(self, mean: ArrayLike | None = None, strength: ArrayLike | None = None) -> None:
        super().__init__(1.0, mean, strength)


def _observed(X: Array) -> list[Array]:
    """Return the observed entries of each column."""
    return [x[~np.isnan(x)] for x in X.T]
