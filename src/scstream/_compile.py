"""How kernels are compiled: once, cached on disk, without the interpreter lock, and announced."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba

logger = logging.getLogger("scstream")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function with numba on its first call and keep the machine code on disk.

    Only reassociation of sums and contraction to fused multiply-adds are allowed of the fast
    floating-point rules: infinities and NaN keep their meaning.
    """
    return numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})(function)
