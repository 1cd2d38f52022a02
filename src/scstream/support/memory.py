"""Arrays that are made once, since fresh pages cost more than the arithmetic in them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_HELD = 2**20  # numbers that are held for whoever asks for as many again


def ones(n: int) -> NDArray[np.float64]:
    """Return so many ones, the same as before if they are as many: they are not to be changed."""
    return _ones(n) if n <= _HELD else np.ones(n)


@lru_cache(maxsize=1)
def _ones(n: int) -> NDArray[np.float64]:
    return np.ones(n)
