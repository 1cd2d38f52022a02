"""How a past is divided by a discriminant, which is taken for normal over the past's points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from scstream.families.scores import Array

OF_A_KIND = 8  # attempts to cut a cluster by its own deviations; as many others follow
CERTAIN = 6.0  # standard deviations beyond which a past lies on one side of a boundary


class Projection(NamedTuple):
    """Mean and variance (...) of a discriminant over the points of pasts."""

    mean: Array
    variance: Array


class Side(NamedTuple):
    """The first side of a boundary, (...) each."""

    share: Array  # of the points that are there
    pull: Array  # how much lower x is there, for each unit of its covariance with the discriminant
    narrow: Array  # how much less x varies there, for each unit of that covariance squared


def log_odds(first: Array, second: Array) -> Array:
    """Return the log odds of the first of two groups (k, p) each."""
    return np.log((first[:, 0] + 0.5) / (second[:, 0] + 0.5))


def first_side(odds: Array, projection: Projection) -> Side:
    """Return where the discriminant is less than the log odds of the first group."""
    mean, variance = projection
    flat = variance <= 1e-12 * (1.0 + mean**2)
    sd = np.sqrt(np.where(flat, 1.0, variance))
    t = np.clip((odds - mean) / sd, -CERTAIN, CERTAIN)
    share = ndtr(t)
    hazard = np.exp(-0.5 * t * t) / (np.sqrt(2.0 * np.pi) * share)
    return Side(
        # groups that do not differ share the past by their counts
        share=np.where(flat, 1.0 / (1.0 + np.exp(-odds)), share),
        pull=np.where(flat, 0.0, hazard / sd),
        narrow=np.where(flat, 0.0, hazard * (t + hazard) / sd**2),
    )
