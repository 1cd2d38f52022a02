"""Compiled passes over blocks of rows: labels, sub-labels, and everything added up.

Labels are proposed by scores in float32, see `_tiles` and `screen`. Where rounding could have
changed a label or a second choice, exact scores of the clusters in question settle it.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from scstream.kernels.compiling import helper, kernel, part
from scstream.kernels.labelling import (
    add_by_label,
    best_pair,
    certainty,
    draw_pair,
    tally,
    uniforms,
)
from scstream.kernels.scores import pair_products, student_pairs
from scstream.kernels.screened_tiles import (
    BEST,
    COUNT,
    LEVEL,
    LOG_ERROR,
    NEXT,
    TILE,
    TOTAL,
    WEIGHT_ERROR,
    WHICH,
    best_two,
    cumulate,
    load,
    load_student,
    locate,
)

_POSSIBLE = -36.0  # the log-probability, against the best label's, below which none is drawn
_IN_BITS = _POSSIBLE / float(np.log(2.0))
_EPS = 2.4e-7  # more than the rounding of float32
_TOO_LARGE = 1e3  # an error with which scores may not be numbers


@kernel
def draw_block(
    S: Any, off: Any, T: Any, w: Any, eta: Any, sub_eta: Any, seed: Any, batch: Any, sweep: Any,
    first: Any, z: Any, sub: Any, current: Any, rows: Any, rivals: Any, between: Any,
) -> None:  # fmt: skip
    """Draw labels by ``T @ eta`` and sub-labels by ``T @ sub_eta``, and add everything up.

    ``S`` (k, n) holds the scores in float32, in units of log 2, wrong by ``off`` (n,) at most.
    """
    n = len(z)
    u, own, nothing = np.empty((2, n)), np.empty((n, 2)), np.empty(0)
    second, doubt, sub_doubt = np.empty(n, np.int64), np.empty(n), np.empty(n)
    uniforms(seed, batch, sweep, first, u)
    draw_labels(S, off, T, eta, u[0], z, second, doubt)
    _doubts(T, eta, nothing, nothing, z, second, doubt)
    pair_products(T, sub_eta, z, own)
    draw_pair(own, u[1], sub, sub_doubt)
    tally(z, sub, second, doubt, sub_doubt, w, rows, rivals, between)
    add_by_label(T, w, z, sub, current)


@kernel
def draw_labels(
    S: Any, off: Any, T: Any, eta: Any, u: Any, z: Any, second: Any, doubt: Any
) -> None:
    """Draw labels and find second choices; doubts that are not 0 are NaN, or those of rows settled.

    The state's `COUNT` holds the scores of the labels drawn, infinite where they are not sure.
    """
    n, k = len(z), len(eta)
    state = np.empty(4 * TILE, np.float32)
    cell, run = np.empty(TILE * len(S), np.float32), np.empty(TILE * len(S), np.float32)
    near, score, nothing = np.empty(k, np.int64), np.empty(k), np.empty(0)
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        load(S, start, stop - start, cell, state)
        cumulate(cell, state, run)
        _propose(off[start:stop], u[start:stop], k, run, cell, state, z[start:stop])
        best_two(cell, state)
        for r in range(start, stop):
            i, o = r - start, off[r]
            mine, best, runner = state[COUNT + i], state[BEST + i], state[NEXT + i]
            sure = mine < np.inf
            if sure and _apart(best, runner, o, _EPS):
                second[r] = np.int64(state[WHICH + i])
                doubt[r] = np.nan if best - mine > _IN_BITS - 2.0 * o - 1.0 else 0.0
                continue
            if sure:
                cell[TILE * z[r] + i] = mine
                best, runner = max(mine, best), min(mine, best)
            least = min(best + _IN_BITS, runner) - o - _EPS * abs(runner)
            found = _candidates(cell[i:], o, _EPS, least, k, near)
            _exact(T, r, eta, nothing, nothing, near, score[:found])
            z[r], second[r], doubt[r] = choices(near, score[:found], draw_one(score[:found], u[r]))


@kernel
def _propose(off: Any, u: Any, k: int, run: Any, cell: Any, state: Any, z: Any) -> None:
    """Draw labels, and hide their scores from `best_two`; `COUNT` gets them, or infinity.

    Infinity tells that the uniform is too close to a boundary. With weights wrong by a share,
    the odds of those before it are wrong by a factor; besides there is the rounding of sums.
    """
    rounding = (k + 4) * _EPS
    for i in range(len(z)):
        factor = _factor(off[i])
        state[LEVEL + i] = (u[i] / (factor - (factor - 1.0) * u[i]) - rounding) * state[TOTAL + i]
    locate(run, state)
    for i in range(len(z)):
        a = min(int(state[COUNT + i]), k - 1)
        at, factor = TILE * a + i, _factor(off[i])
        level = factor * u[i] / (1.0 + (factor - 1.0) * u[i]) + rounding
        if off[i] < 0.5 and run[at] > level * state[TOTAL + i]:
            state[COUNT + i] = cell[at]
            cell[at] = -np.inf
        else:
            state[COUNT + i] = np.inf
        z[i] = a


@helper
def _factor(off: float) -> float:
    return (1.0 + off + WEIGHT_ERROR) / (1.0 - off - WEIGHT_ERROR)


@kernel
def best_block(
    S: Any, off: Any, level: Any, slope: Any, T: Any, w: Any, quad: Any, const: Any, power: Any,
    sub_quad: Any, sub_const: Any, sub_power: Any, z: Any, sub: Any, current: Any, rows: Any,
    rivals: Any, between: Any,
) -> None:  # fmt: skip
    """Take the best labels by ``const - power log(T @ quad)``, sub-labels alike, and add up.

    ``S`` (k, n) holds ``T @ quad`` in float32. Scores ``level - slope log2(S)`` by it are wrong
    by ``off`` (n,) at most, a constant aside, and by what the logarithm is.
    """
    n = len(z)
    own, second = np.empty((n, 2)), np.empty(n, np.int64)
    doubt, sub_doubt = np.empty(n), np.empty(n)
    best_labels(S, off, level, slope, T, quad, const, power, z, second, doubt)
    _doubts(T, quad, const, power, z, second, doubt)
    pair_products(T, sub_quad, z, own)
    student_pairs(own, sub_const, sub_power, z)
    best_pair(own, sub, sub_doubt)
    tally(z, sub, second, doubt, sub_doubt, w, rows, rivals, between)
    add_by_label(T, w, z, sub, current)


@kernel
def best_labels(
    S: Any, off: Any, level: Any, slope: Any, T: Any, quad: Any, const: Any, power: Any, z: Any,
    second: Any, doubt: Any,
) -> None:  # fmt: skip
    """Take the best labels, and find second choices and doubts as `draw_labels` does.

    Nobody wants these if ``second`` is empty.
    """
    n, k, seconds = len(z), len(quad), len(second) > 0
    state, cell = np.empty(4 * TILE, np.float32), np.empty(TILE * len(S), np.float32)
    near, score = np.empty(k, np.int64), np.empty(k)
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        load_student(S, start, stop - start, level, slope, cell)
        best_two(cell, state)
        if seconds:
            _hide_best(cell, state, z[start:stop])
            best_two(cell, state)
        for r in range(start, stop):
            i, o = r - start, off[r]
            best, runner, third = state[COUNT + i], state[BEST + i], state[NEXT + i]
            if not seconds:
                z[r] = max(np.int64(state[WHICH + i]), 0)
                best, runner, third = state[BEST + i], state[NEXT + i], -np.inf
            if _apart(best, runner, o, LOG_ERROR) and _apart(runner, third, o, LOG_ERROR):
                if seconds:
                    second[r] = np.int64(state[WHICH + i])
                    likely = runner - best > _POSSIBLE - 2.0 * o - 2.0 * LOG_ERROR * abs(runner)
                    doubt[r] = np.nan if likely else 0.0
                continue
            if seconds:
                cell[TILE * z[r] + i] = best
            least = runner - o - LOG_ERROR * abs(runner)
            found = _candidates(cell[i:], o, LOG_ERROR, least, k, near)
            _exact(T, r, quad, const, power, near, score[:found])
            at = first_best(score[:found])
            if seconds:
                z[r], second[r], doubt[r] = choices(near, score[:found], at)
            else:
                z[r] = near[at]


@kernel
def _hide_best(cell: Any, state: Any, z: Any) -> None:
    """Take the best labels, and hide their scores from `best_two`; `COUNT` gets them."""
    for i in range(len(z)):
        z[i] = max(np.int64(state[WHICH + i]), 0)
        state[COUNT + i] = cell[TILE * z[i] + i]
        cell[TILE * z[i] + i] = -np.inf


# -- rows ---------------------------------------------------------------------------------------


@helper
def _apart(high: float, low: float, off: float, error: float) -> bool:
    """Whether one score is above another, wrong by ``off`` and a relative error as they may be.

    One that is minus infinity is nobody's, unless it was too large for float32.
    """
    nobody = high > low == -np.inf and off < _TOO_LARGE
    return nobody or high - low > 2.0 * off + error * (abs(high) + abs(low))


@kernel
def _candidates(scores: Any, off: float, error: float, least: float, k: int, near: Any) -> int:
    """List the clusters with scores that may be ``least`` or more, and return how many there are.

    The scores of a row are a tile apart; they are wrong by ``off`` and a relative error.
    """
    if not off < _TOO_LARGE:
        off = np.inf
    m = 0
    for c in range(k):
        s = np.float64(scores[TILE * c])
        near[m] = c
        if not s + off + error * abs(s) < least:  # NaN as well
            m += 1
    return m


@kernel
def _exact(T: Any, r: int, eta: Any, const: Any, power: Any, near: Any, score: Any) -> None:
    """Fill the scores of row ``r`` by the clusters listed; without constants they are linear."""
    for i in range(len(score)):
        c = near[i]
        x = 0.0
        for j in range(T.shape[1]):
            x += T[r, j] * eta[c, j]
        score[i] = _student(x, const[c], power[c]) if len(const) > 0 else x


@kernel
def _doubts(T: Any, eta: Any, const: Any, power: Any, z: Any, second: Any, doubt: Any) -> None:
    """Replace doubts that are NaN."""
    for i in range(len(z)):
        if doubt[i] == doubt[i]:
            continue
        a, b = z[i], second[i]
        x, y = 0.0, 0.0
        for j in range(T.shape[1]):
            x += T[i, j] * eta[a, j]
            y += T[i, j] * eta[b, j]
        if len(const) > 0:
            x, y = _student(x, const[a], power[a]), _student(y, const[b], power[b])
        doubt[i] = _doubt(x, y)


@helper
def _student(q: float, const: float, power: float) -> float:
    return const - power * log(max(q, 1.0))


@helper
def _doubt(chosen: float, other: float) -> float:
    """Return minus the log-probability of a score against another, 0 if they are no numbers."""
    gap = other - chosen
    return certainty(gap) if gap > _POSSIBLE else 0.0


@part
def draw_one(score: Any, u: float) -> int:
    """Return the place of the score drawn by a uniform, 0 if they are no numbers."""
    top, total, run = -np.inf, 0.0, 0.0
    for s in score:
        top = s if s > top else top
    last = 0
    for j in range(len(score)):
        if score[j] - top > _POSSIBLE:
            total += exp(score[j] - top)
            last = j
    for j in range(len(score)):
        if score[j] - top > _POSSIBLE:
            run += exp(score[j] - top)
            if run > u * total:
                return j
    return last


@part
def first_best(score: Any) -> int:
    """Return the place of the best score, the first of equals."""
    at = 0
    for j in range(1, len(score)):
        if score[j] > score[at]:
            at = j
    return at


@part
def choices(near: Any, score: Any, at: int) -> Any:
    """Return the label at a place, the best other or -1, and the doubt."""
    b = -1
    best = -np.inf
    for j in range(len(score)):
        if j != at and score[j] > best:
            b, best = j, score[j]
    if b < 0:
        return near[at], -1, 0.0
    return near[at], near[b], _doubt(score[at], best)
