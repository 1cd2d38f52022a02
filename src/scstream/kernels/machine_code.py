"""Where the machine code of kernels is kept: on disk, or in memory if nothing can be written.

Numba keeps what it compiled until the function's own file changes. Parts and constants come from
other files, so what is kept is stamped with all of them. Files that turn out damaged are thrown
away, and the kernel is compiled anew.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

from scstream.kernels import ahead


class _KeptCode(FunctionCache):
    """The files of one kernel."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        file = self._cache_file
        file._source_stamp = file._source_stamp, sources()
        self._kernel = ahead.name_of(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is on disk, or is about to be; None if there is nothing of use."""
        found = self._load(sig, target_context)
        if found is None and ahead.waited_for(self._kernel):
            found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # what damaged files raise is up to pickle, numba and LLVM
            with contextlib.suppress(OSError):
                Path(self._cache_file._index_path).unlink()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write it down; if that fails there is still the code in memory."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say_not_kept(f"{self.cache_path}: {error.strerror or error}")


def keep(dispatcher: Any) -> Any:
    """Have the machine code of a dispatcher kept on disk, where that is possible."""
    if not hasattr(dispatcher, "_cache"):  # numba was told not to compile: a plain function
        return dispatcher
    try:
        dispatcher._cache = _KeptCode(dispatcher.py_func)
        _PLACES.add(dispatcher._cache.cache_path)
    except (RuntimeError, OSError):  # numba finds no place that can be written
        _UNKEPT.append(dispatcher)
    return dispatcher


_UNKEPT: list[Any] = []
_PLACES: set[str] = set()


def unkept() -> bool:
    """Whether nothing can be written."""
    return bool(_UNKEPT)


def places() -> list[str]:
    """Return the folders where machine code is kept."""
    return sorted(_PLACES)


@cache
def say_not_kept(reason: str = "no folder for them can be written") -> None:
    """Tell the user that kernels are compiled again in every process."""
    print(
        f"scstream: compiled kernels cannot be kept on disk ({reason}), so every process compiles "
        "them again. Set NUMBA_CACHE_DIR to a folder that can be written.",
        file=sys.stderr,
        flush=True,
    )


@cache
def sources() -> str:
    """Return a digest of all files that kernels are made from."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
