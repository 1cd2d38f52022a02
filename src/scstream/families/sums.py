"""Columns that add up to the same total in every row: shares of a whole."""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array

_FEWEST_ROWS = 20  # that show it
_ROWS = 512  # about so many are looked at
_STEADY = 0.1  # of the widest column's deviation: that of the sum, at most,
_ROUNDED = 0.03  # and how far it is off, relatively: rounded shares add up nearly


def runs_of_shares(X: Array) -> list[range]:
    """Return the successive columns (n, d) from 0 whose sum is the same in all rows."""
    rows = X[~np.isnan(X).any(axis=1)]
    rows = rows[:: max(len(rows) // _ROWS, 1)]
    if len(rows) < _FEWEST_ROWS:
        return []
    columns = np.ascontiguousarray(rows.T)
    spread, least = columns.var(axis=1), columns.min(axis=1)
    runs, first = [], 0
    for j in range(len(columns)):
        first = j + 1 if least[j] < 0.0 else first
        totals = np.cumsum(columns[first : j + 1][::-1], axis=0)
        widest = np.maximum.accumulate(spread[first : j + 1][::-1])
        steady = (totals.var(axis=1) <= _STEADY**2 * widest) & (widest > 0.0)
        for i in np.flatnonzero(steady[1:]) + 1:
            if _agree(totals[i]):
                runs.append(range(j - int(i), j + 1))
                first = j + 1
                break
    return runs


def _agree(total: Array) -> bool:
    """Whether sums (n,) are the same, but for what shares were rounded."""
    middle = float(np.median(total))
    return float(np.abs(total - middle).max()) <= _ROUNDED * middle
