"""How functions are compiled: on first use, kept on disk, free of the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import config

from scstream.kernels import quick_compiler
from scstream.kernels.machine_code import KeptCode

Function = TypeVar("Function", bound=Callable[..., Any])

# Of the fast floating-point rules only reordering of sums and fused multiply-adds are allowed:
# infinities and NaN keep their meaning. Nobody calls a kernel from C.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "no_cfunc_wrapper": True,
}
_ORDERED: dict[str, Any] = {**_OPTIONS, "fastmath": {"contract", "nsz"}}  # sums as they stand
_KERNEL: dict[str, Any] = {}
_BARE: dict[str, Any] = {"_nrt": False}
_BRIEF: dict[str, Any] = {"_nrt": False}
_PART: dict[str, Any] = {"no_cpython_wrapper": True, "_nrt": False}
_BRIEF_PART: dict[str, Any] = {"no_cpython_wrapper": True, "_nrt": False}
_APART: dict[str, Any] = {"no_cpython_wrapper": True, "_nrt": False}
if quick_compiler.APPLIES:
    _KERNEL["pipeline_class"] = quick_compiler.KernelCompiler
    _BARE["pipeline_class"] = quick_compiler.BareCompiler
    _BRIEF["pipeline_class"] = quick_compiler.BriefCompiler
    _PART["pipeline_class"] = quick_compiler.PartCompiler
    _BRIEF_PART["pipeline_class"] = quick_compiler.BriefPartCompiler
    _APART["pipeline_class"] = quick_compiler.ApartCompiler


def compiled(function: Function, *, kept: bool = False, **options: Any) -> Function:
    """Compile a function on its first call, with options of numba's ``njit``."""
    if _disabled():  # then NumPy must not warn of what compiled code does silently
        return wraps(function)(np.errstate(all="ignore")(function))  # type: ignore[return-value]
    made: Any = numba.njit(**options)(function)
    if kept:
        made._cache = KeptCode(function)
    return made  # type: ignore[no-any-return]


def _disabled() -> bool:
    return bool(getattr(config, "DISABLE_JIT", False))


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call and keep the machine code on disk."""
    return compiled(function, kept=True, **_KERNEL, **_OPTIONS)


def bare(function: Callable[..., Any]) -> Any:
    """Do the same with a kernel that makes no arrays: then it need not count those it sees.

    Other kernels that call it have it as a part.
    """
    made: Any = compiled(function, kept=True, **_BARE, **_OPTIONS)
    if not _disabled():
        made.as_part = part(function)
    return made


def brief(function: Callable[..., Any]) -> Any:
    """Do the same with a kernel whose loops are short, over columns or clusters.

    They are neither unrolled nor made vector code, which takes long and gains nothing.
    """
    made: Any = compiled(function, kept=True, **_BRIEF, **_OPTIONS)
    if not _disabled():
        made.as_part = brief_part(function)
    return made


def part(function: Function) -> Function:
    """Compile a function that kernels alone call, and that is kept as a part of them.

    It makes no arrays: then none that it sees is counted, which takes longer than to see it.
    """
    return compiled(function, **_PART, **_OPTIONS)


def brief_part(function: Function) -> Function:
    """Do the same with a function whose loops are short."""
    return compiled(function, **_BRIEF_PART, **_OPTIONS)


def in_order(function: Function) -> Function:
    """Do the same with a function whose sums must be taken in the order in which they stand."""
    return compiled(function, **_PART, **_ORDERED)


def in_order_apart(function: Function) -> Function:
    """Do the same with a function that machine code has once, whoever calls it and how often."""
    return compiled(function, **_APART, **_ORDERED)


def numbers(function: Function) -> Function:
    """Do the same with a function that is never handed NaN, nor makes any.

    Then the larger of two numbers is one instruction. What is computed from a NaN in spite of that
    may be anything, such as a label out of range.
    """
    options = {**_OPTIONS, "fastmath": {"reassoc", "contract", "nsz", "nnan"}}
    return compiled(function, **_PART, **options)


@part
def _larger(a: Any, b: Any) -> Any:
    return b if b > a else a


@part
def _smaller(a: Any, b: Any) -> Any:
    return b if b < a else a


quick_compiler.INSTEAD.update({max: _larger, min: _smaller})


def exact(function: Callable[..., Any]) -> Any:
    """Do what `bare` does with a kernel that needs every operation rounded as it is written."""
    options = {**_OPTIONS, "fastmath": False}
    made: Any = compiled(function, kept=True, **_BARE, **options)
    if not _disabled():
        made.as_part = compiled(function, **_PART, **options)
    return made


def helper(function: Function) -> Function:
    """Let a function be part of the kernels that call it: there is nothing else to compile."""
    return compiled(function, inline="always", **_OPTIONS)
