"""Student-t clusters: Gaussian ones with heavy tails, with full scale matrices or diagonal ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from scstream import core
from scstream.families.contract import GaussianPrior
from scstream.families.diagonal import Diagonal
from scstream.families.gaussian import Gaussian
from scstream.families.gaussian_scores import DrawnScore
from scstream.families.heavy import HeavyTailed
from scstream.families.scores import Array, LinearScore
from scstream.families.taming import Frames, HeavyScore, level_of


class Student(HeavyTailed, Gaussian):
    """Clusters with a centre and a full scale matrix of their own, and heavy tails.

    Parameters
    ----------
    df : float or "auto"
        Degrees of freedom, the same for all clusters: 1 is a Cauchy distribution, 100 is nearly
        normal. By default they are learned, from the first batch on.
    mean, mean_strength, cov, cov_strength
        As in `scstream.Gaussian`, of the centre and the scale matrix.

    Notes
    -----
    A row far out counts for less: rows enter a cluster's statistics with their tails drawn in, see
    `scstream.families.taming`. Labels and densities are those of Student-t distributions. What is
    called a cluster's covariance is its scale matrix; the covariance of its rows is ``df / (df -
    2)`` times that, if there are more than two degrees of freedom. Missing entries are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_t(3, size=(1000, 2)) + [[0.0, 0.0], [20.0, 0.0]] * 500
    >>> ScStream("student", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "student"
    kept: ClassVar[Mapping[str, str]] = {**Gaussian.kept, "_df": "+"}

    def __init__(
        self,
        df: float | str = "auto",
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
        cov: ArrayLike | None = None,
        cov_strength: float | None = None,
    ) -> None:
        super().__init__(mean, mean_strength, cov, cov_strength)
        self.df = df

    def small_gaussian(self) -> GaussianPrior | None:
        """Return the prior if there are no tails; None for a subclass."""
        return self.numbers if type(self) is Student and not self.tames else None

    # -- densities ------------------------------------------------------------------------------

    def frames(self, s: Array) -> Frames:
        """Return the frames of clusters (k, p): posterior centres and scales."""
        factors, _ = self._factored(s[:, None], np.empty((0, len(self._m))))
        return self._frames(s, self._distances(factors))

    def _frames(self, s: Array, far: Array) -> Frames:
        """Return the frames, given functionals (k, p) that are `_distances`."""
        tau, d = self._prior + s, len(self._m)
        quad = far * (self._dof(tau) / self._df)[:, None]
        quad[:, 0] += 1.0
        return Frames(tau[:, 1 : 1 + d] / tau[:, :1], quad, self._df, full=True)

    def _distances(self, factors: Array) -> Array:
        """Return functionals (k, p) of T that are squared distances by scatters."""
        out = np.empty(factors.shape)
        core.student_forms(factors, out)
        out[:, 0] -= 1.0
        out *= (1.0 + 1.0 / factors[:, 0])[:, None]
        return out

    def heavy_score(self, s: Array, log_weight: Array) -> HeavyScore:
        """Score rows by Student-t densities; with infinite ``df`` they are the Gaussian's."""
        d = len(self._m)
        factors, log_det = self._factored(s[:, None], np.empty((0, d)))
        far, kappa = self._distances(factors), factors[:, 0]
        spare = kappa + (self._nu - self._kappa) - d + 1.0
        df = 1.0 / (1.0 / self._df + 1.0 / spare)
        tight = kappa / (kappa + 1.0) * spare  # the scale matrix is the scatter over this
        const = log_weight + level_of(df, d) + 0.5 * (d * np.log(tight) - log_det)
        quad = far * (tight / df)[:, None]
        quad[:, 0] += 1.0
        return HeavyScore(quad, const, 0.5 * (df + d), self._frames(s, far))

    def drawn_score(self, score: LinearScore, s: Array) -> HeavyScore:
        """Return Student-t densities with the centres and scales that were drawn."""
        assert isinstance(score, DrawnScore)
        level = score.log_weight + np.log(score.chi).sum(axis=1) - 0.5 * score.log_det
        return _heavy_score(score.eta, level, self.frames(s))


class DiagonalStudent(HeavyTailed, Diagonal):
    """Clusters with a centre, a scale for each column and heavy tails.

    Parameters
    ----------
    df : float or "auto"
        Degrees of freedom, the same for all clusters, see `scstream.Student`.
    mean, mean_strength, variance, variance_strength
        As in `scstream.Diagonal`, of the centres and the squared scales.

    Notes
    -----
    The tails of the columns belong together: a row that is far out in one column may well be so in
    another. What is called a cluster's variance is its squared scale. Missing entries are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_t(3, size=(1000, 2)) + [[0.0, 0.0], [20.0, 0.0]] * 500
    >>> ScStream("diagonal-student", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "diagonal-student"
    tabular: ClassVar[bool] = False
    kept: ClassVar[Mapping[str, str]] = {**Diagonal.kept, "_df": "+"}

    def __init__(
        self,
        df: float | str = "auto",
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
        variance: ArrayLike | None = None,
        variance_strength: float | None = None,
    ) -> None:
        super().__init__(mean, mean_strength, variance, variance_strength)
        self.df = df

    # -- densities ------------------------------------------------------------------------------

    def frames(self, s: Array) -> Frames:
        """Return the frames of clusters (k, p): posterior centres and scales."""
        _, nu, mean, scatter = self.posterior(self.prior + s)
        return Frames(mean, _distances(mean, nu / scatter / self._df, 1.0), self._df, full=False)

    def heavy_score(self, s: Array, log_weight: Array) -> HeavyScore:
        """Score rows by Student-t densities."""
        kappa, nu, mean, scatter = self.posterior(self.prior + s)
        df = 1.0 / (1.0 / self._df + 1.0 / nu.mean(axis=1))
        tight = kappa / (kappa + 1.0) * nu / scatter
        level = level_of(df, mean.shape[1]) + 0.5 * np.log(tight).sum(axis=1)
        quad = _distances(mean, tight / df[:, None], 1.0)
        power = 0.5 * (df + mean.shape[1])
        return HeavyScore(quad, log_weight + level, power, self.frames(s))

    def drawn_score(self, score: LinearScore, s: Array) -> HeavyScore:
        """Return Student-t densities with the centres and scales that were drawn."""
        d = (score.eta.shape[1] - 1) // 3
        level = score.eta[:, 0] + 0.5 * np.log(-2.0 * score.eta[:, 1 + 2 * d :]).sum(axis=1)
        return _heavy_score(score.eta, level, self.frames(s))


def _heavy_score(eta: Array, level: Array, frames: Frames) -> HeavyScore:
    """Return Student-t densities by natural parameters (k, p) of Gaussians with the same scales.

    The level (k,) of these is the log weight and half of the log determinant of the precision.
    """
    d, df = frames.centre.shape[1], frames.df
    quad = eta * (-2.0 / df)
    quad[:, 0] += 1.0 + level * (2.0 / df)
    return HeavyScore(quad, level + level_of(df, d), np.full(len(eta), 0.5 * (df + d)), frames)


def _distances(mean: Array, precision: Array, more: float) -> Array:
    """Return functionals (k, p) of T: squared distances in independent columns, and ``more``."""
    first = more + (precision * mean**2).sum(axis=1, keepdims=True)
    counts = np.zeros_like(mean)
    return np.concatenate([first, counts, -2.0 * precision * mean, precision], axis=1)
