"""Triton kernels for what takes many launches or passes over all scores as plain operations.

A sum over rows is one of a piece of rows, whose order is fixed, or one of whole numbers, which has
no order: so the same call gives the same bits each time.
"""

# mypy: ignore-errors
# Triton reads annotations as code and knows no types of Python's: kernels carry none.

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scstream.engines.torch.pieces import ByLabel

try:
    import triton
    import triton.language as tl

    jit = triton.jit
except ImportError:  # the engine then works with plain operations
    triton = tl = None

    def jit(function=None, **_):
        """Leave a kernel as it is: it is never run."""
        return function if function is not None else jit


_ROWS = {"uniforms": 256, "statistics": 512, "label": 32, "divide": 256}  # of a program
_TABLES = 2**15  # entries of all copies of a table
_HOW = {"best": 0, "drawn": 1, "shared": 2}


def serve(device: torch.device) -> bool:
    """Whether the kernels run on a device."""
    return triton is not None and device.type == "cuda"


def uniforms(words: Tensor, n: int) -> Tensor:
    """Return uniforms (2, n) by the seed, the sweep, the batch and the number of the first row."""
    out = torch.empty((2, n), dtype=torch.float64, device=words.device)
    block = _ROWS["uniforms"]
    with torch.cuda.device(words.device):
        _uniforms[(-(-n // block),)](words, out, n, block=block)
    return out


def statistics(Z: Tensor, out: Tensor) -> None:
    """Fill in the upper triangle (p, m) of what columns of Z (d, m) make with themselves."""
    block, m = _ROWS["statistics"], out.shape[1]
    with torch.cuda.device(Z.device):
        _statistics[(-(-m // block), len(Z))](
            Z, Z.stride(0), out, m, len(Z), block=block
        )  # fmt: skip


def label(
    scores: Tensor, student: Sequence[Tensor] | None, u: Tensor | None, units: Tensor,
    z: Tensor, tables: Tensor,
) -> None:  # fmt: skip
    """Do as `draws.label` does."""
    many, n = scores.shape
    k, block = tables.shape[-1], _ROWS["label"]
    level, power = (scores, scores) if student is None else student
    copies = torch.zeros((2, max(1, _TABLES // k**2), k, k), dtype=torch.int64, device=z.device)
    with torch.cuda.device(scores.device):
        _label[(-(-n // block),)](
            scores, level, power, scores if u is None else u, units, z, copies[0], copies[1],
            many, n, k, copies.shape[1],
            student=student is not None, draw=u is not None, block=block, num_warps=1,
        )  # fmt: skip
    tables += copies.sum(dim=1)


def divide(
    T: Tensor, by_label: ByLabel, chosen: Tensor, pairs: list[Tensor], weight: Tensor,
    v: Tensor | None, to: Tensor, how: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Divide the chosen clusters, in pieces of rows; see `TorchEngine._divided`.

    Returns the clusters of the pieces (m,) and the sums over these (m, 2 p + 3).
    """
    n, k, p, block = T.shape[1] - 1, len(chosen), len(T), _ROWS["divide"]
    pieces = n // block + k
    which = torch.empty(pieces, dtype=torch.int64, device=T.device)
    sums = torch.zeros((pieces, 2 * p + 3), dtype=torch.float64, device=T.device)
    student = len(pairs) > 1
    eta, level, power = pairs if student else (pairs[0], T, T)
    with torch.cuda.device(T.device):
        _divide[(pieces,)](
            T, *T.stride(), by_label.order, by_label.begin, chosen, eta, level, power, weight,
            weight if v is None else v, to, which, sums, n, k, p,
            student=student, how=_HOW[how], padded=triton.next_power_of_2(k), block=block,
        )  # fmt: skip
    return which, sums


@jit(do_not_specialize=["n"])
def _uniforms(words, out, n, block: tl.constexpr):
    """Philox 4x32 with ten rounds: the counter is (row, sweep, batch), the key is the seed."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    row = at.to(tl.int64) + tl.load(words + 3)
    low = (row & 0xFFFFFFFF).to(tl.uint32)
    high = (row >> 32).to(tl.uint32)
    sweep = (tl.load(words + 1) & 0xFFFFFFFF).to(tl.uint32) + tl.zeros_like(low)
    batch = (tl.load(words + 2) & 0xFFFFFFFF).to(tl.uint32) + tl.zeros_like(low)
    c0, c1, c2, c3 = tl.philox(tl.load(words), low, high, sweep, batch)
    a = ((c0.to(tl.uint64) << 32) | c1.to(tl.uint64)) >> 11
    b = ((c2.to(tl.uint64) << 32) | c3.to(tl.uint64)) >> 11
    inside = at < n
    out += at
    tl.store(out, a.to(tl.int64).to(tl.float64) * (2.0**-53), mask=inside)
    tl.store(out + n, b.to(tl.int64).to(tl.float64) * (2.0**-53), mask=inside)


@jit(do_not_specialize=["stride", "width"])
def _statistics(Z, stride, out, m, width, block: tl.constexpr):
    """Multiply one row of Z with those from it on."""
    i = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < m
    other = Z + i * stride + at
    to = out + (i * width - (i * (i - 1)) // 2) * m + at
    x = tl.load(other, mask=inside)
    for _ in range(i, width):
        tl.store(to, x * tl.load(other, mask=inside), mask=inside)
        other += stride
        to += m


@jit
def _finished(q, level, power, c):
    """Return scores by products: with a power they are in a logarithm."""
    strength = tl.load(power + c)
    curved = tl.load(level + c) - strength * tl.log(tl.maximum(q, 1.0))
    return tl.where(strength > 0.0, curved, q)


@jit
def _certainty(gap):
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    e = tl.exp(tl.minimum(gap, 36.0))
    more = 1.0 + e
    inside = tl.where(more == 1.0, e, tl.log(more) * (e / (more - 1.0)))  # log(1 + e)
    return tl.where(gap < -36.0, 0.0, tl.where(gap > 36.0, gap, inside))


@jit(do_not_specialize=["many", "n", "k", "copies"])
def _label(
    scores, level, power, u, units, z, rivals, between, many, n, k, copies,
    student: tl.constexpr, draw: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Go over the scores (many, n) of some rows for the best two, and again to draw.

    Scores of 37 nats or more below the best are as good as none. Where all rows of a program are
    sure of that no exponential is computed.
    """
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < n
    top = tl.full((block,), float("-inf"), tl.float64)
    runner = tl.full((block,), float("-inf"), tl.float64)
    total = tl.zeros((block,), tl.float64)
    first = tl.zeros((block,), tl.int32)
    other = tl.full((block,), -1, tl.int32)
    at = scores + row
    for c in range(many):
        s = tl.load(at, mask=inside, other=0.0).to(tl.float64)
        if student:
            s = _finished(s, level, power, c)
        better = s > top
        if draw:  # the sum of weights relative to the best so far
            e = (s == top).to(tl.float64)
            if tl.max((tl.abs(s - top) < 37.0).to(tl.int32), 0) > 0:
                e = tl.where(s == top, 1.0, tl.exp(-tl.abs(s - top)))
            total = tl.where(better, total * e + 1.0, total + e)
        other = tl.where(better, first, tl.where(s > runner, c, other))
        runner = tl.where(better, top, tl.maximum(runner, s))
        first = tl.where(better, c, first)
        top = tl.maximum(top, s)
        at += n
    pick, own = first, top
    if draw:
        left = tl.load(u + row, mask=inside, other=0.0) * total
        at = scores + row
        for c in range(many):
            s = tl.load(at, mask=inside, other=0.0).to(tl.float64)
            if student:
                s = _finished(s, level, power, c)
            if tl.max((s - top > -36.0).to(tl.int32), 0) > 0:
                e = tl.where(s - top > -36.0, tl.exp(s - top), 0.0)
                here = (left >= 0.0) & (e > 0.0)
                pick, own = tl.where(here, c, pick), tl.where(here, s, own)
                left -= e
            at += n
    second = tl.where(pick == first, tl.where(runner == float("-inf"), -1, other), first)
    entropy = _certainty(tl.where(pick == first, runner, top) - own)
    tl.store(z + row, tl.where(pick < k, pick, -1).to(tl.int64), mask=inside)
    met = inside & (pick < k) & (second >= 0) & (second < k)
    cell = (tl.program_id(0) % copies) * k * k + tl.where(met, pick * k + second, 0)
    tl.atomic_add(rivals + cell, tl.full((block,), 1, tl.int64), mask=met, sem="relaxed")
    unit = tl.load(units + row, mask=inside, other=0.0)
    tl.atomic_add(between + cell, (unit * entropy + 0.5).to(tl.int64), mask=met, sem="relaxed")


@jit(do_not_specialize=["n", "k"])
def _divide(
    T, down, along, order, begin, chosen, eta, level, power, weight, v, to, which, sums, n, k, p,
    student: tl.constexpr, how: tl.constexpr, padded: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Give the rows of one piece sub-labels, and sum up their statistics on both sides."""
    item = tl.program_id(0)
    c = tl.arange(0, padded)
    start = tl.load(begin + c, mask=c < k, other=0)
    size = tl.load(begin + c + 1, mask=c < k, other=0) - start
    size = tl.where(tl.load(chosen + c, mask=c < k, other=0.0) > 0.0, size, 0)
    pieces = (size + block - 1) // block
    ends = tl.cumsum(pieces, 0)
    mine = tl.sum((ends <= item).to(tl.int32), 0)
    tl.store(which + item, mine.to(tl.int64))
    if mine < k:
        inner = item - tl.sum(tl.where(c == mine, ends - pieces, 0), 0)
        first = tl.sum(tl.where(c == mine, start, 0), 0)
        last = first + tl.sum(tl.where(c == mine, size, 0), 0)
        at = first + inner * block + tl.arange(0, block)
        inside = at < last
        row = tl.load(order + at, mask=inside, other=n)  # the row of nothing
        own = eta + 2 * mine.to(tl.int64) * p
        s0 = tl.zeros((block,), tl.float64)
        s1 = tl.zeros((block,), tl.float64)
        for j in range(p):
            t = tl.load(T + j * down + row * along)
            s0 += t * tl.load(own + j)
            s1 += t * tl.load(own + p + j)
        if student:
            s0 = _finished(s0, level, power, 2 * mine)
            s1 = _finished(s1, level, power, 2 * mine + 1)
        gap = s1 - s0
        one = gap > 0.0
        if how == 1:
            likely = tl.load(v + row) * (1.0 + tl.exp(-tl.maximum(gap, -36.0))) < 1.0
            one = (gap > 36.0) | ((gap > -36.0) & likely)
        entropy = _certainty(tl.where(one, -gap, gap))
        share = one.to(tl.float64)
        if how == 2:
            apart = tl.abs(gap)
            less = tl.where(apart < 36.0, 1.0 / (1.0 + tl.exp(tl.minimum(apart, 36.0))), 0.0)
            entropy += less * tl.minimum(apart, 36.0)
            share = tl.where(one, 1.0 - less, less)
        tl.store(to + row, one.to(tl.int64), mask=inside)
        w = tl.load(weight + row)
        w1 = w * share
        w0 = w * (1.0 - share)
        out = sums + item.to(tl.int64) * (2 * p + 3)
        for j in range(p):
            t = tl.load(T + j * down + row * along)
            tl.store(out + j, tl.sum(t * w0, 0))
            tl.store(out + p + j, tl.sum(t * w1, 0))
        tl.store(out + 2 * p, tl.sum((inside & ~one).to(tl.float64), 0))
        tl.store(out + 2 * p + 1, tl.sum((inside & one).to(tl.float64), 0))
        tl.store(out + 2 * p + 2, tl.sum(w * entropy, 0))
