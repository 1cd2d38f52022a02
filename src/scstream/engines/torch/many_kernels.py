"""Triton kernels for rows of 9 to 128 columns: the matrix units score blocks of rows.

What depends on the label is done by rows sorted by label, a cluster at a time.
"""

# mypy: ignore-errors
# Triton reads annotations as code and knows no types of Python's: kernels carry none.

from __future__ import annotations

from scstream.engines.torch.triton import (
    add_tables,
    certainty,
    compare,
    jit,
    libdevice,
    nobody,
    pair,
    pass_by,
    product,
    rival,
    shared,
    tally,
    thirds,
    tl,
    uniforms,
)

_COUNTS = ["n", "n_all", "k", "copies", "first"]  # they change: no new kernel for each


@jit(do_not_specialize=_COUNTS)
def score_many(
    Z, factors, offset, prm, out, first, n, n_all, ahead,
    d: tl.constexpr, student: tl.constexpr, two: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Score rows of many columns by ``|z L - offset|^2`` under every component.

    ``factors`` (3, components, d, d) are L in thirds, of which ``two`` may be enough; ``out``
    (components, ahead) has the rows from ``first`` on.
    """
    place = tl.program_id(0) * block + tl.arange(0, block)
    row = (first + place).to(tl.int64)
    inside = first + place < n
    column = tl.arange(0, d)
    x = tl.load(Z + row[:, None] * d + column[None, :], mask=inside[:, None], other=0.0)
    x1, x2, x3 = thirds(x)
    square = column[:, None] * d + column[None, :]
    whole = n_all * d * d
    for c in range(n_all):
        at = factors + c * d * d + square
        acc = tl.zeros((block, d), tl.float32)
        if two:
            leading = tl.load(at)
            acc = tl.dot(x2, leading, acc)
            acc = tl.dot(x1, tl.load(at + whole), acc)
            acc = tl.dot(x1, leading, acc)
        else:
            acc = product(
                x1, x2, x3, tl.load(at), tl.load(at + whole), tl.load(at + 2 * whole), acc
            )
        acc -= tl.load(offset + c * d + column)[None, :]
        far = tl.sum(acc * acc, 1)
        init = tl.load(prm + 3 * c)
        if student:
            power = tl.load(prm + 3 * c + 1)
            curved = tl.load(prm + 3 * c + 2) - power * libdevice.log1p(tl.maximum(init + far, 0.0))
            s = tl.where(power > 0.0, curved, init - far)
        else:
            s = init - far
        tl.store(out + c * ahead + place, s, mask=inside)


@jit(do_not_specialize=_COUNTS)
def label_many(
    scores, ahead, words, fixed, weight, z_out, rivals,
    between, first, n, n_all, k, copies,
    draw: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Label rows by stored scores (components, ahead)."""
    place = tl.program_id(0) * block + tl.arange(0, block)
    row = first + place
    inside = row < n
    top, runner, total, best, other = nobody(block)
    for c in range(n_all):
        s = tl.load(scores + c * ahead + place, mask=inside, other=0.0)
        top, runner, total, best, other = compare(s, c, top, runner, total, best, other, draw)
    pick, own = best, top
    if draw:
        u, _ = uniforms(words, row.to(tl.int64))
        left = (u * total.to(tl.float64)).to(tl.float32)
        for c in range(n_all):
            s = tl.load(scores + c * ahead + place, mask=inside, other=0.0)
            left, pick, own = pass_by(s, c, top, left, pick, own)
    second, gap = rival(top, runner, best, other, pick, own)
    w = tl.load(weight + row, mask=inside, other=0.0)
    tally(pick, second, certainty(gap), w, inside, fixed, rivals, between, k, copies)
    tl.store(z_out + row, tl.where(pick >= k, -1, pick), mask=inside)


@jit
def _own_score(
    x, x1, x2, x3, factors, offset, prm, c, whole,
    d: tl.constexpr, block: tl.constexpr, kind: tl.constexpr,
):  # fmt: skip
    """Return the scores of rows under one component: linear (2), Student (1) or Gaussian (0)."""
    column = tl.arange(0, d)
    shift = tl.load(offset + c * d + column)[None, :]
    init = tl.load(prm + 3 * c)
    if kind == 2:
        return init + tl.sum(x * shift, 1)
    else:
        at = factors + c * d * d + column[:, None] * d + column[None, :]
        acc = tl.zeros((block, d), tl.float32)
        acc = product(x1, x2, x3, tl.load(at), tl.load(at + whole), tl.load(at + 2 * whole), acc)
        acc -= shift
        far = tl.sum(acc * acc, 1)
        if kind == 1:
            curved = libdevice.log1p(tl.maximum(init + far, 0.0))
            return tl.load(prm + 3 * c + 2) - tl.load(prm + 3 * c + 1) * curved
        else:
            return init - far


@jit(do_not_specialize=_COUNTS)
def divide_many(
    Z, order, begin, items, factors, offset, prm, centre,
    chosen, words, weight, sub_out, sum_yy, sum_y, sum_1, k,
    d: tl.constexpr, k_padded: tl.constexpr, rows: tl.constexpr, block: tl.constexpr,
    kind: tl.constexpr, draw: tl.constexpr, both: tl.constexpr,
):  # fmt: skip
    """Give sub-labels to some rows of one cluster and sum their statistics about its centre.

    ``order`` are the rows sorted by label, ``begin`` (k + 1) where each cluster begins in it and
    ``items`` (k + 1) the number of programs of the clusters before each. Sub-labels are drawn, or
    the better ones; with ``both`` a row goes to both sides by their probabilities.
    """
    item = tl.program_id(0)
    each = tl.arange(0, k_padded)
    before = tl.load(items + 1 + each, mask=each < k, other=2**30)
    c = tl.sum((before <= item).to(tl.int32), 0)
    if c < k:  # noqa: SIM102  # a condition with `and` would load what is not there
        if tl.load(chosen + c) != 0:
            start = tl.load(begin + c) + (item - tl.load(items + c)) * rows
            end = tl.minimum(start + rows, tl.load(begin + c + 1))
            column = tl.arange(0, d)
            mid = tl.load(centre + c * d + column)[None, :]
            none = tl.zeros((d, d), tl.float32)
            yy0 = tl.zeros((d, d), tl.float32)
            yy1 = tl.zeros((d, d), tl.float32)
            y0 = tl.zeros((d,), tl.float32)
            y1 = tl.zeros((d,), tl.float32)
            w0 = tl.zeros((block,), tl.float32)
            w1 = tl.zeros((block,), tl.float32)
            n0 = tl.zeros((block,), tl.float32)
            n1 = tl.zeros((block,), tl.float32)
            doubts = tl.zeros((block,), tl.float32)
            for at in range(start, end, block):
                place = at + tl.arange(0, block)
                inside = place < end
                row = tl.load(order + place, mask=inside, other=0)
                x = tl.load(Z + row[:, None] * d + column[None, :])
                x1, x2, x3 = thirds(x)
                whole = 2 * k * d * d
                s0 = _own_score(x, x1, x2, x3, factors, offset, prm, 2 * c, whole, d, block, kind)
                s1 = _own_score(
                    x, x1, x2, x3, factors, offset, prm, 2 * c + 1, whole, d, block, kind
                )
                if draw:
                    _, v = uniforms(words, row)
                    sub, doubt = pair(s0, s1, v, True)
                elif both:
                    sub, share, doubt = shared(s0, s1)
                else:
                    sub, doubt = pair(s0, s1, s0, False)
                tl.store(sub_out + row, sub, mask=inside)
                w = tl.load(weight + row, mask=inside, other=0.0)
                doubts += w * doubt
                if both:
                    of1 = w * share
                    of0 = w - of1
                else:
                    of0 = tl.where(inside & (sub == 0), w, 0.0)
                    of1 = tl.where(inside & (sub == 1), w, 0.0)
                w0 += of0
                w1 += of1
                n0 += (inside & (sub == 0)).to(tl.float32)
                n1 += (inside & (sub == 1)).to(tl.float32)
                y = x - mid
                b1, b2, b3 = thirds(y)
                y = y * of0[:, None]
                y0 += tl.sum(y, 0)
                a1, a2, a3 = thirds(y)
                yy0 += product(tl.trans(a1), tl.trans(a2), tl.trans(a3), b1, b2, b3, none)
                y = (x - mid) * of1[:, None]
                y1 += tl.sum(y, 0)
                a1, a2, a3 = thirds(y)
                yy1 += product(tl.trans(a1), tl.trans(a2), tl.trans(a3), b1, b2, b3, none)
            square = column[:, None] * d + column[None, :]
            to = item.to(tl.int64) * 2
            tl.store(sum_yy + to * d * d + square, yy0)
            tl.store(sum_yy + (to + 1) * d * d + square, yy1)
            tl.store(sum_y + to * d + column, y0)
            tl.store(sum_y + (to + 1) * d + column, y1)
            tl.store(sum_1 + item * 8, tl.sum(w0, 0))
            tl.store(sum_1 + item * 8 + 1, tl.sum(n0, 0))
            tl.store(sum_1 + item * 8 + 2, tl.sum(doubts, 0))
            tl.store(sum_1 + item * 8 + 4, tl.sum(w1, 0))
            tl.store(sum_1 + item * 8 + 5, tl.sum(n1, 0))


@jit(do_not_specialize=_COUNTS)
def finish_many(items, chosen, parts, out, k, size: tl.constexpr, block: tl.constexpr):
    """Add up the parts (programs, size) of each cluster in order, clusters not chosen as 0."""
    c = tl.program_id(0)
    at = tl.program_id(1) * block + tl.arange(0, block)
    inside = at < size
    total = tl.zeros((block,), tl.float64)
    if tl.load(chosen + c) != 0:
        for item in range(tl.load(items + c), tl.load(items + c + 1)):
            base = parts + item.to(tl.int64) * size
            total += tl.load(base + at, mask=inside, other=0.0).to(tl.float64)
    tl.store(out + c * size + at, total, mask=inside)


@jit(do_not_specialize=_COUNTS)
def finish_tables(rivals, between, fixed, out, k, copies, block: tl.constexpr):
    """Add up the copies of the tables."""
    add_tables(rivals, between, fixed, out, tl.program_id(0), k, copies, block)
