"""Logarithms, exponentials and log gammas, written out.

Loops over those of many numbers become vector code; the log gamma function of the C library takes
several times as long.
"""

from __future__ import annotations

from math import factorial, log, pi

import numpy as np

from scstream.kernels.arguments import Floats
from scstream.kernels.compiling import in_order, part

# Nats by which a label leads that is taken for certain. At that lead one row in seventy thousand
# million would be drawn otherwise, and what doubt there is adds nothing.
CERTAIN = 25.0
POSSIBLE = -CERTAIN
ONE = int(np.float64(1.0).view(np.int64))
MANTISSA = 2**52 - 1
LN2 = log(2.0)

_STEPS = 64  # of the numbers between 1 and 2
_STEP_AT, _EXPONENT_AT, _BIAS = 46, 52, 1023  # places of bits
_NEAR = np.array([1.0, *(1.0 / (1.0 + (i + 0.5) / _STEPS) for i in range(1, _STEPS))])
_NEAR_LOG = -np.log(_NEAR)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52  # what is added to it loses its fraction
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(i) for i in range(2, 14)
)
_LARGE = 8.0  # from where Stirling's series is exact to rounding
_HALF_LOG_2PI = 0.5 * log(2.0 * pi)


@in_order
def logs(x: Floats, m: int) -> None:
    """Replace m numbers of at least 1 by their logarithms, to rounding.

    Those of smaller positive numbers are off by as much as theirs.

    A number is ``2^e g``, and g near the inverse of a number of the table, which is 1 for the
    first: there the logarithm is as exact as far from 1.
    """
    for j in range(m):
        bits = np.float64(x[j]).view(np.int64)
        i = (bits >> _STEP_AT) & (_STEPS - 1)
        r = np.int64((bits & MANTISSA) | ONE).view(np.float64) * _NEAR[i] - 1.0
        s = r * r
        rest = (-1.0 / 2.0 + r * (1.0 / 3.0)) + s * (
            (-1.0 / 4.0 + r * (1.0 / 5.0)) + s * ((-1.0 / 6.0 + r * (1.0 / 7.0)) - s * (1.0 / 8.0))
        )
        e = np.float64((bits >> _EXPONENT_AT) - _BIAS)
        x[j] = e * LN2 + (_NEAR_LOG[i] + (r + s * rest))


@in_order
def exponentials(x: Floats, m: int) -> None:
    """Replace m numbers below 1 by their exponentials, to rounding; 0 if not above `POSSIBLE`."""
    for j in range(m):
        v = x[j] if x[j] > POSSIBLE else POSSIBLE
        t = v * (1.0 / LN2) + _ROUND
        e = t - _ROUND
        r = v - e * _LN2_HIGH - e * _LN2_LOW
        s = r * r
        high = _C8 + _C9 * r + s * (_C10 + _C11 * r + s * (_C12 + _C13 * r))
        rest = s * (_C2 + _C3 * r + s * (_C4 + _C5 * r + s * (_C6 + _C7 * r + s * high)))
        scale = np.int64((np.float64(t).view(np.int64) << _EXPONENT_AT) + ONE).view(np.float64)
        x[j] = (1.0 + (r + rest)) * scale if x[j] > POSSIBLE else 0.0


@part
def log_gamma(x: float) -> float:
    """Return the logarithm of gamma(x) for positive x, several times faster than the library."""
    if x < _LARGE:
        return _stirling(x + _LARGE, log(x + _LARGE)) - log(_eight_factors(x))
    return _stirling(x, log(x))


@in_order
def log_gammas(x: Floats, m: int, room: Floats) -> None:
    """Replace m positive numbers by those logarithms; there is room for two rows of as many."""
    large, factors = room[0], room[1]
    small = 0
    for j in range(m):
        few = x[j] < _LARGE
        small += few
        large[j] = x[j] + _LARGE if few else x[j]
        factors[j] = _eight_factors(x[j]) if few else 1.0
        x[j] = large[j]
    logs(large, m)
    if small > 0:
        logs(factors, m)
        for j in range(m):
            x[j] = _stirling(x[j], large[j]) - factors[j]
    else:
        for j in range(m):
            x[j] = _stirling(x[j], large[j])


@part
def _stirling(x: float, log_x: float) -> float:
    """Return it by Stirling's series, which is exact to rounding from 8 on."""
    w = 1.0 / x
    v = w * w
    tail = 1.0 / 1188.0 - v * (691.0 / 360360.0 - v / 156.0)
    tail = 1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0 - v * tail)))
    return (x - 0.5) * log_x - x + _HALF_LOG_2PI + w * tail


@part
def _eight_factors(x: float) -> float:
    """Return ``x (x + 1) ... (x + 7)``: the ends of the product taken together in pairs."""
    u = x * (x + 7.0)
    return u * (u + 6.0) * ((u + 10.0) * (u + 12.0))
