"""Functions of rows that return the same bits wherever a row stands.

Labels must not depend on how rows are cut into chunks. NumPy's logarithms and its sums over an axis
may: some processors work on several numbers at a time, and differently on the few that are left
over. So whatever is computed of single rows uses these, and otherwise only what is exact or rounded
in one way alone (sums of two numbers, products, quotients, square roots).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

Array = NDArray[np.float64]


def log(x: Any) -> Array:
    """Return logarithms; SciPy's functions are called for one number after another."""
    out: Array = xlogy(1.0, x)
    return out


def log1p(x: Any) -> Array:
    """Return logarithms of ``1 + x``."""
    out: Array = xlog1py(1.0, x)
    return out


def sums(A: Array) -> Array:
    """Return the sums of the rows (n, d), added from left to right, as running sums are."""
    return np.cumsum(A, axis=1, dtype=np.float64)[:, -1]
