"""Which labels score best for each row: a look in single precision, and how far it may be off.

Half as many bits are twice as many numbers at once. Scores are as in `arguments.Scores`. Rows are
taken in blocks; scratch for a block is flat, its columns ``WIDTH`` apart: between such columns the
compiler sees that no two are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.arguments import Floats, Int, Ints, Real, Scores, Singles
from scstream.kernels.compiling import numbers, part
from scstream.kernels.elementary import LN2

MOST = 1e30  # products from there on may look smaller than they are
BLOCK = 128  # rows: their scores under some dozens of clusters stay in the fastest cache
WIDTH = BLOCK + 16  # no power of two: down a row are other lines of the cache, each a whole one
GROUP = 5  # columns that are taken at once

_UNIT = np.float32(1.0)
_LEAST = np.float32(-(2.0**127))  # what scores count at least, and at most the opposite: then they
_MOST = np.float32(2.0**127)  # are numbers, and a tag in their last bits leaves them numbers
_LOGS_MOST = np.float32(2.0**8)  # logarithms to base 2 of numbers in single precision are below
_STEEP_MOST = np.float32(2.0**118)  # a slope whose scores are in that range, whatever the row
_ONE = np.int32(_UNIT.view(np.int32))
_MANTISSA = np.int32(2**23 - 1)
_EXPONENT_AT = 23
_WHOLE = np.int32(np.float32(2.0**23).view(np.int32))  # with such bits a float is a whole number
_NONE = np.float32(2.0**23 + 127.0)  # what the exponent's bits of 1 are then
_L0 = -2.80037048
_L1, _L2, _L3, _L4, _L5 = (
    np.float32(v) for v in (5.09173346, -3.55082416, 1.63116988, -0.41657068, 0.04487452)
)
_OFF = 1.6e-5  # how far the polynomial of these is off from log2(g)


@part
def look(
    products: Floats, m: int, k: int, by: Scores, plain: bool, short: Singles, top: Singles,
    place: Ints,
) -> None:  # fmt: skip
    """Fill the best three scores of m rows and whose the first two are, -1 if there is none.

    ``plain`` scores are not by logarithms. How near they are is what `offness` says.
    """
    if plain:
        _shortened(products, m, k, short)
    else:
        _student(products, m, k, by, short)
    _best_three(short, m, k, top, place)


@part
def offness(k: int, by: Scores, plain: bool) -> Any:
    """Return how far differences of scores that `look` finds are off: by their size, and anyway."""
    off = 0.0
    if not plain:
        for c in range(k):
            off = max(off, 2.0 * by.power[c] * LN2 * _OFF + 2.0**-19 * abs(by.const[c]))
    return (tags(k) + 8.0) * 2.0**-23, off


@part
def ahead(a: Any, b: Any, share: Real, off: Real) -> Any:
    """Whether a score that is higher by `look` is so in truth; ``off`` more if that is added."""
    return a - b > share * (abs(a) + abs(b)) + off


@part
def squares(cols: Floats, m: int, d: int) -> None:
    """Fill the products of m rows' first d columns, behind these."""
    at = d
    for a in range(d):
        for b in range(a, d):
            x, y, to = cols[a * WIDTH :], cols[b * WIDTH :], cols[at * WIDTH :]
            for j in range(m):
                to[j] = x[j] * y[j]
            at += 1


@part
def products(cols: Floats, m: int, eta: Floats, first: Int, k: Int, out: Floats) -> None:
    """Fill ``out`` with the products of m rows and k parameters from the first, two at a time.

    A last one without a partner is filled twice.
    """
    p = eta.shape[1]
    for c in range(0, k, 2):
        to = out[c * WIDTH : (c + 2) * WIDTH]
        for q in range(1, p, GROUP):
            x = cols[(q - 1) * WIDTH : (q - 1 + GROUP) * WIDTH]
            a, b = first + c, first + min(c + 1, k - 1)
            q1, q2 = min(q + 1, p - 1), min(q + 2, p - 1)  # columns beyond the last are 0
            q3, q4 = min(q + 3, p - 1), min(q + 4, p - 1)
            a0, a1, a2, a3, a4 = eta[a, q], eta[a, q1], eta[a, q2], eta[a, q3], eta[a, q4]
            b0, b1, b2, b3, b4 = eta[b, q], eta[b, q1], eta[b, q2], eta[b, q3], eta[b, q4]
            if q > 1:
                for j in range(m):
                    x0, x1, x2 = x[j], x[j + WIDTH], x[j + 2 * WIDTH]
                    x3, x4 = x[j + 3 * WIDTH], x[j + 4 * WIDTH]
                    to[j] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3 + a4 * x4
                    to[j + WIDTH] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3 + b4 * x4
                continue
            level_a, level_b = eta[a, 0], eta[b, 0]
            for j in range(m):
                x0, x1, x2 = x[j], x[j + WIDTH], x[j + 2 * WIDTH]
                x3, x4 = x[j + 3 * WIDTH], x[j + 4 * WIDTH]
                to[j] = level_a + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3 + a4 * x4
                to[j + WIDTH] = level_b + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3 + b4 * x4


@part
def _within_range(score: Any) -> Any:
    """Return a score that is a number and not too large: NaN counts least.

    These are ordered comparisons, compiled without the promise that there is no NaN. So what
    `_best_three` is handed, which makes that promise, cannot be NaN.
    """
    score = score if score > _LEAST else _LEAST
    return score if score < _MOST else _MOST


@part
def _shortened(products: Floats, m: int, k: int, out: Singles) -> None:
    """Fill products in single precision."""
    for c in range(k):
        s, to = products[c * WIDTH : (c + 1) * WIDTH], out[c * WIDTH : (c + 1) * WIDTH]
        for j in range(m):
            to[j] = _within_range(np.float32(s[j]))


@part
def _student(products: Floats, m: int, k: int, by: Scores, out: Singles) -> None:
    """Fill scores by products: the logarithm of ``2^e g`` is by a polynomial in g.

    Whatever the product is, NaN included, bits that are at least those of 1 make e and g numbers.
    So a score is one if the cluster's level and slope are.
    """
    for c in range(k):
        level, slope = _line_within_range(
            np.float32(by.const[c] - by.power[c] * LN2 * _L0), np.float32(by.power[c] * LN2)
        )
        s, to = products[c * WIDTH : (c + 1) * WIDTH], out[c * WIDTH : (c + 1) * WIDTH]
        for j in range(m):
            bits = np.float32(s[j]).view(np.int32)
            bits = bits if bits > _ONE else _ONE
            e = np.int32((bits >> _EXPONENT_AT) | _WHOLE).view(np.float32) - _NONE
            g = np.int32((bits & _MANTISSA) | _ONE).view(np.float32)
            h = g * g
            rest = (_L2 + _L3 * g) + h * (_L4 + _L5 * g)
            to[j] = level - slope * ((e + _L1 * g) + h * rest)


@part
def _line_within_range(level: Any, slope: Any) -> Any:
    """Return level and slope with which no score of a cluster is NaN or too large.

    They are what they were, or those of a score that does not depend on the row.
    """
    if abs(level) < _STEEP_MOST * _LOGS_MOST and abs(slope) < _STEEP_MOST:
        return level, slope
    return _within_range(level if abs(slope) < _STEEP_MOST else _LEAST), np.float32(0.0)


@numbers
def _higher(a: Any, b: Any) -> Any:
    """Return the higher of two numbers: one instruction, since neither is NaN."""
    return a if a > b else b


@numbers
def _lower(a: Any, b: Any) -> Any:
    """Return the lower of two numbers."""
    return a if a < b else b


@numbers
def _best_three(scores: Singles, m: int, k: int, top: Singles, place: Ints) -> None:
    """Fill the best three scores of m rows and whose the first two are, -1 if there is none.

    Scores are `_within_range`. Their last bits are made to tell whose they are. That says in a
    single pass without a branch who leads. Whole numbers are cut short again wherever numba makes
    them longer.
    """
    tag = tags(k)
    keep = np.int32(~tag)
    for j in range(m):
        top[j] = top[j + WIDTH] = top[j + 2 * WIDTH] = _LEAST
        if k % 2 == 1:
            scores[k * WIDTH + j] = _LEAST
    for c in range(0, k, 2):
        s, a, b = scores[c * WIDTH : (c + 2) * WIDTH], np.int32(c), np.int32(c + 1)
        for j in range(m):
            one = np.int32(np.float32(s[j]).view(np.int32) & keep)
            two = np.int32(np.float32(s[j + WIDTH]).view(np.int32) & keep)
            v, w = np.int32(one | a).view(np.float32), np.int32(two | b).view(np.float32)
            t, second, third = top[j], top[j + WIDTH], top[j + 2 * WIDTH]
            low = _lower(v, t)
            t = _higher(v, t)
            third = _higher(third, _lower(low, second))
            second = _higher(low, second)
            low = _lower(w, t)
            top[j] = _higher(w, t)
            top[j + 2 * WIDTH] = _higher(third, _lower(low, second))
            top[j + WIDTH] = _higher(low, second)
    for j in range(m):
        second = top[j + WIDTH]
        place[0, j] = np.float32(top[j]).view(np.int32) & tag
        place[1, j] = np.float32(second).view(np.int32) & tag if second > _LEAST else -1


@part
def tags(k: int) -> Any:
    """Return the bits that tell k labels apart."""
    tag = 1
    while tag < k:
        tag *= 2
    return tag - 1
