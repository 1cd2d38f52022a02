"""Words and numbers that the user says stand for missing values, in columns of any source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Missing:
    """Replaces what stands for a missing value by NaN, or by None among words.

    Parameters
    ----------
    words : sequence of str
        As the user gives them. A number among them is meant however it is written: -999 also is
        -999.0.
    decimal : str, optional
        The decimal point of these numbers; by default both a point and a comma are.
    """

    def __init__(self, words: Sequence[str], decimal: str | None) -> None:
        self._words = [word.strip().lower() for word in words]
        self._numbers = _numbers(word.replace(decimal or ",", ".") for word in words)

    def left_out(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a column (n,) with NaN, or None, for missing values."""
        if not self._words:
            return values
        numeric = values.dtype.kind in "fiu"
        if numeric:
            gone = np.isin(values, self._numbers)
        else:
            words = [str(value).strip().lower() for value in values.tolist()]
            gone = np.isin(words, self._words)
        if not gone.any():
            return values
        out: NDArray[Any] = values.astype(np.float64 if numeric else object)
        out[gone] = np.nan if numeric else None
        return out


def _numbers(words: Iterable[str]) -> list[float]:
    """Return the numbers among words."""
    out = []
    for word in words:
        with suppress(ValueError):
            out.append(float(word))
    return out
