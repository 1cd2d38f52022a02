"""Streams of directional clusters: rows of length 1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, ive

from scstream.datasets._checks import RandomState, check_count, check_real
from scstream.datasets.base import Floats, Ints, Mixture, Stream
from scstream.datasets.course import Course, Drift, Weights


@dataclass(frozen=True, eq=False)
class DirectionalMixture(Mixture):
    """A true mixture of ``c`` von Mises-Fisher components in ``d`` dimensions.

    Parameters
    ----------
    weights : ndarray of shape (c,)
    clusters : ndarray of shape (c,)
    means : ndarray of shape (c, d)
        Of length 1.
    concentration : float
    """

    means: Floats = field(repr=False)
    concentration: float

    def draw(self, components: Ints, rng: np.random.Generator) -> Floats:
        """Draw one point from each of the given components, shape (n,) -> (n, d)."""
        mean = self.means[components]
        cosine = self._cosines(components.size, rng)
        side = rng.standard_normal(mean.shape)
        side -= (side * mean).sum(axis=1, keepdims=True) * mean
        side *= np.sqrt((1.0 - cosine**2) / (side * side).sum(axis=1))[:, None]
        return cosine[:, None] * mean + side

    def _cosines(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw cosines of the angles to the mean, by rejection (Ulrich, Wood)."""
        m, kappa = self.means.shape[1] - 1.0, self.concentration
        b = m / (2.0 * kappa + np.hypot(2.0 * kappa, m))
        x = (1.0 - b) / (1.0 + b)
        drawn = np.empty(0)
        while drawn.size < n:
            beta = rng.beta(0.5 * m, 0.5 * m, n)
            w = (1.0 - (1.0 + b) * beta) / (1.0 - (1.0 - b) * beta)
            level = kappa * (w - x) + m * (np.log1p(-x * w) - np.log1p(-x * x))
            drawn = np.append(drawn, w[level >= np.log1p(-rng.random(n))])
        return drawn[:n]

    def log_density(self, X: Floats) -> Floats:
        """Log density of directions (n, d) under each component, shape (n, c)."""
        d, kappa = self.means.shape[1], self.concentration
        v = 0.5 * d - 1.0
        bessel = ive(v, kappa)
        if bessel > 0.0:
            log_bessel = np.log(bessel) + kappa
        else:  # of a high order, where the first term of its series is all there is
            log_bessel = v * np.log(0.5 * kappa) - gammaln(v + 1.0)
        level = 0.5 * d * np.log(2.0 * np.pi) - v * np.log(kappa) + log_bessel
        out: Floats = kappa * (X @ self.means.T) - level
        return out


def directional_stream(
    n_batches: int = 60,
    batch_size: int = 1000,
    n_clusters: int = 10,
    n_features: int = 16,
    *,
    concentration: float = 20.0,
    drift: Drift = "incremental",
    births: float = 0.0,
    speed: float = 0.5,
    weights: Weights = "uniform",
    random_state: RandomState = None,
) -> Stream:
    """Return a stream of directional clusters that drift, are born and die.

    Mean directions start anywhere on the sphere. With the defaults, the labels of an oracle that
    knows the true mixture reach a mean adjusted Rand index of 0.95.

    Parameters
    ----------
    n_features : int
        Dimension of the points, at least 2.
    concentration : float
        How close points are to their cluster's mean direction.
    speed : float
        Typical displacement of a mean direction: over the whole stream (incremental, gradual) or
        at each jump (sudden).
    n_batches, batch_size, n_clusters, drift, births, weights, random_state
        As in :func:`scstream.datasets.gaussian_stream`.

    Returns
    -------
    Stream
        Of batches with ``X`` of shape (batch_size, n_features).

    Examples
    --------
    >>> from scstream.datasets import directional_stream
    >>> batch = directional_stream(3, 500, random_state=0)[1]
    >>> batch.X.shape, bool(abs((batch.X**2).sum(axis=1) - 1).max() < 1e-12)
    ((500, 16), True)
    """
    course = Course(n_batches, batch_size, n_clusters, drift, births, weights, random_state)
    n_features = check_count("n_features", n_features, least=2)
    concentration = check_real("concentration", concentration, strict=True)
    speed = check_real("speed", speed)
    way = [_unit(course.place.standard_normal((course.n_clusters, n_features)))]
    for _ in range(course.n_steps):
        step = course.move.standard_normal(way[0].shape) / np.sqrt(n_features)
        way.append(_unit(way[-1] + speed * step))
    anchors = np.stack(way)

    def made(share: Floats, clusters: Ints, coefficients: Floats) -> DirectionalMixture:
        means = _unit(np.einsum("ca,acd->cd", coefficients, anchors[:, clusters]))
        return DirectionalMixture(share, clusters, means, concentration)

    return course.stream(made, n_features)


def _unit(v: Floats) -> Floats:
    out: Floats = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return out
