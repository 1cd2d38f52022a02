"""Bernoulli clusters (columns of yes and no) under beta priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from scstream.families.categories import of_rows
from scstream.families.contract import Array
from scstream.families.draws import log_gammas
from scstream.families.factorised import Plane, Rated, observed_mean
from scstream.families.scores import LinearScore, Points, Score
from scstream.support.given import positive_vector

_STRENGTHS = 2.0 ** np.arange(-3, 9)  # of the prior, among which the evidence chooses
_IN_COMMON = 1e9  # the strength of one that no rows change


class Bernoulli(Rated):
    """Clusters of binary features, independent columns each with a probability of its own.

    Parameters
    ----------
    mean : float or array-like (d,), optional
        The probability of a 1 expected of a cluster. Default: the first batch's share of ones.
    strength : float or array-like (d,), optional
        How many points that expectation is worth. By default it is, for each column, the one
        under which the clusters found in the first batch are the most probable.

    Notes
    -----
    Entries are 0 and 1, or truth values. Missing ones are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 12)) < np.repeat([[0.9, 0.2], [0.1, 0.8]], [100, 100], 0).repeat(6, 1)
    >>> ScStream("bernoulli", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "bernoulli"
    positive_only: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {"_mean": "d+", "_strength": "d+"}

    start: ClassVar[float] = 2.0

    def __init__(self, mean: ArrayLike | None = None, strength: ArrayLike | None = None) -> None:
        self.mean = mean
        self.strength = strength

    # -- set-up ---------------------------------------------------------------------------------

    def refusal(self, x: Array) -> str | None:
        """Return why numbers cannot be zeros and ones."""
        odd = x[(x != 0) & (x != 1)]
        if len(odd) == 0:
            return None
        return (
            f"holds {odd[0]:g}: 'bernoulli' takes 0 and 1. Use 'poisson' for counts, "
            "'categorical' for codes, 'gaussian' or 'diagonal' for real values."
        )

    def prepare(self, X: Points) -> Self:
        """Return a copy with a prior, its strength still to be adapted if it is open."""
        n, d = X.shape
        share = (n * observed_mean(X, 0.5) + 1.0) / (n + 2.0)
        mean = positive_vector(self.mean, d, "mean", share)
        return self.having(mean, positive_vector(self.strength, d, "strength", 2.0))

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the strengths that make the clusters most probable."""
        return self.best_of([self._mean], _STRENGTHS, clusters)

    def in_common(self) -> Self:
        """Return a copy by which all clusters have the expected probabilities, however many rows.

        So columns say nothing about clusters. No clusters change that.
        """
        new = self.having(self._mean, np.full(len(self._mean), _IN_COMMON))
        new.strength = new._strength
        return new

    def prior_blocks(self) -> list[Array]:
        """Return the strengths, and the ones that are expected."""
        if np.any(self._mean >= 1):
            raise ValueError(f"mean must be less than 1; got {self.mean!r}.")
        return [self._strength, self._strength * self._mean]

    # -- the family proper ----------------------------------------------------------------------

    def blocks(self, X: Array) -> list[Array]:
        """Return the ones."""
        return [X]

    def log_base(self, X: Points) -> Array:
        """Return zeros: the base measure is constant."""
        return np.zeros(X.shape[0])

    def log_partitions(self, tau: Array) -> Array:
        """Return the log-normalisers of beta densities."""
        count, ones = self.split_up(tau)
        out: Array = betaln(ones, count - ones)
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw log odds from beta densities."""
        count, ones = self.split_up(tau)
        yes, no = (log_gammas(rng, a) for a in (ones, count - ones))
        log_no = no - np.logaddexp(yes, no)
        return np.concatenate([np.zeros((len(tau), 1)), log_no, yes - no], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the expected probabilities, which equal the predictives."""
        count, ones = self.split_up(self.prior + s)
        zeros = count - ones
        log_no, odds = np.log(zeros / count), np.log(ones / zeros)
        return LinearScore(np.concatenate([log_weight[:, None], log_no, odds], axis=1))

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected probabilities of a 1."""
        count, ones = self.split_up(tau)
        return {"probability": ones / count}

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster the share of ones in each column among its rows."""
        return super().describe_columns(of_rows(tau, self.prior), names, seen)

    # -- moves ----------------------------------------------------------------------------------

    def spread(self, sums: list[Array]) -> Array:
        """Return ``p (1 - p)``, for shares as far from 0 and 1 as their counts allow."""
        p = (sums[1] + 0.5) / (sums[0] + 1.0)
        return p * (1.0 - p)

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return the difference of the two groups' log odds, and the cut's offset."""
        a, b = (self.describe(self.prior + s)["probability"] for s in (first, second))
        normal = np.log(b / (1.0 - b)) - np.log(a / (1.0 - a))
        return normal, (np.log1p(-a) - np.log1p(-b)).sum(axis=1)

    def bounds(self, sums: list[Array], count: Array) -> tuple[Array, Array]:
        """Return the bounds of a part's ones: neither part has more ones than entries."""
        return np.maximum(sums[1] - (sums[0] - count), 0.0), np.minimum(sums[1], count)
