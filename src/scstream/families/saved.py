"""What a checkpoint saves of a family, and checks of what a family finds of itself in one.

The form of an attribute is a number, "", a vector, "d", or a matrix, "dd": a letter stands for a
number of columns, the same everywhere in a family. "d" are the columns in which it computes, "w"
those of the rows where these are more. "+" behind it means positive, "?" that the attribute may be
absent.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from scstream.families.scores import Array


class Saved:
    """The part of a family that is saved: the constructor's arguments, and what it has learned."""

    kept: ClassVar[Mapping[str, str]] = {}

    def __repr__(self) -> str:
        given = ((k, getattr(self, k)) for k in parameters_of(type(self)))
        parts = ", ".join(f"{k}={v!r}" for k, v in given if v is not None)
        return f"{type(self).__name__}({parts})"

    def to_saved(self) -> dict[str, Any]:
        """Return what a prepared copy knows: numbers, text, lists, arrays, families by name.

        Empty for a family that is not prepared. What follows from the rest is left out.
        """
        mine = vars(self)
        return {name: mine[name] for name in self.kept if name in mine}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes, or raise `ValueError`.

        Called on a family as its constructor makes it. The values come from a file: they are
        checked before use.
        """
        new = copy.copy(self)
        vars(new).update(checked(saved, self.kept))
        return new.remade()

    def check_given(self) -> None:
        """Raise `ValueError` if the constructor's arguments, perhaps from a file, are invalid."""
        return

    def remade(self) -> Self:
        """Return a copy with everything that follows from the saved attributes."""
        return self

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior's hyper-parameters in the user's terms and units."""
        return {name: getattr(self, name) for name in parameters_of(type(self))}


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


def parameters_of(kind: type) -> list[str]:
    """Return the names of what a family's constructor takes."""
    return list(inspect.signature(kind).parameters)
