"""Parameters in single precision, for products that come with a bound of what they are off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.kernels.frames import COLUMNS, MOST, TOO_LARGE

_HALF = 2.0**-24  # the relative rounding of float32


class InSingle(NamedTuple):
    """Parameters as `scstream.kernels.frames.multiply` takes them.

    Attributes
    ----------
    narrow : ndarray (k, p or more)
        Of the first statistic, which is 1, and up to a multiple of 5 others.
    reach : ndarray (p,)
        How far products are off, for each statistic's size.
    """

    narrow: NDArray[np.float32]
    reach: NDArray[np.float32]

    @staticmethod
    def of(eta: Array, by: Array | None = None, bend: float = 0.0) -> InSingle:
        """Return parameters (k, p) in single precision.

        What products are off may count several times (k,), and all may be off by some more.
        """
        k, p = eta.shape
        size = np.abs(eta)
        largest = (size if by is None else size * by[:, None]).max(axis=0)
        # of a statistic three numbers are rounded, and a parameter, p products and p sums
        reach = np.maximum(largest * (1.1 * (p + 6) * _HALF), TOO_LARGE / MOST)
        reach[0] += bend
        narrow = np.zeros((k, p + -(p - 1) % COLUMNS), dtype=np.float32)
        narrow[:, :p] = eta
        return InSingle(narrow, np.where(largest < MOST, reach, np.inf).astype(np.float32))
