"""How Gaussian clusters are cut in two: directions, the boundary, and the past on either side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.cutting import CERTAIN, Projection, Side, log_odds
from scstream.families.gaussian_scores import MANY, shared
from scstream.families.normal_wishart import NormalWishart
from scstream.families.packed import moments, upper
from scstream.kernels import cuts, matrices
from scstream.kernels.crew import crew_of, for_each
from scstream.support.threads import threads_allowed

AXES = 4  # principal axes of a cluster along which it is cut in turn


class GaussianCuts(NormalWishart):
    """The moves of Gaussian clusters."""

    def needs_members(self, attempt: NDArray[np.int64]) -> bool:
        """Whether some cluster is to be cut towards a random point."""
        return bool(np.count_nonzero(attempt & 1))

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut along the first principal axes in turn, or towards a random point.

        First in the deviations of the expected covariance, then in those of the columns.
        """
        d = len(self._m)
        out, axes, some = (
            np.empty(s.shape),
            min(d, AXES),
            (np.ascontiguousarray(s), member, attempt),
        )
        with crew_of(threads_allowed() if d >= MANY else 1) as crew:
            rooms = for_each(crew.threads, (2 * d * d + d,))
            taken = np.zeros(1, dtype=np.int64)
            cuts.shared_directions(crew, *some, axes, self._prior, d, rooms, taken, out)
        return out

    def boundary(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return Fisher's linear discriminant: normals (k, d) and offsets (k,)."""
        both = np.stack([first, second], axis=1)
        k, d = len(first), len(self._m)
        between, middle, dof = np.empty((k, d)), np.empty((k, d)), np.empty(k)
        more = self._nu - self._kappa
        cuts.between(both, self._prior, more, between, middle, dof)
        factors, _ = self._factored(both, between)
        normal, offset = np.empty((k, d)), np.empty(k)
        cuts.discriminant(factors, dof, middle, both, normal, offset)
        return normal, offset

    def divide(self, past: Array, boundary: tuple[Array, Array]) -> Array:
        """Cut the past, seen as one Gaussian, by the boundary: its truncated moments."""
        part = np.empty(past.shape)
        p = past.shape[-1]
        whole, out = np.ascontiguousarray(past).reshape(-1, p), part.reshape(-1, p)
        normal, offset = boundary

        def cut(some: slice) -> None:
            room = matrices.room_for(len(self._m))
            cuts.truncate(whole[some], normal[some], offset[some], CERTAIN, room, out[some])

        if len(whole) == len(normal):
            shared(cut, len(whole), normal.shape[1])
        else:
            room = matrices.room_for(len(self._m))
            cuts.truncate(whole, normal, offset, CERTAIN, room, out)
        return part

    def discriminant(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return Fisher's linear discriminant, the groups' sizes aside."""
        normal, offset = self.boundary(first, second)
        return normal, offset - log_odds(first, second)

    def project(self, past: Array, discriminant: tuple[Array, Array]) -> Projection:
        """Return mean and variance of the discriminant over a past (..., k, p)."""
        normal, offset = discriminant
        mean, cov = moments(past, len(self._m))
        variance = (normal * (cov @ normal[..., None])[..., 0]).sum(axis=-1)
        return Projection((normal * mean).sum(axis=-1) - offset, np.maximum(variance, 0.0))

    def cut(self, past: Array, discriminant: tuple[Array, Array], side: Side) -> Array:
        """Return a share of the past, moved and narrowed along the discriminant."""
        d = len(self._m)
        mean, cov = moments(past, d)
        along = (cov @ discriminant[0][..., None])[..., 0]
        mean = mean - along * side.pull[..., None]
        cov = cov - side.narrow[..., None, None] * along[..., :, None] * along[..., None, :]
        cov += mean[..., :, None] * mean[..., None, :]
        out = past * side.share[..., None]
        out[..., 1 : 1 + d] = out[..., :1] * mean
        row, col = upper(d)
        out[..., 1 + d :] = out[..., :1] * cov[..., row, col]
        return out
