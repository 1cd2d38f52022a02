"""Choices of labels by scores: proposed in float32 for a tile, exact in float64 for one row.

`screened_tiles` says what is kept of a tile.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import helper, part
from scstream.kernels.elementary import POSSIBLE
from scstream.kernels.labelling import certainty
from scstream.kernels.screened_tiles import (
    BEST,
    COUNT,
    LEVEL,
    NEXT,
    TILE,
    TOO_LARGE,
    TOTAL,
    WEIGHT_ERROR,
    WHICH,
    locate,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

IN_BITS = POSSIBLE / float(np.log(2.0))
SINGLE = 2.4e-7  # more than the rounding of float32


# -- proposals ----------------------------------------------------------------------------------


@part
def propose(
    off: Floats, u: Floats, k: int, run: Singles, cell: Singles, state: Singles, z: Ints
) -> None:
    """Draw labels, and hide their scores from `best_two`; `COUNT` gets them, or infinity.

    Infinity says that the uniform is too close to a boundary. With weights wrong by a share,
    the odds of those before it are wrong by a factor; besides there is the rounding of sums.
    """
    for i in range(len(z)):
        state[LEVEL + i] = levels(u[i], off[i], k)[0] * state[TOTAL + i]
    locate(run, state)
    for i in range(len(z)):
        a = min(int(state[COUNT + i]), k - 1)
        at = TILE * a + i
        if off[i] < 0.5 and run[at] > levels(u[i], off[i], k)[1] * state[TOTAL + i]:
            state[COUNT + i] = cell[at]
            cell[at] = -np.inf
        else:
            state[COUNT + i] = np.inf
        z[i] = a


@helper
def levels(u: float, off: float, k: int) -> Any:
    """Return the shares of k weights between which a uniform may lie, given how far scores are off.

    The running sums of exact weights that it is between are on either side of these.
    """
    factor = (1.0 + off + WEIGHT_ERROR) / (1.0 - off - WEIGHT_ERROR)
    rounding = (k + 4) * SINGLE
    return (
        u / (factor - (factor - 1.0) * u) - rounding,
        factor * u / (1.0 + (factor - 1.0) * u) + rounding,
    )


@part
def take_best(cell: Singles, state: Singles, k: int, hide: bool, z: Ints) -> None:
    """Take the best labels, and hide their scores from `best_two` if asked: `COUNT` gets them."""
    for i in range(len(z)):
        z[i] = min(max(int(state[WHICH + i]), 0), k - 1)
        if hide:
            at = TILE * z[i] + i
            state[COUNT + i] = cell[at]
            cell[at] = -np.inf


@helper
def is_sure(state: Singles, i: int, off: float, error: float, drawn: bool, seconds: bool) -> Any:
    """Whether the label proposed for row i of a tile, and the second choice, are beyond doubt."""
    mine, best, runner = state[COUNT + i], state[BEST + i], state[NEXT + i]
    if not seconds:
        return _apart(best, runner, off, error)
    own = mine < np.inf if drawn else _apart(mine, best, off, error)
    return own and _apart(best, runner, off, error)


@helper
def is_doubtful(gap: float, slack: float) -> bool:
    """Whether a label may be in doubt whose second choice scores so much more, wrong by a slack."""
    return gap > IN_BITS - 2.0 * slack - 1.0


@helper
def _apart(high: float, low: float, off: float, error: float) -> bool:
    """Whether one score is above another, wrong by ``off`` and a relative error as they may be.

    One that is minus infinity is nobody's, unless it was too large for float32.
    """
    nobody = high > low == -np.inf and off < TOO_LARGE
    return nobody or high - low > 2.0 * off + error * (abs(high) + abs(low))


# -- exact choices ------------------------------------------------------------------------------


@part
def listed(
    cell: Singles, state: Singles, i: int, z: int, off: float, error: float, drawn: bool,
    seconds: bool, k: int, near: Ints,
) -> int:  # fmt: skip
    """List the components that may be the label of row i, or second; return how many they are."""
    mine, best, runner = state[COUNT + i], state[BEST + i], state[NEXT + i]
    if seconds and mine < np.inf:
        cell[TILE * z + i] = mine  # which was hidden
        best, runner = max(mine, best), min(mine, best)
    least = (min(best + IN_BITS, runner) if drawn else runner) - off - error * abs(runner)
    if not off < TOO_LARGE:
        off = np.inf
    m = 0
    for c in range(k):
        s = np.float64(cell[TILE * c + i])
        near[m] = c
        m += not s + off + error * abs(s) < least  # NaN as well
    return m


@helper
def finished(x: float, const: Floats, power: Floats, c: int) -> Any:
    """Return the score that a product of statistics and parameters makes."""
    student = len(power) > 0 and power[c] > 0.0
    return const[c] - power[c] * log(max(x, 1.0)) if student else x


@helper
def doubt_of(chosen: float, other: float) -> float:
    """Return minus the log-probability of a score against another, 0 if they are no numbers."""
    gap = other - chosen
    return certainty(gap) if gap > POSSIBLE else 0.0


@part
def draw_one(score: Floats, u: float) -> int:
    """Return the place of the score drawn by a uniform, 0 if they are no numbers."""
    top, total, run = -np.inf, 0.0, 0.0
    for s in score:
        top = s if s > top else top
    last = 0
    for j in range(len(score)):
        if score[j] - top > POSSIBLE:
            total += exp(score[j] - top)
            last = j
    for j in range(len(score)):
        if score[j] - top > POSSIBLE:
            run += exp(score[j] - top)
            if run > u * total:
                return j
    return last


@part
def first_best(score: Floats) -> int:
    """Return the place of the best score, the first of equals."""
    at = 0
    for j in range(1, len(score)):
        if score[j] > score[at]:
            at = j
    return at


@part
def other(near: Ints, score: Floats, at: int) -> Any:
    """Return the best label other than that at a place, or -1, and the doubt."""
    b = -1
    best = -np.inf
    for j in range(len(score)):
        if j != at and score[j] > best:
            b, best = j, score[j]
    if b < 0:
        return -1, 0.0
    return near[b], doubt_of(score[at], best)
