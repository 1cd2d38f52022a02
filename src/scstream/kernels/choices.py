"""Parts of kernels: exact choices of labels by scores."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import helper, part
from scstream.kernels.elementary import POSSIBLE
from scstream.kernels.labelling import certainty

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
