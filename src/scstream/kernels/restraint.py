"""Compiled: which clusters of a few rows are far wider or further out than all others.

Counts and sums are (k, d), by cluster and column.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from scstream.kernels.compiling import brief, brief_part
from scstream.kernels.pooling import MOST, WIDE

_TINY = 1e-300
_SHRINK = 3  # by what the steps of a sort become shorter


@brief
def factors(count: Any, scatter: Any, order: Any, out: Any) -> Any:
    """Fill what sums of squares are to be multiplied by; returns whether some is not 1.

    A column's mean square in a cluster is cut down to a multiple of that which is not exceeded in
    the clusters of most rows. There is room for the order of k clusters.
    """
    k, d = out.shape
    found = False
    for r in range(k):
        for j in range(d):
            out[r, j] = max(scatter[r, j], 0.0) / max(count[r, j], _TINY)
    for j in range(d):
        most = WIDE * _quantile(count, out, j, MOST, order)
        for r in range(k):
            wide = out[r, j] > most
            found = found or wide
            out[r, j] = most / out[r, j] if wide else 1.0
    return found


@brief
def middles(count: Any, sums: Any, order: Any, room: Any, out: Any) -> Any:
    """Fill the mean (d,) of all rows, and once more with clusters held back that are far out.

    Returns how many of the two there are: the second if some are. There is room for three tables.
    """
    k, d = sums.shape
    mean, scatter, held = room[0], room[1], room[2]
    for r in range(k):
        for j in range(d):
            mean[r, j] = sums[r, j] / max(count[r, j], _TINY)
    for j in range(d):
        out[1, j] = _quantile(count, mean, j, 0.5, order)
        for r in range(k):
            mean[r, j] -= out[1, j]
            scatter[r, j] = count[r, j] * (mean[r, j] * mean[r, j])
    far = factors(count, scatter, order, held)
    for j in range(d):
        total = whole = off = 0.0
        for r in range(k):
            total += count[r, j]
            whole += sums[r, j]
            off += count[r, j] * sqrt(held[r, j]) * mean[r, j]
        out[0, j] = whole / max(total, _TINY)
        out[1, j] += off / max(total, _TINY)
    return 2 if far else 1


@brief_part
def _quantile(count: Any, values: Any, j: int, share: float, order: Any) -> Any:
    """Return the value in column j that a share of rows do not exceed."""
    k = len(values)
    for r in range(k):
        order[r] = r
    step = k
    while step > 1:  # a sort by insertion, over shorter and shorter steps
        step = step // _SHRINK if step > _SHRINK else 1
        for a in range(step, k):
            mine, at = order[a], a
            while at >= step and values[order[at - step], j] > values[mine, j]:
                order[at] = order[at - step]
                at -= step
            order[at] = mine
    total = rows = 0.0
    for a in range(k):
        total += count[order[a], j]
    for a in range(k):
        rows += count[order[a], j]
        if not rows < share * total:
            return values[order[a], j]
    return values[order[k - 1], j]
