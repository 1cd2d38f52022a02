"""Whether columns depend on each other within clusters, as pixels of an image do.

As independent columns, whatever they are each, they would be divided into ever more clusters. So
each number is predicted by the others of its row in two ways: by groups of rows that are alike in
the others, and by a regression on the others, with no groups. Where columns are independent within
clusters, groups say as much as a regression can. Groups and regressions are those of one half of
the rows, and the numbers those of the other half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.core import Floats as Array
from scstream.core.k_means import k_means, sums_of_groups

_FEWEST_ROWS = 60  # that show it,
_ROWS = 1024  # and the most that are looked at
_FEWEST_COLUMNS, _COLUMNS = 4, 256  # the same
_GROUPS = (1, 2, 4, 8, 16, 32, 64)  # of which the best number is taken
_ROWS_A_GROUP = 4.0  # at least, on average
_RIDGE = 0.1  # of a column's variance, that is added to it in a regression
_LESS = 0.75  # of the groups' squared errors: regressions of independent columns leave .85 or more


def depend_on_each_other(X: Array) -> bool:
    """Whether numbers from 0 (n, d) are predicted by regressions far better than by groups."""
    Y = np.sqrt(X[:: -(-max(len(X), 1) // _ROWS)])  # large ones deviate more than small ones
    Y = Y[:, Y.min(axis=0, initial=np.inf) < Y.max(axis=0, initial=-np.inf)]
    Y = Y[:, :: -(-max(Y.shape[1], 1) // _COLUMNS)]
    if len(Y) < _FEWEST_ROWS or Y.shape[1] < _FEWEST_COLUMNS:
        return False
    Y = (Y - Y.mean(axis=0)) / _units(Y.std(axis=0))
    first = np.arange(len(Y)) % 2 == 0
    halves = (Y[first], Y[~first]), (Y[~first], Y[first])
    groups = [sum(_left_by_groups(known, new, k) for known, new in halves) for k in _GROUPS]
    return sum(_left_by_regression(*half) for half in halves) < _LESS * min(groups)


def _units(deviation: Array) -> Array:
    """Return what columns (d,) are measured in: those that vary more say more, but not alone."""
    middle = float(np.median(deviation))
    out: Array = np.maximum(deviation / 5.0, middle) if middle > 0.0 else deviation
    return out


def _left_by_groups(known: Array, new: Array, k: int) -> float:
    """Return the squared errors of means of groups, chosen by all columns but the predicted one."""
    group = k_means(
        known, max(min(k, int(len(known) / _ROWS_A_GROUP)), 1), np.random.default_rng(0)
    )
    sums, rows = sums_of_groups(known, group)
    least, left = np.full(new.shape, np.inf), np.empty(new.shape)
    for centre in sums / rows[:, None]:
        each = (new - centre) ** 2
        others = each.sum(axis=1, keepdims=True) - each
        nearer: NDArray[np.bool_] = others < least
        least[nearer], left[nearer] = others[nearer], each[nearer]
    return float(left.sum())


def _left_by_regression(known: Array, new: Array) -> float:
    """Return the squared errors of regressions of each column on all others."""
    mean = known.mean(axis=0)
    cov = (known - mean).T @ (known - mean) / len(known)
    precision = np.linalg.inv(cov + np.diag(_RIDGE * np.diagonal(cov) + 1e-9))
    error = ((new - mean) @ precision) / np.diagonal(precision)
    return float((error**2).sum())
