"""Compiled divisions of the clusters of a small batch: tried by their points, and judged."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from scstream.kernels import cuts
from scstream.kernels.arguments import (
    Division,
    Floats,
    Levels,
    Prior,
    Ratio,
    Rows,
    Scores,
    Workspace,
)
from scstream.kernels.compiling import bare, part
from scstream.kernels.gaussian_moves import Choice, judged
from scstream.kernels.small_batch import predictive
from scstream.kernels.small_rows import divide_rows
from scstream.kernels.small_scratch import block_of, order_of, sort
from scstream.kernels.workspace import line, next_line, table

# what `divide` may find: a past and a present that had better be set apart, a clear division, and
# clusters that took the one that was tried
APART, CLEAR, TAKEN = 1, 2, 4


@bare
def divide(
    rows: Any, past: Any, now: Any, who: Any, prior: Any, how: Any, limits: Any, ratio: Any,
    room: Any, out: Any,
) -> Any:  # fmt: skip
    """Try a new division of the points of clusters, and judge it, see `gaussian_moves.judged`.

    The sub-labels of ``rows`` are those that are tried. Past and present are sums (k, 2, p) and
    doubts (k, k). ``who`` are the clusters that are chosen (k,), the attempts (k,) made so far, to
    which those made here are added, a member (k, p) of each cluster, and whether log marginals are
    known; ``how`` is how many axes and rounds are tried, and whether only what is better is taken:
    then clusters without points are not chosen. ``limits`` are how many deviations
    are certain, and how much doubt of a point is clear. Fills ``out``: sums and doubts of what is
    tried, and log marginals. Returns how many matrices fail, or else less by each of `APART`,
    `CLEAR` and `TAKEN` that holds.
    """
    prior, rows, room = Prior(*prior), Rows(*rows), Workspace(*room)
    past, now, tried, levels = Division(*past), Division(*now), Division(*out[0]), Levels(*out[1])
    chosen, attempt, member, known = who
    axes, rounds, better = how
    k, m, code = len(chosen), 0, 0
    for r in range(k):
        if better and not now.sums[r, 0, 0] + now.sums[r, 1, 0] > 0.0:
            chosen[r] = 0
    failed = _tried(rows, now.sums, (chosen, attempt, member), prior, (axes, rounds), ratio[0],
                    room, tried)  # fmt: skip
    if failed > 0:
        return failed
    which = line(room.ints, np.int64(0), k)[0]
    for r in range(k):
        which[m] = r
        m += not known or chosen[r] > 0
        attempt[r] += chosen[r]
        first, second = tried.sums[r, 0, 0], tried.sums[r, 1, 0]
        clear = tried.doubt[r] < limits[1] * (first + second)
        if clear and min(first, second) >= tried.sums.shape[2]:
            code = -CLEAR
    choice = Choice(which[:m], chosen, better)
    found = judged(choice, tried, past, now, prior, limits[0], Ratio(*ratio), room.floats, levels)
    if found > 0:
        return found
    taken = False
    for r in range(k):
        taken = taken or chosen[r] > 0
    return code - (APART if found < 0 else 0) - (TAKEN if taken else 0)


@part
def _tried(
    rows: Rows, now: Floats, who: Any, prior: Prior, how: Any, alpha: float, room: Workspace,
    tried: Division,
) -> Any:  # fmt: skip
    """Try a new division of the points of clusters with present sums (k, 2, p).

    Returns how many matrices fail.
    """
    (chosen, attempt, member), (axes, rounds) = who, how
    k, p = len(now), now.shape[2]
    present, at = table(room.floats, np.int64(0), k, p)
    rest = Workspace(room.floats[next_line(at) :], room.ints, room.singles)
    for r in range(k):
        for q in range(p):
            present[r, q] = now[r, 0, q] + now[r, 1, q]
    directions = tried.sums.reshape(2 * k, p)[:k]
    d = prior.columns
    cuts.directions(present, member, attempt, axes, prior.row, d, rest.floats, directions)
    return _divide(rows, chosen, prior, rounds, alpha, rest, tried)


@part
def _divide(
    rows: Rows, chosen: Any, prior: Prior, rounds: int, alpha: float, room: Workspace,
    tried: Division,
) -> Any:  # fmt: skip
    """Try a new division of the points of chosen clusters: by a cut, then by predictives.

    The first k rows of what is tried are the cuts. Returns how many matrices fail.
    """
    k, _, p = tried.sums.shape
    eta, at = table(room.floats, np.int64(0), 2 * k, p)
    each, at = table(room.floats, at, np.int64(3), 2 * k)
    log_sub, by = each[0], Scores(eta, each[1], each[2])
    rest, pairs = room.floats[next_line(at) :], tried.sums.reshape(2 * k, p)
    order, start, at = order_of(room.ints, len(rows.label), k)
    sort(rows.label, k, order, start)
    for r in range(k):
        for q in range(p):
            eta[2 * r, q], eta[2 * r + 1, q] = 0.0, pairs[r, q]
    pairs[:] = 0.0
    failed = 0
    for left in range(rounds, -1, -1):
        if left < rounds:
            for r in range(2 * k):
                log_sub[r] = log(pairs[r, 0] + 0.5 * alpha)
            failed += predictive(pairs, prior, log_sub, rest, by)
            pairs[:] = 0.0
        plain, last = left == rounds, left == 0
        block, at = block_of(rest, p)
        divide_rows(rows, chosen, order, start, by, (plain, last), prior.columns, block, tried)
    return failed
