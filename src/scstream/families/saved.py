"""Checks of what families find of themselves in a checkpoint.

The form of an attribute is a number, "", a vector, "d", or a matrix, "dd": a letter stands for a
number of columns, the same everywhere in a family. "d" are the columns in which it computes, "w"
those of the rows where these are more. "+" behind it means positive, "?" that the attribute may be
absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scstream.families.scores import Array


def checked(saved: Mapping[str, Any], forms: Mapping[str, str]) -> dict[str, Any]:
    """Return attributes by name, all of them sound, or raise `ValueError`."""
    needed = {name for name, form in forms.items() if not form.endswith("?")}
    if not needed <= set(saved) <= set(forms):
        raise ValueError(f"the family's attributes are {sorted(saved)}, not {sorted(forms)}")
    out: dict[str, Any] = {}
    size: dict[str, int] = {}
    for name, form in forms.items():
        if name not in saved:
            continue
        form = form.removesuffix("?")
        positive, axes = form.endswith("+"), form.removesuffix("+")
        value = numbers(saved[name], name, len(axes), positive=positive)
        if axes:
            expected = tuple(map(size.setdefault, axes, value.shape))
            if value.shape != expected:
                raise ValueError(f"{name} has shape {value.shape}, not {expected}")
        out[name] = value if axes else float(value)
    return out


def numbers(value: Any, name: str, axes: int, *, positive: bool = False) -> Array:
    """Return finite numbers, not none of them, with that many axes."""
    kinds = np.ndarray if axes else int | float
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError(f"{name} is of type {type(value).__name__}")
    array = np.asarray(value)
    out: Array = array if array.dtype == np.float64 else array.astype(np.float64)
    if array.dtype.kind not in "fi" or out.ndim != axes or out.size == 0:
        raise ValueError(f"{name} has the shape {out.shape} and the type {array.dtype}")
    if not np.all(np.isfinite(out)) or (positive and np.any(out <= 0)):
        raise ValueError(f"{name} is not finite{' and positive' if positive else ''}")
    return out
