"""SoVB: stochastic online variational inference for a Dirichlet process mixture.

Hoffman, Blei, Wang and Paisley, "Stochastic variational inference", JMLR 2013, for a truncated
stick-breaking mixture of conjugate components, as in Hughes and Sudderth, "Memoized online
variational inference for Dirichlet process mixture models", NIPS 2013, whose package bnpy calls
it soVB.

Every variational posterior here is its prior plus statistics, so a natural gradient step of
size rho is the weighted mean ``(1 - rho) * old + rho * new`` of the statistics, the new ones
being the batch's, blown up to the size of the whole data set. Given the global posteriors, the
responsibilities of a mixture have a closed form: there is no inner loop.

Choices: a stream has no size, so the size is a number of batches, ``window``, to be tuned
(McInerney, Ranganath and Blei, "The population posterior and Bayesian modeling on streams",
NIPS 2015, do the same); the first batch is learned until it settles, from a clustering by
k-means++ seeds; sticks are broken in the order of falling size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma, softmax
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import normalize

from benchmarks.contestants.base import Contestant, Task

if TYPE_CHECKING:
    import optuna

_Floats = NDArray[np.float64]

_MOST_PASSES = 100  # over the first batch
_SETTLED = 1e-3  # share of the first batch that may still move in its last pass


class Family(Protocol):
    """A conjugate exponential family with its prior.

    ``E[log p(x)] = features(x) @ slopes + offsets``, up to what all components share.
    """

    def features(self, X: Any) -> Any:
        """Return sufficient statistics (n, p) of rows (n, d)."""

    def expect(self, sizes: _Floats, sums: _Floats) -> tuple[_Floats, _Floats]:
        """Return slopes (p, t) and offsets (t,) from sizes (t,) and summed features (t, p)."""

    def coordinates(self, X: Any) -> Any:
        """Return rows in which the nearest seed in the plain sense makes a cluster."""


class GaussianFamily:
    """Gaussians with full covariances under a normal-inverse-Wishart prior.

    Works in coordinates in which the prior's mean is 0 and its expected covariance I.

    Parameters
    ----------
    first : ndarray (n, d)
        Points that give the prior its mean and its scales.
    cov_scale : float
        Expected variance of a component against that of ``first``, in each column.
    cov_strength, mean_strength : float
        How many points the prior of the covariance (beyond the least that gives it a mean,
        d + 1) and that of the mean are worth.
    """

    def __init__(
        self,
        first: _Floats,
        cov_scale: float = 0.1,
        cov_strength: float = 1.0,
        mean_strength: float = 0.01,
    ) -> None:
        first = np.asarray(first, dtype=np.float64)
        deviations = first.std(axis=0)
        deviations[deviations == 0.0] = 1.0
        self.center = first.mean(axis=0)
        self.scales = np.sqrt(cov_scale) * deviations
        self.cov_strength = cov_strength
        self.mean_strength = mean_strength

    def coordinates(self, X: _Floats) -> _Floats:
        return (np.asarray(X, dtype=np.float64) - self.center) / self.scales

    def features(self, X: _Floats) -> _Floats:
        Z = self.coordinates(X)
        products = Z[:, :, None] * Z[:, None, :]
        return np.concatenate([Z, products.reshape(len(Z), -1)], axis=1)

    def posterior(self, sizes: _Floats, sums: _Floats) -> tuple[_Floats, ...]:
        """Return the posteriors' kappa (t,), nu (t,), means (t, d) and scatters (t, d, d).

        A scatter is the inverse Wishart's scale less the prior's, ``cov_strength`` times I.
        """
        d = self.center.size
        kappa = self.mean_strength + sizes
        nu = d + 1 + self.cov_strength + sizes
        mean = sums[:, :d] / kappa[:, None]
        outer = mean[:, :, None] * mean[:, None, :]
        scatter = sums[:, d:].reshape(-1, d, d) - kappa[:, None, None] * outer
        return kappa, nu, mean, scatter

    def expect(self, sizes: _Floats, sums: _Floats) -> tuple[_Floats, _Floats]:
        kappa, nu, mean, scatter = self.posterior(sizes, sums)
        d = self.center.size
        spread, axes = np.linalg.eigh(scatter)
        spread = self.cov_strength + np.maximum(spread, 0.0)  # rounding may take it below 0
        precision = nu[:, None, None] * (axes / spread[:, None, :]) @ axes.transpose(0, 2, 1)
        pull = np.einsum("tij,tj->ti", precision, mean)
        log_det = digamma((nu[:, None] - np.arange(d)) / 2).sum(axis=1) - np.log(spread).sum(axis=1)
        slopes = np.concatenate([pull, -0.5 * precision.reshape(-1, d * d)], axis=1).T
        offsets = 0.5 * (log_det - d / kappa - np.einsum("ti,ti->t", pull, mean))
        return slopes, offsets


class MultinomialFamily:
    """Multinomials under a symmetric Dirichlet prior.

    Parameters
    ----------
    concentration : float
        Pseudo-count of each column.
    """

    def __init__(self, concentration: float = 1.0) -> None:
        self.concentration = concentration

    def coordinates(self, X: Any) -> Any:
        return normalize(X)

    def features(self, X: Any) -> Any:
        return sparse.csr_array(X, dtype=np.float64)

    def expect(self, sizes: _Floats, sums: _Floats) -> tuple[_Floats, _Floats]:
        posterior = self.concentration + sums
        slopes = digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True))
        return slopes.T, np.zeros(len(sizes))


class SoVB:
    """The method, for any conjugate family.

    Parameters
    ----------
    family : Family
    truncation : int
        Most components. Those that are not needed stay empty.
    alpha : float
        Concentration of the Dirichlet process.
    window : float
        How many batches the data set is taken to hold.
    rate_delay, rate_power : float
        The step of batch t, from 1 for the second one, is ``(t + delay) ** -power``.
    seed : int
        Seeds the k-means++ of the first batch.
    """

    def __init__(
        self,
        family: Family,
        *,
        truncation: int = 100,
        alpha: float = 1.0,
        window: float = 10.0,
        rate_delay: float = 1.0,
        rate_power: float = 0.55,
        seed: int = 0,
    ) -> None:
        self.family = family
        self.truncation = truncation
        self.alpha = alpha
        self.window = window
        self.rate_delay = rate_delay
        self.rate_power = rate_power
        self.seed = seed
        self.n_batches = 0

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most responsible component (n,) of each row; ids persist."""
        if self.n_batches == 0:
            raise RuntimeError("nothing was learned yet: call partial_fit first")
        return self._log_responsibilities(self.family.features(X)).argmax(axis=1)

    def partial_fit(self, X: Any) -> SoVB:
        """Take a natural gradient step with a batch (n, d)."""
        features = self.family.features(X)
        if self.n_batches == 0:
            self._learn_first(X, features)
        else:
            rate = min(1.0, (self.n_batches + self.rate_delay) ** -self.rate_power)
            self._step(features, self._responsibilities(features), rate)
        self.n_batches += 1
        return self

    def _learn_first(self, X: Any, features: Any) -> None:
        """Start from clusters around k-means++ seeds and iterate until few points move."""
        rows = self.family.coordinates(X)
        n = rows.shape[0]
        seeds, _ = kmeans_plusplus(rows, min(self.truncation, n), random_state=self.seed)
        nearest = pairwise_distances_argmin(rows, seeds)
        responsibilities = np.eye(self.truncation)[nearest]
        self.sizes = np.zeros(self.truncation)
        self.sums = np.zeros((self.truncation, features.shape[1]))
        for _ in range(_MOST_PASSES):
            self._step(features, responsibilities, 1.0)
            before, responsibilities = responsibilities, self._responsibilities(features)
            if np.abs(responsibilities - before).sum() < 2 * _SETTLED * n:
                break

    def _step(self, features: Any, responsibilities: _Floats, rate: float) -> None:
        """Move the statistics towards those of a batch as large as the data set."""
        self.sizes += rate * (self.window * responsibilities.sum(axis=0) - self.sizes)
        self.sums += rate * (self.window * (features.T @ responsibilities).T - self.sums)

    def _responsibilities(self, features: Any) -> _Floats:
        return softmax(self._log_responsibilities(features), axis=1)

    def _log_responsibilities(self, features: Any) -> _Floats:
        """Return them (n, t), without their normaliser."""
        slopes, offsets = self.family.expect(self.sizes, self.sums)
        return features @ slopes + (offsets + expected_log_weights(self.sizes, self.alpha))


def expected_log_weights(sizes: _Floats, alpha: float) -> _Floats:
    """Return E[log pi] (t,), the sticks being broken from the largest component on.

    The stick of component k is Beta(1 + sizes[k], alpha + sizes of all after it); the last one
    takes what is left.
    """
    order = np.argsort(-sizes, kind="stable")
    taken = 1.0 + sizes[order][:-1]
    left = alpha + np.cumsum(sizes[order][::-1])[-2::-1]
    whole = digamma(taken + left)
    log_left = np.concatenate([[0.0], np.cumsum(digamma(left) - whole)])
    log_weights = np.empty_like(sizes)
    log_weights[order] = log_left + np.append(digamma(taken) - whole, 0.0)
    return log_weights


_SHARED = ("truncation", "alpha", "window", "rate_delay", "rate_power")


def _make(task: Task, seed: int, **settings: Any) -> SoVB:
    shared = {name: settings.pop(name) for name in _SHARED if name in settings}
    if task.kind == "counts":
        return SoVB(MultinomialFamily(**settings), seed=seed, **shared)
    return SoVB(GaussianFamily(task.first, **settings), seed=seed, **shared)


def _space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    shared = {
        "truncation": trial.suggest_int("truncation", 10, 200, log=True),
        "alpha": trial.suggest_float("alpha", 0.1, 100.0, log=True),
        "window": trial.suggest_float("window", 1.0, 100.0, log=True),
        "rate_delay": trial.suggest_float("rate_delay", 1.0, 100.0, log=True),
        "rate_power": trial.suggest_float("rate_power", 0.0, 1.0),
    }
    if task.kind == "counts":
        return shared | {
            "concentration": trial.suggest_float("concentration", 0.01, 10.0, log=True)
        }
    d = task.n_features
    return shared | {
        "cov_scale": trial.suggest_float("cov_scale", 1e-3, 1.0, log=True),
        "cov_strength": trial.suggest_float("cov_strength", 1.0, 10.0 * d, log=True),
    }


CONTESTANTS = (Contestant("SoVB", _make, _space, kinds=("real", "counts")),)
