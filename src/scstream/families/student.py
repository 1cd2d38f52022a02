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
from scstream.families.heavy_tails import HeavyTailed
from scstream.families.packed import means
from scstream.families.scale_mixture import Scatters
from scstream.families.scores import Array, LinearScore


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
    A row far out counts for less: rows enter a cluster's statistics with weights, see
    `scstream.families.scale_mixture`. Labels and densities are of Student-t distributions. What is
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
        return self.numbers if type(self) is Student and not self.tails.active else None

    # -- tails ----------------------------------------------------------------------------------

    def scatters(self, s: Array) -> Scatters:
        """Return what the posteriors of clusters (k, p) say of their centres and scales."""
        tau, d = self._prior + s, len(self._m)
        factors, log_det = self._factored(s[:, None], np.empty((0, d)))
        far = np.empty(factors.shape)
        core.student_forms(factors, far)
        far[:, 0] -= 1.0
        kappa, dof = factors[:, 0], self._dof(tau)
        far *= (1.0 + 1.0 / kappa)[:, None]
        return Scatters(means(tau, d), far, log_det, kappa, dof, dof - d + 1.0, full=True)

    def drawn_level(self, score: DrawnScore) -> Array:
        """Return log weights (k,) of a drawn score and half the log determinants of precisions."""
        out: Array = score.log_weight + np.log(score.chi).sum(axis=1) - 0.5 * score.log_det
        return out


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

    # -- tails ----------------------------------------------------------------------------------

    def scatters(self, s: Array) -> Scatters:
        """Return what the posteriors of clusters (k, p) say of their centres and scales.

        No entry is missing, so all columns of a cluster have the same counts.
        """
        kappa, nu, mean, scatter = self.posterior(self.prior + s)
        first = (mean**2 / scatter).sum(axis=1, keepdims=True)
        far = [first, np.zeros_like(mean), -2.0 * mean / scatter, 1.0 / scatter]
        dof, log_det = nu[:, 0], np.log(scatter).sum(axis=1)
        return Scatters(
            mean, np.concatenate(far, axis=1), log_det, kappa[:, 0], dof, dof, full=False
        )

    def drawn_level(self, score: LinearScore) -> Array:
        """Return log weights (k,) of a drawn score and half the log determinants of precisions."""
        d = (score.eta.shape[1] - 1) // 3
        half = 0.5 * np.log(-2.0 * score.eta[:, 1 + 2 * d :]).sum(axis=1)
        out: Array = score.eta[:, 0] + half
        return out
