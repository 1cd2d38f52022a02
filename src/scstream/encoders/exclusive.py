"""Columns of 0 and 1 that exclude each other: one category, spread over columns (one-hot)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from scstream.core import Floats as Array
from scstream.encoders.skew import GAIN

_FEWEST_ROWS = 20  # that show it
_MOST_ROWS = 20_000  # that are looked at, the first ones
_KNOWN = 0.5  # the share of rows without gaps, at least


def exclusive_runs(flags: Array) -> list[list[int]]:
    """Return the numbers of successive columns (n, d) of which at most one is 1 in every row.

    First those of which exactly one is: then columns beside them that are rarely 1 do not mislead.
    Columns that have no 1 in common by chance are none: a category must describe them better than
    independent columns do, by some nats. Rows with gaps (NaN) show nothing.
    """
    whole = ~np.isnan(flags).any(axis=1)
    rows = flags[whole][:_MOST_ROWS]
    if len(rows) < max(_FEWEST_ROWS, _KNOWN * min(len(flags), _MOST_ROWS)):
        return []
    runs, start = [], 0
    for run in [*complete_runs(rows), range(flags.shape[1], flags.shape[1])]:
        runs += [[start + j for j in some] for some in _sparse_runs(rows[:, start : run.start])]
        runs += [list(run)] if len(run) else []
        start = run.stop
    return runs


def complete_runs(rows: Array) -> list[range]:
    """Return the successive columns of which exactly one is 1 in every row.

    From the start of such a run to its end the sum over columns grows by 1 in all rows.
    """
    sums = np.cumsum(rows, axis=1)
    varies = rows.min(axis=0) < rows.max(axis=0)
    ends: dict[bytes, int] = {np.zeros(len(rows)).tobytes(): 0}  # by the sums before a column
    runs, first = [], 0
    for j in range(rows.shape[1]):
        start = ends.get((sums[:, j] - 1.0).tobytes(), -1)
        if start >= first and varies[start : j + 1].sum() > 1:
            runs.append(range(start, j + 1))
            first = j + 1
        ends[sums[:, j].tobytes()] = j + 1
    return runs


def _sparse_runs(rows: Array) -> list[range]:
    """Return the successive columns of which at most one is 1, if that is not by chance."""
    runs, start = [], 0
    taken: NDArray[np.bool_] = np.zeros(len(rows), dtype=bool)
    for j in range(rows.shape[1] + 1):
        yes = rows[:, j] == 1.0 if j < rows.shape[1] else taken | True
        if not (taken & yes).any() and j < rows.shape[1]:
            taken = taken | yes
            continue
        some = start + np.flatnonzero(rows[:, start:j].any(axis=0))
        if _gain(rows[:, some]) > GAIN:
            runs.append(range(int(some[0]), int(some[-1]) + 1))
        start, taken = j, yes
    return runs


def _gain(rows: Array) -> float:
    """Return the nats by which one category describes exclusive columns (n, d) better."""
    no, none = 1.0 - rows.mean(axis=0), max(1.0 - float(rows.sum(axis=1).mean()), 0.0)
    return float(len(rows) * (xlogy(none, none) - xlogy(no, no).sum()))
