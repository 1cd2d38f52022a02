"""How clusters are divided: what proposes it, and what becomes of their past."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.families.cutting import Projection, Side, first_side, log_odds
from scstream.families.scores import Array


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
