"""Properties that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class once:  # reads like the property that it is
    """A property that is computed once; the one of functools takes a lock each time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.name = function, function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.function(owner)
        return value
