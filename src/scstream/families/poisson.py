"""Poisson clusters (columns of counts) under gamma priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scstream import core
from scstream.families.columns import not_counts
from scstream.families.contract import Array
from scstream.families.draws import log_gammas
from scstream.families.factorised import AddedScore, Plane, Rated, observed_mean
from scstream.families.scores import Labels, Points, Score
from scstream.support import rowwise
from scstream.support.given import positive_vector

_NONE, _NO_LABELS = np.zeros(0), np.zeros(0, dtype=np.int64)
_SHAPES = 2.0 ** np.arange(-4, 8)  # shapes of the prior among which the evidence chooses
_MEANS = 2.0 ** np.arange(-3, 3)  # and means, against the column's own


class Poisson(Rated):
    """Clusters of counts, independent columns each with a rate of its own.

    Parameters
    ----------
    mean : float or array-like (d,), optional
        The rate expected of a cluster.
    strength : float or array-like (d,), optional
        How close rates stay to it: the shape of their gamma prior.

    Notes
    -----
    What is left open is set for each column from the first batch and its clusters: the mean
    and the shape under which the clusters are the most probable. Missing entries are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.poisson([1, 9, 2], (60, 3)), rng.poisson([8, 1, 5], (60, 3))]
    >>> ScStream("poisson", random_state=1).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "poisson"
    positive_only: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {"_mean": "d+", "_strength": "d+"}

    def __init__(self, mean: ArrayLike | None = None, strength: ArrayLike | None = None) -> None:
        self.mean = mean
        self.strength = strength

    # -- set-up ---------------------------------------------------------------------------------

    def refusal(self, x: Array) -> str | None:
        """Return why numbers cannot be counts."""
        return not_counts(x)

    def prepare(self, X: Points) -> Self:
        """Return a copy with a prior, the open parts of it still to be adapted."""
        d = X.shape[1]
        mean = positive_vector(self.mean, d, "mean", np.maximum(observed_mean(X, 1.0), 1e-3))
        return self.having(mean, positive_vector(self.strength, d, "strength"))

    def prior_blocks(self) -> list[Array]:
        """Return the rates and the shapes of gamma densities."""
        return [self._strength / self._mean, self._strength]

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the means and shapes that make the clusters most probable."""
        counts, x = self.split_up(clusters)
        pooled = np.maximum((x.sum(axis=0) + 0.5) / (counts.sum(axis=0) + 0.5), 1e-3)
        return self.best_of([pooled * m for m in _MEANS], _SHAPES, clusters)

    # -- the family proper ----------------------------------------------------------------------

    def blocks(self, X: Array) -> list[Array]:
        """Return the counts."""
        return [X]

    def log_base(self, X: Points) -> Array:
        """Return minus the log factorials of the observed counts (n,)."""
        return -rowwise.sums(gammaln(np.where(np.isnan(X), 0.0, X) + 1.0))

    def log_partitions(self, tau: Array) -> Array:
        """Return the log-normalisers of gamma densities."""
        rate, shape = self.split_up(tau)
        out: Array = gammaln(shape) - shape * np.log(rate)
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw rates from gamma densities."""
        rate, shape = self.split_up(tau)
        log_rate = log_gammas(rng, shape) - np.log(rate)
        zero = np.zeros((len(tau), 1))
        return np.concatenate([zero, -np.exp(log_rate), log_rate], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by negative binomial predictives."""
        rate, shape = self.split_up(self.prior + s)
        eta = np.concatenate(
            [log_weight[:, None], -shape * np.log1p(1.0 / rate), -np.log1p(rate)], axis=1
        )
        return RisingScore(eta, np.ascontiguousarray(shape))

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected rates."""
        rate, shape = self.split_up(tau)
        return {"rate": shape / rate}

    # -- moves ----------------------------------------------------------------------------------

    def spread(self, sums: list[Array]) -> Array:
        """Return the variances of Poisson counts: their means."""
        return sums[1] / np.maximum(sums[0], 1e-300)

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return the log ratio of the two groups' expected rates, and the cut's offset."""
        a, b = (self.describe(self.prior + s)["rate"] for s in (first, second))
        return np.log(b) - np.log(a), (b - a).sum(axis=1)

    def spread_out(self, X: Array) -> Array:
        """Return square roots, whose deviation is about one half at any rate."""
        return 2.0 * np.sqrt(X + 0.375)


@dataclass(frozen=True)
class RisingScore(AddedScore):
    """Scores ``T @ eta`` plus ``lgamma(shape + x) - lgamma(shape)`` of every column's count.

    Attributes
    ----------
    shape : ndarray (k, d)
    """

    shape: Array

    def add(self, T: Array, z: Labels, out: Array) -> None:
        """Add the differences."""
        d = self.shape.shape[1]
        counts = np.ascontiguousarray(T[:, 1 + d : 1 + 2 * d])
        core.add_rises((counts,), self.shape, z, _NONE, out)
