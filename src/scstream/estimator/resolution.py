"""Columns of numbers so large that a float does not hold by how much they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.encoders.rounding import spread_of_close
from scstream.engines.dask.rows import is_collection
from scstream.families.columns import Column, Columns, columns_of, is_frame, quoted

_ROWS = 2000  # of a batch, the first, that are looked at
_NAMED = 5  # columns that are named in a message
_TIES = 4  # rows for each different number, at least
_HELD = 4.0  # steps between floats that close numbers deviate by, from which these are held
_APART = 2.0**14  # steps that a column deviates by at most: else ties are what its numbers are
_LEFT = 0.5  # of different whole numbers that are different floats too, at most


def warning_of_resolution(X: Any) -> str:
    """Return a warning of the columns of a table whose differences a float cannot hold, if any.

    Rows that are elsewhere, on a device or in a cluster, are not looked at.
    """
    here = isinstance(X, np.ndarray | Columns) or is_frame(X)
    if not here or is_collection(X):
        return ""
    table = columns_of(X)
    steps = [_coarse_step(values[:_ROWS]) for values in table.values]
    found = [j for j, (_, step) in enumerate(steps) if step > 0.0]
    if not found:
        return ""
    size, step = steps[found[0]]
    many = "s" if len(found) > 1 else ""
    return (
        f"Column{many} {quoted([table.labels[j] for j in found], _NAMED)}: values around "
        f"{size:.0e} differ by less than a float can hold (the next one is {step:.2g} away). "
        "Subtract a number near them before they become floats."
    )


def _coarse_step(x: Column) -> tuple[float, float]:
    """Return how large numbers are, and the step between floats there; 0 if that is fine enough."""
    if x.dtype.kind not in "fiu" or x.ndim != 1:
        return 0.0, 0.0
    wide = x.dtype.kind != "f" or x.dtype.itemsize > 8  # and may not fit into a float
    floats = np.sort(x[x == x].astype(np.float64 if wide else x.dtype))
    if len(floats) == 0 or not np.isfinite(floats).all():
        return 0.0, 0.0
    size = max(abs(floats[0]), abs(floats[-1]))
    step, different = float(np.spacing(size)), len(np.unique(floats))
    floats = floats.astype(np.float64) - float(floats[0])
    if wide and different <= _LEFT * len(np.unique(x)):
        return float(size), step
    tied = 1 < different <= len(floats) / _TIES and floats.std() < _APART * step
    lost = tied and 0.0 < spread_of_close(floats, step) < _HELD * step
    return float(size), step if lost else 0.0
