"""How kernels are compiled: on first use, kept on disk, free of the interpreter's lock."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import event

# Of the fast floating-point rules only reordering of sums and fused multiply-adds are allowed:
# infinities and NaN keep their meaning. Nobody calls a kernel from C.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "no_cfunc_wrapper": True,
}
_PART: dict[str, Any] = {"no_cpython_wrapper": True, "_nrt": False}

_compiled: Any = numba.njit  # whose annotations leave some options out


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call and keep the machine code on disk.

    Numba keeps it until the function's own file changes. Parts and constants come from other
    files, so what is kept is stamped with all of them.
    """
    return _kept(_compiled(cache=True, **_OPTIONS)(function))


def bare(function: Callable[..., Any]) -> Any:
    """Do the same with a kernel that makes no arrays: then it need not count those it sees."""
    return _kept(_compiled(cache=True, _nrt=False, **_OPTIONS)(function))


def _kept(dispatcher: Any) -> Any:
    """Return a dispatcher whose machine code on disk is stamped with all sources."""
    file = getattr(dispatcher._cache, "_cache_file", None)  # None where nothing can be kept
    if file is not None:
        file._source_stamp = file._source_stamp, sources()
    return dispatcher


@cache
def sources() -> str:
    """Return a digest of all files that kernels are made from."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels alone call, and that is kept as a part of them.

    It makes no arrays: then none that it sees is counted, which takes longer than to see it.
    """
    return _compiled(**_PART, **_OPTIONS)(function)


def in_order(function: Callable[..., Any]) -> Any:
    """Do the same with a function whose sums must be taken in the order in which they stand."""
    options = {**_OPTIONS, "fastmath": {"contract", "nsz"}}
    return _compiled(**_PART, **options)(function)


def numbers(function: Callable[..., Any]) -> Any:
    """Do the same with a function that minds no NaN: then the larger of two is one instruction."""
    options = {**_OPTIONS, "fastmath": {"reassoc", "contract", "nsz", "nnan"}}
    return _compiled(**_PART, **options)(function)


def helper(function: Callable[..., Any]) -> Any:
    """Let a function be part of the kernels that call it: there is nothing else to compile."""
    return _compiled(inline="always", **_OPTIONS)(function)


class _Announcer(event.Listener):
    """Tells the user, once a process, that a first call takes long because kernels compile."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        """Take note that numba compiles something; what it finds on disk it does not compile."""
        module = event.data["dispatcher"].py_func.__module__
        if self._told or not module.startswith("scstream."):
            return
        self._told = True
        print(
            "scstream: compiling its kernels; this happens once and is kept on disk ...",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        """Take note that numba is done with it: nothing to say."""


class _Quiet(event.Listener):
    """Holds the garbage collector back while kernels compile.

    It would look again and again through the hundreds of thousands of objects that numba makes,
    which takes a tenth of the time. Numba compiles one function at a time, and those it calls
    meanwhile.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._was_enabled = False

    def on_start(self, event: Any) -> None:
        """Stop the collector at the first of functions that call each other, if it is ours."""
        module = event.data["dispatcher"].py_func.__module__
        if self._depth == 0 and not module.startswith("scstream."):
            return
        if self._depth == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Let it go on after the last."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0 and self._was_enabled:
            gc.enable()


event.register("numba:compile", _Quiet())  # type: ignore[no-untyped-call] # numba is untyped
event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call] # numba is untyped
