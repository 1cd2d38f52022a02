"""Compiled passes over rows whose scores are sums of rows of a table: labels and second choices.

The sums are taken in single precision first, since reading the table is what takes the time.
What that leaves open, sums in double precision of the components in question settle.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from scstream.kernels.compiling import helper, kernel, part
from scstream.kernels.count_scores import EIGHT, add_row
from scstream.kernels.labelling import LIKELY, SLACK, best_three, certainty, pick_one, weigh
from scstream.kernels.screened_blocks import choices, draw_one, first_best

_REACH = 25.0  # nats below the best from which nobody's chances are more than rounding
_GRAIN = 1e-9  # that a doubt may be off
_ROUNDING = 1.1 * 2.0**-24  # of a sum in single precision, relative
_LOOSE = 1.0  # nats of rounding that leave too much open


@kernel
def draw_rows(
    which: Any, first: Any, table: Any, narrow: Any, length: Any, u: Any, z: Any, second: Any,
    doubt: Any,
) -> None:  # fmt: skip
    """Draw labels (n,), and find the best others and doubts, as `_kernels.draw` does.

    ``narrow`` is the table (m, k) in single precision; what is added up for a row comes to
    ``length`` (n,) at most, signs aside.
    """
    k = table.shape[1]
    row, near, score = np.empty(k, np.float32), np.empty(k + 1, np.int64), np.empty(k)
    for i in range(len(z)):
        start, stop = first[i], first[i + 1]
        off, least = 2.0 * _rounding(start, stop, length[i]), -np.inf
        if off < _LOOSE:
            add_row(which, start, stop, narrow, row)
            best, top, other, runner, third = best_three(row)
            pick, sure = _drawn(row, best, top, runner, off, u[i], near, score)
            if sure and third < runner - off:
                other = other if pick == best else best
                gap = row[other] - row[pick]
                z[i], second[i] = pick, other
                doubt[i] = _doubt(which, start, stop, table, pick, other, gap, off)
                continue
            least = min(top - _REACH, runner) - off
        m = _listed(which, start, stop, table, row, least, near, score)
        z[i], second[i], doubt[i] = choices(near, score[:m], draw_one(score[:m], u[i]))


@kernel
def best_rows(
    which: Any, first: Any, table: Any, narrow: Any, length: Any, z: Any, second: Any, doubt: Any
) -> None:
    """Take the best labels; the rest as in `draw_rows`, unless it is empty: nobody wants it."""
    k, seconds = table.shape[1], len(second) > 0
    row, near, score = np.empty(k, np.float32), np.empty(k + 1, np.int64), np.empty(k)
    for i in range(len(z)):
        start, stop = first[i], first[i + 1]
        off, least = 2.0 * _rounding(start, stop, length[i]), -np.inf
        if off < _LOOSE:
            add_row(which, start, stop, narrow, row)
            z[i], top, other, runner, third = best_three(row)
            if runner < top - off and (third < runner - off or not seconds):
                if seconds:
                    second[i] = other
                    doubt[i] = _doubt(which, start, stop, table, z[i], other, runner - top, off)
                continue
            least = runner - off
        m = _listed(which, start, stop, table, row, least, near, score)
        at = first_best(score[:m])
        if seconds:
            z[i], second[i], doubt[i] = choices(near, score[:m], at)
        else:
            z[i] = near[at]


@part
def _drawn(
    row: Any, best: int, top: float, runner: float, off: float, u: float, near: Any, weight: Any
) -> Any:
    """Return the label drawn by scores that are wrong by ``off``, and whether it is sure.

    Mostly the others together, all of which are below the runner-up, would not change it.
    """
    k = len(row)
    rest = k * exp(min(runner - top + off, 0.0))
    if rest < u < 1.0 - rest:
        return best, True
    m, total = weigh(row, top, LIKELY, near, weight)
    at, sure = pick_one(u, total, SLACK * (k - m) + 2.0 * off * total, weight, m)
    return near[at], sure


@helper
def _rounding(start: int, stop: int, length: float) -> float:
    """Return by how much the sum of a run in single precision may be wrong."""
    return _ROUNDING * ((stop - start) // EIGHT + 4) * length


@part
def _listed(
    which: Any, start: int, stop: int, table: Any, row: Any, least: float, near: Any, score: Any
) -> Any:
    """List the components with ``least`` or more in a row, with their scores; return how many."""
    m = 0
    for c in range(len(row)):  # without a branch: which ones they are cannot be foreseen
        near[m] = c
        m += not row[c] < least
    if m == len(row):
        add_row(which, start, stop, table, score)
        return m
    for j in range(m):
        score[j] = _sum_at(which, start, stop, table, near[j])
    return m


@part
def _doubt(
    which: Any, start: int, stop: int, table: Any, pick: int, other: int, gap: float, off: float
) -> Any:
    """Return the doubt about a label that leads another by ``-gap``, known up to ``off``."""
    if other < 0:
        return 0.0
    if off * exp(min(gap, 0.0)) > _GRAIN:
        gap = _sum_at(which, start, stop, table, other) - _sum_at(which, start, stop, table, pick)
    return certainty(gap)


@part
def _sum_at(which: Any, start: int, stop: int, table: Any, c: int) -> Any:
    """Return the sum of one column's entries in the rows with the numbers in a run."""
    total = 0.0
    for q in range(start, stop):
        total += table[np.uint32(which[q]), c]
    return total
