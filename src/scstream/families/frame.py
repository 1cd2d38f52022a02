"""The frame in which real columns are computed: their centres and scales."""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array
from scstream.support.threads import over_rows

_QUARTILES = 25.0, 50.0, 75.0
OUTLYING = 30.0  # quartile ranges beyond which a column's numbers are outliers


def column_frame(X: Array) -> tuple[Array, Array]:
    """Return the columns' centres and scales: medians and standard deviations.

    A deviation that a few outliers blew up is cut down to a multiple of the quartile range. A
    constant column, which says nothing about clusters, gets its own size (or 1). Missing entries
    (NaN) are left out; a column that holds nothing else has centre 0 and scale 1.
    """
    X = np.asarray(X, dtype=np.float64)
    missing = np.isnan(X)
    if missing.any():
        frames = [
            column_frame(x[~gap, None]) if not gap.all() else (np.zeros(1), np.ones(1))
            for x, gap in zip(X.T, missing.T, strict=True)
        ]
        return np.array([f[0][0] for f in frames]), np.array([f[1][0] for f in frames])
    n, d = X.shape
    quartiles = over_rows(lambda cut: np.percentile(X[:, cut], _QUARTILES, axis=0), d, width=n)
    low, centre, high = np.concatenate(quartiles, axis=1)
    size = np.abs(X).max(axis=0)
    scale = np.sqrt(((X - centre) ** 2).mean(axis=0))
    core = OUTLYING * (high - low)
    scale = np.where(core > 1e-13 * size, np.minimum(scale, core), scale)
    return centre, np.where(scale > 1e-13 * size, scale, np.where(size > 0, size, 1.0))
