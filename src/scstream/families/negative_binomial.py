"""Negative binomial clusters: columns of counts that vary more than Poisson counts do."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from scstream.families.contract import Array
from scstream.families.draws import log_gammas
from scstream.families.factorised import Plane, observed_mean
from scstream.families.merging import best_merged
from scstream.families.poisson import Poisson, RisingScore
from scstream.families.scores import Labels, Points, Score
from scstream.support import rowwise
from scstream.support.given import positive_vector

Ints = NDArray[np.int64]

_DISPERSIONS = 2.0 ** np.arange(-10.0, 2.5, 0.5)  # among which the evidence chooses


class NegativeBinomial(Poisson):
    """Clusters of counts, independent columns each with a rate of its own, and wider than Poisson.

    Within a cluster a column's variance is ``rate + dispersion * rate**2``, where the dispersion
    is the same in all clusters.

    Parameters
    ----------
    dispersion : float or array-like (d,), optional
        How much wider than Poisson counts the columns are; near 0 they are Poisson.
    mean : float or array-like (d,), optional
        The rate expected of a cluster.
    strength : float or array-like (d,), optional
        How close rates stay to it, as in `Poisson`.

    Notes
    -----
    With a given dispersion ``1 / r`` a count has the density ``C(x + r - 1, x) p**x (1 - p)**r``,
    which has the same statistics as a Poisson count, and p has a beta prior. What is left open is
    set for each column from the first batch and its clusters: the values under which the clusters
    are the most probable. Missing entries are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> wide = rng.gamma(2.0, 0.5, (200, 4))
    >>> X = rng.poisson(wide * np.repeat([[1, 30, 2, 40], [30, 1, 40, 2]], 100, axis=0))
    >>> ScStream("negative-binomial", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "negative-binomial"
    kept: ClassVar[Mapping[str, str]] = {
        "_mean": "d+", "_strength": "d+", "_dispersion": "d+", "_level": "d",
    }  # fmt: skip

    _dispersion: Array = np.ones(1)  # (d,)
    _level: Array = np.zeros(1)  # (d,): the mean of the log density's part that depends on no rate
    _choices: Array | None = None  # (m, d): dispersions among which the evidence chooses
    _levels: Array  # (m, d): their levels
    _is_held: bool = False  # whether dispersions do not fall

    def __init__(
        self,
        dispersion: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        strength: ArrayLike | None = None,
    ) -> None:
        super().__init__(mean, strength)
        self.dispersion = dispersion

    # -- set-up ---------------------------------------------------------------------------------

    def prepare(self, X: Points) -> Self:
        """Return a copy with a prior, the open parts of it still to be adapted.

        The dispersion is at first the one that all rows together have: clusters have less.
        """
        new = super().prepare(X)
        d = X.shape[1]
        if self.dispersion is not None:
            given = positive_vector(self.dispersion, d, "dispersion")
            new._dispersion, new._level = given, _mean_level(X, given)
            return new.remade()
        new._choices = np.repeat(_DISPERSIONS[:, None], d, axis=1)
        new._levels = np.array([_mean_level(X, some) for some in new._choices])
        together = self.statistics(X).sum(axis=0, keepdims=True)
        return new._dispersed(new.best_trials(new._trials(), together))

    def _dispersed(self, which: Ints) -> Self:
        """Return a copy with the dispersions of those numbers (d,)."""
        assert self._choices is not None
        new, d = copy.copy(self), np.arange(len(which))
        new._dispersion, new._level = self._choices[which, d], self._levels[which, d]
        return new.remade()

    def _trials(self) -> list[Self]:
        """Return a copy for each choice of a dispersion, the same for all columns."""
        assert self._choices is not None
        return [self._dispersed(np.full(len(self._mean), i)) for i in range(len(self._choices))]

    def simplified(self, on: bool) -> Self:
        """Return a copy whose dispersions do not fall, or do; itself where that makes no change."""
        if self._choices is None or self.alone or on == self._is_held:
            return self
        new = copy.copy(self)
        new._is_held = on
        return new

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the open parts that make the clusters most probable.

        Each dispersion is judged by the clusters that would be left under it, see `merging`. Beside
        other columns, by which clusters stay apart, it falls by one choice at most each time, or
        does not fall (see `simplified`).
        """
        if self._choices is None:
            return super().adapt(clusters)
        left, trials = clusters, self._trials()
        if self.alone:
            count, x = self.split_up(self.prior + clusters)
            places = np.log(x / count)
            left = best_merged(trials, clusters, places)
        which = self.best_trials(trials, left)
        if not self.alone:
            now = (self._choices < self._dispersion).sum(axis=0)
            which = np.maximum(which, now - (0 if self._is_held else 1))
        return Poisson.adapt(self._dispersed(which), clusters)

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream, whose dispersions stay."""
        new = copy.copy(super().settled(k))
        for name in ("_choices", "_levels", "_is_held"):
            vars(new).pop(name, None)
        return new

    # -- the family proper ----------------------------------------------------------------------

    def log_base(self, X: Points) -> Array:
        """Return the parts of the counts' densities (n,) that no cluster changes."""
        return rowwise.sums(np.where(np.isnan(X), 0.0, _base(X, self._dispersion) - self._level))

    def log_partitions(self, tau: Array) -> Array:
        """Return the log-normalisers of beta densities, the counts' mean level included."""
        count, x = self.split_up(tau)
        out: Array = betaln(x, count / self._dispersion) + count * self._level
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw probabilities from beta densities."""
        count, x = self.split_up(tau)
        a, b = log_gammas(rng, x), log_gammas(rng, count / self._dispersion)
        both = np.logaddexp(a, b)
        zero = np.zeros((len(tau), 1))
        each = (b - both) / self._dispersion + self._level
        return np.concatenate([zero, each, a - both], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by beta negative binomial predictives."""
        count, x = self.split_up(self.prior + s)
        r, rest = 1.0 / self._dispersion, count / self._dispersion
        each = betaln(x, rest + r) - betaln(x, rest) + self._level
        eta = np.concatenate([log_weight[:, None], each, np.zeros(x.shape)], axis=1)
        fall = np.ascontiguousarray(x + rest + r)
        return RisingAndFallingScore(eta, np.ascontiguousarray(x), fall)

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected rates, and the dispersion that they share."""
        rate = super().describe(tau)["rate"]
        return {"rate": rate, "dispersion": np.broadcast_to(self._dispersion, rate.shape)}

    # -- moves ----------------------------------------------------------------------------------

    def spread(self, sums: list[Array]) -> Array:
        """Return the variances of negative binomial counts with the groups' means."""
        mean = super().spread(sums)
        return mean + self._dispersion * mean**2

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return the log ratio of the two groups' probabilities, and the cut's offset."""
        a, b = (self.describe(self.prior + s)["rate"] for s in (first, second))
        more = np.log1p(b * self._dispersion) - np.log1p(a * self._dispersion)
        return np.log(b) - np.log(a) - more, (more / self._dispersion).sum(axis=1)

    def spread_out(self, X: Array) -> Array:
        """Return counts on a scale on which their deviation is about the same at any rate."""
        c = np.sqrt(self._dispersion)
        Z = c * np.sqrt(X + 0.375)
        return 2.0 / c * rowwise.log(Z + np.sqrt(Z * Z + 1.0))


@dataclass(frozen=True)
class RisingAndFallingScore(RisingScore):
    """The scores of `RisingScore` less ``lgamma(fall + x) - lgamma(fall)`` of every count.

    Attributes
    ----------
    fall : ndarray (k, d)
    """

    fall: Array

    def add(self, T: Array, z: Labels, out: Array) -> None:
        """Add the differences, and subtract the others."""
        super().add(T, z, out)
        less = np.zeros(out.shape)
        RisingScore(self.eta, self.fall).add(T, z, less)
        out -= less


def _base(X: Array, dispersion: Array) -> Array:
    """Return the part of the log density of counts (n, d) that depends on no rate."""
    r = 1.0 / dispersion
    out: Array = gammaln(X + r) - gammaln(r) - gammaln(X + 1.0)
    return out


def _mean_level(X: Array, dispersion: Array) -> Array:
    """Return the mean of that in each column (d,), over what is observed."""
    return observed_mean(_base(X, dispersion), 0.0)
