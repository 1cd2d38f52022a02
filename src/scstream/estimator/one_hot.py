"""Categories spread over columns of yes and no, one of which is yes in every row (one-hot).

Within a cluster such columns are not independent: one yes rules out the others. So clusters would
be divided until each has one category alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from scstream.families.bernoulli import Bernoulli
from scstream.families.contract import Array, Family

_FEWEST_ROWS = 20  # that show it
_FEWEST = 3  # columns: two that exclude each other divide nothing
_GAP = 0.375  # what a missing entry counts
_MOST = 20_000  # rows, the first of a batch, that are looked at


def warn_of_one_hot(X: Any, family: Family, names: Sequence[Any], *, level: int) -> None:
    """Warn if columns of yes and no of checked rows are categories in disguise."""
    runs = [run for flags, own in _flags(X, family, names) for run in one_hot_runs(flags, own)]
    if not runs:
        return
    run, others = runs[0], len(runs) - 1
    also = f", and {others} more such group{'s' * (others > 1)} of columns" if others else ""
    warnings.warn(
        f"Of the columns {run[0]!r} to {run[-1]!r} exactly one is yes in every row{also}: they are "
        "one category, spread over columns. Give it as one column of words (pandas.from_dummies "
        "makes it); otherwise each category forms clusters of its own.",
        stacklevel=level,
    )


def _flags(X: Any, family: Family, names: Sequence[Any]) -> list[tuple[Array, list[Any]]]:
    """Return the blocks of yes and no of checked rows, with their columns' names."""
    if not isinstance(X, np.ndarray) or len(X) < _FEWEST_ROWS:
        return []
    found, start = [], 0
    for block, places in family.independent_blocks(len(names)):
        stop = start + block.width(len(places))
        if isinstance(block, Bernoulli):
            found.append((X[:_MOST, start:stop], [names[j] for j in places]))
        start = stop
    return found


def one_hot_runs(flags: Array, names: Sequence[Any]) -> list[list[Any]]:
    """Return the names of successive columns (n, d), one of which is 1 in every row.

    From the start of such a run to its end the sum over columns grows by 1 in all rows, and by a
    fraction where an entry is missing (NaN).
    """
    sums = np.cumsum(np.where(np.isnan(flags), _GAP, flags), axis=1)
    ends: dict[bytes, int] = {np.zeros(len(flags)).tobytes(): 0}  # by the sums before a column
    runs, first = [], 0
    for j in range(flags.shape[1]):
        start = ends.get((sums[:, j] - 1.0).tobytes(), -1)
        if start >= first and j + 1 - start >= _FEWEST:
            runs.append(list(names[start : j + 1]))
            first = j + 1
        ends[sums[:, j].tobytes()] = j + 1
    return runs
