"""Gaussian clusters with independent columns under normal-inverse-gamma priors."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from scstream.encoders import rounding
from scstream.encoders.frame import column_frame
from scstream.families.contract import Array, Family
from scstream.families.division import Division, Side
from scstream.families.evidence import (
    best_by_doubling,
    best_judged,
    goes_far,
    most_probable,
    step_that_suits,
)
from scstream.families.factorised import ColumnScore, Factorised, FactorisedDivision, Plane
from scstream.families.gaussian import KEPT, SHARES
from scstream.families.pooling import factors_of, middles
from scstream.families.scores import Points, Score
from scstream.support import rowwise
from scstream.support.given import finite_vector, positive_number, positive_vector

_LOG_2PI = float(np.log(2.0 * np.pi))
_TINY = 1e-300


class Posterior(NamedTuple):
    """Parameters of normal-inverse-gamma densities in the family's frame, (..., d) each."""

    kappa: Array  # strength of the mean
    nu: Array  # degrees of freedom
    mean: Array
    scatter: Array  # nu times the expected variance


class Diagonal(Factorised):
    """Gaussian clusters whose columns are independent: a mean and a variance for each.

    Parameters
    ----------
    mean : float or array-like (d,), optional
        Where cluster means are expected. Default: the first batch's median.
    mean_strength : float, optional
        How many points that expectation is worth.
    variance : float or array-like (d,), optional
        The variance expected of a cluster in each column.
    variance_strength : float, optional
        How many points that expectation is worth.

    Notes
    -----
    What is left open is set from the first batch and its clusters as for the full
    `scstream.Gaussian`. Missing entries are left out. Use it when a cluster has too few points
    for a full covariance, or when entries are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) + [[0.0, 0.0], [9.0, 9.0]] * 100
    >>> X[::7, 0] = np.nan
    >>> ScStream("diagonal", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "diagonal"
    real: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {
        "_shift": "d", "_scale": "d+", "_m": "d", "_kappa": "+", "_nu": "+", "_psi": "d+",
        "_step": "d?", "_share": "+?",
    }  # fmt: skip
    n_statistics: ClassVar[int] = 3

    _m: Array  # (d,): the prior in the frame
    _kappa: float
    _nu: float
    _psi: Array  # (d,)
    _share: float = 1.0  # of the variance within clusters that is expected

    def __init__(
        self,
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
        variance: ArrayLike | None = None,
        variance_strength: float | None = None,
    ) -> None:
        self.mean = mean
        self.mean_strength = mean_strength
        self.variance = variance
        self.variance_strength = variance_strength

    # -- set-up ---------------------------------------------------------------------------------

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame and a prior, the open parts of it still to be adapted."""
        d = X.shape[1]
        new = copy.copy(self)
        new._shift, new._scale = self.frame_of(X)
        if self.variance is None:
            new._step = self.steps(X, new._scale)
            new._scale = rounding.widened(new._scale, new._step)
        new._m = (finite_vector(self.mean, d, "mean", new._shift) - new._shift) / new._scale
        kappa = positive_number(self.mean_strength, "mean_strength", 0.01)
        nu = positive_number(self.variance_strength, "variance_strength", 3.0)
        psi = np.full(d, 0.1)
        if self.variance is not None:
            psi = self.expected(self.variance, d) / new._scale**2
        return new._with(kappa, nu, psi)

    def frame_of(self, X: Array) -> tuple[Array, Array]:
        """Return the centres and scales of the columns' observed entries."""
        return column_frame(X)

    def steps(self, X: Array, scale: Array) -> Array:
        """Return the width of cells (d,) where numbers are coarse, else 0."""
        return rounding.steps(X, scale)

    def with_cells(self, width: float) -> Self:
        """Return the copy all of whose numbers stand for cells of that width, in data's units."""
        new = copy.copy(self)
        new._step = np.full(len(self._m), width)
        new._scale = rounding.widened(self._scale, new._step)
        new._m = self._m * self._scale / new._scale
        return new._with(self._kappa, self._nu, self._psi)

    def as_wide_as_all(self) -> Self:
        """Return the copy that expects clusters as wide as all the rows that set the prior.

        So it is where nothing says that a column distinguishes clusters.
        """
        return self._with(1.0, self._nu, np.ones(len(self._m)))

    def expected(self, variance: ArrayLike, d: int) -> Array:
        """Return the variances (d,) that the user expects."""
        return positive_vector(variance, d, "variance")

    def _with(self, kappa: float, nu: float, psi: Array) -> Self:
        """Return a copy with another prior in the same frame."""
        new = copy.copy(self)
        new._kappa, new._nu, new._psi = kappa, nu, psi
        m = self._m
        return new.with_prior(
            np.full(len(m), kappa), kappa * m, self._prior_scatter(nu, psi) + kappa * m * m
        )

    def _prior_scatter(self, nu: float, psi: Array) -> Array:
        return nu * psi

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose open hyper-parameters suit the clusters (k, p).

        Kappa takes one EM step. The expected variance is the one pooled within the clusters, or
        half of it; that choice and nu are those that make the clusters most probable.
        """
        if all(v is not None for v in (self.variance, self.variance_strength, self.mean_strength)):
            return self
        kappa, nu, psi = self._kappa, self._nu, self._psi
        count = self.split_up(clusters)[0]
        if self.mean_strength is None:
            post = self.posterior(self.prior + clusters)
            seen = count > 0
            far = post.nu * (post.mean - self._m) ** 2 / post.scatter + 1.0 / post.kappa
            spread = far[seen].sum() + 2.0 / 0.01
            kappa = float(np.clip((seen.sum() + 2.0) / spread, 0.003, 10.0))
        if self.variance is None:
            trials = []
            for pooled, _ in self._pooled(clusters):
                for share in SHARES:
                    trials.append(self._with(kappa, nu, share * pooled))
                    trials[-1]._share = share
        else:
            trials = [self._with(kappa, nu, psi)]
        if self.variance_strength is None:
            bounds = 3.0, 3.0 + clusters[:, 0].sum()
            return best_judged(
                [best_by_doubling(t._with_strength, clusters, nu, 1.0, bounds) for t in trials]
            )
        return most_probable(trials, clusters)

    def _pooled(self, clusters: Array) -> list[tuple[Array, Array]]:
        """Return the variances (d,) within clusters (k, p), and their degrees of freedom (d,).

        Once more with far too wide clusters restrained, if there are some.
        """
        count, z, zz = self.split_up(clusters)
        scatters = zz - z * z / np.maximum(count, _TINY)
        spare = count.sum(axis=0) - (count > 0).sum(axis=0)
        factors = factors_of(count, scatters)
        out = []
        for some in [scatters] if factors is None else [scatters, factors * scatters]:
            scatter, free = self._shared(np.maximum(some.sum(axis=0), 0.0), spare)
            out.append((scatter / np.maximum(free, 1.0) * (1.0 + 1e-6) + 1e-14, free))
        return out

    def _shared(self, scatter: Array, spare: Array) -> tuple[Array, Array]:
        """Return sums of squares (d,) and their degrees of freedom that each column may use."""
        return scatter, spare

    def _with_strength(self, nu: float) -> Self:
        """Return a copy whose expected variances are worth nu points."""
        return self._with(self._kappa, nu, self._psi)

    def follow(self, clusters: Array, latest: Array) -> Self:
        """Return a copy that expects means like the clusters' (k, p), variances as of late."""
        if self.mean is not None and self.variance is not None:
            return self
        centres, variances, trials = [self._m], [self._psi], []
        if self.mean is None:
            count, z, _ = self.split_up(clusters)
            some = count.sum(axis=0) >= 1.0
            centres = [np.where(some, m, self._m) for m in middles(count, z)]
        if self.variance is None:
            variances = [self._between(pooled, spare) for pooled, spare in self._pooled(latest)]
        for m in centres:
            family = copy.copy(self)
            family._m = m
            trials += [family._with(self._kappa, self._nu, psi) for psi in variances]
        new, *others = trials
        if others:
            new = most_probable(trials, latest)
        return step_that_suits(self, new, clusters) if goes_far(self, new) else new

    def _between(self, pooled: Array, spare: Array) -> Array:
        """Return variances (d,) between those expected so far and pooled ones."""
        new = np.maximum(spare, 0.0)
        old = np.maximum(3.0 * KEPT, new)
        out: Array = (old * self._psi + (new * self._share) * pooled) / (old + new)
        return out

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream: from k clusters, nu is ``2 + k`` at most."""
        if self.variance_strength is not None:
            return self
        return self._with_strength(min(self._nu, 2.0 + k))

    def remade(self) -> Self:
        """Return the copy with its prior."""
        return self._with(self._kappa, self._nu, self._psi)

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units."""
        return {
            "mean": self._m * self._scale + self._shift,
            "mean_strength": self._kappa,
            "variance": self._psi * self._scale**2,
            "variance_strength": self._nu,
        }

    # -- the family proper ----------------------------------------------------------------------

    def blocks(self, X: Array) -> list[Array]:
        """Return the entries in the frame and their squares."""
        Z = self.spread_out(X)
        return [Z, Z * Z]

    def spread_out(self, X: Array) -> Array:
        """Return entries in the family's frame."""
        return (X - self._shift) / self._scale

    def log_base(self, X: Points) -> Array:
        """Return the constants of the observed entries, the frame's units included (n,)."""
        each = -0.5 * _LOG_2PI - np.log(self._scale)
        return rowwise.sums(np.where(np.isnan(X), 0.0, each))

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of another frame in this one."""
        if super().reframed(sums, before) is None:
            return None
        assert isinstance(before, Diagonal)
        ratio, shift = before._scale / self._scale, (before._shift - self._shift) / self._scale
        n, z, zz = self.split_up(sums)
        moved = ratio * z + shift * n
        squares = ratio**2 * zz + 2.0 * ratio * shift * z + shift**2 * n
        return np.concatenate([sums[:, :1], n, moved, squares], axis=1)

    def posterior(self, tau: Array) -> Posterior:
        """Return the parameters at ``tau`` (..., p)."""
        kappa, z, zz = self.split_up(tau)
        mean = z / kappa
        nu = kappa + (self._nu - self._kappa)
        return Posterior(kappa, nu, mean, np.maximum(zz - z * mean, self.floor))

    @property
    def floor(self) -> Array:
        """What rounding may leave of a sum of squares at least."""
        return 1e-9 * self._psi

    def log_partitions(self, tau: Array) -> Array:
        """Return the log-normalisers of normal-inverse-gamma densities, column by column."""
        kappa, nu, _, scatter = self.posterior(tau)
        out: Array = gammaln(0.5 * nu) - 0.5 * np.log(kappa) - 0.5 * nu * np.log(0.5 * scatter)
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw precisions from gamma densities, then the means given them."""
        kappa, nu, m, scatter = self.posterior(tau)
        precision = np.maximum(rng.chisquare(nu), 1e-30) / scatter
        mean = m + rng.standard_normal(m.shape) / np.sqrt(kappa * precision)
        return self.natural(mean, precision)

    def natural(self, mean: Array, precision: Array) -> Array:
        """Return natural parameters (k, p) from means and precisions (k, d)."""
        each = 0.5 * (np.log(precision) - precision * mean**2)
        zero = np.zeros((len(mean), 1))
        return np.concatenate([zero, each, precision * mean, -0.5 * precision], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by Student-t predictives of each column."""
        kappa, nu, m, scatter = self.posterior(self.prior + s)
        g = kappa / (kappa + 1.0)
        each = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) + 0.5 * np.log(2.0 * g / scatter)
        zero = np.zeros((len(s), 2 * m.shape[1]))
        eta = np.concatenate([log_weight[:, None], each, zero], axis=1)
        h = g / scatter
        return ColumnScore(eta, 1.0 + h * m * m, -2.0 * h * m, h, 0.5 * (nu + 1.0))

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected means and variances in the user's units."""
        post = self.posterior(tau)
        variance = post.scatter / np.maximum(post.nu - 2.0, 1.0)
        return {
            "mean": post.mean * self._scale + self._shift,
            "variance": variance * self._scale**2,
        }

    # -- moves ----------------------------------------------------------------------------------

    def spread(self, sums: list[Array]) -> Array:
        """Return the variances of the groups."""
        n = np.maximum(sums[0], _TINY)
        return np.maximum(sums[2] / n - (sums[1] / n) ** 2, 0.0)

    @property
    def division(self) -> Division:
        """Divisions by planes, by columns in turn."""
        return DiagonalDivision(self)

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return the linear discriminant of the two groups."""
        a, b = self.posterior(self.prior + first), self.posterior(self.prior + second)
        normal = (b.mean - a.mean) * (a.nu + b.nu) / (a.scatter + b.scatter)
        return normal, 0.5 * (normal * (a.mean + b.mean)).sum(axis=1)


class DiagonalDivision(FactorisedDivision):
    """Cuts Gaussian clusters of independent columns by planes."""

    def __init__(self, family: Diagonal) -> None:
        super().__init__(family)
        self._variance: Array = family._psi

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut columns in turn, the widest first, or towards a random point."""
        f = self._family
        k = len(s)
        sums = f.split_up(s)
        mean = sums[1] / np.maximum(sums[0], _TINY)
        d = mean.shape[1]
        widest = np.argsort(-f.spread(sums) / self._variance, axis=1, kind="stable")
        column = widest[np.arange(k), (attempt // 2) % d]
        seen, z, _ = f.split_up(member)
        towards = (z - seen * mean) / self._variance
        normal = np.where((attempt % 2 == 0)[:, None], np.eye(d)[column], towards)
        return f.through(mean, normal)

    def cut(self, past: Array, discriminant: Plane, side: Side) -> Array:
        """Return the truncated moments of the past, seen as one Gaussian, on a side."""
        f = self._family
        sums = f.split_up(past)
        mean = sums[1] / np.maximum(sums[0], _TINY)
        variance = f.spread(sums)
        along = discriminant[0] * variance
        out = past * side.share[..., None]
        count, z, zz = f.split_up(out)
        centre = mean - along * side.pull[..., None]
        z[...] = count * centre
        narrowed = np.maximum(variance - side.narrow[..., None] * along**2, 0.0)
        zz[...] = count * (narrowed + centre**2)
        return out
