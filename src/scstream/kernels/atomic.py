"""A counter that threads share in compiled code."""

from __future__ import annotations

from threading import Lock
from typing import Any

from llvmlite import ir
from numba.core import config, types
from numba.extending import intrinsic

_one_by_one = Lock()


def _claim(counters: Any, at: int) -> int:
    """Return a counter and add one to it, at once: no two threads get the same number.

    What a thread wrote before is seen by whoever gets a later number.
    """
    with _one_by_one:
        number = int(counters[at])
        counters[at] = number + 1
        return number


def _compiled(typing: Any, counters: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", place, one, "acq_rel")

    return types.int64(counters, types.intp), code


_compiled.__doc__ = _claim.__doc__
claim: Any = _claim if getattr(config, "DISABLE_JIT", False) else intrinsic(_compiled)
