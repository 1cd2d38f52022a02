"""Compiled kernel that says of rows what a model makes of them."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from scstream.kernels.compiling import bare


@bare
def assess(scores: Any, k: Any, place: Any, best: Any, out: Any) -> None:
    """Find for each row the best label, the probability of the one asked for, and the density.

    Column k of the scores (n, c) is a cluster yet to be born, which is not a label. What follows,
    the outlier component, is: its place is k. What is less probable by a factor of 4e15 adds
    nothing.
    """
    n, c = scores.shape
    for i in range(n):
        high = -np.inf
        best[i] = 0
        for j in range(c):
            if j != k and scores[i, j] > high:
                high = scores[i, j]
                best[i] = j if j < k else k
        known = 0.0
        for j in range(c):
            gap = scores[i, j] - high
            if j != k and gap > -36.0:
                known += exp(gap)
        unborn = scores[i, k] - high
        if unborn > 36.0:
            out[i, 1] = scores[i, k]
        else:
            out[i, 1] = high + log(known + exp(unborn))
        at = best[i] if place[i] == -1 else place[i]
        if at < 0 or (at == k and c == k + 1):
            out[i, 0] = 0.0
        else:
            out[i, 0] = exp(scores[i, at if at < k else k + 1] - high) / known
