"""Memory that is used again, since fresh pages cost more than the arithmetic in them; arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scstream.support.once import once

_Thing = TypeVar("_Thing")
_HELD = 2**20  # numbers that are held for who asks for as many again


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

    @once
    def _own(self) -> local:
        """What each thread has; made when it is needed, which in a small batch is never."""
        return local()

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


def ones(n: int) -> NDArray[np.float64]:
    """Return so many ones, the same as before if they are as many: nobody may change them."""
    return _ones(n) if n <= _HELD else np.ones(n)


@lru_cache(maxsize=1)
def _ones(n: int) -> NDArray[np.float64]:
    return np.ones(n)


def for_kernels(X: Any) -> Any:
    """Return an array such that kernels take it for what they take everywhere.

    Kernels never write into rows, but numba compiles each of them again for arrays that must not be
    written. The array that is returned shares the memory and may be written, as far as numba sees.

    Examples
    --------
    >>> import numpy as np
    >>> fixed = np.ones(3)
    >>> fixed.flags.writeable = False
    >>> same = for_kernels(fixed)
    >>> same.flags.writeable, np.shares_memory(same, fixed), fixed.flags.writeable
    (True, True, False)
    """
    if not isinstance(X, np.ndarray) or X.flags.writeable:
        return X
    return np.asarray(_Open(X))


class _Open:
    """An array's memory, described as if it might be written; the array lives as long as this."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        place, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, False)}
