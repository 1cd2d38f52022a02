"""Where the machine code of kernels is kept: on disk, or in memory if nothing can be written.

Numba keeps what it compiled until the function's own file changes. Parts and constants come from
other files, so what is kept is stamped with all of them. Files that turn out damaged are thrown
away, and the kernel is compiled anew.
"""

from __future__ import annotations

import contextlib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, _Cache

from scstream.support.messages import warn


class KeptCode(_Cache):
    """The machine code of one kernel, for numba to look up. The disk is not touched before that."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @cached_property
    def files(self) -> Any:
        """Numba's files of the kernel; None if it finds no folder that can be written."""
        try:
            files = FunctionCache(self._function)
        except (RuntimeError, OSError):
            return None
        return files

    @property
    def cache_path(self) -> str | None:
        """The folder, None if there is none."""
        return None if self.files is None else str(self.files.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is on disk, or is about to be; None if there is nothing of use."""
        if self.files is None:
            return None
        return self._load(sig, target_context)

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Whether it is on disk; true if nothing can be."""
        if self.files is None:
            return True
        key = self.files._index_key(sig, target_context.codegen())
        with contextlib.suppress(Exception):  # of damaged files, as below
            return key in self.files._cache_file._load_index()
        return False

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return self.files.load_overload(sig, target_context)
        except Exception:  # what damaged files raise is up to pickle, numba and LLVM
            with contextlib.suppress(OSError):
                Path(self.files._cache_file._index_path).unlink()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write it down; if that fails there is still the code in memory."""
        if self.files is None:
            return
        try:
            self.files.save_overload(sig, data)
        except OSError as error:
            say_not_kept(f"{self.cache_path}: {error.strerror or error}")

    def enable(self) -> None:
        """Have no effect: code is always kept."""

    disable = flush = enable


@cache
def say_not_kept(reason: str) -> None:
    """Tell the user that kernels are compiled again in every process."""
    warn(
        f"compiled kernels cannot be saved to disk ({reason}), so every process compiles them "
        "again. Set NUMBA_CACHE_DIR to a folder that can be written."
    )
