"""How Gaussian clusters are cut in two: directions, the boundary, and the past on either side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream import core
from scstream.families.contract import Array
from scstream.families.division import CERTAIN, Division, Projection, Side, log_odds
from scstream.families.gaussian_scores import shared
from scstream.families.normal_wishart import NormalWishart
from scstream.families.packed import moments, unpack, upper

AXES = 4  # principal axes of a cluster along which it is cut in turn


class GaussianDivision(Division):
    """Cuts Gaussian clusters by planes."""

    def __init__(self, family: NormalWishart) -> None:
        self._family = family
        self._prior, self._more, _, self._d = family.numbers

    def needs_members(self, attempt: NDArray[np.int64]) -> bool:
        """Whether some cluster is to be cut towards a random point."""
        return bool(np.count_nonzero(attempt & 1))

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut along the first principal axes in turn, or towards a random point.

        First in the deviations of the expected covariance, then in those of the columns.
        """
        d, out, s = self._d, np.empty(s.shape), np.ascontiguousarray(s)

        def fill(cut: slice) -> None:
            some = s[cut], member[cut], attempt[cut]
            core.directions(*some, min(d, AXES), self._prior, out[cut])

        shared(fill, len(s), d)
        return out

    def boundary(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return Fisher's linear discriminant: normals (k, d) and offsets (k,)."""
        both = np.stack([first, second], axis=1)
        normal, offset = np.empty((len(first), self._d)), np.empty(len(first))

        def fill(cut: slice) -> int:
            return core.boundaries(both[cut], self._prior, self._more, normal[cut], offset[cut])

        if any(shared(fill, len(both), self._d)):
            bad = np.isnan(offset)
            post, d = self._family.posterior(self._prior + both[bad]), self._d
            scatter = unpack(self._family.mended(both[bad])[0][:, 1 + d :], d)
            way = (post.mean[:, 1] - post.mean[:, 0])[..., None]
            normal[bad] = post.nu.sum(axis=1)[:, None] * np.linalg.solve(scatter, way)[..., 0]
            middle = (normal[bad] * post.mean.mean(axis=1)).sum(axis=1)
            offset[bad] = middle + log_odds(first[bad], second[bad])
        return normal, offset

    def divide(self, past: Array, boundary: tuple[Array, Array]) -> Array:
        """Cut the past, seen as one Gaussian, by the boundary: its truncated moments."""
        rows = np.ascontiguousarray(past).reshape(-1, past.shape[-1])
        out = np.empty(rows.shape)
        core.truncate(rows, *boundary, CERTAIN, out)
        return out.reshape(past.shape)

    def discriminant(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return Fisher's linear discriminant, the groups' sizes aside."""
        normal, offset = self.boundary(first, second)
        return normal, offset - log_odds(first, second)

    def project(self, past: Array, discriminant: tuple[Array, Array]) -> Projection:
        """Return mean and variance of the discriminant over a past (..., k, p)."""
        normal, offset = discriminant
        mean, cov = moments(past, self._d)
        variance = (normal * (cov @ normal[..., None])[..., 0]).sum(axis=-1)
        return Projection((normal * mean).sum(axis=-1) - offset, np.maximum(variance, 0.0))

    def cut(self, past: Array, discriminant: tuple[Array, Array], side: Side) -> Array:
        """Return a share of the past, moved and narrowed along the discriminant."""
        d = self._d
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
