"""The clusters as a mixture of Gaussians: what valleys between them are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scstream.families.contract import Array
from scstream.sampler.learner import Learner


@dataclass(frozen=True, eq=False)
class Normals:
    """k weighted Gaussians in d columns, each column in units of its deviation over all."""

    count: Array  # (k,): points
    weight: Array  # (k,)
    mean: Array  # (k, d)
    cov: Array  # (k, d, d)
    factor: Array  # (k, d, d): lower Cholesky factors
    scale: Array  # (d,): what the columns were divided by

    @staticmethod
    def of(learner: Learner, most_columns: int) -> Normals | None:
        """Return the clusters of a model; None if they are not Gaussian, or too wide."""
        if learner.family.independent_blocks(0)[0].family is not learner.family:
            return None  # blocks of columns, of which some only may be Gaussian
        totals = learner.state.totals
        described = learner.family.describe(learner.family.prior + totals)
        mean = described.get("mean")
        if mean is None or mean.ndim != 2 or mean.shape[1] > most_columns:
            return None
        if "covariance" in described:
            cov = described["covariance"]
        elif "variance" in described and "shape" not in described:
            each = np.broadcast_to(described["variance"].reshape(len(mean), -1), mean.shape)
            cov = each[:, :, None] * np.eye(mean.shape[1])
        else:
            return None
        count = totals[:, 0]
        weight = np.maximum(count, 1e-300) / np.maximum(count, 1e-300).sum()
        within = np.einsum("kii->ki", cov)
        centre = weight @ mean
        scale = np.sqrt(weight @ (within + (mean - centre) ** 2))
        scale[~(scale > 0)] = 1.0
        cov = cov / (scale[:, None] * scale)
        size = np.einsum("kii->k", cov)[:, None, None]
        cov = cov + 1e-10 * (size + 1e-10) * np.eye(len(scale))
        return Normals(count, weight, mean / scale, cov, np.linalg.cholesky(cov), scale)

    def rows(self, n: int) -> Array:
        """Return n rows as such clusters would give them, in the user's units, always the same."""
        rng = np.random.default_rng(0)
        z = np.searchsorted(np.cumsum(self.weight), (np.arange(n) + 0.5) / n).clip(
            max=len(self.weight) - 1
        )
        noise = rng.standard_normal((n, self.mean.shape[1]))
        out: Array = self.mean[z] + np.einsum("nij,nj->ni", self.factor[z], noise)
        return out * self.scale

    def log_joint(self, X: Array) -> Array:
        """Return log weight plus log density of rows (n, d), in these units, (n, k)."""
        d = X.shape[1]
        out = np.empty((len(X), len(self.weight)))
        inverse = np.linalg.inv(self.factor)
        for k, turn in enumerate(inverse):
            white = (X - self.mean[k]) @ turn.T
            out[:, k] = -0.5 * np.einsum("nd,nd->n", white, white)
        level = np.log(np.einsum("kii->ki", inverse)).sum(axis=1) - 0.5 * d * np.log(2.0 * np.pi)
        out += level + np.log(self.weight)
        return out

    def ridges(self, a: int, b: int, shares: Array) -> Array:
        """Return points (m, d) of the line on which all peaks between two Gaussians lie."""
        first, second = np.linalg.inv(self.cov[a]), np.linalg.inv(self.cov[b])
        t = shares[:, None]
        pull = (1.0 - t) * (first @ self.mean[a]) + t * (second @ self.mean[b])
        precision = (1.0 - t[..., None]) * first + t[..., None] * second
        out: Array = np.linalg.solve(precision, pull[..., None])[..., 0]
        return out


def log_total(joint: Array) -> Array:
    """Return the log of the summed exponentials of each row (n, k)."""
    most = joint.max(axis=1)
    out: Array = most + np.log(np.exp(joint - most[:, None]).sum(axis=1))
    return out
