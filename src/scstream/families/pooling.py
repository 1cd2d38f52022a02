"""What Gaussian clusters pool: the covariance within them, which the prior expects."""

from __future__ import annotations

import numpy as np

from scstream.families.packed import unpack
from scstream.families.restraint import MOST, WIDE
from scstream.families.scores import Array

_ASTRAY = 10.0  # times as far from the mean, squared, as most rows' clusters: worth a closer look
_KNOWN = 10.0  # rows for each column that show a covariance well
_LITTLE = 1e-9  # of its variance, that each column has for itself where covariances are not shrunk
_TINY = 1e-300


def pooled(clusters: Array, d: int) -> tuple[Array, float]:
    """Return the covariance (d, d) within clusters (k, p), and its degrees of freedom.

    These are the points less one for each cluster's mean. With few of them it is shrunk towards its
    diagonal. Where columns nearly determine each other, and there are enough points to know it, it
    is not: along what they hardly differ in, clusters would be expected to be far wider than any of
    them is, and the more points one has the less that matters, so all would be joined. It has no
    variance of 0.
    """
    n, z = clusters[:, 0], clusters[:, 1 : 1 + d]
    out: Array = unpack(clusters[:, 1 + d :].sum(axis=0), d)
    out -= (z / np.maximum(n, _TINY)[:, None]).T @ z
    dof = float(n.sum() - np.count_nonzero(n))
    spare, more, little = max(dof, 1.0), float(d), 1e-6
    if spare >= _KNOWN * d and _least_alone(out) * spare < d and not outlying(clusters, d):
        more, little = 0.0, _LITTLE
    variance = (1.0 + little) * out.diagonal() / spare + 1e-14
    out /= spare + more
    out.reshape(-1)[:: d + 1] = variance
    return out, dof


def follow(clusters: Array, psi: Array, share: float, least: float) -> Array:
    """Return an expected covariance (d, d) between ``psi`` and a share of that within clusters.

    Either counts as many points as it is of; ``psi`` at least so many, and not less than the other.
    """
    within, dof = pooled(clusters, len(psi))
    new = max(dof, 0.0)
    old = max(least, new)
    out: Array = (old * psi + new * share * within) / (old + new)
    return out


def outlying(clusters: Array, d: int) -> bool:
    """Whether some clusters (k, p) are far wider in a column than those of most rows."""
    n = np.maximum(clusters[:, :1], _TINY)
    i = np.arange(d)
    square = clusters[:, 1 + d + i * d - i * (i - 1) // 2]
    return _stand_out(clusters[:, 0], square / n - (clusters[:, 1 : 1 + d] / n) ** 2, WIDE)


def astray(clusters: Array, mean: Array) -> bool:
    """Whether some clusters (k, p) are further from the mean (d,) in a column than most rows'."""
    n = clusters[:, :1]
    off = (clusters[:, 1 : 1 + len(mean)] / np.maximum(n, _TINY) - mean) ** 2
    return _stand_out(n[:, 0], off * (n > 0.0), _ASTRAY)


def _stand_out(n: Array, values: Array, times: float) -> bool:
    """Whether most rows are in clusters whose values (k, d) are far below the largest."""
    others = n @ (times * values >= values.max(axis=0, initial=0.0))
    return bool((others < (1.0 - MOST) * n.sum()).any())


def _least_alone(scatter: Array) -> float:
    """Return the least share of a column's square that the columns before it do not determine."""
    square = scatter.diagonal()
    if not square.all():
        some = np.flatnonzero(square)
        return _least_alone(scatter[np.ix_(some, some)]) if len(some) else 1.0
    try:
        root = np.linalg.cholesky(scatter)
    except np.linalg.LinAlgError:
        return 0.0
    return float((root.diagonal() ** 2 / square).min())
