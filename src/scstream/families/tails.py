"""The degrees of freedom of heavy-tailed clusters: what is given, and what rows show."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from scstream.families.scores import Array

START = 4.0  # where learning starts from: heavy tails, so that pieces of a tail are merged
LEAST, MOST = 1.0, 200.0  # degrees of freedom that may be learned
_STEPS = 24  # between these
_ROUNDS = 30  # of the search for a scale, at most


def given_df(df: Any) -> float:
    """Return the degrees of freedom to start from, or raise `ValueError`."""
    if isinstance(df, str) and df == "auto":
        return START
    bad = isinstance(df, (bool, str)) or not isinstance(df, (int, float, np.integer, np.floating))
    if bad or not 0.0 < float(df) < np.inf:
        raise ValueError(f'df must be "auto" or a positive number, such as 4.0; got {df!r}.')
    return float(df)


def learned_df(far: Array, d: int, before: float, share: float) -> float:
    """Return the degrees of freedom after some rows with squared distances (n,).

    Those before and those that the rows show are averaged by their inverses, of which the latter
    count a share. A row's distance is known up to a scale, which is fitted for each value tried.
    """
    tried = np.exp(np.linspace(np.log(LEAST), np.log(MOST), _STEPS))
    level = np.array([_log_likelihood(far, d, df) for df in tried])
    best = int(np.argmax(level))
    inverse = 1.0 / tried[best]
    if 0 < best < _STEPS - 1:
        inverse = _peak(1.0 / tried[best - 1 : best + 2], level[best - 1 : best + 2])
    return float(1.0 / ((1.0 - share) / before + share * inverse))


def _peak(x: Array, y: Array) -> float:
    """Return where the parabola through three points is highest."""
    a, b, _ = np.polyfit(x - x[1], y, 2)
    return float(np.clip(x[1] - b / (2.0 * a), x[2], x[0]))


def _log_likelihood(far: Array, d: int, df: float) -> float:
    """Return the log-likelihood of squared distances under the best scale."""
    scale = 1.0
    for _ in range(_ROUNDS):
        new = scale * float(((df + d) * far / (df * scale + far)).mean()) / d
        done = abs(new - scale) < 1e-3 * scale
        scale = max(new, 1e-300)
        if done:
            break
    one = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(df * scale)
    return float(len(far) * one - 0.5 * (df + d) * np.log1p(far / (df * scale)).sum())
