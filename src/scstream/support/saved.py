"""Checks of attributes that come from a file.

The form of an attribute is a number, "", a vector, "d", or a matrix, "dd": a letter stands for a
number of columns, the same everywhere in an object. "+" behind it means positive, "~" that entries
may be NaN, "?" that the attribute may be absent. Of "any" kind is what is checked later.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def checked(
    saved: Mapping[str, Any], forms: Mapping[str, str], sizes: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return attributes by name, all of them sound, or raise `ValueError`."""
    needed = {name for name, form in forms.items() if not form.endswith("?")}
    if not needed <= set(saved) <= set(forms):
        raise ValueError(f"the attributes are {sorted(saved)}, not {sorted(forms)}")
    out: dict[str, Any] = {}
    size = dict(sizes or {})
    for name, form in forms.items():
        if name not in saved:
            continue
        if form.startswith("any"):
            out[name] = saved[name]
            continue
        axes = form.rstrip("?+~")
        value = numbers(saved[name], name, len(axes), positive="+" in form, gaps="~" in form)
        if axes:
            expected = tuple(map(size.setdefault, axes, value.shape))
            if value.shape != expected:
                raise ValueError(f"{name} has shape {value.shape}, not {expected}")
        out[name] = value if axes else float(value)
    return out


def numbers(
    value: Any, name: str, axes: int, *, positive: bool = False, gaps: bool = False
) -> Array:
    """Return finite numbers, or gaps (NaN) if there may be some, with that many axes."""
    kinds = np.ndarray if axes else int | float
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError(f"{name} is of type {type(value).__name__}")
    array = np.asarray(value)
    out: Array = array if array.dtype == np.float64 else array.astype(np.float64)
    if array.dtype.kind not in "fi" or out.ndim != axes or out.size == 0:
        raise ValueError(f"{name} has the shape {out.shape} and the type {array.dtype}")
    if not np.all(np.isfinite(out) | (np.isnan(out) & gaps)) or (positive and np.any(out <= 0)):
        raise ValueError(f"{name} is not finite{' and positive' if positive else ''}")
    return out


def parameters_of(kind: type) -> list[str]:
    """Return the names of what a constructor takes."""
    return list(inspect.signature(kind).parameters)
