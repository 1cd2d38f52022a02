"""Generators of random numbers that go on from where another one is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ZEROS = np.zeros(8, dtype=np.uint64)


class _AnySeed(np.random.bit_generator.ISeedSequence):
    """Seeds a generator whose state is set at once; NumPy's own takes longer than that."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return _ZEROS[:n_words].astype(dtype, copy=False)


_ANY_SEED = _AnySeed()


def copied(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator PCG64 that draws what the given one would draw, which stays as it is."""
    bits = np.random.PCG64(_ANY_SEED)  # type: ignore[arg-type] # any ISeedSequence will do
    bits.state = rng.bit_generator.state  # type: ignore[assignment]
    return np.random.Generator(bits)
