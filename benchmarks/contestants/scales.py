"""Scales that a user would read off the first batch, and the form of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances

_ROWS = 1000  # enough to see a scale


def dense(X: Any) -> NDArray[np.float64]:
    """Return rows (n, d) as a plain array of floats."""
    return np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=np.float64)


def neighbourhood(X: Any, share: float = 0.02) -> float:
    """Radius of a ball around a typical row that holds this share of all rows (n, d).

    Unlike the distance to the nearest row it does not shrink as a batch grows, and unlike a
    share of the spread it means the same in any dimension. Always positive.
    """
    distances = pairwise_distances(X[:_ROWS])
    rank = min(max(1, round(share * len(distances))), len(distances) - 1)
    radius = float(np.median(np.partition(distances, rank, axis=1)[:, rank]))
    return radius or float(distances.mean()) or 1.0


def spread(X: Any) -> tuple[float, float]:
    """Mean and standard deviation of all entries (n, d), the second always positive."""
    values = dense(X)
    return float(values.mean()), float(values.std()) or 1.0
