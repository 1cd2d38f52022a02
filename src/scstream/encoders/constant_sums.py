"""Columns that add up to the same total in every row: shares of a whole."""

from __future__ import annotations

import numpy as np

from scstream.core import Floats as Array

_FEWEST_ROWS = 20  # that show it
_ROWS = 512  # about so many are looked at
_STEADY = 0.3  # of the widest column's deviation: how far a sum is off at most,
_ROUNDED = 0.03  # and relatively: rounded shares add up nearly
_FEW, _MOST = 32, 0.9  # rows that are looked at first, and the share of them
_NEARLY_ALL = 0.98  # the share of rows of which this is so: some may be empty


def runs_of_shares(X: Array) -> list[range]:
    """Return the successive columns (n, d) from 0 whose sum is the same in nearly all rows."""
    rows = X[~np.isnan(X).any(axis=1)]
    rows = rows[:: max(len(rows) // _ROWS, 1)]
    if len(rows) < _FEWEST_ROWS:
        return []
    columns = np.ascontiguousarray(rows.T)
    few = np.ascontiguousarray(columns[:, :: max(len(rows) // _FEW, 1)])
    spread, least = columns.std(axis=1), columns.min(axis=1)
    runs, first = [], 0
    for j in range(len(columns)):
        first = j + 1 if least[j] < 0.0 else first
        widest = np.maximum.accumulate(spread[first : j + 1][::-1])
        maybe = _steady(np.cumsum(few[first : j + 1][::-1], axis=0), widest) >= _MOST
        for i in np.flatnonzero(maybe[1:]) + 1:
            total = columns[j - i : j + 1].sum(axis=0)
            if _steady(total[None], widest[i : i + 1])[0] >= _NEARLY_ALL:
                runs.append(range(j - int(i), j + 1))
                first = j + 1
                break
    return runs


def _steady(totals: Array, widest: Array) -> Array:
    """Return the share (m,) of rows in which sums (m, n) are the same."""
    middle = np.median(totals, axis=1)
    within = np.minimum(_STEADY * widest, _ROUNDED * middle)
    near = np.abs(totals - middle[:, None]) <= within[:, None]
    return np.where(within > 0.0, near.mean(axis=1), 0.0)
