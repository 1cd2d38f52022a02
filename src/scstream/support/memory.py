"""Memory that is used again: fresh pages cost more than the arithmetic that is done in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import local
from typing import TypeVar

_Thing = TypeVar("_Thing")


class Memory:
    """Things by name that each thread makes once and uses again, while they are of the same size.

    Examples
    --------
    >>> memory = Memory()
    >>> line = memory.made("line", 3, lambda: [0] * 3)
    >>> memory.made("line", 3, lambda: [0] * 3) is line
    True
    >>> memory.made("line", 4, lambda: [0] * 4)
    [0, 0, 0, 0]
    """

    def __init__(self) -> None:
        self._own = local()

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        """Travel empty."""
        return Memory, ()

    def made(self, name: str, size: Hashable, make: Callable[[], _Thing]) -> _Thing:
        """Return what this thread has of that name and size, with anything in it, or make it."""
        held = self._own.__dict__.get(name)
        if held is None or held[0] != size:
            held = self._own.__dict__[name] = size, make()
        thing: _Thing = held[1]
        return thing
