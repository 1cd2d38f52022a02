"""Amounts on a scale that is logarithmic, or goes by roots, where that suits them.

The scale is ``unit * arcsinh(x / unit)``, or ``4 * unit * sinh(arcsinh(x / unit) / 4)``.
Amounts far below the unit are what they are on it, those far above go by their logarithms or by
their fourth roots. Every number has a place on it, also one that comes later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expm1

from scstream.core import Floats as Array
from scstream.support import rowwise

FAR = 1e150  # units that are as far as the scale goes


def on_scale(x: Array, unit: Array, root: NDArray[np.bool_]) -> Array:
    """Return the places of amounts (n, d) on the scale."""
    t = np.clip(x / unit, -FAR, FAR)
    size = np.abs(t)
    above = size + t * t / (1.0 + np.sqrt(1.0 + t * t))  # is exp(arcsinh(size)) - 1
    out: Array = np.sign(t) * rowwise.log1p(above)
    if root.any():
        fourth = np.sqrt(np.sqrt(1.0 + above))
        out = np.where(root, np.sign(t) * 2.0 * (fourth - 1.0 / fourth), out)
    return unit * out


def off_scale(y: Array, unit: Array, root: NDArray[np.bool_]) -> Array:
    """Return the amounts at places (n, d) on the scale."""
    t = y / unit
    out: Array = np.sinh(np.where(root, 0.0, t))
    if root.any():
        out = np.where(root, np.sign(t) * np.sinh(_size(t)), out)
    return unit * out


def log_stretch(y: Array, unit: Array, root: NDArray[np.bool_]) -> Array:
    """Return the log of how many units of the data one of the scale is, at places (n, d)."""
    t = y / unit
    out = _log_cosh(np.abs(t))
    if root.any():
        size = _size(t)
        out = np.where(root, _log_cosh(size) - _log_cosh(0.25 * size), out)
    return out


def _size(t: Array) -> Array:
    """Return ``arcsinh`` of amounts in units, at places (n, d) on the scale of roots."""
    w = np.minimum(0.25 * np.abs(t), FAR)
    return 4.0 * rowwise.log1p(w + w * w / (1.0 + np.sqrt(1.0 + w * w)))


def _log_cosh(t: Array) -> Array:
    return t + rowwise.log1p(0.5 * expm1(-2.0 * t))
