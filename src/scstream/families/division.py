"""How clusters are divided: what proposes it, and what becomes of their past.

A past is divided by a discriminant, which is taken for normal over the past's points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
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


class Boundary(NamedTuple):
    """What separates two groups: a discriminant, and the log odds (k,) of the first group."""

    discriminant: Any
    log_odds: Array


class Division:
    """How clusters of any family are divided: in proportion to what is there now."""

    def needs_members(self, attempt: NDArray[np.int64]) -> bool:
        """Whether `directions` looks at the members, given how often each was tried (k,)."""
        return True

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Return functionals (k, p) of ``T`` whose sign proposes a division of each cluster.

        Parameters
        ----------
        s : ndarray (k, p)
            The clusters' statistics of this batch.
        member : ndarray (k, p)
            The statistics of one random point of each.
        attempt : ndarray (k,)
            How often each was tried before, for families that have several proposals.
        """
        mean = s / np.maximum(s[:, :1], 1e-300)
        out: Array = member - mean
        spread = np.abs(mean)
        spread += 1e-12
        out /= spread
        mean *= out
        out[:, 0] = -mean[:, 1:].sum(axis=1)  # it vanishes at the mean
        return out

    def discriminant(self, first: Array, second: Array) -> Any:
        """Return the log ratio of the densities of the second group and the first, (k, p) each.

        It is a function of a point, in the form that `project` and `cut` take. The sizes of the
        groups do not matter. None if the family has no discriminant.
        """
        return None

    def project(self, past: Array, discriminant: Any) -> Projection:
        """Return the discriminant's mean and variance (..., k) over the past (..., k, p)."""
        return Projection(np.zeros(past.shape[:-1]), np.zeros(past.shape[:-1]))

    def cut(self, past: Array, discriminant: Any, side: Side) -> Array:
        """Return the part of the past (..., k, p) on a side: by default a share of everything."""
        return past * side.share[..., None]

    def boundary(self, first: Array, second: Array) -> Any:
        """Return what separates two groups with statistics (k, p) each, for `divide`."""
        return Boundary(self.discriminant(first, second), log_odds(first, second))

    def divide(self, past: Array, boundary: Any) -> Array:
        """Return the part of ``past`` (..., k, p) on the first side of the boundary.

        The rest belongs to the other side: the two parts add up to the whole. The discriminant is
        assumed to be normal over the past. Without one the past is divided in proportion to the two
        groups' present counts.
        """
        side = first_side(boundary.log_odds, self.project(past, boundary.discriminant))
        return self.cut(past, boundary.discriminant, side)


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
