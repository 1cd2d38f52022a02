"""What Gaussian clusters pool: the covariance within them, which the prior expects."""

from __future__ import annotations

import numpy as np

from scstream import core
from scstream.families.restraint import MOST, WIDE, gaussian_middles
from scstream.families.scores import Array

_ASTRAY = 10.0  # times as far from the mean, squared, as most rows' clusters: worth a closer look


def pooled(clusters: Array, d: int) -> tuple[Array, float, bool]:
    """Return the covariance (d, d) within clusters (k, p), and its degrees of freedom.

    These are the points less one for each cluster's mean. With few of them it is shrunk towards its
    diagonal. Where columns nearly determine each other, and there are enough points to know it, it
    is not: along what they hardly differ in, clusters would be expected to be far wider than any of
    them is, and the more points one has the less that matters, so all would be joined. It has no
    variance of 0. Also returns whether some clusters are far wider than those of most rows.
    """
    out = np.empty((d, d))
    dof, wide = core.pool(clusters, MOST, WIDE, out)
    return out, dof, wide


def middles(clusters: Array, d: int) -> list[Array]:
    """Return the mean (d,) of all rows, also with clusters held back that are far out, if any."""
    mean = np.empty(d)
    return gaussian_middles(clusters, d) if core.middle(clusters, MOST, _ASTRAY, mean) else [mean]


def between(psi: Array, within: Array, dof: float, share: float, least: float) -> Array:
    """Return an expected covariance (d, d) between ``psi`` and a share of that within clusters.

    Either counts as many points as it is of; ``psi`` at least so many, and not less than the other.
    """
    new = max(dof, 0.0)
    old = max(least, new)
    out: Array = (old * psi + new * share * within) / (old + new)
    return out
