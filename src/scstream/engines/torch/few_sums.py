"""Triton kernels that sum the statistics of rows of at most 8 columns, by label and sub-label.

Sums by label are products with a matrix of zeros and ones on the matrix units. What changes from
one pass to the next is read from ``words``, see `few_kernels`.
"""

# mypy: ignore-errors
# Triton reads annotations as code and knows no types of Python's: kernels carry none.

from __future__ import annotations

from scstream.engines.torch.few_kernels import count
from scstream.engines.torch.triton import add_tables, jit, thirds, tl


@jit
def _grouped(mine, label, t, size: tl.constexpr, columns: tl.constexpr):
    """Return the sums (size, columns) of rows ``t`` by label, side by side; -1 is nobody's."""
    belongs = (mine[:, None] == label[None, :]).to(tl.bfloat16)
    t1, t2, t3 = thirds(t)
    part = tl.zeros((size, columns), tl.float32)
    part = tl.dot(belongs, tl.trans(t3), part)
    part = tl.dot(belongs, tl.trans(t2), part)
    return tl.dot(belongs, tl.trans(t1), part)


@jit
def sum_few(
    Y, stride, code, share, weight, sub_doubt, factor_a, factor_b, words, partial, padded,
    p: tl.constexpr, columns: tl.constexpr, rows: tl.constexpr, block: tl.constexpr,
    tile: tl.constexpr, both: tl.constexpr,
):  # fmt: skip
    """Sum statistics about the centres by label and sub-label, for one group of rows.

    With ``both`` every row goes to both sub-clusters, by its share of the second one. Column p
    counts rows by sub-label, column p + 1 sums the doubts of sub-labels.
    """
    n, k = count(words, 4), count(words, 6)
    group = tl.program_id(0)
    first = tl.program_id(1) * tile
    if first < 2 * k:
        size: tl.constexpr = tile // 2 if both else tile
        mine = first // (tile // size) + tl.arange(0, size)  # components, or clusters
        column = tl.arange(0, columns)
        a, b = tl.load(factor_a + column), tl.load(factor_b + column)
        acc = tl.zeros((size, columns), tl.float32)
        rest = tl.zeros((size, columns), tl.float32)
        for start in range(0, rows, block):
            row = group * rows + start + tl.arange(0, block)
            inside = row < n
            label = tl.load(code + row, mask=inside, other=-1)
            w = tl.load(weight + row, mask=inside, other=0.0)
            near = (a >= 0)[:, None] & inside[None, :]
            t = tl.load(Y + a[:, None] * stride + row[None, :], mask=near, other=1.0)
            near = (b >= 0)[:, None] & inside[None, :]
            t *= tl.load(Y + b[:, None] * stride + row[None, :], mask=near, other=1.0)
            t *= w[None, :]
            doubt = tl.load(sub_doubt + row, mask=inside, other=0.0)
            t = tl.where(column[:, None] == p, 1.0, t)
            t = tl.where(column[:, None] == p + 1, doubt[None, :], t)
            t = tl.where(column[:, None] > p + 1, 0.0, t)
            if both:
                second = tl.load(share + row, mask=inside, other=0.0)
                two = tl.where(
                    column[:, None] < p, second[None, :], (label & 1).to(tl.float32)[None, :]
                )
                two = tl.where(column[:, None] > p, 0.0, two)
                acc += _grouped(mine, label >> 1, t * (1.0 - two), size, columns)
                rest += _grouped(mine, label >> 1, t * two, size, columns)
            else:
                acc += _grouped(mine, label, t, size, columns)
        at = partial + (group * padded + (tile // size) * mine)[:, None] * columns + column[None, :]
        tl.store(at, acc)
        if both:
            tl.store(at + columns, rest)


@jit(do_not_specialize=["groups"])
def finish_few(
    partial, centre, factor_a, factor_b, words, out, rivals, between, fixed, groups, padded,
    d: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Add up the groups of one component in order and move its sums from its centre to 0.

    Programs beyond all components that there is room for add up the tables.
    """
    k, copies = count(words, 6), count(words, 7)
    component = tl.program_id(0)
    if component < 2 * k:
        column = tl.arange(0, columns)
        a, b = tl.load(factor_a + column), tl.load(factor_b + column)
        at = centre + (component // 2) * d
        ca = tl.load(at + a, mask=a >= 0, other=0.0).to(tl.float64)
        cb = tl.load(at + b, mask=b >= 0, other=0.0).to(tl.float64)
        own = tl.zeros((step, columns), tl.float64)
        for start in range(0, groups, step):
            group = start + tl.arange(0, step)
            there = partial + ((group * padded + component) * columns)[:, None] + column[None, :]
            own += tl.load(there, mask=(group < groups)[:, None], other=0.0).to(tl.float64)
        total = tl.sum(own, 0)
        to = out + component * columns
        tl.store(to + column, total)
        tl.debug_barrier()
        whole = total + cb * tl.load(to + a + 1) + ca * tl.load(to + b + 1) + ca * cb * tl.load(to)
        tl.debug_barrier()
        tl.store(to + column, whole)
    elif component >= padded:
        add_tables(
            rivals, between, fixed, out + padded * columns, component - padded, k, copies, block
        )
