"""Gaussian clusters with full covariances under a normal-inverse-Wishart prior.

Here are the prior as the first batch sets it and as it follows the stream, and the rows. Below it,
each in a file of its own, are many columns, cuts, and the prior's algebra.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from scstream.encoders import rounding
from scstream.encoders.determined import determined
from scstream.encoders.frame import column_frame
from scstream.families.contract import Array, GaussianPrior
from scstream.families.evidence import (
    best_by_doubling,
    best_judged,
    goes_far,
    most_probable,
    step_that_suits,
)
from scstream.families.gaussian_columns import GaussianColumns
from scstream.families.gaussian_scores import MANY
from scstream.families.how_many import LEAST, may_be_wide
from scstream.families.main_directions import main_directions, refuse_too_many
from scstream.families.packed import means
from scstream.families.pooling import between, gaussian_middles, pooled, restrained
from scstream.families.scores import Points
from scstream.families.subspace import Subspace, narrowed
from scstream.support.given import as_floats, finite_vector, positive_number

SHARES = 0.5, 1.0  # of the covariance within clusters that may be expected
KEPT = 10.0  # points for each column and two more that an expected covariance counts at least


class Gaussian(GaussianColumns):
    """Clusters with a mean and a full covariance of their own.

    Parameters
    ----------
    mean : array-like (d,), optional
        Where cluster means are expected. Default: the first batch's median.
    mean_strength : float, optional
        How many points that expectation is worth (kappa).
    cov : float, array-like (d,) or (d, d), optional
        The covariance expected of a cluster: one variance, one per column, or a matrix (Psi).
    cov_strength : float, optional
        How many points that expectation is worth (nu); more than ``d - 1``.

    Notes
    -----
    What is left open is set from the first batch, together with its clusters (`adapt`): the
    expected covariance is the one pooled within the clusters, or half of it, with or without the
    full width of a few rows' clusters that are far wider than the others; that choice, its
    strength and the mean's are those under which the clusters are the most probable. Later
    an expected mean or covariance that was left open goes with the clusters.

    The family computes in a frame of its own, in which each column of the first batch has
    median 0 and a spread of 1. Results are in the user's units; adding a constant to a column
    or changing its unit changes nothing.

    Missing entries (NaN) are not observed: a label depends on the marginal density of the others,
    and the statistics are completed given the label, see `scstream.families.gaps`.

    Few rows of many columns are described by their main directions, in which each cluster has a
    covariance of its own, and noise that is common to all, see `scstream.families.subspace`. That
    is done where neither a mean nor a covariance is given. There a missing entry is first replaced
    by what the others say of it.

    Examples
    --------
    >>> Gaussian(mean=[0.0, 0.0], mean_strength=1.0, cov=1.02, cov_strength=4.0)
    Gaussian(mean=[0.0, 0.0], mean_strength=1.0, cov=1.02, cov_strength=4.0)
    """

    name: ClassVar[str] = "gaussian"
    missing: ClassVar[bool] = True
    real: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {
        "_shift": "d", "_scale": "d+", "_m": "d", "_kappa": "+", "_nu": "+", "_psi": "dd",
        "_step": "d?", "_share": "+?", "_space": "any?",
    }  # fmt: skip

    _share: float = 1.0  # of the covariance within clusters that is expected
    _least_nu: float = 0.0  # of those that are adapted to clusters

    def __init__(
        self,
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
        cov: ArrayLike | None = None,
        cov_strength: float | None = None,
    ) -> None:
        self.mean = mean
        self.mean_strength = mean_strength
        self.cov = cov
        self.cov_strength = cov_strength

    # -- set-up -----------------------------------------------------------------------------------

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame and a prior, the open parts of it still to be adapted."""
        new = copy.copy(self)
        if self._may_narrow():
            new._space = main_directions(np.asarray(X), self.most_directions)
            X = narrowed(new, X)
        refuse_too_many(X.shape[1])
        d = X.shape[1]
        new._shift, new._scale = column_frame(X)
        place = None
        if self.cov is None:
            step, place = determined(X, rounding.steps(X, new._scale))
            new._scale = rounding.widened(new._scale, step)
            new.__dict__.pop("_step", None)  # of a frame before
            if step.any():
                new._step = step
        place = finite_vector(self.mean, d, "mean", new._shift if place is None else place)
        new._m = (place - new._shift) / new._scale
        kappa = positive_number(self.mean_strength, "mean_strength", 0.01)
        nu = positive_number(self.cov_strength, "cov_strength", d + 2.0)
        if not d - 1 < nu < np.inf:
            raise ValueError(
                f"cov_strength must be larger than the number of columns less one, {d - 1}; "
                f"got {self.cov_strength}."
            )
        psi = 0.1 * np.eye(d)
        if self.cov is not None:
            psi = _as_covariance(self.cov, d) / np.outer(new._scale, new._scale)
        return new._with(kappa, nu, psi)

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose open hyper-parameters suit the clusters (k, p).

        Kappa takes one EM step. The expected covariance is the one pooled within the clusters,
        or half of it; that choice and nu are those that make the clusters most probable.
        """
        if all(v is not None for v in (self.cov, self.cov_strength, self.mean_strength)):
            return self
        d, k = len(self._m), len(clusters)
        kappa, nu, psi = self._kappa, self._nu, self._psi
        tau = self._prior + clusters
        if self.mean_strength is None:
            off = means(tau, d) - self._m
            far = (self._factored(clusters[:, None], off)[0][:, 1 : 1 + d] ** 2).sum(axis=1)
            spread = (self._dof(tau) * far + d / tau[:, 0]).sum()
            kappa = float(np.clip((k * d + 2.0) / (spread + 2.0 / 0.01), 0.003, 10.0))
        if self.cov is None:
            trials = []
            for some in restrained(clusters, d):
                within = pooled(some, d)[0]
                for share in SHARES:
                    trials.append(self._with(kappa, nu, share * within))
                    trials[-1]._share = share
        else:
            trials = [self._with(kappa, nu, psi)]
        if self.cov_strength is None:
            low = max(d + 2.0, self._least_nu)
            high = max(d + 2.0 + clusters[:, 0].sum(), low)
            start = float(np.clip(nu, low, high))
            bounds = low, high
            return best_judged(
                [best_by_doubling(t._with_strength, clusters, start, d, bounds) for t in trials]
            )
        return most_probable(trials, clusters)

    def follow(self, clusters: Array, latest: Array) -> Self:
        """Return a copy that expects means and covariances like those of the clusters (k, p).

        Without this the prior would pull on a stream that has drifted far from its beginning, or
        whose clusters have become much wider or narrower. The covariance is that of the latest
        points (k, p) and the one expected so far, which counts as much as they do or more. Where
        it would grow a lot it must suit all clusters, see `step_that_suits`.
        """
        if self.mean is not None and self.cov is not None:
            return self
        trials = []
        centres, covariances = self._followed(clusters, latest)
        for psi in covariances:
            for m in centres:
                trial = self._with(self._kappa, self._nu, psi, m)
                if isfinite(trial._log_z):
                    trials.append(trial)
        if not trials:  # the covariance is given, or rounding cost it
            trials = [self._with(self._kappa, self._nu, self._psi, m) for m in centres]
        if not trials:
            return self
        new, *others = trials
        if others:
            new = most_probable(trials, latest)
        return step_that_suits(self, new, clusters) if goes_far(self, new) else new

    def _followed(self, clusters: Array, latest: Array) -> tuple[list[Array], list[Array]]:
        """Return means (d,) and covariances (d, d) that may be expected, where they are open.

        Once more with clusters held back that are far out, or restrained that are far too wide, if
        there are some. There is no mean of clusters (k, p) without points.
        """
        d, means = len(self._m), [self._m]
        if self.mean is None:
            means = gaussian_middles(clusters, d) if clusters[:, 0].sum() >= 1.0 else []
        if self.cov is not None:
            return means, []
        within, dof, wide = pooled(latest, d)
        found = [(within, dof)]
        if wide:
            found = [pooled(some, d)[:2] for some in restrained(latest, d)]
        least = KEPT * (d + 2.0)
        return means, [between(self._psi, *each, self._share, least) for each in found]

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream, from a first batch with k clusters.

        How alike clusters' covariances are is learned from how many there were: the strength of
        the expected covariance is at most ``d + 2 + (k - 1) d``.
        """
        d = len(self._m)
        if self.cov_strength is not None:
            return self
        return self._with_strength(min(self._nu, d + 2.0 + (k - 1.0) * d))

    def alike(self) -> Self:
        """Return a copy that will be adapted to clusters of one shape.

        Clusters of fewer points than columns are flat, each in its own way, and would be taken for
        very unlike; then any few of them are best joined to one. So the expected covariance is
        worth at least as many points as two covariances have parameters.
        """
        if self.cov_strength is not None:
            return self
        new = copy.copy(self)
        new._least_nu = len(self._m) * (len(self._m) + 1.0)
        return new

    def remade(self) -> Self:
        """Return the copy with its prior."""
        if not self._nu > len(self._m) - 1:
            raise ValueError(f"the strength {self._nu} of the covariance is too small")
        new = copy.copy(self)
        new._space = self._space and Subspace.from_saved(self._space, len(self._m))
        return new._with(self._kappa, self._nu, self._psi)

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units."""
        cov = self._psi * np.outer(self._scale, self._scale)
        expected = self._in_columns((self._m * self._scale + self._shift)[None], cov[None])
        mean, cov = (values[0] for values in expected.values())
        return {"mean": mean, "mean_strength": self._kappa, "cov": cov, "cov_strength": self._nu}

    def enough_rows(self, d: int) -> int:
        """Return how many rows of d columns set the prior for good."""
        narrow = self._may_narrow() and may_be_wide(0, d)
        return super().enough_rows(LEAST if narrow else d)

    def points_for_a_shape(self) -> int:
        """Return the number of columns, where there are many: from fewer a covariance is flat."""
        return len(self._m) if len(self._m) >= MANY else 0

    # -- steps of the core ------------------------------------------------------------------------

    def small_gaussian(self) -> GaussianPrior | None:
        """Return the prior; None for a subclass, unless it overrides this and says otherwise."""
        return self.numbers if type(self) is Gaussian else None

    # -- how it shows itself ----------------------------------------------------------------------

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected means and covariances in the user's units."""
        post = self.posterior(tau)
        d = post.mean.shape[1]
        cov = post.scatter / np.maximum(post.nu - d - 1.0, 1.0)[:, None, None]
        return self._in_columns(
            post.mean * self._scale + self._shift, cov * np.outer(self._scale, self._scale)
        )


def _as_covariance(value: ArrayLike, d: int) -> Array:
    cov = as_floats(value, "cov")
    if cov.ndim < 2:
        cov = np.diag(finite_vector(cov, d, "cov"))
    if cov.shape != (d, d):
        raise ValueError(f"cov must be a number, ({d},) or ({d}, {d}); it has shape {cov.shape}.")
    if (
        not np.all(np.isfinite(cov))
        or not np.allclose(cov, cov.T, atol=1e-8 * np.abs(cov).max())
        or np.linalg.eigvalsh(cov)[0] <= 0
    ):
        raise ValueError("cov must be symmetric and positive definite.")
    return cov
