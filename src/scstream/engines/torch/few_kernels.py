"""Triton kernels for rows of at most 8 columns: a thread keeps its rows in registers.

Launches are recorded and replayed, so whatever changes from one pass to the next is read from
memory: ``words`` are (seed, sweep, batch, first row, n, components, k, copies, renamed or not,
address of rows that have just come).

A component is a quadratic form about a centre: ``init + b . y + y' Q y`` with ``y = z - centre``.
With a power it is a Student-t density: ``const - power * log1p(form)``.
"""

# mypy: ignore-errors
# Triton reads annotations as code and knows no types of Python's: kernels carry none.

from __future__ import annotations

from scstream.engines.torch.triton import (
    certainty,
    compare,
    jit,
    libdevice,
    nobody,
    pair,
    pass_by,
    rival,
    shared,
    tally,
    tl,
    uniforms,
)


@jit(do_not_specialize=["first", "n"])
def take_in(
    X, frame, Z, z, sub, trial, flaw, stride, first, n,
    d: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Take rows (n, d) to the family's frame: shifts (d), then scales (d). No row has a label.

    They become the rows from ``first`` on. The flaw is 1 if some number is not finite.
    """
    row = tl.program_id(0) * block + tl.arange(0, block)
    _take(X, frame, Z, z, sub, trial, flaw, stride, row, first, row < n, d)


@jit
def take_in_latest(
    words, frame, Z, z, sub, trial, flaw, stride,
    double: tl.constexpr, d: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Do the same with all rows of a batch, of float32 or float64; the words say where they are."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < count(words, 4)
    if double:
        X = tl.load(words + 9).to(tl.pointer_type(tl.float64))
        _take(X, frame, Z, z, sub, trial, flaw, stride, row, 0, inside, d)
    else:
        X = tl.load(words + 9).to(tl.pointer_type(tl.float32))
        _take(X, frame, Z, z, sub, trial, flaw, stride, row, 0, inside, d)


@jit
def _take(X, frame, Z, z, sub, trial, flaw, stride, row, first, inside, d: tl.constexpr):
    X += row.to(tl.int64) * d
    row += first
    nothing = tl.zeros_like(row)
    flaws = nothing
    for j in tl.static_range(d):
        x = tl.load(X + j, mask=inside, other=0.0).to(tl.float64)
        flaws = tl.where(tl.abs(x) < float("inf"), flaws, 1)
        x = (x - tl.load(frame + j)) / tl.load(frame + d + j)
        tl.store(Z + j * stride + row, x.to(tl.float32), mask=inside)
    tl.store(z + row, nothing - 1, mask=inside)
    tl.store(sub + row, nothing, mask=inside)
    tl.store(trial + row, nothing, mask=inside)
    if tl.max(flaws, 0) > 0:
        tl.store(flaw, 1.0)


@jit
def count(words, place):
    """Return one of the words."""
    return tl.load(words + place).to(tl.int32)


@jit
def rename(words, names, z, sub, trial, block: tl.constexpr):
    """Give labels and sub-labels new names, if there are any.

    ``names`` has ``2 label + sub-label`` for each old label, sub-label, and sub-label last tried.
    """
    if count(words, 8) != 0:
        row = tl.program_id(0) * block + tl.arange(0, block)
        label = tl.load(z + row, mask=row < count(words, 4), other=-1)
        known = label >= 0
        name = tl.load(names + _code(label, sub, trial, row, known), mask=known, other=-2)
        tl.store(z + row, name >> 1, mask=known)
        tl.store(sub + row, name & 1, mask=known)


@jit
def read_names(names, words, z, sub, trial, both: tl.constexpr, block: tl.constexpr):
    """Read twice the id plus the sub-label of n rows, or both; by names as in `rename`.

    The words are the number of the first row, n, and where ids and sub-labels go: int64, or codes
    of int32. Rows without a label have the id -1.
    """
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count(words, 1)
    row = count(words, 0) + at
    label = tl.load(z + row, mask=inside, other=-1)
    known = label >= 0
    name = tl.load(names + _code(label, sub, trial, row, known), mask=known, other=-2)
    if both:
        ids = tl.load(words + 2).to(tl.pointer_type(tl.int64))
        subs = tl.load(words + 3).to(tl.pointer_type(tl.int64))
        tl.store(ids + at, name >> 1, mask=inside)
        tl.store(subs + at, name & 1, mask=inside)
    else:
        codes = tl.load(words + 2).to(tl.pointer_type(tl.int32))
        tl.store(codes + at, name.to(tl.int32), mask=inside)


@jit
def _code(label, sub, trial, row, known):
    code = 4 * label + 2 * tl.load(sub + row, mask=known, other=0)
    return code + tl.load(trial + row, mask=known, other=0)


@jit
def gather(Z, stride, row, words, out, d: tl.constexpr, block: tl.constexpr):
    """Fetch the numbers and the coordinates of one row of each of k clusters: (k, 1 + d)."""
    c = tl.arange(0, block) + tl.program_id(0) * block
    mine = tl.load(row + c, mask=c < count(words, 6), other=2**62)
    found = mine < count(words, 4)
    tl.store(out + c * (1 + d), mine.to(tl.float64), mask=c < count(words, 6))
    for j in tl.static_range(d):
        x = tl.load(Z + j * stride + mine, mask=found, other=0.0)
        tl.store(out + c * (1 + d) + 1 + j, x.to(tl.float64), mask=found)


@jit
def _coordinate(Z, stride, row, inside, j: tl.constexpr, d: tl.constexpr):
    if j < d:
        return tl.load(Z + j * stride + row, mask=inside, other=0.0)
    else:
        return tl.zeros_like(row).to(tl.float32)


@jit
def _point(Z, stride, row, inside, d: tl.constexpr):
    """Return the coordinates of rows: a tuple of 8."""
    return (
        _coordinate(Z, stride, row, inside, 0, d),
        _coordinate(Z, stride, row, inside, 1, d),
        _coordinate(Z, stride, row, inside, 2, d),
        _coordinate(Z, stride, row, inside, 3, d),
        _coordinate(Z, stride, row, inside, 4, d),
        _coordinate(Z, stride, row, inside, 5, d),
        _coordinate(Z, stride, row, inside, 6, d),
        _coordinate(Z, stride, row, inside, 7, d),
    )


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
def label_few(
    Z, stride, prm, sub_prm, centre, words, fixed, weight,
    z_out, sub_out, code_out, share_out, Y, sub_doubt, rivals, between,
    d: tl.constexpr, width: tl.constexpr, student: tl.constexpr, sub_student: tl.constexpr,
    draw: tl.constexpr, block: tl.constexpr, unroll: tl.constexpr,
):  # fmt: skip
    """Label rows of few columns (d <= 8): a thread has some rows and goes over the components.

    Scores are never stored: drawing goes over the components twice.
    """
    n, n_all, k, copies = count(words, 4), count(words, 5), count(words, 6), count(words, 7)
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < n
    z = _point(Z, stride, row, inside, d)
    top, runner, total, first, other = nobody(block)
    for c in tl.range(n_all, loop_unroll_factor=unroll):
        s = _score(prm + c * width, 1, z, d, student)
        top, runner, total, first, other = compare(s, c, top, runner, total, first, other, draw)
    u, v = uniforms(words, row.to(tl.int64))
    pick, own = first, top
    if draw:
        left = (u * total.to(tl.float64)).to(tl.float32)
        for c in tl.range(n_all, loop_unroll_factor=unroll):
            s = _score(prm + c * width, 1, z, d, student)
            left, pick, own = pass_by(s, c, top, left, pick, own)
    second, gap = rival(top, runner, first, other, pick, own)
    w = tl.load(weight + row, mask=inside, other=0.0)
    tally(pick, second, certainty(gap), w, inside, fixed, rivals, between, k, copies)
    own_c = tl.minimum(pick, k - 1)
    s0 = _score(sub_prm + 2 * own_c, 2 * k, z, d, sub_student)
    s1 = _score(sub_prm + 2 * own_c + 1, 2 * k, z, d, sub_student)
    if draw:
        sub, doubt = pair(s0, s1, v, True)
    else:
        sub, share, doubt = shared(s0, s1)
        tl.store(share_out + row, share, mask=inside)
    out = pick >= k
    sub = tl.where(out, 0, sub)
    tl.store(z_out + row, tl.where(out, -1, pick), mask=inside)
    tl.store(sub_out + row, sub, mask=inside)
    code = tl.where(out, -1, 2 * pick + sub)
    _leave(z, code, own_c, w * doubt, centre, code_out, Y, sub_doubt, stride, row, inside, d)


@jit
def divide_few(
    Z, stride, sub_prm, centre, words, rank, weight, z_in, trial, code_out, Y, sub_doubt,
    d: tl.constexpr, sub_student: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Try the better sub-label for rows of the k chosen clusters.

    ``rank`` says for each label which of them it is, from 1 on, or 0.
    """
    n, k = count(words, 4), count(words, 6)
    row = tl.program_id(0) * block + tl.arange(0, block)
    inside = row < n
    label = tl.load(z_in + row, mask=inside, other=-1)
    own_c = tl.load(rank + label, mask=label >= 0, other=0) - 1
    mine = own_c >= 0
    own_c = tl.where(mine, own_c, 0)
    z = _point(Z, stride, row, mine, d)
    s0 = _score(sub_prm + 2 * own_c, 2 * k, z, d, sub_student)
    s1 = _score(sub_prm + 2 * own_c + 1, 2 * k, z, d, sub_student)
    sub, doubt = pair(s0, s1, s0, False)
    w = tl.load(weight + row, mask=inside, other=0.0)
    tl.store(trial + row, sub, mask=mine)
    code = tl.where(mine, 2 * own_c + sub, -1)
    _leave(z, code, own_c, w * doubt, centre, code_out, Y, sub_doubt, stride, row, inside, d)


@jit
def _leave(
    z, code, own_c, doubt, centre, code_out, Y, sub_doubt, stride, row, inside, d: tl.constexpr
):  # fmt: skip
    """Leave to those who sum what they need: codes, doubts, rows about their centres."""
    tl.store(code_out + row, code, mask=inside)
    tl.store(sub_doubt + row, doubt, mask=inside)
    for j in tl.static_range(d):
        tl.store(Y + j * stride + row, z[j] - tl.load(centre + own_c * d + j), mask=inside)


@jit
def foretell(
    sums, prior, words, sub_prm, status,
    p: tl.constexpr, columns: tl.constexpr, d: tl.constexpr,
):  # fmt: skip
    """Fill in the predictive of the sums of one part of a cluster, as a Student-t density.

    ``prior`` has the family's statistics (p), its ``nu - kappa`` and half of alpha. The status is
    not 0 where the scatter is not positive definite.
    """
    k = count(words, 6)
    part = tl.program_id(0)
    if part < 2 * k:
        at, to, step = sums + part * columns, sub_prm + part, 2 * k
        i = tl.arange(0, 8)
        r, c = i[:, None], i[None, :]
        n = tl.load(at)
        kappa = tl.load(prior) + n
        first, mean = _posterior(at, prior, 1 + r, r < d), _posterior(at, prior, 1 + c, c < d)
        mean = mean / kappa
        low, high = tl.minimum(r, c), tl.maximum(r, c)
        place = 1 + d + low * d - (low * (low - 1)) // 2 + (high - low)
        near = (r < d) & (c < d)
        scatter = _posterior(at, prior, place, near)
        scatter = tl.where(near, scatter - first * mean, tl.where(r == c, 1.0, 0.0))
        largest = tl.max(tl.max(tl.where(near & (r == c), scatter, 0.0), 1), 0)
        log_det = 0.0
        bad = 0.0
        for t in tl.static_range(d):  # the sweep operator: with all swept it is minus the inverse
            row = tl.sum(tl.where(r == t, scatter, 0.0), 0)[None, :]
            col = tl.sum(tl.where(c == t, scatter, 0.0), 1)[:, None]
            pivot = tl.sum(tl.sum(tl.where((r == t) & (c == t), scatter, 0.0), 1), 0)
            bad = tl.where(pivot > 1e-12 * largest, bad, 1.0)
            log_det += tl.log(pivot)
            swept = tl.where(c == t, col / pivot, scatter - col * row / pivot)
            scatter = tl.where(r == t, tl.where(c == t, -1.0 / pivot, row / pivot), swept)
        form = -scatter * (kappa / (kappa + 1.0))
        slope = 2.0 * tl.sum(form * _rounding(mean), 1)[:, None]
        value = 0.5 * tl.sum(tl.sum(slope * _rounding(first / kappa), 1), 0)
        power = 0.5 * (kappa + tl.load(prior + p) + 1.0)
        level = tl.log(n + tl.load(prior + p + 1)) + libdevice.lgamma(power)
        level += 0.5 * (d * tl.log(2.0 * kappa / (kappa + 1.0)) - log_det)
        level -= libdevice.lgamma(power - 0.5 * d)
        tl.store(to + c * step, mean.to(tl.float32), mask=c < d)
        tl.store(to + d * step, value.to(tl.float32))
        tl.store(to + (d + 1) * step, power.to(tl.float32))
        tl.store(to + (d + 2) * step, level.to(tl.float32))
        tl.store(to + (d + 3 + r) * step, slope.to(tl.float32), mask=r < d)
        form = tl.where(r == c, form, 2.0 * form).to(tl.float32)
        tl.store(to + (d + 2 + place) * step, form, mask=near & (r <= c))
        tl.store(status + part, bad)


@jit
def _rounding(x):
    """Return how far float32 is off."""
    return x.to(tl.float32).to(tl.float64) - x


@jit
def _posterior(at, prior, place, inside):
    """Return statistics of a posterior, 0 outside."""
    s = tl.load(at + place, mask=inside, other=0.0)
    return s + tl.load(prior + place, mask=inside, other=0.0)
