"""What the Triton kernels of the data pass share: random bits, doubts, tables, exact products.

No sum of floats is made by atomic operations. Partial sums of fixed groups of rows are added up
in a fixed order, and the table of doubts is kept in whole numbers (fixed point), whose sum has no
order. So a pass gives the same bits each time.

The matrix units take 16-bit numbers: a float32 is cut into three of 8 bits each, which loses
nothing of its 24. They also round each sum towards 0, so small terms go first and long sums are
made of short ones.

Kernels in this room take as many parameters as they have arrays: Triton knows pointers and numbers
only, no tuples of them. Functions that are not kernels take ten at most.
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


@jit
def certainty(gap):
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    inside = libdevice.log1p(tl.exp(tl.minimum(gap, 36.0)))
    return tl.where(gap < -36.0, 0.0, tl.where(gap > 36.0, gap, inside))


@jit
def compare(s, c, top, runner, total, first, other, draw: tl.constexpr):
    """Return who leads rows once component c with scores ``s`` is known, as ``nobody`` began it.

    That is the best score, the second best, the sum of weights relative to the best, and whose
    the two scores are.
    """
    better = s > top
    if draw:
        e = tl.exp(-tl.abs(s - top))
        total = tl.where(better, total * e + 1.0, total + e)
    other = tl.where(better, first, tl.where(s > runner, c, other))
    runner = tl.where(better, top, tl.maximum(runner, s))
    first = tl.where(better, c, first)
    return tl.maximum(top, s), runner, total, first, other


@jit
def nobody(block: tl.constexpr):
    """Return what `compare` begins with."""
    low = tl.full((block,), float("-inf"), tl.float32)
    none = tl.full((block,), -1, tl.int32)
    return low, low, tl.zeros((block,), tl.float32), tl.zeros((block,), tl.int32), none


@jit
def pass_by(s, c, top, left, pick, own):
    """Go past component c with scores ``s``: what is left of the draw, who has it, its score."""
    e = tl.where(s - top > -36.0, tl.exp(s - top), 0.0)
    here = (left >= 0.0) & (e > 0.0)
    return left - e, tl.where(here, c, pick), tl.where(here, s, own)


@jit
def rival(top, runner, first, other, pick, own):
    """Return whom the picked component with score ``own`` won against, and the gap of scores."""
    other = tl.where(runner == float("-inf"), -1, other)
    best = pick == first
    return tl.where(best, other, first), tl.where(best, runner, top) - own


@jit
def uniforms(words, row):
    """Return two uniforms in [0, 1) as float64, keyed by (seed, batch, sweep) and the row."""
    a, b = bits(words, row)
    return a.to(tl.float64) * (2.0**-53), b.to(tl.float64) * (2.0**-53)


@jit
def bits(words, row):
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
def thirds(x):
    """Cut float32 into three numbers of 8 bits that add up to it."""
    a = x.to(tl.bfloat16)
    rest = x - a.to(tl.float32)
    b = rest.to(tl.bfloat16)
    return a, b, (rest - b.to(tl.float32)).to(tl.bfloat16)


@jit
def product(a1, a2, a3, b1, b2, b3, acc):
    """Add the product of two matrices in thirds, the small terms first."""
    acc = tl.dot(a3, b1, acc)
    acc = tl.dot(a1, b3, acc)
    acc = tl.dot(a2, b2, acc)
    acc = tl.dot(a2, b1, acc)
    acc = tl.dot(a1, b2, acc)
    return tl.dot(a1, b1, acc)


@jit
def pair(s0, s1, u, draw: tl.constexpr):
    """Return the sub-label of rows with a pair of scores, and its doubt."""
    gap = s1 - s0
    if draw:
        likely = u.to(tl.float32) * (1.0 + tl.exp(-tl.maximum(gap, -36.0))) < 1.0
        one = (gap > 36.0) | ((gap > -36.0) & likely)
    else:
        one = gap > 0.0
    return one.to(tl.int32), certainty(tl.where(one, -gap, gap))


@jit
def shared(s0, s1):
    """Return the better sub-label of rows with a pair of scores, the second's share, the entropy.

    The entropy is the doubt expected of a sub-label that is drawn.
    """
    gap = s1 - s0
    size = tl.abs(gap)
    odds = tl.exp(-tl.minimum(size, 36.0))
    less = tl.where(size < 36.0, odds / (1.0 + odds), 0.0)
    better = gap > 0.0
    doubt = certainty(-size) + less * tl.minimum(size, 36.0)
    return better.to(tl.int32), tl.where(better, 1.0 - less, less), doubt


@jit
def tally(
    z, second, doubt, w, inside, fixed, rivals, between,
    k, copies,
):  # fmt: skip
    """Count second choices and sum doubts, in whole numbers, in one of several tables."""
    met = inside & (z >= 0) & (z < k) & (second >= 0) & (second < k)
    at = (tl.program_id(0) % copies) * k * k + tl.where(met, z * k + second, 0)
    tl.atomic_add(rivals + at, tl.full(at.shape, 1, tl.int32), mask=met, sem="relaxed")
    units = ((w * doubt).to(tl.float64) * tl.load(fixed) + 0.5).to(tl.int64)
    tl.atomic_add(between + at, units, mask=met, sem="relaxed")


@jit
def add_tables(rivals, between, fixed, out, part, k, copies, block: tl.constexpr):
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


@jit(do_not_specialize=["n"])
def least_bits(words, z, least, n, block: tl.constexpr):
    """Find the least random number among the rows of each cluster."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    label = tl.load(z + row, mask=row < n, other=-1)
    mine = label >= 0
    label = tl.where(mine, label, 0)
    own, _ = bits(words, row.to(tl.int64))
    # the least so far only falls: whoever is above an old value of it need not try
    mine = mine & (own < tl.load(least + label, mask=mine, other=0))
    tl.atomic_min(least + label, own, mask=mine, sem="relaxed")


@jit(do_not_specialize=["n"])
def least_row(words, z, least, out, n, block: tl.constexpr):
    """Find the first row of each cluster that has the least random number."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    label = tl.load(z + row, mask=row < n, other=-1)
    mine = label >= 0
    label = tl.where(mine, label, 0)
    own, _ = bits(words, row.to(tl.int64))
    mine = mine & (own == tl.load(least + label, mask=mine, other=-1))
    tl.atomic_min(out + label, row.to(tl.int64), mask=mine, sem="relaxed")
