"""The clusters as Gaussians: what their seams are computed from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.encoded import Encoded
from scstream.families.packed import unpack
from scstream.sampler.learner import Learner
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen


@frozen
class Shapes:
    """k Gaussians in d columns, in a frame: a row x is at ``(x - shift) / scale``.

    Where a family describes rows of many columns by a few coordinates, these are the columns.
    """

    ids: NDArray[np.int64]
    count: Array  # (k,): points
    mean: Array  # (k, d)
    cov: Array  # (k, d, d)
    frame: tuple[Array, Array]  # shift and scale, (d,) each

    @staticmethod
    def of(learner: Learner, rules: Rules) -> Shapes | None:
        """Return the clusters of a model; None if they are not Gaussian, or too wide."""
        state, family = learner.state, learner.family
        totals, k = state.totals, state.k
        count = np.ascontiguousarray(totals[:, 0])
        prior = family.small_gaussian()
        if prior is not None and (family.narrows or prior.columns == family.columns_taken()):
            mean, cov = _expected(prior.row + totals, prior.more, prior.columns)
            return Shapes(state.ids, count, mean, cov, family.frame)
        if family.independent_blocks(0)[0].family is not family:
            return None  # blocks of columns, of which some only may be Gaussian
        tau = family.prior + totals
        if isinstance(family, Encoded) and len(family.inner) == 1:  # rows are in its form
            family, tau = family.parts(tau)[0]
        described = family.describe(tau)
        mean = described.get("mean", np.empty(0))
        if mean.ndim != 2 or mean.shape[1] > rules.group_columns:
            return None
        d = mean.shape[1]
        if "covariance" in described:
            cov = described["covariance"]
        elif "variance" in described and not {"shape", "common_value"} & set(described):
            each = np.broadcast_to(described["variance"].reshape(k, -1), mean.shape)
            cov = each[:, :, None] * np.eye(d)
        else:
            return None
        frame = np.zeros(d), np.ones(d)
        return Shapes(
            state.ids, count, np.ascontiguousarray(mean), np.ascontiguousarray(cov), frame
        )


def _expected(tau: Array, more: float, d: int) -> tuple[Array, Array]:
    """Return expected means and covariances of Gaussian clusters from their statistics (k, p).

    ``more`` is by how much the degrees of freedom exceed the count.
    """
    n = tau[:, :1]
    mean = tau[:, 1 : 1 + d] / n
    scatter = unpack(tau[:, 1 + d :], d) - n[..., None] * mean[:, :, None] * mean[:, None]
    return mean, scatter / np.maximum(n + more - d - 1.0, 1.0)[..., None]
