"""Checks of hyper-parameters that the user gives; where there is none, the default is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def as_floats(value: Any, name: str) -> Array:
    """Return a hyper-parameter as numbers, or say which one is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number or an array of them; got {value!r}.") from error


def finite_vector(value: ArrayLike | None, d: int, name: str, default: ArrayLike = 0.0) -> Array:
    """Return a hyper-parameter (d,) from a number, or one for each column."""
    out = _vector(default if value is None else value, d, name)
    if not np.all(np.isfinite(out)):
        raise ValueError(f"{name} must be finite.")
    return out


def positive_vector(value: ArrayLike | None, d: int, name: str, default: ArrayLike = 1.0) -> Array:
    """Return a hyper-parameter (d,) from a positive number, or one for each column."""
    out = _vector(default if value is None else value, d, name)
    if not np.all(np.isfinite(out)) or np.any(out <= 0):
        raise ValueError(f"{name} must be positive and finite; got {value!r}.")
    return out


def positive_number(value: float | None, name: str, default: float) -> float:
    """Return a hyper-parameter that is a single positive number."""
    value = default if value is None else value
    if as_floats(value, name).ndim or not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be positive and finite; got {value}.")
    return float(value)


def _vector(value: ArrayLike, d: int, name: str) -> Array:
    out = as_floats(value, name)
    if out.ndim > 1 or (out.ndim == 1 and len(out) != d):
        raise ValueError(
            f"{name} must be a number or have one entry for each of the {d} columns; "
            f"it has shape {out.shape}."
        )
    return np.broadcast_to(out, d).copy()
