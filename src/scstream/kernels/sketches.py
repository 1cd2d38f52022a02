"""Compiled kernels of `scstream.sampler.scores.Sketch`: ascending numbers with weights."""

from __future__ import annotations

from math import floor, log
from typing import Any

from scstream.kernels.compiling import brief, brief_part

_PER_HALF = 1.96  # spreads, of median less lower tenth, for each share at a normal median
_PER_TENTH = 4.45  # the same at its lower tenth
_FORGOTTEN = 1e-12  # weight up to which an entry is left out


@brief
def follow(values: Any, weights: Any, new: Any, memory: float, out: Any) -> None:
    """Fill entries (m,) moved and stretched towards numbers (n,), see `Sketch.followed`."""
    n, total = len(new), 0.0
    for i in range(len(weights)):
        total += weights[i]
    median, tenth = _level(values, weights, 0.5 * total), _level(values, weights, 0.1 * total)
    spread = median - tenth
    step = spread * n / (n + memory)
    up = step * _PER_HALF * (0.5 - _share_under(new, median))
    down = step * _PER_TENTH * (_share_under(new, tenth) - 0.1)
    factor = max((spread + up + down) / spread, 0.5) if spread > 0.0 else 1.0
    for i in range(len(values)):
        out[i] = median + up + factor * (values[i] - median)


@brief_part
def _level(values: Any, weights: Any, x: float) -> Any:
    """Return the number below which are so many, between the middles of entries."""
    at = run = 0.0
    for i in range(len(values)):
        middle = run + 0.5 * weights[i]
        if middle >= x:
            if i == 0:
                return values[0]
            return values[i - 1] + (x - at) / (middle - at) * (values[i] - values[i - 1])
        at = middle
        run += weights[i]
    return values[len(values) - 1]


@brief_part
def _share_under(values: Any, level: float) -> Any:
    """Return the share of numbers below a level, of equal ones half."""
    twice = 0
    for i in range(len(values)):
        twice += (values[i] < level) + (values[i] <= level)
    return 0.5 * twice / len(values)


@brief
def merge(old: Any, new: Any, order: Any, log_step: float, out: Any) -> Any:
    """Fill the entries (2, m) of a sketch with further ones; returns how many there are.

    Either are values and weights (n,) each; the further ones may stand in any order, which is
    given. Entries with as many numbers below them, but for a step, become one.
    """
    (values, weights), (others, other_weights) = old, new
    m, i, j, below, last = 0, 0, 0, 0.0, 0.0
    while i < len(values) or j < len(order):
        r = order[j] if j < len(order) else 0
        if j == len(order) or (i < len(values) and values[i] <= others[r]):
            value, weight = values[i], weights[i]
            i += 1
        else:
            value, weight = others[r], other_weights[r]
            j += 1
        if not weight > _FORGOTTEN:
            continue
        place = floor(log(max(below + 0.5 * weight, 1e-9)) / log_step)
        below += weight
        if m == 0 or place != last:
            out[0, m], out[1, m] = 0.0, 0.0
            m += 1
            last = place
        out[0, m - 1] += weight * value
        out[1, m - 1] += weight
    for r in range(m):
        out[0, r] /= out[1, r]
        if r > 0:
            out[0, r] = max(out[0, r], out[0, r - 1])  # in order, whatever the rounding
    return m
