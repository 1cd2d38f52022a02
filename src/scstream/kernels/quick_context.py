"""What functions of our kernels become for LLVM: loops over ranges, sizes and forms of arrays.

Numba's own ways serve all arrays and all ranges, and take many more lines; what is computed is the
same. `scstream.kernels.quick_lowering` writes the rest down.
"""

# mypy: disallow-untyped-calls=False
# (numba's own classes are not typed)

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from llvmlite import ir
from numba.core import types
from numba.core.cpu import CPUContext

ITEMS, DATA, SHAPE, STRIDES = 2, 4, 5, 6  # places in what describes an array
START, STOP = 0, 1  # in what describes a range
_AT, _STEP, _LEFT = 0, 2, 3  # in what goes through one
_VIEWS = {(types.Float, "view"), (types.Integer, "view")}  # of the bits of numbers


class Builder(ir.IRBuilder):
    """Writes lines for LLVM; what was just put into a structure need not be taken out of it."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """Return a part of a structure."""
        places = list(idx) if isinstance(idx, (list, tuple)) else [idx]
        while places:
            source = agg
            while isinstance(source, ir.instructions.InsertValue):
                if len(source.indices) != 1:
                    break
                if source.indices[0] == places[0]:
                    agg = source.value
                    places = places[1:]
                    break
                source = source.aggregate
            else:
                break
            if len(source.indices) != 1:
                break
        return super().extract_value(agg, places, name) if places else agg


class QuickContext(CPUContext):
    """Numba's target, without what it looks up in vain, and with short loops over ranges.

    Of what is ``brief`` loops are neither unrolled nor made vector code. What is ``apart`` stays a
    function that others call.
    """

    brief = apart = False
    _sizes: ClassVar[dict[str, int]] = {}

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return what implements a function; plain arrays are nobody's wrapping."""
        first = sig.args[0] if sig.args else None
        if fn == "__array__" and type(first) is types.Array:
            raise NotImplementedError
        if fn == "iternext" and isinstance(first, types.RangeIteratorType):
            return _next
        if isinstance(fn, types.Function):
            if fn.typing_key is len and type(first) is types.Array and first.ndim > 0:
                return _length
            if fn.typing_key is range and len(sig.args) < 3:
                return _range
        if isinstance(fn, types.BoundFunction) and is_other_view(fn, sig.args):
            return partial(_other_view, self.get_value_type(sig.return_type))
        found = super().get_function(fn, sig, _firstcall)
        reshapes = isinstance(fn, types.BoundFunction) and fn.typing_key == "array.reshape"
        if reshapes and not self.enable_nrt:
            return partial(_reshaped, self.get_value_type(sig.return_type), sig, found)
        if fn == "getiter" and isinstance(first, types.RangeType):
            return _iterator(self.get_value_type(sig.return_type), found)
        return found

    def get_getattr(self, typ: Any, attr: str) -> Any:
        """Return what implements an attribute."""
        if attr == "shape" and type(typ) is types.Array:
            return _shape
        return super().get_getattr(typ, attr)

    def get_abi_sizeof(self, ty: Any) -> int:
        """Return the size of a type, which LLVM is asked for once."""
        key = str(ty)
        if key not in self._sizes:
            self._sizes[key] = super().get_abi_sizeof(ty)
        return self._sizes[key]

    def pair_first(self, builder: Any, val: Any, ty: Any) -> Any:
        """Return the first of two."""
        return builder.extract_value(val, 0)

    def pair_second(self, builder: Any, val: Any, ty: Any) -> Any:
        """Return the second of two."""
        return builder.extract_value(val, 1)


def is_other_view(method: Any, args: Any) -> bool:
    """Whether a method sees the bits of a number as one of another type."""
    if method.typing_key not in _VIEWS or not isinstance(args[0], types.NumberClass):
        return False
    return bool(args[0].instance_type.bitwidth == method.this.bitwidth)


def _other_view(kind: Any, builder: Any, args: Any, loc: Any = None) -> Any:
    """Return the bits of a number as one of another type."""
    return builder.bitcast(args[0], kind)


def _reshaped(
    kind: Any, sig: Any, usual: Any, builder: Any, args: Any, loc: Any = None
) -> Any:  # fmt: skip
    """Return what describes an array of other sizes, or of any in the usual way.

    The sizes are not negative, unless they are written so, and those of as many elements.
    """
    array, (whole, *sizes) = sig.recvr, args
    known = all(isinstance(of, types.Integer) for of in sig.args)
    from_the_rest = any(isinstance(n, ir.Constant) and n.constant < 0 for n in sizes)
    if array.layout != "C" or not known or from_the_rest:
        return usual(builder, args)
    strides = [builder.extract_value(whole, ITEMS + 1)]
    for size in reversed(sizes[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    made = structure(builder, kind, [builder.extract_value(whole, i) for i in range(SHAPE)])
    for place, parts in ((SHAPE, sizes), (STRIDES, strides)):
        part = structure(builder, kind.elements[place], parts)
        made = builder.insert_value(made, part, place)
    return made


def _length(builder: Any, args: Any, loc: Any = None) -> Any:
    return natural(builder.extract_value(args[0], [SHAPE, 0]))


def _shape(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    return builder.extract_value(value, SHAPE)


def structure(builder: Any, kind: Any, values: Any) -> Any:
    """Return a structure of a kind with the given values."""
    made = ir.Constant(kind, ir.Undefined)
    for i, value in enumerate(values):
        made = builder.insert_value(made, value, i)
    return made


def view(
    builder: Any, kind: Any, whole: Any, ndim: int, first: Any, length: Any = None
) -> Any:  # fmt: skip
    """Return what describes a row of an array of so many dimensions, or some rows from there on.

    The kind is that of a row; or, if their number is given, that of rows.
    """
    shape = [builder.extract_value(whole, [SHAPE, i]) for i in range(1, ndim)]
    strides = [builder.extract_value(whole, [STRIDES, i]) for i in range(ndim)]
    one, data = _product(builder, shape), builder.extract_value(whole, DATA)
    data = builder.gep(data, [first if one is None else builder.mul(first, one)])
    if length is None:
        strides = strides[1:]
    else:
        shape = [length, *shape]
    made = structure(builder, kind, [builder.extract_value(whole, i) for i in range(ITEMS)])
    places = {
        ITEMS: _product(builder, shape),
        ITEMS + 1: builder.extract_value(whole, ITEMS + 1),
        DATA: data,
        SHAPE: structure(builder, kind.elements[SHAPE], shape),
        STRIDES: structure(builder, kind.elements[STRIDES], strides),
    }
    for place, part in places.items():
        made = builder.insert_value(made, part, place)
    return made


def _product(builder: Any, sizes: Any) -> Any:
    """Return the product of sizes, None of none."""
    total = None
    for size in sizes:
        total = size if total is None else builder.mul(total, size)
    return total


def memory(builder: Any, kind: Any, name: str = "") -> Any:
    """Return memory for a value of a kind, which the function has from its beginning."""
    with builder.goto_entry_block():
        return builder.alloca(kind, name=name)


def _range(builder: Any, args: Any, loc: Any = None) -> Any:
    kind = args[0].type
    start, stop = (kind(0), *args)[-2:]
    made = structure(builder, ir.LiteralStructType([kind] * 3), (start, stop, kind(1)))
    made.by_one = True
    return made


def _iterator(kind: Any, usual: Any) -> Any:
    """Return what makes an iterator of a range whose step is 1, or any in the usual way."""

    def made(builder: Any, args: Any, loc: Any = None) -> Any:
        (value,) = args
        if not getattr(value, "by_one", False):
            return usual(builder, args)
        start, stop = builder.extract_value(value, START), builder.extract_value(value, STOP)
        at, left = memory(builder, start.type), memory(builder, start.type)
        at.from_the_front = is_natural(start)
        many, none = builder.sub(stop, start), start.type(0)
        builder.store(start, at)
        builder.store(builder.select(builder.icmp_signed(">", many, none), many, none), left)
        return structure(builder, kind, (at, stop, start.type(1), left))

    return made


def _next(builder: Any, args: Any, loc: Any = None) -> Any:
    """Return the next number of a range, and whether there is one."""
    (state,) = args
    at, left = builder.extract_value(state, _AT), builder.extract_value(state, _LEFT)
    number, many = builder.load(at), builder.load(left)
    if getattr(at, "from_the_front", False):
        natural(number)
    one, valid = many.type(1), builder.icmp_signed(">", many, many.type(0))
    with builder.if_then(valid):
        builder.store(builder.sub(many, one, flags=["nsw"]), left)
        builder.store(builder.add(number, builder.extract_value(state, _STEP)), at)
    return structure(builder, ir.LiteralStructType([number.type, valid.type]), (number, valid))


def natural(number: Any) -> Any:
    """Take note that a number is not negative; returns it."""
    number.natural = True
    return number


def is_natural(number: Any) -> bool:
    """Whether a number is known not to be negative."""
    if isinstance(number, ir.Constant):
        return isinstance(number.constant, int) and number.constant >= 0
    return getattr(number, "natural", False)
