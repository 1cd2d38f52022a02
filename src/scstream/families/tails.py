"""The degrees of freedom of heavy-tailed clusters: what is given, and what rows show."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.families.scores import Array
from scstream.families.taming import level_of

START = 2.0  # where learning starts from: heavy tails, so that pieces of a tail are merged
USUAL = 8.0  # what is expected before rows are seen
NORMAL = 1e6  # degrees of freedom that leave no tails
LIGHT = 200.0  # those from which there are none: a row of ten columns then loses .001 nats
HEAVY = 30.0  # degrees of freedom below which tails are clearly heavier than normal ones
PIECES = 60.0  # the same for pieces of heavy tails, which are lighter than the whole
_TRIED = np.array([NORMAL, *np.exp(np.linspace(np.log(300.0), 0.0, 24))])
WORTH = 1.0  # nats by which heavy tails must be better than normal ones
FIRST_WORTH = 3.0  # the same in a first batch: by 1 nat a sample of normal rows in 12 has tails
_SAME = 0.01  # inverses of degrees of freedom that differ by less are the same
_GRAIN = 0.02  # of the logarithm of what is learned: tables are made for each value
_ROUNDS = 4  # of the search for a scale, for each value


def given_df(df: Any) -> float:
    """Return the degrees of freedom to start from, or raise `ValueError`."""
    if isinstance(df, str) and df == "auto":
        return START
    bad = isinstance(df, (bool, str)) or not isinstance(df, (int, float, np.integer, np.floating))
    if bad or not 0.0 < float(df) < np.inf:
        raise ValueError(f'df must be "auto" or a positive number, such as 4.0; got {df!r}.')
    return float(df)


def learned_df(far: Array, d: int, before: float, memory: float, worth: float = WORTH) -> float:
    """Return the degrees of freedom after some rows with squared distances (n,).

    Those before and those that the rows show are averaged by their inverses, the former as if
    they were from so many rows. Distances are known up to a scale. Where heavy tails are not
    better by ``worth`` there are none, and if rows are many nothing else counts.
    """
    level = _log_likelihoods(far, d)
    level[0] += worth
    best = int(np.argmax(level))
    if best == 0 and len(far) > memory:
        return NORMAL
    inverse = 1.0 / _TRIED[best]
    if 0 < best < len(_TRIED) - 1:
        inverse = _peak(1.0 / _TRIED[best - 1 : best + 2], level[best - 1 : best + 2])
    share = len(far) / (len(far) + memory)
    log_df = -np.log((1.0 - share) / before + share * inverse)
    df = float(np.exp(_GRAIN * np.round(log_df / _GRAIN)))
    return df if df < LIGHT else NORMAL


def _log_likelihoods(far: Array, d: int) -> Array:
    """Return the log-likelihoods of squared distances (n,) for each value that is tried.

    Distances are known up to a scale, the best of which some rounds of EM (with an expanded
    parameter) find, beginning with that of the value before.
    """
    out, scale = np.empty(len(_TRIED)), 1.0
    for i, df in enumerate(_TRIED):
        for _ in range(_ROUNDS):
            share = 1.0 / (df * scale + far)
            scale = max(float(far @ share) / (d * float(share.sum())), 1e-300)
        tail = np.log1p(far / (df * scale)).sum()
        out[i] = -0.5 * len(far) * d * np.log(scale) - 0.5 * (df + d) * tail
    out += len(far) * level_of(_TRIED, d)
    return out


def differs(df: float, before: float) -> bool:
    """Whether degrees of freedom are clearly others: by a tenth, unless both are large."""
    return abs(1.0 / df - 1.0 / before) > 0.1 / min(df, before) + _SAME


def _peak(x: Array, y: Array) -> float:
    """Return where the parabola through three points is highest, x ascending."""
    one, two = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = (two - one) / (x[2] - x[0])
    if not bend < 0.0:
        return float(x[1])
    return float(np.clip(0.5 * (x[0] + x[1] - one / bend), x[0], x[2]))
