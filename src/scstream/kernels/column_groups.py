"""Compiled kernel of a column's mixture: EM for a few groups, normal or negative binomial."""

from __future__ import annotations

from math import exp, log, log1p
from typing import Any

import numpy as np

from scstream.kernels.compiling import bare, part
from scstream.kernels.elementary import log_gamma

LEAST_ROWS = 1e-9  # of a group that has none
_LEAST_RATE = 1e-3  # of counts
_LEAST_DISPERSION = 1e-6  # with which counts are Poisson
_NOTHING = -50.0  # nats below the best group, from which on a group has no part of a point
_TWO_PI = 2.0 * np.pi


@bare
def refined(
    y: Any, times: Any, narrow: Any, counts: bool, sweeps: int, parts: Any, moments: Any
) -> float:
    """Refine the parts (k, m) that groups have of points (m,), each of which counts many times.

    Returns the log-density of the points under the groups of the last sweep. Fills the moments
    (5, k) of the new parts: rows, means and variances, and room. A variance has that of the
    group's start (``narrow``) as one more row: none is that of a point or two.
    """
    k, m = parts.shape
    n = 0.0
    for i in range(m):
        n += times[i]
    density = 0.0
    for _ in range(sweeps):
        _fill_moments(y, times, narrow, parts, moments)
        r = _fill_densities(moments, n, counts)
        density = 0.0
        for i in range(m):
            highest = -np.inf
            for g in range(k):
                away = y[i] if counts else (y[i] - moments[1, g]) ** 2
                parts[g, i] = moments[3, g] + moments[4, g] * away
                highest = max(highest, parts[g, i])
            total = 0.0
            for g in range(k):
                below = parts[g, i] - highest
                parts[g, i] = exp(below) if below > _NOTHING else 0.0
                total += parts[g, i]
            one = 1.0 / total
            for g in range(k):
                parts[g, i] *= one
            base = log_gamma(y[i] + r) - log_gamma(r) - log_gamma(y[i] + 1.0) if counts else 0.0
            density += times[i] * (base + highest + log(total))
    _fill_moments(y, times, narrow, parts, moments)
    return density


@part
def _fill_moments(y: Any, times: Any, narrow: Any, parts: Any, moments: Any) -> None:
    """Fill the rows, means and variances of groups."""
    k, m = parts.shape
    for g in range(k):
        rows, total = LEAST_ROWS, 0.0
        for i in range(m):
            w = parts[g, i] * times[i]
            rows += w
            total += w * y[i]
        mean, squares = total / rows, narrow[g]
        for i in range(m):
            squares += parts[g, i] * times[i] * (y[i] - mean) ** 2
        moments[0, g], moments[1, g], moments[2, g] = rows, mean, squares / (rows + 1.0)


@part
def _fill_densities(moments: Any, n: float, counts: bool) -> float:
    """Fill the log-density of groups, their shares included, as a constant and a factor.

    The factor is that of squared distances, of counts themselves for those: there returns the
    shape, ``1 / dispersion``, which all groups share.
    """
    k = moments.shape[1]
    if not counts:
        for g in range(k):
            moments[3, g] = log(moments[0, g] / n) - 0.5 * log(_TWO_PI * moments[2, g])
            moments[4, g] = -0.5 / moments[2, g]
        return 0.0
    wider, squares = 0.0, 0.0
    for g in range(k):
        mean = max(moments[1, g], _LEAST_RATE)
        wider += moments[0, g] * (moments[2, g] - mean)
        squares += moments[0, g] * mean * mean
    r = 1.0 / max(wider / squares, _LEAST_DISPERSION)
    for g in range(k):
        mean = max(moments[1, g], _LEAST_RATE)
        moments[3, g] = log(moments[0, g] / n) - r * log1p(mean / r)
        moments[4, g] = log(mean / (mean + r))
    return r
