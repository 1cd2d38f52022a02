"""Gaussian clusters that are round: one variance for all columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scstream.families.contract import Array
from scstream.families.diagonal import Diagonal, Posterior
from scstream.families.scores import Labels, LinearScore, Points, Score, to_dense
from scstream.support import rowwise
from scstream.support.given import positive_vector


class Spherical(Diagonal):
    """Gaussian clusters with a mean of their own and one variance for all columns.

    Parameters
    ----------
    mean : float or array-like (d,), optional
        Where cluster means are expected. Default: the first batch's median.
    mean_strength : float, optional
        How many points that expectation is worth.
    variance : float, optional
        The variance expected of a cluster.
    variance_strength : float, optional
        How many entries that expectation is worth.

    Notes
    -----
    For columns in one and the same unit. What is left open is set from the first batch and its
    clusters, as for `scstream.Gaussian`. Missing entries are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) + [[0.0, 0.0], [9.0, 9.0]] * 100
    >>> ScStream("spherical", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "spherical"

    def frame_of(self, X: Array) -> tuple[Array, Array]:
        """Return the columns' centres and one scale for all."""
        centre, scale = super().frame_of(X)
        return centre, np.full(len(scale), np.median(scale))

    def steps(self, X: Array, scale: Array) -> Array:
        """Return 0: columns without a spread of their own have that of the others."""
        return np.zeros(len(scale))

    def expected(self, variance: ArrayLike, d: int) -> Array:
        """Return the one variance that the user expects, for each column."""
        return np.full(d, positive_vector(variance, 1, "variance")[0])

    def _prior_scatter(self, nu: float, psi: Array) -> Array:
        return nu * psi / len(psi)

    def _shared(self, scatter: Array, spare: Array) -> tuple[Array, Array]:
        return np.full(len(scatter), scatter.sum()), np.full(len(spare), spare.sum())

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units."""
        prior = super().hyperparameters()
        return {**prior, "variance": float(prior["variance"][0])}

    def posterior(self, tau: Array) -> Posterior:
        """Return the parameters at ``tau`` (..., p); columns share nu and the scatter."""
        kappa, z, zz = self.split_up(tau)
        mean = z / kappa
        nu = self._nu + (kappa - self._kappa).sum(axis=-1, keepdims=True)
        scatter = np.maximum((zz - z * mean).sum(axis=-1, keepdims=True), self.floor[0])
        same = np.ones(mean.shape)
        return Posterior(kappa, nu * same, mean, scatter * same)

    def log_partition(self, tau: Array) -> Array:
        """Return the log-normalisers of normal-inverse-gamma densities with one variance."""
        kappa, nu, _, scatter = self.posterior(tau)
        nu, scatter = nu[..., 0], scatter[..., 0]
        size = 0.5 * np.log(kappa).sum(axis=-1)
        out: Array = gammaln(0.5 * nu) - 0.5 * nu * np.log(0.5 * scatter) - size
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw one precision for each cluster, then the means given it."""
        kappa, nu, m, scatter = self.posterior(tau)
        precision = np.maximum(rng.chisquare(nu[:, :1]), 1e-30) / scatter
        mean = m + rng.standard_normal(m.shape) / np.sqrt(kappa * precision)
        return self.natural(mean, precision)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by Student-t predictives of what is observed of them."""
        kappa, nu, m, scatter = self.posterior(self.prior + s)
        nu, scatter = nu[:, 0], scatter[:, :1]
        g = kappa / (kappa + 1.0)
        each = 0.5 * np.log(2.0 * g / scatter)
        zero = np.zeros((len(s), 1))
        eta = np.concatenate([log_weight[:, None], each, 0.0 * m, 0.0 * m], axis=1)
        h = g / scatter
        quad = np.concatenate([zero, h * m * m, -2.0 * h * m, h], axis=1)
        return RoundScore(eta, quad, nu)


@dataclass(frozen=True)
class RoundScore:
    """Scores ``T @ eta + f(m) - (nu + m) / 2 log(1 + T @ quad)``, m columns being observed.

    ``f(m) = lgamma((nu + m) / 2) - lgamma(nu / 2)``: Student-t densities of what is observed.

    Attributes
    ----------
    eta, quad : ndarray (k, p)
    nu : ndarray (k,)
    """

    eta: Array
    quad: Array
    nu: Array

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        rows = to_dense(T)
        linear, far = (LinearScore(a).block(rows) for a in (self.eta, self.quad))
        seen, at = np.unique(self._seen(rows), return_inverse=True)
        half = 0.5 * (self.nu + seen[:, None])
        level = gammaln(half) - gammaln(0.5 * self.nu)
        out: Array = linear + level[at] - half[at] * rowwise.log1p(np.maximum(far, 0.0))
        return out

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        rows = to_dense(T)
        linear, far = (LinearScore(a).pairs(rows, z) for a in (self.eta, self.quad))
        nu = self.nu.reshape(-1, 2)[z]
        half = 0.5 * (nu + self._seen(rows)[:, None])
        level = gammaln(half) - gammaln(0.5 * nu)
        out: Array = linear + level - half * rowwise.log1p(np.maximum(far, 0.0))
        return out

    def _seen(self, rows: Array) -> Array:
        d = (rows.shape[1] - 1) // 3
        out: Array = rows[:, 1 : 1 + d].sum(axis=1)
        return out
