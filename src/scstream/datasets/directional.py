"""Streams of directional clusters: rows of length 1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, ive

from scstream.datasets._checks import RandomState, check_choice, check_count, check_real, seed_of
from scstream.datasets.base import Floats, Ints, Mixture, Stream, generator
from scstream.datasets.drift import (
    DRIFTS,
    WEIGHTS,
    Drift,
    Weights,
    draw_itinerary,
    draw_weights,
    n_anchors,
)

__all__ = ["DirectionalMixture", "directional_stream"]


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

    Mean directions start anywhere on the sphere. With the defaults, labels given by one who
    knows the true mixture reach a mean adjusted Rand index of 0.95.

    Parameters
    ----------
    n_batches, batch_size : int
        How many batches, and points in each.
    n_clusters : int
        How many clusters there are, dead and unborn ones included.
    n_features : int
        Dimension of the points, at least 2.
    concentration : float
        How close points are to their cluster's mean direction.
    drift : {"none", "incremental", "gradual", "sudden", "recurring"}
        How clusters change over the stream, see :func:`scstream.datasets.gaussian_stream`.
    births : float
        Share of the clusters that do not live the whole stream.
    speed : float
        Typical displacement of a mean direction: over the whole stream (incremental, gradual) or
        at each jump (sudden).
    weights : {"uniform", "dirichlet"}
        Equal weights, or weights drawn uniformly from the simplex.
    random_state : int, Generator, RandomState or None
        Seed.

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
    n_batches = check_count("n_batches", n_batches)
    batch_size = check_count("batch_size", batch_size)
    n_clusters = check_count("n_clusters", n_clusters)
    n_features = check_count("n_features", n_features, least=2)
    concentration = check_real("concentration", concentration, strict=True)
    check_choice("drift", drift, DRIFTS)
    check_choice("weights", weights, WEIGHTS)
    births = check_real("births", births, most=1.0)
    speed = check_real("speed", speed)

    seed = seed_of(random_state)
    place_rng, move_rng, life_rng = (generator(seed, 0, part) for part in range(3))
    prior_weights = draw_weights(weights, n_clusters, place_rng)
    way = [_unit(place_rng.standard_normal((n_clusters, n_features)))]
    for _ in range(n_anchors(drift) - 1):
        step = move_rng.standard_normal((n_clusters, n_features)) / np.sqrt(n_features)
        way.append(_unit(way[-1] + speed * step))
    anchors = np.stack(way)
    itinerary = draw_itinerary(drift, n_batches, n_clusters, births, life_rng)

    def truth_at(index: int) -> DirectionalMixture:
        share, clusters, coefficients = itinerary.components(index, prior_weights)
        means = _unit(np.einsum("ca,acd->cd", coefficients, anchors[:, clusters]))
        return DirectionalMixture(share, clusters, means, concentration)

    return Stream(
        truth_at,
        range(n_batches),
        batch_size=batch_size,
        n_features=n_features,
        seed=seed,
    )


def _unit(v: Floats) -> Floats:
    out: Floats = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return out
