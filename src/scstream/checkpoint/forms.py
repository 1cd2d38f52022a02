"""What the entries of a checkpoint must be: a form returns a value that fits it, or raises.

The values come from a file that someone may have forged: numbers, text, lists, dicts, arrays,
families. Shapes of arrays name sizes by letters: a capital stands for the same size in the whole
model, another letter for the same in one object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from scstream.checkpoint.errors import require
from scstream.checkpoint.values import PARTS

MOST = 2**62  # batches, ids, points
POSITIVE = 5e-324  # the least number above 0
BELOW_ONE = 1.0 - 2.0**-53  # the largest number below 1
_LARGEST = sys.float_info.max
Form = Callable[[Any, dict[str, int], str], Any]


def number(low: float = -_LARGEST, high: float = _LARGEST) -> Form:
    """Return the form of a finite number within bounds."""

    def form(value: Any, sizes: dict[str, int], name: str) -> Any:
        sound = type(value) in (int, float) and low <= value <= high
        require(sound, f"{name} is not a number from {low} to {high}")
        return float(value)

    return form


def whole(low: int = 0, high: int = MOST) -> Form:
    """Return the form of a whole number within bounds."""

    def form(value: Any, sizes: dict[str, int], name: str) -> Any:
        sound = type(value) is int and low <= value <= high
        require(sound, f"{name} is not a whole number from {low} to {high}")
        return value

    return form


def plain(kind: type) -> Form:
    """Return the form of a value of a type."""

    def form(value: Any, sizes: dict[str, int], name: str) -> Any:
        require(isinstance(value, kind), f"{name} is not of type {kind.__name__}")
        return value

    return form


def maybe(other: Form) -> Form:
    """Return the form of a value of another form, or None."""
    return lambda value, sizes, name: None if value is None else other(value, sizes, name)


def many(other: Form) -> Form:
    """Return the form of a tuple of values of another form."""

    def form(value: Any, sizes: dict[str, int], name: str) -> Any:
        require(isinstance(value, list | tuple), f"{name} is not a list")
        return tuple(other(one, sizes, name) for one in value)

    return form


def ids(*shape: int | str | None, low: int = 0) -> Form:
    """Return the form of an array of whole numbers that are not negative."""
    return array(np.int64, *shape, low=low, high=MOST)


def reals(*shape: int | str | None, low: float = -_LARGEST) -> Form:
    """Return the form of an array of finite numbers."""
    return array(np.float64, *shape, low=low, high=_LARGEST)


def array(
    kind: type, *shape: int | str | None, low: float | None = None, high: float = MOST
) -> Form:
    """Return the form of an array with a size, a letter or None for each axis."""

    def form(value: Any, sizes: dict[str, int], name: str) -> Any:
        fits = isinstance(value, np.ndarray) and value.dtype == kind and value.ndim == len(shape)
        require(fits, f"{name} is not an array of {kind.__name__} with {len(shape)} axes")
        for want, have in zip(shape, value.shape, strict=True):
            size = sizes.setdefault(want, have) if isinstance(want, str) else want
            require(size in (None, have), f"{name} has the shape {value.shape}, not {shape}")
        sound = low is None or np.all((value >= low) & (value <= high))
        require(sound, f"{name} is not from {low} to {high}")
        return value

    return form


def rows(value: Any, sizes: dict[str, int], name: str) -> Any:
    """Return n rows of data in W columns, in which numbers may be missing."""
    sound = value.dtype == np.float64 and value.ndim == 2 and value.shape[1] == sizes["W"]
    require(
        sound and sizes.setdefault("n", value.shape[0]) == value.shape[0], f"{name} are no rows"
    )
    return value


def part(
    kind: type,
    make: Callable[..., Any] | None = None,
    values: Callable[[Any], dict[str, Any]] = vars,
    /,
    **entries: Form,
) -> Form:
    """Return the form of an object, made of its entries, in whose order they are read.

    ``make`` takes the entries by name, and raises where they do not fit together; by default it is
    the class. ``values`` gives an object's entries by name, by default its attributes.
    """
    PARTS[kind] = list(entries), values

    def form(value: Any, sizes: dict[str, int], name: str) -> Any:
        require(isinstance(value, dict) and set(value) == set(entries), f"{name} lacks entries")
        own = {letter: size for letter, size in sizes.items() if letter.isupper()}
        parts = {key: one(value[key], own, f"{name}.{key}") for key, one in entries.items()}
        sizes.update((letter, size) for letter, size in own.items() if letter.isupper())
        return (make or kind)(**parts)

    return form
