"""What Gaussian clusters pool: their mean, and the covariance within them."""

from __future__ import annotations

import numpy as np

from scstream.core.plain.gaussian import Floats, columns

_KNOWN = 10.0  # rows for each column that show a covariance well
_LITTLE = 1e-9  # of its variance, that each column has for itself where covariances are not shrunk
_TINY = 1e-300


def pool(s: Floats, most: float, times: float, out: Floats) -> tuple[float, bool]:
    """Find the covariance within clusters, their degrees of freedom, and whether some are wide."""
    d = columns(s[0])
    row, col = np.triu_indices(d)
    n, z = s[:, 0], s[:, 1 : 1 + d]
    mean, square = z / np.maximum(n, _TINY)[:, None], s[:, 1 + d :]
    out[row, col] = out[col, row] = square.sum(axis=0)
    out -= mean.T @ z
    dof = float(n.sum() - np.count_nonzero(n))
    spread = square[:, row == col] / np.maximum(n, _TINY)[:, None] - mean**2
    wide = _stand_out(n, spread, most, times)
    spare, more, little = max(dof, 1.0), float(d), 1e-6
    if spare >= _KNOWN * d and _least_alone(out) * spare < d and not wide:
        more, little = 0.0, _LITTLE
    variance = (1.0 + little) * out.diagonal() / spare + 1e-14
    out /= spare + more
    np.fill_diagonal(out, variance)
    return dof, wide


def middle(s: Floats, most: float, times: float, out: Floats) -> bool:
    """Find the mean of clusters, and whether some are astray."""
    n, z = s[:, :1], s[:, 1 : 1 + len(out)]
    out[:] = z.sum(axis=0) / n.sum()
    off = (z / np.maximum(n, _TINY) - out) ** 2
    return _stand_out(n[:, 0], off * (n > 0.0), most, times)


def _stand_out(n: Floats, values: Floats, most: float, times: float) -> bool:
    """Whether most rows are in clusters whose values (k, d) are far below the largest."""
    others = n @ (times * values >= values.max(axis=0, initial=0.0))
    return bool((others < (1.0 - most) * n.sum()).any())


def _least_alone(scatter: Floats) -> float:
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
