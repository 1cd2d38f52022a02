"""The columns of a Parquet output that come before what was found: the input's, or row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.sources.base import Batch
from scstream.sources.records import ColumnRecords, Records


def first_columns(batch: Batch, before: int, *, append: bool) -> tuple[list[str], list[Any]]:
    """Return names and columns.

    Parameters
    ----------
    batch : Batch
    before : int
        The rows that were written before it.
    append : bool
        Whether the input's columns come first. Otherwise it is the number of the row.
    """
    import pyarrow as pa

    if not append:
        numbers = batch.numbers
        if numbers is None:
            numbers = np.arange(before + 1, before + batch.n + 1)
        return ["row"], [pa.array(numbers)]
    rows = batch.rows
    if rows is None:
        raise ValueError("The source does not provide its rows, so nothing can be appended.")
    if isinstance(rows, ColumnRecords):
        return list(rows.names), [pa.array(column) for column in rows.columns]
    dicts = rows.dicts() if isinstance(rows, Records) else list(rows)
    names = list(rows.names) if isinstance(rows, Records) else list(dicts[0])
    return names, [_array([row.get(name) for row in dicts]) for name in names]


def _array(values: list[Any]) -> Any:
    """Return plain values as a column: numbers as such, anything else as text."""
    import pyarrow as pa

    if all(v is None or isinstance(v, int | float) for v in values):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([v if v is None or isinstance(v, str) else str(v) for v in values])
