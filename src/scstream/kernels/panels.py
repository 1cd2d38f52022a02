"""Matrices in panels of four rows, which are worked on together by instructions for vectors.

A matrix is an array (panels, columns, 4): the four entries of a panel's column stand side by side.
Numba makes no such instructions of what is written entry by entry, so they are written in the
compiler's own language. Without compiling, NumPy does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import config, types
from numba.extending import intrinsic

ROWS = 4

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), ROWS)
_FUSED = ("contract", "nsz")  # a product and a sum may be one operation


class _Writer:
    """Writes what is done to the panels of one array."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self.builder = builder
        held = context.make_array(kind)(context, builder, array)
        self.data, self.columns = held.data, builder.extract_value(held.shape, 1)

    def place(self, panel: Any, column: Any) -> Any:
        """Return where the entries of a panel's column begin."""
        at = self.builder.add(self.builder.mul(panel, self.columns), column)
        return self.builder.gep(self.data, [self.builder.mul(at, _number(ROWS))])

    def load(self, place: Any) -> Any:
        """Return the four numbers from there on."""
        pointer = self.builder.bitcast(place, _VECTOR.as_pointer())
        return self.builder.load(pointer, align=8)

    def store(self, value: Any, place: Any) -> None:
        pointer = self.builder.bitcast(place, _VECTOR.as_pointer())
        self.builder.store(value, pointer, align=8)

    def entry(self, place: Any, which: int) -> Any:
        """Return one number from there on, four times."""
        return self.four(self.builder.load(self.builder.gep(place, [_number(which)])))

    def four(self, value: Any) -> Any:
        """Return a number four times."""
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        return self.spread(first, 0)

    def spread(self, vector: Any, which: int) -> Any:
        """Return one of four numbers four times."""
        all_of_it = ir.Constant(ir.VectorType(ir.IntType(32), ROWS), [which] * ROWS)
        return self.builder.shuffle_vector(vector, ir.Constant(_VECTOR, ir.Undefined), all_of_it)

    def less(self, value: Any, a: Any, b: Any) -> Any:
        """Return ``value - a b``."""
        product = self.builder.fmul(a, b, flags=_FUSED)
        return self.builder.fsub(value, product, flags=_FUSED)

    def loop(self, first: Any, last: Any, values: list[Any], body: Callable[..., list[Any]]) -> Any:
        """Go from the first to before the last, and return what became of the values."""
        builder = self.builder
        before = builder.block
        inside, after = (builder.append_basic_block() for _ in range(2))
        builder.cbranch(builder.icmp_signed("<", first, last), inside, after)
        builder.position_at_end(inside)
        at, held = builder.phi(_WORD), [builder.phi(_VECTOR) for _ in values]
        became = body(at, held)
        following = builder.add(at, _number(1))
        builder.cbranch(builder.icmp_signed("<", following, last), inside, after)
        builder.position_at_end(after)
        out = [builder.phi(_VECTOR) for _ in values]
        at.add_incoming(first, before)
        at.add_incoming(following, inside)
        for start, now, end, new in zip(values, held, out, became, strict=True):
            for phi, ways in ((now, (start, new)), (end, (start, new))):
                phi.add_incoming(ways[0], before)
                phi.add_incoming(ways[1], inside)
        return out


def _number(value: int) -> Any:
    """Return a whole number as the compiler has it."""
    return ir.Constant(_WORD, value)


def _write_subtract(w: _Writer, panel: Any, other: Any) -> None:
    """Write `subtract_products`."""
    columns = w.builder.mul(other, _number(ROWS))

    def body(at: Any, left: list[Any]) -> list[Any]:
        mine, others = w.load(w.place(panel, at)), w.load(w.place(other, at))
        return [w.less(left[c], mine, w.spread(others, c)) for c in range(ROWS)]

    places = [w.place(panel, w.builder.add(columns, _number(c))) for c in range(ROWS)]
    left = w.loop(_number(0), columns, [w.load(place) for place in places], body)
    for value, place in zip(left, places, strict=True):
        w.store(value, place)


def _write_solve(w: _Writer, panel: Any, other: Any, inverse: Any) -> None:
    """Write `solve`."""
    first = w.builder.mul(other, _number(ROWS))
    columns = [w.builder.add(first, _number(c)) for c in range(ROWS)]
    found: list[Any] = []
    for c, column in enumerate(columns):
        value = w.load(w.place(panel, column))
        for before in range(c):
            value = w.less(value, found[before], w.entry(w.place(other, columns[before]), c))
        scale = w.builder.load(w.builder.gep(inverse, [column]))
        found.append(w.builder.fmul(value, w.four(scale)))
    for value, column in zip(found, columns, strict=True):
        w.store(value, w.place(panel, column))


def _write_add(w: _Writer, column: Any, source: Any, vector: Any, factor: Any, ends: Any) -> None:
    """Write `add_column`."""
    factors = w.four(factor)

    def body(at: Any, _: list[Any]) -> list[Any]:
        row, place = w.builder.mul(at, _number(ROWS)), w.place(at, column)
        more = w.load(w.builder.gep(source, [row]))
        more = w.less(more, w.load(w.builder.gep(vector, [row])), factors)
        w.store(w.builder.fadd(w.load(place), more), place)
        return []

    w.loop(ends[0], ends[1], [], body)


def _subtract_products(typing: Any, panels: Any, panel: Any, other: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        writer = _Writer(context, builder, signature.args[0], given[0])
        _write_subtract(writer, given[1], given[2])
        return context.get_dummy_value()

    return types.none(panels, types.intp, types.intp), code


def _solve(typing: Any, panels: Any, panel: Any, other: Any, inverse: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        writer = _Writer(context, builder, signature.args[0], given[0])
        scales = context.make_array(signature.args[3])(context, builder, given[3])
        _write_solve(writer, given[1], given[2], scales.data)
        return context.get_dummy_value()

    return types.none(panels, types.intp, types.intp, inverse), code


def _add_column(
    typing: Any, panels: Any, column: Any, held: Any, at: Any, factor: Any, first: Any, last: Any
) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        writer = _Writer(context, builder, signature.args[0], given[0])
        data = context.make_array(signature.args[2])(context, builder, given[2]).data
        source, vector = builder.gep(data, [given[3]]), builder.gep(data, [_number(1)])
        _write_add(writer, given[1], source, vector, given[4], given[5:])
        return context.get_dummy_value()

    whole = types.intp
    return types.none(panels, whole, held, whole, types.float64, whole, whole), code


def _subtract_products_plain(panels: Any, panel: int, other: int) -> None:
    to = ROWS * other
    panels[panel, to : to + ROWS] -= panels[other, :to].T @ panels[panel, :to]


def _solve_plain(panels: Any, panel: int, other: int, inverse: Any) -> None:
    first = ROWS * other
    for c in range(ROWS):
        known = panels[other, first : first + c, c] @ panels[panel, first : first + c]
        panels[panel, first + c] = (panels[panel, first + c] - known) * inverse[first + c]


def _add_column_plain(
    panels: Any, column: int, held: Any, at: int, factor: float, first: int, last: int
) -> None:
    rows = slice(ROWS * first, ROWS * last)
    more = held[at:][rows] - factor * held[1:][rows]
    panels[first:last, column] += more.reshape(-1, ROWS)


def _made(compiled: Callable[..., Any], plain: Callable[..., None]) -> Any:
    return plain if getattr(config, "DISABLE_JIT", False) else intrinsic(compiled)


# Of (panels, panel, other): subtract from the panel, in the columns of the other's own rows, the
# products of its rows and the other's over the columns before.
subtract_products = _made(_subtract_products, _subtract_products_plain)

# Of (panels, panel, other, inverse): divide what the panel has in those columns by the other's
# triangle there, of whose diagonal ``inverse`` has one over each entry.
solve = _made(_solve, _solve_plain)

# Of (panels, column, held, at, factor, first, last): add to a column of the panels from the first
# to before the last ``held[at + i] - factor held[1 + i]``, i the row.
add_column = _made(_add_column, _add_column_plain)
