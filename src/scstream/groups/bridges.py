"""The test at a boundary: whether two clusters are two Gaussians, or pieces of one shape.

The rows of two clusters are seen along one direction. Two curves with the same five parameters are
fitted to them by maximum likelihood: the sum of two Gaussians, and that sum with its valley filled.
As neither has more freedom, the difference of their log likelihoods is the evidence for one shape.
A filled valley that does not fit the rows either is no evidence. Where two Gaussians have no
valley, the skewness of the clusters decides. How many of a stream's pairs are pieces of one shape
is estimated from all of them (empirical Bayes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from scstream.families.contract import Array
from scstream.sampler.rules import Rules

BINS = 32  # of the rows between the far ends of two clusters
_FREEDOM = BINS - 6  # degrees of freedom: a total and five parameters are fitted
_FIRST, _LATER, _FILLED = 5, 2, 4  # steps of a first, a later fit, and of a filled valley
_ROUNDS = 10  # in which the share of pieces is estimated
_PLACES = np.arange(BINS)
_AT = _PLACES + 0.5
_LEAST = np.array([-4.0, -4.0, -4.0, -1.0, -1.0])  # of the parameters, in bins
_MOST = np.array([4.0, BINS + 4.0, BINS + 4.0, 3.0, 3.0])
_STEP = np.array([1.0, 3.0, 3.0, 0.5, 0.5])  # no step is longer
_ANYWHERE = 1e-4  # of the peak: a few rows lie anywhere


def first_curve(n: Array, mean: Array, deviation: Array) -> Array:
    """Return parameters (5,) with which a fit begins, of two clusters of n rows (2,)."""
    share = np.log(n[:1] / n[1:])
    parameters = np.concatenate([share, mean, np.log(deviation + 0.1)])
    out: Array = np.clip(parameters, _LEAST, _MOST)
    return out


def heights(
    rows: Array, curve: Array, skewed: Array, whole: Array, rules: Rules
) -> tuple[Array, Array]:
    """Return the probability (m,) that the two clusters of each boundary are two, and its curve.

    Parameters
    ----------
    rows : ndarray (m, BINS)
        Rows of the two clusters in bins along a direction.
    curve : ndarray (m, 5)
        Parameters of two Gaussians, as they were last fitted.
    skewed : ndarray (m,)
        How much speaks for skewed clusters, in nats.
    whole : ndarray (m,)
        1 for two that were of one group before, -1 for two that were not, 0 if that is not known.
    rules : Rules
    """
    if len(rows) == 0:
        return np.zeros(0), curve
    two, of_two = np.empty_like(curve), np.empty(len(rows))
    for some, steps in ((whole == 0.0, _FIRST), (whole != 0.0, _LATER)):
        if some.any():
            two[some], of_two[some], _ = _fitted(rows[some], curve[some], False, steps)
    _, of_one, misfit = _fitted(rows, two, True, _FILLED)
    hills = _gaussians(two)[0].sum(axis=1)
    seen = rows.any(axis=1)
    left = (hills / np.take_along_axis(hills, _source(hills), 1)).min(axis=1)  # of the lower peak
    left[~seen] = 0.0
    most = np.where(left < rules.group_flat, np.maximum(0.5 * (_FREEDOM - misfit), 0.0), np.inf)
    flat = np.maximum(left - rules.group_flat, 0.0) / (1.0 - rules.group_flat)
    odds = rules.group_tempering * np.minimum(of_one - of_two, most) + flat * skewed
    odds[~seen] = 0.0
    prior = rules.group_prior
    for _ in range(_ROUNDS):
        prior = (rules.group_prior + left @ expit(odds + logit(prior))) / (1.0 + left.sum())
    usual = np.where(seen, logit(prior), logit(rules.group_prior))
    return expit(-odds - usual - rules.group_lasting * whole), two


def _gaussians(parameters: Array) -> tuple[Array, Array, Array]:
    """Return two weighted Gaussians (m, 2, BINS), and places in deviations and these (m, 2, 1).

    Parameters (m, 5) are the log odds of the first, two means and two log deviations.
    """
    share = expit(parameters[:, :1] * [1.0, -1.0])[..., None]
    deviation = np.exp(parameters[:, 3:, None])
    x = (_AT - parameters[:, 1:3, None]) / deviation
    return share / deviation * np.exp(-0.5 * x * x) + 1e-12, x, deviation


def _source(curve: Array) -> NDArray[np.int64]:
    """Return which bin (m, BINS) gives each bin its value once the valley of curves is filled."""
    back = curve[:, ::-1]
    low, high = np.maximum.accumulate(curve, axis=1), np.maximum.accumulate(back, axis=1)[:, ::-1]
    before = np.maximum.accumulate(np.where(curve >= low, _PLACES, 0), axis=1)
    after = np.where(curve >= high, _PLACES, BINS - 1)[:, ::-1]
    after = np.minimum.accumulate(after, axis=1)[:, ::-1]
    out: NDArray[np.int64] = np.where(low <= high, before, after)
    return out


def _curve(parameters: Array, filled: bool) -> tuple[Array, Array]:
    """Return shares of the bins (m, BINS), and the derivatives (m, 5, BINS) of their logs."""
    each, x, deviation = _gaussians(parameters)
    curve = each.sum(axis=1)
    own = each / curve[:, None]
    share = own[:, :1] - expit(parameters[:, :1, None])
    slopes = np.concatenate([share, own * x / deviation, own * (x * x - 1.0)], axis=1)
    if filled:
        source = _source(curve)
        curve = np.take_along_axis(curve, source, 1)
        slopes = np.take_along_axis(slopes, source[:, None], 2)
    curve += _ANYWHERE * curve.max(axis=1, keepdims=True)
    curve /= curve.sum(axis=1, keepdims=True)
    return curve, slopes - slopes @ curve[..., None]


def _fitted(rows: Array, parameters: Array, filled: bool, steps: int) -> tuple[Array, Array, Array]:
    """Return parameters (m, 5) of most likelihood, its log (m,) and Pearson's chi-square (m,).

    Steps are those of Levenberg and Marquardt by Fisher's information.
    """
    n = rows.sum(axis=1, keepdims=True)
    seen = rows / np.maximum(n, 1e-9)
    curve, slopes = _curve(parameters, filled)
    best = (rows * np.log(curve)).sum(axis=1)
    damping = np.full((len(rows), 1), 0.05)
    for _ in range(steps):
        information = (slopes * curve[:, None]) @ slopes.swapaxes(1, 2)
        diagonal = np.diagonal(information, axis1=1, axis2=2)
        information = information + (damping * diagonal + 1e-6)[..., None] * np.eye(5)
        step = np.linalg.solve(information, slopes @ (seen - curve)[..., None])[..., 0]
        new = np.clip(parameters + np.clip(step, -_STEP, _STEP), _LEAST, _MOST)
        its_curve, its_slopes = _curve(new, filled)
        likelihood = (rows * np.log(its_curve)).sum(axis=1)
        better = (likelihood > best)[:, None]
        best = np.maximum(likelihood, best)
        parameters = np.where(better, new, parameters)
        curve = np.where(better, its_curve, curve)
        slopes = np.where(better[..., None], its_slopes, slopes)
        damping = np.where(better, 0.2 * damping, np.minimum(8.0 * damping, 5.0))
    misfit = ((rows - n * curve) ** 2 / (n * curve + 0.5)).sum(axis=1)
    return parameters, best, misfit
