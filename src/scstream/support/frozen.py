"""Dataclasses that never change, quickly made: a small batch makes dozens of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

_Class = TypeVar("_Class")
_Any = TypeVar("_Any")


@dataclass_transform(frozen_default=True)
def frozen(kind: type[_Class]) -> type[_Class]:
    """Make a dataclass that is frozen as far as the type checker goes.

    One that is frozen at run time takes four times as long to make.
    """
    return dataclass(unsafe_hash=True)(kind)


def changed(one: _Any, **values: Any) -> _Any:
    """Return a copy with some fields replaced, in a sixth of the time of `dataclasses.replace`.

    Not for classes that keep what was computed of their fields.
    """
    new = object.__new__(type(one))
    new.__dict__.update(one.__dict__, **values)
    return new


def made(kind: type[_Class], **values: Any) -> _Class:
    """Make a dataclass that is frozen at run time, given all of its fields, in a quarter of that.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Place:
    ...     x: int
    ...     y: int = 0
    >>> made(Place, x=1, y=2)
    Place(x=1, y=2)
    """
    new = object.__new__(kind)
    new.__dict__.update(values)
    return new
