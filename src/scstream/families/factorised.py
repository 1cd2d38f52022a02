"""Families whose columns are independent within a cluster: what they share.

Each column brings its own count to the statistics, so that a missing entry is simply not there:
it adds nothing to the column's sums, and nothing to a point's density.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream import core
from scstream.families.columns import columns_of, finite_numbers
from scstream.families.contract import Array, Family
from scstream.families.division import Division, Projection, Side
from scstream.families.evidence import at_most
from scstream.families.scores import Labels, LinearScore, Points, to_dense

_TINY = 1e-300
_NO_LABELS = np.zeros(0, dtype=np.int64)

Plane = tuple[Array, Array]  # (k, d) and (k,): the functional ``sum_j normal_j x_j - offset``


class Factorised(Family):
    """A family of independent columns, each with a location ``x`` and a count of its own.

    The statistics are ``(1, observed (d,), x (d,), ...)``: `n_statistics` blocks of d entries
    behind the row's count, zero where an entry is missing.
    """

    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    n_statistics: ClassVar[int] = 2
    filling: ClassVar[float] = 0.0  # stands for what is missing while statistics are computed

    _prior: Array
    _log_z: float

    # -- what a family of this kind gives -------------------------------------------------------

    @abstractmethod
    def blocks(self, X: Array) -> list[Array]:
        """Return the statistics (n, d) behind the counts, of rows without gaps."""

    @abstractmethod
    def log_partitions(self, tau: Array) -> Array:
        """Return the columns' log-normalisers (..., d)."""

    @abstractmethod
    def spread(self, sums: list[Array]) -> Array:
        """Return the variances of x within groups with the given blocks of sums, (..., d)."""

    @abstractmethod
    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return normals (k, d) and offsets (k,) of the discriminant of groups (k, p) each."""

    # -- what follows ---------------------------------------------------------------------------

    def check(self, X: Points) -> Points:
        """Return rows of float64, NaN for what is missing."""
        out = finite_numbers(X, self)
        for j, x in enumerate(out.T):
            complaint = self.refusal(x[~np.isnan(x)])
            if complaint is not None:
                raise columns_of(X).refuse(j, complaint)
        return out

    def statistics(self, X: Points) -> Points:
        """Return a row's count, its columns' counts, and what the family sums up of them."""
        n, d = X.shape
        seen = ~np.isnan(X)
        T = np.empty((n, 1 + self.n_statistics * d))
        T[:, 0] = 1.0
        T[:, 1 : 1 + d] = seen
        filled = np.where(seen, X, self.filling)
        for i, block in enumerate(self.blocks(filled)):
            T[:, 1 + (i + 1) * d : 1 + (i + 2) * d] = np.where(seen, block, 0.0)
        return T

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of the same columns: they know no frame."""
        return sums if type(before) is type(self) and len(before.prior) == sums.shape[1] else None

    def split_up(self, tau: Array) -> list[Array]:
        """Return the blocks (..., d) of sums ``tau`` (..., p), the columns' counts first."""
        d = (tau.shape[-1] - 1) // self.n_statistics
        return [tau[..., 1 + i * d : 1 + (i + 1) * d] for i in range(self.n_statistics)]

    def with_prior(self, *blocks: Array) -> Self:
        """Set the prior of this copy from its blocks (d,); a row's own count is 0."""
        self._prior = np.concatenate([[0.0], *blocks])
        self._log_z = float(self.log_partition(self._prior))
        return self

    @property
    def prior(self) -> Array:
        """The prior's ``tau``."""
        return self._prior

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters, without the base measure."""
        return self.log_partition(self._prior + s) - self._log_z

    def log_partition(self, tau: Array) -> Array:
        """Return the log-normaliser, summed over the columns."""
        out: Array = self.log_partitions(tau).sum(axis=-1)
        return out

    def best_by_column(self, trials: list[Self], clusters: Array, *parts: str) -> list[Array]:
        """Return parts (d,) of the trials' priors, from each column's own best trial."""
        best = self.best_trials(trials, clusters)
        d = np.arange(len(best))
        return [np.array([getattr(t, part) for t in trials])[best, d] for part in parts]

    def best_trials(self, trials: list[Self], clusters: Array) -> NDArray[np.int64]:
        """Return for each column (d,) which trial makes the clusters (k, p) most probable."""
        level = [
            (t.log_partitions(t.prior + clusters) - t.log_partitions(t.prior)).sum(axis=0)
            for t in trials
        ]
        out: NDArray[np.int64] = np.argmax(level, axis=0)
        return out

    @property
    def division(self) -> Division:
        """Divisions by planes."""
        return FactorisedDivision(self)

    def through(self, mean: Array, normal: Array) -> Array:
        """Return the functionals (k, p) of T with the given normals that vanish at the means.

        What is missing in a point adds nothing.
        """
        k, d = mean.shape
        out = np.zeros((k, 1 + self.n_statistics * d))
        out[:, 1 : 1 + d] = -normal * mean
        out[:, 1 + d : 1 + 2 * d] = normal
        return out

    def bounds(self, sums: list[Array], count: Array) -> tuple[Array, Array]:
        """Return least and largest sums of x that a part with the given counts may have.

        Positive numbers: neither part has less than a tenth of what it has on average.
        """
        least = 0.1 * sums[1] / np.maximum(sums[0], _TINY)
        return least * count, sums[1] - least * (sums[0] - count)

    def embed(self, X: Points) -> Array:
        """Return the rows with the middle of its column in place of what is missing."""
        Z = self.spread_out(X)
        seen = ~np.isnan(X)
        count = np.maximum(seen.sum(axis=0), 1)
        middle = np.where(seen, Z, 0.0).sum(axis=0) / count
        return np.where(seen, Z, middle)

    def spread_out(self, X: Array) -> Array:
        """Return entries in a scale in which their deviation within a cluster is about the same."""
        return X


class FactorisedDivision(Division):
    """Cuts clusters by planes along which their columns are independent."""

    def __init__(self, family: Factorised) -> None:
        self._family = family

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut towards a random point, in units of the columns' deviations."""
        f = self._family
        sums = f.split_up(s)
        mean = sums[1] / np.maximum(sums[0], _TINY)
        seen, x = f.split_up(member)[:2]
        normal = (x - seen * mean) / np.maximum(f.spread(sums), 1e-12)
        return f.through(mean, normal)

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return normals (k, d) and offsets (k,) of the discriminant of groups (k, p) each."""
        return self._family.discriminant(first, second)

    def project(self, past: Array, discriminant: Plane) -> Projection:
        """Return mean and variance of the discriminant over the past (..., k, p)."""
        f = self._family
        normal, offset = discriminant
        sums = f.split_up(past)
        mean = sums[1] / np.maximum(sums[0], _TINY)
        level = (normal * mean).sum(axis=-1) - offset
        return Projection(level, (normal**2 * f.spread(sums)).sum(axis=-1))

    def cut(self, past: Array, discriminant: Plane, side: Side) -> Array:
        """Return the part of the past on a side, its means moved along the discriminant."""
        f = self._family
        sums = f.split_up(past)
        mean = sums[1] / np.maximum(sums[0], _TINY)
        along = discriminant[0] * f.spread(sums)
        out = past * side.share[..., None]
        new = f.split_up(out)
        low, high = f.bounds(sums, new[0])
        new[1][...] = np.clip(new[0] * (mean - along * side.pull[..., None]), low, high)
        return out


class Rated(Factorised):
    """Independent columns whose prior is a mean and a strength, which the evidence chooses."""

    start: ClassVar[float] = 1.0  # a strength that one cluster shows, see `at_most`

    mean: ArrayLike | None  # as the user gave them
    strength: ArrayLike | None
    _mean: Array  # (d,)
    _strength: Array  # (d,)

    @abstractmethod
    def prior_blocks(self) -> list[Array]:
        """Return the blocks (d,) of the prior."""

    def remade(self) -> Self:
        """Return the copy with its prior."""
        return copy.copy(self).with_prior(*self.prior_blocks())

    def having(self, mean: Array, strength: Array) -> Self:
        """Return a copy with another mean and another strength (d,)."""
        new = copy.copy(self)
        new._mean, new._strength = mean, strength
        return new.remade()

    def best_of(self, means: list[Array], strengths: Iterable[float], clusters: Array) -> Self:
        """Return the copy with what is most probable of open parts, each column by itself."""
        same = np.ones(len(self._mean))
        means = means if self.mean is None else [self._mean]
        some = [s * same for s in strengths] if self.strength is None else [self._strength]
        trials = [self.having(mean, strength) for mean in means for strength in some]
        return self.having(*self.best_by_column(trials, clusters, "_mean", "_strength"))

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of a stream: k clusters limit how strong the prior is."""
        if self.strength is not None:
            return self
        return self.having(self._mean, at_most(self._strength, k, self.start))


@dataclass(frozen=True)
class AddedScore(ABC):
    """Scores ``T @ eta`` and something else of every column.

    Attributes
    ----------
    eta : ndarray (k, p)
    """

    eta: Array

    @abstractmethod
    def add(self, T: Array, z: Labels, out: Array) -> None:
        """Add to scores (n, k), or, given labels (n,), to those (n, 2) under each row's pair."""

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        rows = np.ascontiguousarray(to_dense(T))
        out = LinearScore(self.eta).block(rows)
        self.add(rows, _NO_LABELS, out)
        return out

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        rows = np.ascontiguousarray(to_dense(T))
        out = LinearScore(self.eta).pairs(rows, z)
        self.add(rows, z, out)
        return out


@dataclass(frozen=True)
class ColumnScore(AddedScore):
    """Scores ``T @ eta`` less ``power log(a + b x + c y)`` for every entry that is observed.

    Attributes
    ----------
    a, b, c, power : ndarray (k, d)
        ``x`` and ``y`` are the second and the third block of the statistics; without the latter
        c is 0.
    """

    a: Array
    b: Array
    c: Array
    power: Array

    def add(self, T: Array, z: Labels, out: Array) -> None:
        """Subtract the logarithms."""
        a, b, c, power = map(np.ascontiguousarray, (self.a, self.b, self.c, self.power))
        core.subtract_logs(T, (a, b, c, power), z, out)


def observed_mean(X: Array, default: float) -> Array:
    """Return the columns' means (d,) over what is observed, the default where nothing is."""
    seen = ~np.isnan(X)
    count = seen.sum(axis=0)
    total = np.where(seen, X, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), default)
