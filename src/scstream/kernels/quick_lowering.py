"""How numba writes our kernels down for LLVM, in a third of the lines it usually takes.

Numba keeps every variable and the description of every array in memory, and reads it from there
whenever it is used; LLVM takes that away again, which takes most of its time. It also looks up anew
what was found out when types were inferred. Here a variable that is assigned once is a value,
elements of arrays are reached directly, and a loop over a range is a few lines. What is computed
is the same. `scstream.kernels.quick_compiler` says with which versions of numba this is done.
"""

# mypy: disallow-untyped-calls=False
# (numba's own classes are not typed)

from __future__ import annotations

import operator
from collections import defaultdict
from importlib import import_module
from platform import machine
from typing import Any

from llvmlite import ir
from numba.core import ir as numba_ir
from numba.core import types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from scstream.kernels.quick_context import (
    DATA,
    SHAPE,
    START,
    STOP,
    STRIDES,
    Builder,
    is_natural,
    memory,
    natural,
    view,
)

# Where vectors have 512 bits LLVM prefers half of that. On such a machine large batches took 5 to
# 15 % less with all of it, 20,000 rows of 10 columns 10 %.
_WHOLE_VECTORS = '"prefer-vector-width"="512"'
# Where a loop looks something up for each row, LLVM would take several numbers by one instruction.
# Many x86 processors are slow at that: Intel made its own wait in 2023, lest secrets leak.
# One number after the other an update of 409,600 rows took 6 % less, the same bits.
_ONE_BY_ONE = ",+prefer-no-gather,+prefer-no-scatter"
_X86 = machine().lower() in ("x86_64", "amd64")
_NUMBERS = types.Integer, types.Float
_PLAIN = *_NUMBERS, types.Boolean
_TUPLE: Any = types.BaseTuple
_IDLE = ir.instructions.InsertValue, ir.instructions.ExtractValue, ir.instructions.GEPInstr
_OF_NATURALS = {operator.add, operator.iadd, operator.mul, operator.imul}
_BY_CONSTANTS = {operator.pow, operator.ipow}  # numba has these anew for constant exponents


class _Lower(Lower):
    """Numba's lowering, with a short way to variables, elements of arrays and arithmetic.

    Where arrays are counted, because a kernel makes some, variables are as numba has them.
    """

    def setup_function(self, fndesc: Any) -> None:
        """Begin with a function."""
        super().setup_function(fndesc)
        self.builder.__class__ = Builder
        # past llvmlite's own `add`, which takes attributes without values alone
        set.add(self.function.attributes, _WHOLE_VECTORS)
        if _X86:
            features = self.context.codegen().magic_tuple()[2] + _ONE_BY_ONE
            set.add(self.function.attributes, f'"target-features"="{features}"')
        if self.context.brief:
            self.function.attributes.add("optsize")
        if self.context.apart:
            self.function.attributes.add("noinline")

    def lower_normal_function(self, fndesc: Any) -> None:
        """Write a function down."""
        super().lower_normal_function(fndesc)
        _drop_unused(self.function)

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no memory: one assignment leads to all uses."""
        self._counts = self.context.enable_nrt or self._disable_sroa_like_opt
        if self._counts:
            super()._find_singly_assigned_variable()
            return
        assigned = defaultdict(list)
        for at, block in self.blocks.items():
            for statement in block.find_insts(numba_ir.Assign):
                assigned[statement.target.name].append(at)
        once = {name: places[0] for name, places in assigned.items() if len(places) == 1}
        before = compute_cfg_from_blocks(self.blocks).dominators()
        for at, used in compute_use_defs(self.blocks).usemap.items():
            for name in used:
                if name in once and not (once[name] < at and once[name] in before[at]):
                    del once[name]
        self._singly_assigned_vars = set(once)
        self._blk_local_varmap: dict[str, Any] = {}

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Assign to a variable."""
        if self._counts or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Forget a variable: there is nothing to do if arrays are not counted."""
        if self._counts:
            super().delvar(name)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Return memory for a variable."""
        if self._counts:
            return super().alloca_lltype(name, lltype, datamodel)
        return memory(self.builder, lltype, name)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Read an element, or whatever else stands in brackets."""
        array, of = self.typeof(value.name), self.typeof(index.name)
        if self._is_view(array, of, resty):
            return self._view(array, of, value, index, resty)
        if not self._is_element(array, of):
            return super().lower_getitem(resty, expr, value, index, signature)
        place = self._place(value, index)
        item = _arrays().load_item(self.context, self.builder, array, place)
        return self.context.cast(self.builder, item, array.dtype, resty)

    def lower_setitem(self, target: Any, index: Any, value: Any, signature: Any) -> Any:
        """Write an element, or whatever else stands in brackets."""
        array, given = self.typeof(target.name), self.typeof(value.name)
        number = isinstance(given, _PLAIN)
        if not (number and self._is_element(array, self.typeof(index.name))):
            return super().lower_setitem(target, index, value, signature)
        item = self.context.cast(self.builder, self.loadvar(value.name), given, signature.args[2])
        item = self.context.cast(self.builder, item, signature.args[2], array.dtype)
        place = self._place(target, index)
        _arrays().store_item(self.context, self.builder, array, item, place)
        return None

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Compute with two numbers, or with whatever else."""
        signature, builder = self.fndesc.calltypes[expr], self.builder
        known = self.context.typing_context.resolve_value_type(op)
        numbers = all(isinstance(arg, _NUMBERS) for arg in signature.args)
        if op in _BY_CONSTANTS or not numbers or signature.args not in known._impl_keys:
            return super().lower_binop(resty, expr, op)
        args = [
            self.context.cast(builder, self.loadvar(of.name), self.typeof(of.name), to)
            for of, to in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        found = self.context.get_function(known, signature)(builder, args)
        if op in _OF_NATURALS and all(map(is_natural, args)):
            natural(found)
        return self.context.cast(builder, found, signature.return_type, resty)

    def _is_element(self, array: Any, index: Any) -> bool:
        """Whether an index is the place of one element of an array."""
        if type(array) is not types.Array or self.context.enable_boundscheck:
            return False
        each = index.types if isinstance(index, _TUPLE) else (index,)
        plain = isinstance(array.dtype, _PLAIN) and array.layout in "CA"
        return plain and len(each) == array.ndim and all(isinstance(i, types.Integer) for i in each)

    def _is_view(self, array: Any, index: Any, found: Any) -> bool:
        """Whether what is found is a row of a table, or some successive ones of an array."""
        if self._counts or type(array) is not types.Array or type(found) is not types.Array:
            return False
        if not array.layout == found.layout == "C" or self.context.enable_boundscheck:
            return False
        one = isinstance(index, types.Integer) and found.ndim == array.ndim - 1
        return one or (index == types.slice2_type and found.ndim == array.ndim)

    def _view(self, array: Any, of: Any, value: Any, index: Any, found: Any) -> Any:
        """Return what describes a row of a table, or some successive ones of an array."""
        builder, whole, at = self.builder, self.loadvar(value.name), self.loadvar(index.name)
        first, length = self._stretch(of, at, builder.extract_value(whole, [SHAPE, 0]))
        return view(builder, self.context.get_value_type(found), whole, array.ndim, first, length)

    def _stretch(self, of: Any, at: Any, size: Any) -> tuple[Any, Any]:
        """Return the first of the rows at a place, and how many they are: None of one alone."""
        builder = self.builder
        if isinstance(of, types.Integer):
            return self._from_the_front(of, at, size), None
        ends = []
        for i in (START, STOP):
            end = builder.extract_value(at, i)
            end = self._from_the_front(types.intp, end, size)
            end = _larger(builder, end, end.type(0))
            ends.append(_smaller(builder, end, size))
        first, last = ends
        return first, _larger(builder, builder.sub(last, first), size.type(0))

    def _from_the_front(self, of: Any, at: Any, size: Any) -> Any:
        """Return a place that may be counted from the end."""
        if at.type == size.type and is_natural(at):
            return at
        return _arrays().fix_integer_index(self.context, self.builder, of, at, size)

    def _place(self, array: Any, index: Any) -> Any:
        """Return a pointer to an element."""
        typ, of, builder = self.typeof(array.name), self.typeof(index.name), self.builder
        value, at = self.loadvar(array.name), self.loadvar(index.name)
        data, each, places = builder.extract_value(value, DATA), (of,), [at]
        if isinstance(of, _TUPLE):
            each, places = of.types, [builder.extract_value(at, i) for i in range(len(of))]
        for i, (kind, place) in enumerate(zip(each, places, strict=True)):
            size = builder.extract_value(value, [SHAPE, i])
            places[i] = self._from_the_front(kind, place, size)
        if typ.layout == "A":
            bytes_ = ir.IntType(8).as_pointer()
            steps = [builder.extract_value(value, [STRIDES, i]) for i in range(typ.ndim)]
            moved = builder.gep(builder.bitcast(data, bytes_), [_combined(builder, places, steps)])
            return builder.bitcast(moved, data.type)
        steps = []
        for i in range(typ.ndim - 1, 0, -1):
            size = builder.extract_value(value, [SHAPE, i])
            steps.insert(0, builder.mul(size, steps[0]) if steps else size)
        return builder.gep(data, [_combined(builder, places, steps)])


def _drop_unused(function: Any) -> None:
    """Drop what was put into structures from which nobody takes it, and places nobody goes to."""
    lines = [line for block in function.blocks for line in block.instructions]
    waiting = [line for line in lines if not isinstance(line, _IDLE)]
    used = set(map(id, waiting))
    while waiting:
        line = waiting.pop()
        merged = [value for value, _ in getattr(line, "incomings", ())]
        for operand in (*line.operands, *merged):
            if isinstance(operand, _IDLE) and id(operand) not in used:
                used.add(id(operand))
                waiting.append(operand)
    for block in function.blocks:
        block.instructions[:] = [line for line in block.instructions if id(line) in used]


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), b, a)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _arrays() -> Any:
    """Return numba's functions for arrays, which an import of the package has no need of."""
    return import_module("numba.np.arrayobj")


def _combined(builder: Any, places: Any, steps: Any) -> Any:
    """Return the sum of places times steps; the last step is 1 if it is not given."""
    terms = [builder.mul(at, by) for at, by in zip(places, steps, strict=False)]
    total = None
    for term in (*terms, *places[len(steps) :]):
        total = term if total is None else builder.add(total, term)
    return total


@register_pass(mutates_CFG=True, analysis_only=False)
class QuickLowering(NativeLowering):
    """Numba's pass that writes a function down for LLVM."""

    @property
    def lowering_class(self) -> Any:
        """The class that does it."""
        return _Lower
