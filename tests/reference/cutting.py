"""What families share: how a past is cut in two, and draws of gammas."""

from math import erfc, exp, log, pi, sqrt

import numpy as np

CERTAIN = 6.0  # standard deviations beyond which a past lies on one side of a boundary


def normal_below(t):
    """Mass of a standard normal below t, and by how much its mean lies below 0."""
    t = min(max(t, -CERTAIN), CERTAIN)
    share = 0.5 * erfc(-t / sqrt(2.0))
    return t, share, exp(-0.5 * t * t) / (sqrt(2.0 * pi) * share)


def log_gamma_draws(rng, shape):
    """Logarithms of gamma draws with the given shapes (m, d), without underflow for small ones."""
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log(1.0 - rng.random(shape.shape)) / shape


def log_odds(first, second):
    """Log odds of the first of two groups, by their counts."""
    return log((first[0] + 0.5) / (second[0] + 0.5))
