"""Counters that threads share in compiled code.

What a thread wrote before it changed one is seen by whoever changes it later.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from numba.core import config, types
from numba.extending import intrinsic

from scstream.kernels.compiling import part

_one_by_one = Lock()


def _changed(how: str) -> Any:
    """Return a function that changes a counter at once, and gives what it was before."""

    def alone(counters: Any, at: int, number: int) -> int:
        with _one_by_one:
            before = int(counters[at])
            counters[at] = number + (before if how == "add" else 0)
            return before

    def compiled(typing: Any, counters: Any, at: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            return builder.atomic_rmw(how, place, arguments[2], "acq_rel")

        return types.int64(counters, types.intp, types.int64), code

    return alone if getattr(config, "DISABLE_JIT", False) else intrinsic(compiled)


add = _changed("add")
swap = _changed("xchg")


@part
def claim(counters: Any, at: int) -> Any:
    """Return a counter and add one to it: no two threads get the same number."""
    return add(counters, at, 1)
