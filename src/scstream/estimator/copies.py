"""Rows that are in a table several times: a model takes copies for evidence of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scstream.families.contract import Array

_MOST = 50_000  # rows, the first of a batch, that are looked at
_TIMES = 2.5  # that a row comes on average, from which clusters are made of copies
_FEWEST = 20  # different rows: fewer are what they are
_COLUMNS = 16  # those with most numbers, that show which rows differ
_SAME = 0.9  # the share of different rows that a column of its own distinguishes


def warning_of_copies(columns: Sequence[tuple[Any, Array]]) -> str:
    """Return a warning if most rows of columns (n,), with their names in front, are copies."""
    numbers = [column[:_MOST] for _, column in columns]
    different = different_rows(numbers)
    if different == 0:
        return ""
    rows = len(numbers[0])
    return (
        f"The batch has {rows:,} rows, but only {different:,} different ones. The model takes "
        "copies for independent rows that agree, and makes clusters of a few different rows. Drop "
        "the copies (pandas: drop_duplicates; numpy.unique(X, axis=0))."
    )


def different_rows(columns: Sequence[Array]) -> int:
    """Return how many different rows columns (n,) have if most rows are copies, otherwise 0.

    Rounded numbers come again in other rows. Where rows are copies, two columns or more
    distinguish nearly as many rows as all of them do.
    """
    distinct: list[int] = []
    for column in columns:
        distinct.append(len(np.unique(column)))
        if _TIMES * distinct[-1] > len(column):
            return 0
    if len(columns) < 2:
        return 0
    most = [columns[j] for j in np.argsort(distinct)[-_COLUMNS:]]
    different = len(np.unique(np.column_stack(most), axis=0))
    least = max(_FEWEST, _SAME * different)
    copies = sorted(distinct)[-2] >= least and _TIMES * different <= len(columns[0])
    return different if copies else 0
