"""Compiled passes over the rows of a small batch of Gaussian clusters.

Rows are taken in blocks, and every step is a loop along a block: scores cluster after cluster,
then logarithms and exponentials, which are written out, so that the loops become vector code. What
is drawn or chosen is what `scstream.engines` draws and chooses.
"""

from __future__ import annotations

from math import exp, factorial, log
from typing import Any

import numpy as np

from scstream._compile import helper, in_order, part

_BLOCK = 128  # rows: their scores under some dozens of clusters stay in the fastest cache
_WIDTH = _BLOCK + 8  # of arrays of them, no power of two: down a column are other lines of it
_GROUP = 5  # columns that are taken at once
_LIKELY, _POSSIBLE = -18.0, -36.0  # log-probabilities against the best label's
_SLACK = float(np.exp(_LIKELY))
_FULL = 1e280  # a product that had better not grow
_ONE = int(np.float64(1.0).view(np.int64))
_ROOT = int(np.float64(np.sqrt(0.5)).view(np.int64))
_MANTISSA = 2**52 - 1
_PER_BIT = 2.0**-52
_LN2 = float(np.log(2.0))
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52  # what is added to it loses its fraction
_A, _B = 0.4231, 0.1681  # the tangent at 0.4 of (log2(1 + f) - f) / (f (1 - f)), a little lower
_SHORT = 0.0019 * _LN2  # the logarithm exceeds its bound by less
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(i) for i in range(2, 14)
)


@helper
def sweep_rows(
    T: Any, w: Any, eta: Any, const: Any, power: Any, u: Any, drawn: bool, z: Any, sub: Any,
    current: Any, rows: Any, rivals: Any, doubt: Any,
) -> None:  # fmt: skip
    """Label the rows and add everything up, as in `scstream.engines.Sums`.

    Labels are drawn by scores ``T @ eta`` and uniforms ``u`` (2, n), or they are the best by scores
    ``const - power log(T @ eta)``. Of the parameters eta (3 k, p), const and power (3 k,) the first
    k are the clusters', the others those of their pairs of sub-clusters.
    """
    n, p = T.shape
    k = len(rows)
    cols, scores = np.zeros((p + _GROUP, _WIDTH)), np.empty((k, _WIDTH))
    tagged = np.empty((k, _WIDTH))
    top, odds, pair = np.empty((3, _WIDTH)), np.empty((2, _WIDTH)), np.empty((2, _WIDTH))
    place, near = np.empty((2, _WIDTH), np.int64), np.empty(k + 1, np.int64)
    weight, chance, tag = np.empty(k), np.ones((k, k)), _mask(k)
    slack = _SHORT * _greatest(power, k)
    for first in range(0, n, _BLOCK):
        m = min(_BLOCK, n - first)
        _columns(T, first, m, cols)
        _products(cols, m, p, eta, scores)
        if drawn:
            _tagged(scores, m, tag, tagged)
        else:
            _bounds(scores, m, const, power, tag, tagged)
        _leaders(tagged, m, tag, top, place)
        if drawn:
            _draw(scores, first, m, u, near, weight, place, odds[0])
        else:
            _best(scores, tagged, m, top, slack, const, power, pair, place, odds[0])
        for j in range(m):
            z[first + j] = place[0, j]
        _pairs(T, first, m, eta[k:], z, pair)
        if drawn:
            _draw_pairs(first, m, u, pair, sub, odds[1])
        else:
            _better(first, m, const[k:], power[k:], z, pair, sub, odds[1])
        _tally(T, w, first, m, z, place[1], sub, odds, current, rows, rivals, chance, doubt)
    for a in range(k):
        for b in range(k):
            if chance[a, b] > 1.0:
                doubt[a, b] += log(chance[a, b])
        for b in range(a):
            doubt[a, b] += doubt[b, a]
            doubt[b, a] = doubt[a, b]


@helper
def best_labels(
    X: Any, shift: Any, scale: Any, quad: Any, const: Any, power: Any, z: Any
) -> None:  # fmt: skip
    """Take the best labels of rows (n, d) by scores as in `sweep_rows`, of k clusters alone."""
    n, k, p = len(X), len(quad), quad.shape[1]
    cols, squares = np.zeros((p + _GROUP, _WIDTH)), np.empty((k, _WIDTH))
    bound, top, found = np.empty((k, _WIDTH)), np.empty((3, _WIDTH)), np.empty(2)
    place, tag = np.empty((2, _WIDTH), np.int64), _mask(k)
    slack = _SHORT * _greatest(power, k)
    for first in range(0, n, _BLOCK):
        m = min(_BLOCK, n - first)
        _framed(X, shift, scale, first, m, cols)
        _products(cols, m, p, quad, squares)
        _bounds(squares, m, const, power, tag, bound)
        _leaders(bound, m, tag, top, place)
        for j in range(m):
            if top[1, j] >= top[0, j] - slack:
                _exactly(squares, bound, j, top[0, j] - slack, const, power, place, found)
            z[first + j] = place[0, j]


@helper
def divide_rows(
    T: Any, w: Any, z: Any, eta: Any, const: Any, power: Any, plain: bool, sub: Any, current: Any,
    doubt: Any,
) -> None:  # fmt: skip
    """Take the better sub-labels by pairs (2 k, p), and add up; fill the doubts (k,) of that.

    Scores are as in `sweep_rows`, or the products alone if they are ``plain``.
    """
    n, p = T.shape
    pair, odds = np.empty((2, _WIDTH)), np.empty(_WIDTH)
    chance = np.ones(len(doubt))
    doubt[:] = 0.0
    for first in range(0, n, _BLOCK):
        m = min(_BLOCK, n - first)
        _pairs(T, first, m, eta, z, pair)
        if plain:
            for j in range(m):
                sub[first + j] = pair[1, j] > pair[0, j]
                odds[j] = 0.0
        else:
            _better(first, m, const, power, z, pair, sub, odds)
        for j in range(m):
            i = first + j
            a = z[i]
            for q in range(p):
                current[a, sub[i], q] += w[i] * T[i, q]
            if w[i] != 1.0 or chance[a] > _FULL:
                doubt[a] += w[i] * log(1.0 + odds[j])
            else:
                chance[a] *= 1.0 + odds[j]
    for a in range(len(doubt)):
        doubt[a] += log(chance[a])


@part
def _columns(T: Any, first: int, m: int, cols: Any) -> None:
    """Fill the columns of m rows but the first, which is 1."""
    for j in range(m):
        for q in range(1, T.shape[1]):
            cols[q - 1, j] = T[first + j, q]


@part
def _framed(X: Any, shift: Any, scale: Any, first: int, m: int, cols: Any) -> None:
    """Fill the columns that the statistics of m rows have in the family's frame, but the first."""
    d = X.shape[1]
    at = d
    for a in range(d):
        for j in range(m):
            cols[a, j] = (X[first + j, a] - shift[a]) / scale[a]
    for a in range(d):
        for b in range(a, d):
            for j in range(m):
                cols[at, j] = cols[a, j] * cols[b, j]
            at += 1


@part
def _products(cols: Any, m: int, p: int, eta: Any, out: Any) -> None:
    """Fill ``out[c, j]`` with the products of m rows and the first parameters (k, p)."""
    for c in range(len(out)):
        for j in range(m):
            out[c, j] = eta[c, 0]
        for q in range(0, p - 1, _GROUP):
            left = p - 2 - q  # parameters beyond the next one; columns beyond the last are 0
            e0, e1 = eta[c, q + 1], eta[c, q + 1 + min(left, 1)]
            e2, e3 = eta[c, q + 1 + min(left, 2)], eta[c, q + 1 + min(left, 3)]
            e4 = eta[c, q + 1 + min(left, 4)]
            for j in range(m):
                some = e0 * cols[q, j] + e1 * cols[q + 1, j] + e2 * cols[q + 2, j]
                out[c, j] += some + e3 * cols[q + 3, j] + e4 * cols[q + 4, j]


@part
def _bounds(squares: Any, m: int, const: Any, power: Any, tag: int, out: Any) -> None:
    """Fill upper bounds of the scores, of which all are short by less than ``_SHORT power``.

    The bits of a float, read as a whole number, are e + f for ``2^e (1 + f)``; and
    ``log2(1 + f)`` is at least ``f + f (1 - f) (A - B f)``, and hardly more. The last bits are
    tags, see `_leaders`.
    """
    for c in range(len(squares)):
        level, slope = const[c], power[c] * _LN2
        for j in range(m):
            v = squares[c, j] if squares[c, j] > 1.0 else 1.0
            bits = np.float64(v).view(np.int64)
            f = np.int64((bits & _MANTISSA) | _ONE).view(np.float64) - 1.0
            x = np.float64(bits - _ONE) * _PER_BIT + f * (1.0 - f) * (_A - _B * f)
            bits = np.float64(level - slope * x).view(np.int64)
            out[c, j] = np.int64((bits & ~tag) | c).view(np.float64)


@part
def _tagged(scores: Any, m: int, tag: int, out: Any) -> None:
    """Fill the scores with tags in place of the last bits, see `_leaders`."""
    for c in range(len(scores)):
        for j in range(m):
            bits = np.float64(scores[c, j]).view(np.int64)
            out[c, j] = np.int64((bits & ~tag) | c).view(np.float64)


@part
def _leaders(tagged: Any, m: int, tag: int, top: Any, place: Any) -> None:
    """Fill the best three scores (3, m) of m rows and whose the first two are, -1 if there is none.

    The last bits of a score tell whose it is, as far as the mask ``tag`` goes. That says in a
    single pass without a branch who leads; in the scores such bits are rounding.
    """
    for j in range(m):
        top[0, j] = top[1, j] = top[2, j] = -np.inf
    for c in range(len(tagged)):
        for j in range(m):
            v, t, second, third = tagged[c, j], top[0, j], top[1, j], top[2, j]
            low = t if v > t else v
            least = second if low > second else low
            top[0, j] = v if v > t else t
            top[1, j] = low if low > second else second
            top[2, j] = least if least > third else third
    for j in range(m):
        second = top[1, j]
        place[0, j] = np.float64(top[0, j]).view(np.int64) & tag
        place[1, j] = np.float64(second).view(np.int64) & tag if second > -np.inf else -1


@helper
def _mask(k: int) -> Any:
    """Return as many last bits as the numbers below k need."""
    tag = 1
    while tag < k:
        tag *= 2
    return tag - 1


@part
def _draw(
    scores: Any, first: int, m: int, u: Any, near: Any, weight: Any, place: Any, odds: Any
) -> None:  # fmt: skip
    """Draw the labels of m rows, and fill the best other ones and their odds against these.

    Where the best label leads by enough nothing else is drawn, unless by a uniform at the edge.
    """
    slack = _SLACK * (len(scores) - 1)
    for j in range(m):
        a, b = place[0, j], place[1, j]
        odds[j] = scores[b, j] - scores[a, j] if b >= 0 else -np.inf
    _exp(odds, m)
    for j in range(m):
        best, chosen = scores[place[0, j], j], u[0, first + j]
        if odds[j] <= _SLACK and slack <= chosen and chosen * (1.0 + slack) < 1.0:
            continue
        reach = 0
        for c in range(len(scores)):
            near[reach] = c
            reach += scores[c, j] - best > _POSSIBLE
        total = 0.0
        for i in range(reach):  # which is 0 if there is nothing but NaN, or infinities
            weight[i] = exp(scores[near[i], j] - best)
            total += weight[i]
        at, run = 0, 0.0
        for i in range(reach):
            at = i
            run += weight[i]
            if run > chosen * total:
                break
        if reach > 0 and near[at] != place[0, j]:
            odds[j] = 1.0 / weight[at]
            place[1, j] = place[0, j]
            place[0, j] = near[at]


@part
def _best(
    squares: Any, bound: Any, m: int, top: Any, slack: float, const: Any, power: Any, pair: Any,
    place: Any, odds: Any,
) -> None:  # fmt: skip
    """Put the best two labels of m rows in order, and fill the odds of the second."""
    found = np.empty(2)
    for j in range(m):
        a, b = place[0, j], place[1, j]
        pair[0, j] = squares[a, j] if squares[a, j] > 1.0 else 1.0
        pair[1, j] = squares[b, j] if b >= 0 and squares[b, j] > 1.0 else 1.0
    _log(pair[0], m)
    _log(pair[1], m)
    for j in range(m):
        a, b = place[0, j], place[1, j]
        best = const[a] - power[a] * pair[0, j]
        second = const[b] - power[b] * pair[1, j] if b >= 0 else -np.inf
        odds[j] = second - best
        if top[2, j] >= top[1, j] - slack and b >= 0:
            _exactly(squares, bound, j, top[1, j] - slack, const, power, place, found)
            odds[j] = found[1] - found[0]
        elif second > best or (second == best and b < a):
            place[0, j], place[1, j] = b, a
            odds[j] = best - second
    _exp(odds, m)


@part
def _exactly(
    squares: Any, bound: Any, j: int, least: float, const: Any, power: Any, place: Any, found: Any
) -> None:  # fmt: skip
    """Find the best two labels of a row among those with bounds of ``least``, and their scores."""
    a = b = -1
    best = second = -np.inf
    for c in range(len(bound)):
        if bound[c, j] >= least:
            v = const[c] - power[c] * log(max(squares[c, j], 1.0))
            if v > best:
                b, second = a, best
                a, best = c, v
            elif v > second:
                b, second = c, v
    place[0, j], place[1, j] = max(a, 0), b
    found[0], found[1] = best, second


@part
def _pairs(T: Any, first: int, m: int, eta: Any, z: Any, out: Any) -> None:
    """Fill the products (2, m) of m rows and their own pairs of parameters."""
    for j in range(m):
        i = first + j
        r = 2 * z[i]
        one = two = 0.0
        for q in range(T.shape[1]):
            one += T[i, q] * eta[r, q]
            two += T[i, q] * eta[r + 1, q]
        out[0, j], out[1, j] = one, two


@part
def _draw_pairs(first: int, m: int, u: Any, pair: Any, sub: Any, odds: Any) -> None:
    """Draw the sub-labels of m rows by the scores of their own pairs, and fill the odds."""
    for j in range(m):
        odds[j] = -abs(pair[1, j] - pair[0, j])
    _exp(odds, m)
    for j in range(m):
        ahead = pair[1, j] > pair[0, j]
        second = u[1, first + j] * (1.0 + odds[j]) < (1.0 if ahead else odds[j])
        sub[first + j] = second
        if second != ahead:
            odds[j] = 1.0 / odds[j]


@part
def _better(
    first: int, m: int, const: Any, power: Any, z: Any, pair: Any, sub: Any, odds: Any
) -> None:  # fmt: skip
    """Take the better sub-labels of m rows by their own pairs, and fill the odds against them."""
    for j in range(m):
        pair[0, j] = pair[0, j] if pair[0, j] > 1.0 else 1.0
        pair[1, j] = pair[1, j] if pair[1, j] > 1.0 else 1.0
    _log(pair[0], m)
    _log(pair[1], m)
    for j in range(m):
        r = 2 * z[first + j]
        gap = const[r + 1] - power[r + 1] * pair[1, j] - (const[r] - power[r] * pair[0, j])
        sub[first + j] = gap > 0.0
        odds[j] = -abs(gap)
    _exp(odds, m)


@part
def _tally(
    T: Any, w: Any, first: int, m: int, z: Any, other: Any, sub: Any, odds: Any, current: Any,
    rows: Any, rivals: Any, chance: Any, doubt: Any,
) -> None:  # fmt: skip
    """Add up m rows. Of doubts ``w log(1 + odds)`` those of weight 1 become a product first."""
    for j in range(m):
        i = first + j
        a, b, s = z[i], other[j], sub[i]
        rows[a, s] += 1
        for q in range(T.shape[1]):
            current[a, s, q] += w[i] * T[i, q]
        if b >= 0:
            rivals[a, b] += 1
        else:
            b = a
            odds[0, j] = 0.0
        if w[i] != 1.0 or chance[a, b] > _FULL or chance[a, a] > _FULL:
            doubt[a, b] += w[i] * log(1.0 + odds[0, j])
            doubt[a, a] += w[i] * log(1.0 + odds[1, j])
        else:
            chance[a, b] *= 1.0 + odds[0, j]
            chance[a, a] *= 1.0 + odds[1, j]


@in_order
def _log(x: Any, m: int) -> None:
    """Replace m numbers of at least 1 by their logarithms, to rounding.

    The series is that of fdlibm, in ``s = f / (2 + f)`` for ``x = 2^e (1 + f)``.
    """
    for j in range(m):
        bits = np.float64(x[j]).view(np.int64) - _ROOT
        f = np.int64((bits & _MANTISSA) + _ROOT).view(np.float64) - 1.0
        s = f / (2.0 + f)
        v = s * s
        high = 0.2222219843214978396 + v * (0.1818357216161805012 + v * 0.1531383769920937332)
        high += v * v * v * 0.1479819860511658591
        low = 0.6666666666666735130 + v * (0.3999999999940941908 + v * 0.2857142874366239149)
        square = 0.5 * f * f
        tail = square + v * (low + v * v * v * high)
        e = np.float64(bits >> 52)
        x[j] = e * _LN2_HIGH + (f - (square - (s * tail + e * _LN2_LOW)))


@in_order
def _exp(x: Any, m: int) -> None:
    """Replace m numbers below 1 by their exponentials, to rounding; 0 from -36 down, and of NaN."""
    for j in range(m):
        v = x[j] if x[j] > _POSSIBLE else _POSSIBLE
        t = v * (1.0 / _LN2) + _ROUND
        e = t - _ROUND
        r = v - e * _LN2_HIGH - e * _LN2_LOW
        s = r * r
        high = _C8 + _C9 * r + s * (_C10 + _C11 * r + s * (_C12 + _C13 * r))
        rest = s * (_C2 + _C3 * r + s * (_C4 + _C5 * r + s * (_C6 + _C7 * r + s * high)))
        scale = np.int64((np.float64(t).view(np.int64) << 52) + _ONE).view(np.float64)
        x[j] = (1.0 + (r + rest)) * scale if x[j] > _POSSIBLE else 0.0


@helper
def _greatest(values: Any, k: int) -> Any:
    out = 0.0
    for c in range(k):
        out = max(out, values[c])
    return out
