"""Threads that wait for work in compiled code, and share a pass over rows.

A pass is one call from Python. Its kernel hands every thread of a crew the same arguments and the
thread's number, see `on_threads`. To call a kernel on each thread from Python, with dozens of
arrays, takes .08 ms a thread, one after another through the interpreter's lock: at 16 threads
longer than many a pass.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from scstream.kernels.atomic import add, claim, swap
from scstream.kernels.compiling import bare, helper, part
from scstream.kernels.quick_context import SHAPE, Builder, structure, view
from scstream.kernels.workspace import in_lines

Ints = NDArray[np.int64]

# where a crew keeps what its threads are to do, who began and ended, and the locks they wait for
_FUNCTION, _ARGUMENTS, _THREADS, _BEGUN, _ENDED, _ALL_ENDED, _FIRST = range(7)
_CLOSED = 2**40  # is added to how many threads began once nobody may begin
_MOST = 1024  # threads of a crew
_LARGE, _LINES = 4096, 128  # bytes: of memory whose ends matter little, and between smaller ones
_PLAIN = bool(getattr(config, "DISABLE_JIT", False))
_intrinsic: Any = intrinsic
_ADDRESS, _POINTER = ir.IntType(64), ir.IntType(8).as_pointer()


class Crew(NamedTuple):
    """So many threads that share a pass, of which who calls is the first."""

    threads: int
    places: Ints


class _Waiting:
    """Threads that wait for what to do; they end with the process."""

    def __init__(self) -> None:
        self.places = np.zeros(_FIRST + _MOST, dtype=np.int64)
        self.places[_ALL_ENDED], self.places[_BEGUN] = _closed_lock(), _CLOSED
        self.threads = 1

    def grown(self, threads: int) -> Crew:
        """Return a crew of so many threads, or as many as the system lets start."""
        while self.threads < min(threads, _MOST):
            me = self.threads
            self.places[_FIRST + me] = _closed_lock()
            thread = Thread(target=serve, args=(self.places, me), name=f"crew_{me}", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                break
            self.threads += 1
        return Crew(min(threads, self.threads), self.places)


_idle: list[_Waiting] = []
_ALONE = Crew(1, np.zeros(_FIRST, dtype=np.int64))
if hasattr(os, "register_at_fork"):  # threads do not live on in a forked process
    os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def crew_of(threads: int) -> Iterator[Crew]:
    """Give a crew of some threads that nobody else has for so long."""
    if threads < 2 or _PLAIN:
        yield _ALONE
        return
    try:
        waiting = _idle.pop()
    except IndexError:
        waiting = _Waiting()
    try:
        yield waiting.grown(threads)
    finally:
        _idle.append(waiting)


def _closed_lock() -> int:
    """Return the address of a new lock that is closed: who waits for it must be let through."""
    api = ctypes.pythonapi
    api.PyThread_allocate_lock.restype = ctypes.c_void_p
    api.PyThread_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]
    lock = api.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("There is no room for another lock.")
    api.PyThread_acquire_lock(lock, 1)
    return int(lock)


# -- in compiled code ----------------------------------------------------------------------------


def _call(name: str, result: Any, builder: Any, arguments: Any) -> Any:
    """Call a function of the interpreter that needs no lock of it."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, arguments)


@_intrinsic
def _wait_for(typing: Any, lock: Any) -> Any:
    """Wait until somebody opens a lock, and close it behind oneself."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, waits = builder.inttoptr(arguments[0], _POINTER), ir.IntType(32)(1)
        _call("PyThread_acquire_lock", ir.IntType(32), builder, [where, waits])
        return context.get_dummy_value()

    return types.void(types.int64), code


@_intrinsic
def _open(typing: Any, lock: Any) -> Any:
    """Let through who waits for a lock, or comes to it next."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = builder.inttoptr(arguments[0], _POINTER)
        _call("PyThread_release_lock", ir.VoidType(), builder, [where])
        return context.get_dummy_value()

    return types.void(types.int64), code


@_intrinsic
def _address(typing: Any, share: Any, arguments: Any) -> Any:
    """Return the addresses of a function, as `_do` calls it, and of its arguments.

    They stand in memory of the function that asks for them.
    """
    called = share.get_call_type(typing, (types.int64, arguments), {})

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = values[1]
        made = share.dispatcher.overloads[called.args]
        context.add_linking_libs([made.library])
        kind = ir.FunctionType(ir.VoidType(), [_ADDRESS, _ADDRESS])
        function = ir.Function(builder.module, kind, f"{made.fndesc.mangled_name}.share")
        function.linkage = "internal"
        function.attributes.add("noinline")
        inside = Builder(function.append_basic_block())
        thread, where = function.args
        loaded = _loaded(inside, inside.inttoptr(where, given.type.as_pointer()), given.type)
        context.call_internal_no_propagate(inside, made.fndesc, called, [thread, loaded])
        inside.ret_void()
        for line in inside.block.instructions:
            if isinstance(line, ir.CallInstr):  # of hundreds of numbers, which should not be copied
                line.attributes.add("alwaysinline")
        memory = cgutils.alloca_once(builder, given.type)
        _store(builder, given, memory, given.type)
        addresses = [builder.ptrtoint(of, _ADDRESS) for of in (function, memory)]
        return context.make_tuple(builder, signature.return_type, addresses)

    return types.UniTuple(types.int64, 2)(share, arguments), code


def _store(builder: Any, value: Any, memory: Any, kind: Any, *places: int) -> None:
    """Store the numbers of a structure one by one, but for the owners of arrays.

    LLVM takes long over whole ones, and kernels that share work count nobody.
    """
    if isinstance(kind, ir.Aggregate):
        for i in range(_owners(kind), len(kind.elements)):
            _store(builder, value, memory, kind.elements[i], *places, i)
    else:
        number = builder.extract_value(value, places)
        builder.store(number, cgutils.gep_inbounds(builder, memory, 0, *places))


def _loaded(builder: Any, memory: Any, kind: Any, *places: int) -> Any:
    """Return a structure that was stored."""
    if not isinstance(kind, ir.Aggregate):
        return builder.load(cgutils.gep_inbounds(builder, memory, 0, *places))
    owners = _owners(kind)
    each = [_POINTER(None)] * owners + [
        _loaded(builder, memory, kind.elements[i], *places, i)
        for i in range(owners, len(kind.elements))
    ]
    return structure(builder, kind, each)


def _owners(kind: Any) -> int:
    """Return how many owners come first in a structure: two where it describes an array."""
    first = list(kind.elements)[:2]
    return 2 if first == [_POINTER, _POINTER] else 0


@_intrinsic
def _do(typing: Any, function: Any, arguments: Any, thread: Any) -> Any:
    """Call a function by the addresses of it and of its arguments."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function, arguments, thread = values
        kind = ir.FunctionType(ir.VoidType(), [_ADDRESS, _ADDRESS])
        builder.call(builder.inttoptr(function, kind.as_pointer()), [thread, arguments])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@part
def _wake_next(places: Ints, me: int) -> None:
    """Wake two threads, who wake two others each."""
    for other in range(2 * me + 1, 2 * me + 3):
        if other < places[_THREADS]:
            _open(places[_FIRST + other])


@bare
def serve(places: Ints, me: int) -> None:
    """Be a thread of a crew: wait, do a share if there is something left to do, for ever."""
    while True:
        _wait_for(places[_FIRST + me])
        _wake_next(places, me)
        if claim(places, _BEGUN) < _CLOSED:
            if me < places[_THREADS]:  # not one that was called for a pass before
                _do(places[_FUNCTION], places[_ARGUMENTS], me)
            if claim(places, _ENDED) == -1:
                _open(places[_ALL_ENDED])


def _alone(crew: Crew, share: Any, arguments: Any) -> None:
    """Call a function on threads of a crew, with the thread's number and a tuple.

    It takes what is left of the work by a counter, and must raise nothing: a thread that wakes when
    the caller found nothing left is not waited for, and one may be called twice. Returns when all
    is done. Not compiled, the caller does it alone.
    """
    share(0, arguments)


def _on_threads(crew: Any, share: Any, arguments: Any) -> None:
    places, (function, given) = crew.places, _address(share, arguments)
    if crew.threads > 1:
        places[_FUNCTION], places[_ARGUMENTS] = function, given
        places[_THREADS], places[_ENDED] = crew.threads, 0
        swap(places, _BEGUN, 0)  # a thread that is late from the pass before may join from here on
        _wake_next(places, 0)
    _do(function, given, 0)
    if crew.threads > 1:
        begun = add(places, _BEGUN, _CLOSED)
        if add(places, _ENDED, -begun) != begun:  # who ends last makes it 0, or has
            _wait_for(places[_ALL_ENDED])


# within its caller: a function that is handed from one to another cannot be kept on disk
on_threads = _alone if _PLAIN else helper(_on_threads)


def for_each(threads: int, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Return memory for each thread of a crew, of which `own_of` takes the thread's.

    Between small ones there is some that nobody uses: cores that write to neighbouring places wait
    for each other.
    """
    size = max(prod(shape) * np.dtype(dtype).itemsize, 1)
    places = threads * (1 if size > _LARGE else 1 + -(-_LINES // size))
    memory: NDArray[Any] = in_lines(places * prod(shape), dtype)
    return memory.reshape(places, *shape)


def _own_of_plain(stacked: Any, thread: int, threads: int) -> Any:
    """Return what a thread has of the memory of all, in tuples or not: see `for_each`."""
    if isinstance(stacked, tuple):
        each = (_own_of_plain(line, thread, threads) for line in stacked)
        return type(stacked)(*each) if hasattr(stacked, "_fields") else tuple(each)
    return stacked[thread * (len(stacked) // threads)]


def _own_of(typing: Any, stacked: Any, thread: Any, threads: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _taken(context, builder, signature.args[0], *arguments)

    return _one_less(stacked)(stacked, types.int64, types.int64), code


def _one_less(kind: Any) -> Any:
    """Return the type of a part of each array."""
    if isinstance(kind, types.Array):
        return types.Array(kind.dtype, kind.ndim - 1, "C")
    return types.BaseTuple.from_types([_one_less(each) for each in kind.types], kind.instance_class)


def _taken(
    context: Any, builder: Any, kind: Any, value: Any, thread: Any, threads: Any
) -> Any:  # fmt: skip
    """Return what describes a part of each array."""
    found = context.get_value_type(_one_less(kind))
    if not isinstance(kind, types.Array):
        each = [(of, builder.extract_value(value, i)) for i, of in enumerate(kind.types)]
        parts = [_taken(context, builder, of, line, thread, threads) for of, line in each]
        return structure(builder, found, parts)
    step = builder.udiv(builder.extract_value(value, [SHAPE, 0]), threads)
    return view(builder, found, value, kind.ndim, builder.mul(thread, step))


own_of: Any = _own_of_plain if _PLAIN else _intrinsic(_own_of)
