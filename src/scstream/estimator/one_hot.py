"""Categories spread over columns of yes and no, one of which is yes in every row (one-hot).

Within a cluster such columns are not independent: one yes rules out the others. So clusters would
be divided until each has one category alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scstream.encoders.exclusive import exclusive_runs
from scstream.families.bernoulli import Bernoulli
from scstream.families.contract import Array, Family


def warning_of_one_hot(X: Any, family: Family, names: Sequence[Any]) -> str:
    """Return a warning if columns of yes and no of checked rows are categories in disguise."""
    runs = [
        [own[j] for j in run]
        for flags, own in _flags(X, family, names)
        for run in exclusive_runs(flags)
    ]
    if not runs:
        return ""
    run, others = runs[0], len(runs) - 1
    also = f", and {others} more such group{'s' * (others > 1)} of columns" if others else ""
    return (
        f"Of the columns {run[0]!r} to {run[-1]!r} at most one is yes in each row{also}: they are "
        "one category, spread over columns. Give them to the family 'one-hot' (family='auto' finds "
        "them), or give one column of words; otherwise each category forms clusters of its own."
    )


def _flags(X: Any, family: Family, names: Sequence[Any]) -> list[tuple[Array, list[Any]]]:
    """Return the blocks of yes and no of checked rows, with their columns' names."""
    if not isinstance(X, np.ndarray):
        return []
    return [
        (X[:, block.rows], [names[j] for j in block.columns])
        for block in family.independent_blocks(len(names))
        if isinstance(block.family, Bernoulli)
    ]
