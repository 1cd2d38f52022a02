"""How kernels are compiled: on first use, kept on disk, free of the interpreter's lock."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba

_PATIENCE = 1.0  # seconds after which a first call must be compiling
_announced = False


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call and keep the machine code on disk.

    Of the fast floating-point rules only reordering of sums and fused multiply-adds are allowed:
    infinities and NaN keep their meaning.
    """
    return numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})(function)


@contextmanager
def announced() -> Iterator[None]:
    """Tell the user, once a process, if work takes long because kernels are being compiled."""
    global _announced
    if _announced:
        yield
        return
    _announced = True
    timer = threading.Timer(_PATIENCE, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    if _being_compiled():
        print(
            "scstream: compiling its kernels; this happens once and is kept on disk ...",
            file=sys.stderr,
            flush=True,
        )


def _being_compiled() -> bool:
    """Whether a frame of some thread is inside numba's compiler."""
    for frame in sys._current_frames().values():
        at = frame
        while at is not None:
            if at.f_globals.get("__name__", "").startswith(("numba.core.compiler", "numba.core.dispatcher")):
                return True
            at = at.f_back  # type: ignore[assignment]
    return False
