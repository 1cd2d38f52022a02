"""The test at a boundary: whether rows fill the valley that two Gaussians would leave there.

The rows of two clusters are seen along one direction. Two Gaussians are fitted to them (a few steps
of EM), and Rao's score test asks for more rows in the valley than these two leave there,
beyond what other means, deviations and weights of the Gaussians would explain. The estimate is the
share of the valley that is filled: 0 for two Gaussians, 1 and more for two pieces of one shape. How
many of a stream's pairs are pieces is estimated from all of them (empirical Bayes).
"""

from __future__ import annotations

from math import pi

import numpy as np
from scipy.special import expit, logit

from scstream.families.contract import Array
from scstream.sampler.rules import Rules

BINS = 32  # of the rows between the far ends of two clusters
_STEPS = 8  # of EM
_ROUNDS = 30  # in which the share of filled valleys is estimated
_AT = np.arange(BINS) + 0.5
_LEAST = 1e-9


def heights(rows: Array, start: Array, whole: Array, rules: Rules) -> Array:
    """Return the probability (m,) that a valley separates the two clusters of each boundary.

    Parameters
    ----------
    rows : ndarray (m, BINS)
        Rows of the two clusters in bins along a direction.
    start : ndarray (m, 3, 2)
        Rows, mean and deviation of either cluster, in bins.
    whole : ndarray (m,)
        1 for two that were of one group before, -1 for two that were not, 0 if that is not known.
    rules : Rules
    """
    if len(rows) == 0:
        return np.zeros(0)
    share, mean, deviation = _fitted(rows, start)
    filled, error, left = _filling(rows, share, mean, deviation)
    valley = np.minimum((1.0 - left) / rules.group_valley, 1.0)
    odds = _log_odds(filled, error, rules)
    prior = 0.5
    for _ in range(_ROUNDS):
        one = 1.0 - valley * expit(-odds - logit(prior))
        prior = (1.0 + left @ one) / (2.0 + left.sum())
    out: Array = valley * expit(-odds - logit(prior) - rules.group_lasting * whole)
    return out


def _fitted(rows: Array, start: Array) -> tuple[Array, Array, Array]:
    """Return shares, means and deviations (m, 2) of two Gaussians after a few steps of EM."""
    n, mean, deviation = start[:, 0], start[:, 1], np.maximum(start[:, 2], 0.3)
    share = n / n.sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        density = _densities(share, mean, deviation)
        own = density * (rows / (density.sum(axis=1) + _LEAST))[:, None]
        n = own.sum(axis=2) + _LEAST
        share, mean = n / n.sum(axis=1, keepdims=True), own @ _AT / n
        off = _AT - mean[..., None]
        deviation = np.sqrt((own * off * off).sum(axis=2) / n + 1.0 / 12.0)  # a bin is 1 wide
    return share, mean, deviation


def _densities(share: Array, mean: Array, deviation: Array) -> Array:
    """Return the densities (m, 2, BINS) of weighted Gaussians in all bins."""
    x = (_AT - mean[..., None]) / deviation[..., None]
    out: Array = (share / (np.sqrt(2.0 * pi) * deviation))[..., None] * np.exp(-0.5 * x * x)
    return out


def _filling(rows: Array, share: Array, mean: Array, deviation: Array) -> tuple[Array, ...]:
    """Return the share (m,) of each valley that is filled, its error, and what a valley leaves.

    The last is the density at the bottom over that of the lower of the two peaks, if none of it is
    filled; 0 where there are no rows. Where there is no valley to be seen the error is infinite.
    """
    each = _densities(share, mean, deviation)
    density = each.sum(axis=1) + _LEAST
    low, high = mean.min(axis=1), mean.max(axis=1)
    middle = 0.5 * (low + high)[:, None]
    inside = abs(_AT - middle) < 0.5 * (high - low)[:, None] + 0.5
    hill = np.where(inside, density, 0.0)
    back = np.maximum.accumulate(hill[:, ::-1], axis=1)[:, ::-1]
    full = np.where(inside, np.minimum(np.maximum.accumulate(hill, axis=1), back), density)
    more = full / density - 1.0  # a full valley, as a direction from the two Gaussians
    x = (_AT - mean[..., None]) / deviation[..., None]
    own = each / density[:, None]
    parameters = np.concatenate(
        [np.ones_like(rows)[:, None], own[:, :1], own * x, own * (x * x - 1.0)], axis=1
    )
    weighted = parameters * density[:, None]
    square = weighted @ parameters.swapaxes(1, 2)
    square += 1e-9 * np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(6)
    explained = np.linalg.solve(square, weighted @ more[..., None])
    more = more - (explained * parameters).sum(axis=1)
    n = rows.sum(axis=1)
    information = n * (density * more * more).sum(axis=1)
    scatter = (rows * more * more).sum(axis=1)
    left = np.where(n > 0.0, (density / full).min(axis=1), 0.0)
    seen = (left < 1.0 - 1e-3) & (information > _LEAST)
    information = np.where(seen, information, 1.0)
    filled = ((rows - n[:, None] * density) * more).sum(axis=1) / information
    error = np.sqrt(np.maximum(scatter, information)) / information
    return np.where(seen, filled, 0.0), np.where(seen, error, np.inf), left


def _log_odds(filled: Array, error: Array, rules: Rules) -> Array:
    """Return how much more likely a share (m,) that is found is where a valley is filled."""
    known = np.isfinite(error)
    error = np.where(known, error, 1.0)
    odds = _log_normal(np.minimum(filled - rules.group_filled, 0.0), error, rules.group_spread)
    odds -= _log_normal(np.maximum(filled, 0.0), error, rules.group_spread)
    return np.where(known, odds, 0.0)


def _log_normal(x: Array, error: Array, spread: float) -> Array:
    """Return the log density (m,) of a normal number that varies by more than its error."""
    square = error * error + spread * spread
    return -0.5 * (x * x / square + np.log(square))
