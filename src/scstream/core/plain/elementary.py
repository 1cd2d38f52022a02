"""Functions that NumPy does not have."""

from __future__ import annotations

from math import erfc, log, pi

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LARGE = 8.0  # from where Stirling's series is exact to rounding
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def log_gamma(x: Floats) -> Floats:
    """Return the logarithms of gamma(x) for positive x, by Stirling's series."""
    few = x < _LARGE
    u = np.where(few, x * (x + 7.0), 0.0)  # x ... (x + 7): ends taken together in pairs
    factors = np.where(few, u * (u + 6.0) * ((u + 10.0) * (u + 12.0)), 1.0)
    x = np.where(few, x + _LARGE, x)
    w = 1.0 / x
    v, tail = w * w, 0.0 * w
    for term in reversed(_STIRLING):
        tail = term + v * tail
    return (x - 0.5) * np.log(x) - x + 0.5 * log(2.0 * pi) + w * tail - np.log(factors)


def normal_below(t: Floats) -> Floats:
    """Return the mass of a standard normal below each number (m,)."""
    return np.array([0.5 * erfc(each) for each in (-t / np.sqrt(2.0)).tolist()])
