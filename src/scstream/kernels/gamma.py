"""The logarithm of the gamma function: the one of the C library takes several times as long."""

from __future__ import annotations

from math import lgamma, log, pi
from typing import Any

from scstream.kernels.compiling import part

_LEAST = 12.0  # from where the series below is exact to rounding
_HALF_LOG_2PI = 0.5 * log(2.0 * pi)


@part
def log_gamma(x: float) -> Any:
    """Return the logarithm of gamma(x) for positive x, by Stirling's series where it is large."""
    if not x >= _LEAST:
        return lgamma(x)
    y = 1.0 / (x * x)
    tail = y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0))
    return (x - 0.5) * log(x) - x + _HALF_LOG_2PI + (1.0 / 12.0 - y * (1.0 / 360.0 - tail)) / x
