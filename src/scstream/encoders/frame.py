"""The frame in which real columns are computed: their centres and scales."""

from __future__ import annotations

import numpy as np

from scstream.core import Floats as Array
from scstream.support.threads import over_rows

_QUARTILES = 25.0, 50.0, 75.0
_WORK = 8  # that a number is worth, where copying it is worth 1
OUTLYING = 30.0  # quartile ranges beyond which a column's numbers are outliers
ROUNDING = 2.0**-50  # of a column's largest number, that its numbers may differ by rounding alone


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
    columns = over_rows(lambda some: _frame_of(X[:, some]), d, width=_WORK * n)
    centre, scale = np.concatenate(columns, axis=1)
    return centre, scale


def _frame_of(X: Array) -> Array:
    """Return centres and scales (2, d) of columns, each of which is added up row by row."""
    columns = X.T.copy()
    size = np.abs(columns).max(axis=1)
    low, centre, high = np.percentile(columns, _QUARTILES, axis=1)
    columns -= centre[:, None]
    columns *= columns
    scale = np.sqrt(np.cumsum(columns, axis=1)[:, -1] / len(X))
    core = OUTLYING * (high - low)
    scale = np.where(core > ROUNDING * size, np.minimum(scale, core), scale)
    scale = np.where(scale > ROUNDING * size, scale, np.where(size > 0, size, 1.0))
    return np.stack([centre, scale])
