"""Triton kernels of the data pass on a GPU: labels, second choices, doubts and sums.

No sum of floats is made by atomic operations. Partial sums of fixed groups of rows are added up
in a fixed order, and the table of doubts is kept in whole numbers (fixed point), whose sum has no
order. So a pass gives the same bits each time.

Sums by label are products with a matrix of zeros and ones on the matrix units. These take 16-bit
numbers: a float32 is cut into three of 8 bits each, which loses nothing of its 24. They also round
each sum towards 0, so small terms go first and long sums are made of short ones.

A component is a quadratic form about a centre: ``init + b . y + y' Q y`` with ``y = z - centre``.
With a power it is a Student-t density: ``const - power * log1p(form)``.
"""

# mypy: ignore-errors
# Triton reads annotations as code and knows no types of Python's: kernels carry none.

from __future__ import annotations

try:
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

    jit = triton.jit
except ImportError:  # the engine then works with plain operations
    triton = tl = libdevice = None

    def jit(function=None, **_):
        """Leave a kernel as it is: nobody will run it."""
        return function if function is not None else jit


AVAILABLE = triton is not None
_COUNTS = ["n", "n_all", "k", "copies", "groups", "first"]  # they change: no new kernel for each


@jit
def _certainty(gap):
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    inside = libdevice.log1p(tl.exp(tl.minimum(gap, 36.0)))
    return tl.where(gap < -36.0, 0.0, tl.where(gap > 36.0, gap, inside))


@jit
def _uniforms(words, row):
    """Return two uniforms in [0, 1) as float64, keyed by (seed, batch, sweep) and the row."""
    a, b = _bits(words, row)
    return a.to(tl.float64) * (2.0**-53), b.to(tl.float64) * (2.0**-53)


@jit
def _bits(words, row):
    """Return two numbers of 53 random bits: Philox 4x32 with ten rounds."""
    row = row + tl.load(words + 3)
    low = (row & 0xFFFFFFFF).to(tl.uint32)
    high = (row >> 32).to(tl.uint32)
    sweep = (tl.load(words + 1) & 0xFFFFFFFF).to(tl.uint32) + tl.zeros_like(low)
    batch = (tl.load(words + 2) & 0xFFFFFFFF).to(tl.uint32) + tl.zeros_like(low)
    c0, c1, c2, c3 = tl.philox(tl.load(words), low, high, sweep, batch)
    a = ((c0.to(tl.uint64) << 32) | c1.to(tl.uint64)) >> 11
    b = ((c2.to(tl.uint64) << 32) | c3.to(tl.uint64)) >> 11
    return a.to(tl.int64), b.to(tl.int64)


@jit
def _thirds(x):
    """Cut float32 into three numbers of 8 bits that add up to it."""
    a = x.to(tl.bfloat16)
    rest = x - a.to(tl.float32)
    b = rest.to(tl.bfloat16)
    return a, b, (rest - b.to(tl.float32)).to(tl.bfloat16)


@jit
def _product(a1, a2, a3, b1, b2, b3, acc):
    """Add the product of two matrices in thirds, the small terms first."""
    acc = tl.dot(a3, b1, acc)
    acc = tl.dot(a1, b3, acc)
    acc = tl.dot(a2, b2, acc)
    acc = tl.dot(a2, b1, acc)
    acc = tl.dot(a1, b2, acc)
    return tl.dot(a1, b1, acc)


@jit
def _coordinate(Z, stride, row, inside, j: tl.constexpr, d: tl.constexpr):
    if j < d:
        return tl.load(Z + j * stride + row, mask=inside, other=0.0)
    else:
        return tl.zeros_like(row).to(tl.float32)


@jit
def _from_centre(z, at, step, j: tl.constexpr, d: tl.constexpr):
    if j < d:
        return z - tl.load(at + j * step)
    else:
        return z


@jit
def _score(at, step, z, d: tl.constexpr, student: tl.constexpr):
    """Return the scores of rows with coordinates ``z`` (a tuple of 8) under one component.

    Its numbers lie ``step`` apart: centre (d), init, power, const, b (d), Q (upper rows).
    """
    y = (
        _from_centre(z[0], at, step, 0, d),
        _from_centre(z[1], at, step, 1, d),
        _from_centre(z[2], at, step, 2, d),
        _from_centre(z[3], at, step, 3, d),
        _from_centre(z[4], at, step, 4, d),
        _from_centre(z[5], at, step, 5, d),
        _from_centre(z[6], at, step, 6, d),
        _from_centre(z[7], at, step, 7, d),
    )
    v = tl.load(at + d * step) + tl.zeros_like(z[0])
    for i in tl.static_range(d):
        inner = tl.load(at + (d + 3 + i) * step) + tl.zeros_like(z[0])
        for j in tl.static_range(i, d):
            place = 2 * d + 3 + i * d - (i * (i - 1)) // 2 + (j - i)
            inner += tl.load(at + place * step) * y[j]
        v += inner * y[i]
    if student:
        power = tl.load(at + (d + 1) * step)
        curved = tl.load(at + (d + 2) * step) - power * libdevice.log1p(tl.maximum(v, 0.0))
        v = tl.where(power > 0.0, curved, v)
    return v


@jit
def _pair(s0, s1, u, draw: tl.constexpr):
    """Return the sub-label of rows with a pair of scores, and its doubt."""
    gap = s1 - s0
    if draw:
        likely = u.to(tl.float32) * (1.0 + tl.exp(-tl.maximum(gap, -36.0))) < 1.0
        one = (gap > 36.0) | ((gap > -36.0) & likely)
    else:
        one = gap > 0.0
    return one.to(tl.int32), _certainty(tl.where(one, -gap, gap))


@jit
def _tally(
    z, second, doubt, w, inside, fixed, rivals, between,
    k, copies,
):  # fmt: skip
    """Count second choices and sum doubts, in whole numbers, in one of several tables."""
    met = inside & (z >= 0) & (z < k) & (second >= 0) & (second < k)
    at = (tl.program_id(0) % copies) * k * k + tl.where(met, z * k + second, 0)
    tl.atomic_add(rivals + at, tl.full(at.shape, 1, tl.int32), mask=met, sem="relaxed")
    units = ((w * doubt).to(tl.float64) * tl.load(fixed) + 0.5).to(tl.int64)
    tl.atomic_add(between + at, units, mask=met, sem="relaxed")


@jit(do_not_specialize=_COUNTS)
def label_few(
    Z, stride, prm, sub_prm, centre, words, fixed, weight,
    z_out, sub_out, code_out, Y, sub_doubt, rivals, between,
    n, n_all, k, copies,
    d: tl.constexpr, width: tl.constexpr, student: tl.constexpr, sub_student: tl.constexpr,
    draw: tl.constexpr, block: tl.constexpr, unroll: tl.constexpr,
):  # fmt: skip
    """Label rows of few columns (d <= 8): a thread has some rows and goes over the components.

    Scores are never stored: drawing goes over the components twice.
    """
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < n
    z = (
        _coordinate(Z, stride, row, inside, 0, d),
        _coordinate(Z, stride, row, inside, 1, d),
        _coordinate(Z, stride, row, inside, 2, d),
        _coordinate(Z, stride, row, inside, 3, d),
        _coordinate(Z, stride, row, inside, 4, d),
        _coordinate(Z, stride, row, inside, 5, d),
        _coordinate(Z, stride, row, inside, 6, d),
        _coordinate(Z, stride, row, inside, 7, d),
    )
    top = tl.full((block,), float("-inf"), tl.float32)
    runner = top
    total = tl.zeros((block,), tl.float32)
    first = tl.zeros((block,), tl.int32)
    other = tl.full((block,), -1, tl.int32)
    for c in tl.range(n_all, loop_unroll_factor=unroll):
        s = _score(prm + c * width, 1, z, d, student)
        better = s > top
        if draw:
            e = tl.exp(-tl.abs(s - top))
            total = tl.where(better, total * e + 1.0, total + e)
        other = tl.where(better, first, tl.where(s > runner, c, other))
        runner = tl.where(better, top, tl.maximum(runner, s))
        first = tl.where(better, c, first)
        top = tl.maximum(top, s)
    other = tl.where(runner == float("-inf"), -1, other)
    u, v = _uniforms(words, row.to(tl.int64))
    pick, second, doubt = first, other, runner - top
    if draw:
        left = (u * total.to(tl.float64)).to(tl.float32)
        own = top
        for c in tl.range(n_all, loop_unroll_factor=unroll):
            s = _score(prm + c * width, 1, z, d, student)
            e = tl.where(s - top > -36.0, tl.exp(s - top), 0.0)
            here = (left >= 0.0) & (e > 0.0)
            pick = tl.where(here, c, pick)
            own = tl.where(here, s, own)
            left -= e
        second = tl.where(pick == first, other, first)
        doubt = tl.where(pick == first, runner, top) - own
    doubt = _certainty(doubt)
    w = tl.load(weight + row, mask=inside, other=0.0)
    _tally(pick, second, doubt, w, inside, fixed, rivals, between, k, copies)
    own_c = tl.minimum(pick, k - 1)
    s0 = _score(sub_prm + 2 * own_c, 2 * k, z, d, sub_student)
    s1 = _score(sub_prm + 2 * own_c + 1, 2 * k, z, d, sub_student)
    sub, doubt = _pair(s0, s1, v, draw)
    out = pick >= k
    sub = tl.where(out, 0, sub)
    tl.store(z_out + row, tl.where(out, -1, pick), mask=inside)
    tl.store(sub_out + row, sub, mask=inside)
    tl.store(code_out + row, tl.where(out, -1, 2 * pick + sub), mask=inside)
    tl.store(sub_doubt + row, w * doubt, mask=inside)
    for j in tl.static_range(d):
        tl.store(Y + j * stride + row, z[j] - tl.load(centre + own_c * d + j), mask=inside)


@jit(do_not_specialize=_COUNTS)
def divide_few(
    Z, stride, sub_prm, centre, rank, weight, z_in, trial_out, code_out, Y, sub_doubt, n, k,
    d: tl.constexpr, sub_student: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Try the better sub-label for rows of the k chosen clusters.

    ``rank`` says for each label which of them it is, from 1 on, or 0.
    """
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < n
    label = tl.load(z_in + row, mask=inside, other=-1)
    own_c = tl.load(rank + label, mask=label >= 0, other=0) - 1
    mine = own_c >= 0
    own_c = tl.where(mine, own_c, 0)
    z = (
        _coordinate(Z, stride, row, mine, 0, d),
        _coordinate(Z, stride, row, mine, 1, d),
        _coordinate(Z, stride, row, mine, 2, d),
        _coordinate(Z, stride, row, mine, 3, d),
        _coordinate(Z, stride, row, mine, 4, d),
        _coordinate(Z, stride, row, mine, 5, d),
        _coordinate(Z, stride, row, mine, 6, d),
        _coordinate(Z, stride, row, mine, 7, d),
    )
    s0 = _score(sub_prm + 2 * own_c, 2 * k, z, d, sub_student)
    s1 = _score(sub_prm + 2 * own_c + 1, 2 * k, z, d, sub_student)
    sub, doubt = _pair(s0, s1, s0, False)
    w = tl.load(weight + row, mask=inside, other=0.0)
    tl.store(trial_out + row, sub, mask=mine)
    tl.store(code_out + row, tl.where(mine, 2 * own_c + sub, -1), mask=inside)
    tl.store(sub_doubt + row, w * doubt, mask=inside)
    for j in tl.static_range(d):
        tl.store(Y + j * stride + row, z[j] - tl.load(centre + own_c * d + j), mask=inside)


@jit(do_not_specialize=_COUNTS)
def sum_few(
    Y, stride, code, weight, sub_doubt, factor_a, factor_b,
    partial, n, padded,
    p: tl.constexpr, columns: tl.constexpr, rows: tl.constexpr, block: tl.constexpr,
    tile: tl.constexpr,
):  # fmt: skip
    """Sum statistics about the centres by label and sub-label, for one group of rows.

    Column p counts rows, column p + 1 sums the doubts of sub-labels.
    """
    group = tl.program_id(0)
    component = tl.program_id(1) * tile + tl.arange(0, tile)
    column = tl.arange(0, columns)
    a, b = tl.load(factor_a + column), tl.load(factor_b + column)
    acc = tl.zeros((tile, columns), tl.float32)
    for start in range(0, rows, block):
        row = group * rows + start + tl.arange(0, block)
        inside = row < n
        label = tl.load(code + row, mask=inside, other=-1)
        w = tl.load(weight + row, mask=inside, other=0.0)
        near = inside[:, None] & (a >= 0)[None, :]
        t = tl.load(Y + a[None, :] * stride + row[:, None], mask=near, other=1.0)
        near = inside[:, None] & (b >= 0)[None, :]
        t *= tl.load(Y + b[None, :] * stride + row[:, None], mask=near, other=1.0)
        t *= w[:, None]
        doubt = tl.load(sub_doubt + row, mask=inside, other=0.0)
        t = tl.where(column[None, :] == p, 1.0, t)
        t = tl.where(column[None, :] == p + 1, doubt[:, None], t)
        t = tl.where(column[None, :] > p + 1, 0.0, t)
        belongs = (component[:, None] == label[None, :]).to(tl.bfloat16)
        t1, t2, t3 = _thirds(t)
        part = tl.zeros((tile, columns), tl.float32)
        part = tl.dot(belongs, t3, part)
        part = tl.dot(belongs, t2, part)
        acc += tl.dot(belongs, t1, part)
    at = (group * padded + component)[:, None] * columns + column[None, :]
    tl.store(partial + at, acc)


@jit(do_not_specialize=_COUNTS)
def finish_few(
    partial, centre, factor_a, factor_b, out, rivals, between, fixed, groups, padded, k, copies,
    d: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Add up the groups of one component in order and move its sums from its centre to 0.

    Programs beyond the components add up the tables.
    """
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
    else:
        _add_tables(
            rivals, between, fixed, out + 2 * k * columns, component - 2 * k, k, copies, block
        )


@jit(do_not_specialize=_COUNTS)
def finish_tables(rivals, between, fixed, out, k, copies, block: tl.constexpr):
    """Add up the copies of the tables."""
    _add_tables(rivals, between, fixed, out, tl.program_id(0), k, copies, block)


@jit
def _add_tables(rivals, between, fixed, out, part, k, copies, block: tl.constexpr):
    """Add up the copies of a part of the tables (k, k): the counts, then the doubts.

    The tables are left empty, for the next sweep.
    """
    at = part * block + tl.arange(0, block)
    inside = at < k * k
    count = tl.zeros((block,), tl.int64)
    units = tl.zeros((block,), tl.int64)
    for c in range(copies):
        count += tl.load(rivals + c * k * k + at, mask=inside, other=0).to(tl.int64)
        units += tl.load(between + c * k * k + at, mask=inside, other=0)
    tl.debug_barrier()  # a thread may empty what another reads
    for c in range(copies):
        tl.store(rivals + c * k * k + at, tl.zeros((block,), tl.int32), mask=inside)
        tl.store(between + c * k * k + at, tl.zeros((block,), tl.int64), mask=inside)
    tl.store(out + at, count.to(tl.float64), mask=inside)
    tl.store(out + k * k + at, units.to(tl.float64) / tl.load(fixed), mask=inside)


@jit(do_not_specialize=_COUNTS)
def rename(z, sub, table, n, k, block: tl.constexpr):
    """Rename pairs of label and sub-label by tables of 2 k labels and as many sub-labels."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    label = tl.load(z + row, mask=row < n, other=-1)
    inside = label >= 0
    code = 2 * label + tl.load(sub + row, mask=inside, other=0)
    tl.store(z + row, tl.load(table + code, mask=inside, other=0), mask=inside)
    tl.store(sub + row, tl.load(table + 2 * k + code, mask=inside, other=0), mask=inside)


@jit(do_not_specialize=_COUNTS)
def keep_trial(z, sub, trial, chosen, n, block: tl.constexpr):
    """Take over the sub-labels last tried for rows of the chosen clusters."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    label = tl.load(z + row, mask=row < n, other=-1)
    mine = (label >= 0) & (tl.load(chosen + label, mask=label >= 0, other=0) != 0)
    tl.store(sub + row, tl.load(trial + row, mask=mine, other=0), mask=mine)


@jit(do_not_specialize=_COUNTS)
def least_bits(words, z, least, n, block: tl.constexpr):
    """Find the least random number among the rows of each cluster."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    label = tl.load(z + row, mask=row < n, other=-1)
    mine = label >= 0
    label = tl.where(mine, label, 0)
    bits, _ = _bits(words, row.to(tl.int64))
    # the least so far only falls: whoever is above an old value of it need not try
    mine = mine & (bits < tl.load(least + label, mask=mine, other=0))
    tl.atomic_min(least + label, bits, mask=mine, sem="relaxed")


@jit(do_not_specialize=_COUNTS)
def least_row(words, z, least, out, n, block: tl.constexpr):
    """Find the first row of each cluster that has the least random number."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    label = tl.load(z + row, mask=row < n, other=-1)
    mine = label >= 0
    label = tl.where(mine, label, 0)
    bits, _ = _bits(words, row.to(tl.int64))
    mine = mine & (bits == tl.load(least + label, mask=mine, other=-1))
    tl.atomic_min(out + label, row.to(tl.int64), mask=mine, sem="relaxed")


@jit(do_not_specialize=_COUNTS)
def score_many(
    Z, factors, offset, prm, out, first, n, n_all, ahead,
    d: tl.constexpr, student: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Score rows of many columns by ``|z L - offset|^2`` under every component.

    ``factors`` (3, components, d, d) are L in thirds; ``out`` (components, ahead) has the rows from
    ``first`` on.
    """
    place = tl.program_id(0) * block + tl.arange(0, block)
    row = (first + place).to(tl.int64)
    inside = first + place < n
    column = tl.arange(0, d)
    x = tl.load(Z + row[:, None] * d + column[None, :], mask=inside[:, None], other=0.0)
    x1, x2, x3 = _thirds(x)
    square = column[:, None] * d + column[None, :]
    whole = n_all * d * d
    for c in range(n_all):
        at = factors + c * d * d + square
        acc = tl.zeros((block, d), tl.float32)
        acc = _product(x1, x2, x3, tl.load(at), tl.load(at + whole), tl.load(at + 2 * whole), acc)
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
    top = tl.full((block,), float("-inf"), tl.float32)
    runner = top
    total = tl.zeros((block,), tl.float32)
    best = tl.zeros((block,), tl.int32)
    other = tl.full((block,), -1, tl.int32)
    for c in range(n_all):
        s = tl.load(scores + c * ahead + place, mask=inside, other=0.0)
        better = s > top
        if draw:
            e = tl.exp(-tl.abs(s - top))
            total = tl.where(better, total * e + 1.0, total + e)
        other = tl.where(better, best, tl.where(s > runner, c, other))
        runner = tl.where(better, top, tl.maximum(runner, s))
        best = tl.where(better, c, best)
        top = tl.maximum(top, s)
    other = tl.where(runner == float("-inf"), -1, other)
    pick, second, doubt = best, other, runner - top
    if draw:
        u, _ = _uniforms(words, row.to(tl.int64))
        left = (u * total.to(tl.float64)).to(tl.float32)
        own = top
        for c in range(n_all):
            s = tl.load(scores + c * ahead + place, mask=inside, other=0.0)
            e = tl.where(s - top > -36.0, tl.exp(s - top), 0.0)
            here = (left >= 0.0) & (e > 0.0)
            pick = tl.where(here, c, pick)
            own = tl.where(here, s, own)
            left -= e
        second = tl.where(pick == best, other, best)
        doubt = tl.where(pick == best, runner, top) - own
    w = tl.load(weight + row, mask=inside, other=0.0)
    _tally(pick, second, _certainty(doubt), w, inside, fixed, rivals, between, k, copies)
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
        acc = _product(x1, x2, x3, tl.load(at), tl.load(at + whole), tl.load(at + 2 * whole), acc)
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
    kind: tl.constexpr, draw: tl.constexpr,
):  # fmt: skip
    """Give sub-labels to some rows of one cluster and sum their statistics about its centre.

    ``order`` are the rows sorted by label, ``begin`` (k + 1) where each cluster begins in it and
    ``items`` (k + 1) the number of programs of the clusters before each.
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
                x1, x2, x3 = _thirds(x)
                whole = 2 * k * d * d
                s0 = _own_score(x, x1, x2, x3, factors, offset, prm, 2 * c, whole, d, block, kind)
                s1 = _own_score(
                    x, x1, x2, x3, factors, offset, prm, 2 * c + 1, whole, d, block, kind
                )
                if draw:
                    _, v = _uniforms(words, row)
                    sub, doubt = _pair(s0, s1, v, True)
                else:
                    sub, doubt = _pair(s0, s1, s0, False)
                tl.store(sub_out + row, sub, mask=inside)
                w = tl.load(weight + row, mask=inside, other=0.0)
                doubts += w * doubt
                of0 = tl.where(inside & (sub == 0), w, 0.0)
                of1 = tl.where(inside & (sub == 1), w, 0.0)
                w0 += of0
                w1 += of1
                n0 += (inside & (sub == 0)).to(tl.float32)
                n1 += (inside & (sub == 1)).to(tl.float32)
                y = x - mid
                b1, b2, b3 = _thirds(y)
                y = y * of0[:, None]
                y0 += tl.sum(y, 0)
                a1, a2, a3 = _thirds(y)
                yy0 += _product(tl.trans(a1), tl.trans(a2), tl.trans(a3), b1, b2, b3, none)
                y = (x - mid) * of1[:, None]
                y1 += tl.sum(y, 0)
                a1, a2, a3 = _thirds(y)
                yy1 += _product(tl.trans(a1), tl.trans(a2), tl.trans(a3), b1, b2, b3, none)
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
