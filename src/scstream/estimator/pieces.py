"""Rows of counts that vary more than multinomial ones: their clusters fall into pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, to_dense

_FEWEST = 200  # rows, and counts, to know how much they vary
_ROWS = 2000  # the first of a batch, that are looked at
_COLUMNS = 2000  # more are words, of which most rows have few
_A_CLUSTER = 20.0  # rows: clusters of more on average are no pieces
_MORE = 1.2  # times that multinomial counts vary, from which others do; right clusters have 1.0
_EXPECTED = 1.0  # counts, at least, where that shows
_ERRORS = 4.0  # standard errors that it must be more


def warning_of_pieces(X: Any, labels: Any, family: Family) -> str:
    """Return a warning if multinomial clusters of counts (n, d) are pieces of wider ones."""
    here = isinstance(X, np.ndarray) or sparse.issparse(X)
    if family.name != "multinomial" or not here or X.shape[0] < _FEWEST or X.shape[1] > _COLUMNS:
        return ""
    n, each = X.shape[0], np.unique(np.asarray(labels), return_inverse=True)[1]
    k = int(each.max()) + 1
    if n > _A_CLUSTER * k:
        return ""
    more = times_as_varied(to_dense(X[:_ROWS]).astype(np.float64), each[:_ROWS])
    if more < _MORE:
        return ""
    return (
        f"Counts vary {more:.1f} times as much as multinomial ones do, even within the {k} "
        f"clusters that {n:,} rows are in: most of these are pieces of clusters. If rows differ in "
        "how much was counted, as events of hosts and genes of cells do, use the family "
        "'count-shares'."
    )


def times_as_varied(X: Array, z: Labels) -> float:
    """Return how many times as much counts (n, d) vary within clusters as multinomial ones, or 0.

    It is 0 where that may be chance. Each row is predicted by the other rows of its cluster.
    """
    sums = np.zeros((int(z.max()) + 1, X.shape[1]))
    np.add.at(sums, z, X)
    rest, total = sums[z] - X, X.sum(axis=1, keepdims=True)
    others = rest.sum(axis=1, keepdims=True)
    known = others[:, 0] > 0.0
    share = total[known] / others[known]
    mean = rest[known] * share
    seen = mean > _EXPECTED
    varied = ((X[known] - mean) ** 2)[seen] / (mean * (1.0 + share))[seen]
    if len(varied) < _FEWEST:
        return 0.0
    out = float(varied.mean())
    return out if out - _ERRORS * float(varied.std()) / np.sqrt(len(varied)) > 1.0 else 0.0
