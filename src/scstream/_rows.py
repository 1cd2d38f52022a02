"""Compiled passes over the rows of a small batch of Gaussian clusters.

Rows are taken in blocks, and every step is a loop along a block: scores cluster after cluster,
then logarithms and exponentials, which are written out, so that the loops become vector code. For
sub-labels the rows are put in the order of their labels: a block has one pair of sub-clusters, and
sums stay in registers. What is drawn or chosen is what `scstream.engines` draws and chooses.

Scratch for a block is flat, its columns ``_WIDTH`` apart: between such columns the compiler sees
that no two are the same.
"""

from __future__ import annotations

from math import exp, factorial, log
from typing import Any

import numpy as np

from scstream._compile import helper, in_order, numbers, part
from scstream._room import line, table

_BLOCK = 128  # rows: their scores under some dozens of clusters stay in the fastest cache
_WIDTH = _BLOCK + 8  # no power of two: down a row are other lines of the cache
_GROUP = 5  # columns that are taken at once
_LIKELY, _POSSIBLE = -18.0, -36.0  # log-probabilities against the best label's
_SLACK = float(np.exp(_LIKELY))
_LEAST = -1e308  # what scores count at least: a tag makes no number of an infinity
_ONE = int(np.float64(1.0).view(np.int64))
_ROOT = int(np.float64(np.sqrt(0.5)).view(np.int64))
_MANTISSA = 2**52 - 1
_PER_BIT = 2.0**-52
_BIAS = 1023.0
_LN2 = float(np.log(2.0))
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52  # what is added to it loses its fraction
_L0, _L1, _L2 = -1.8003641039148353, 4.091711026761285, -3.550793186165303
_L3, _L4, _L5 = 1.6311489167642068, -0.4165637297137813, 0.04487361484222087
_SHORT = 2.6e-5 * _LN2  # twice what the polynomial of these is off from log2(g) - (g - 1)
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(i) for i in range(2, 14)
)


@helper
def sweep_rows(
    T: Any, w: Any, eta: Any, const: Any, power: Any, u: Any, drawn: bool, room: Any, ints: Any,
    z: Any, sub: Any, current: Any, rows: Any, rivals: Any, doubt: Any,
) -> None:  # fmt: skip
    """Label the rows and add everything up, as in `scstream.engines.Sums`.

    Labels are drawn by scores ``T @ eta`` and uniforms ``u`` (2, n), or they are the best by scores
    ``const - power log(T @ eta)``. Of the parameters eta (3 k, p), const and power (3 k,) the first
    k are the clusters', the others those of their pairs of sub-clusters.
    """
    n, p = T.shape
    k = len(rows)
    cols, pair, share, odds, at = _block(room, p)
    scores, at = line(room, at, (k + 1) * _WIDTH)
    bound, at = line(room, at, (k + 1) * _WIDTH)
    top, at = line(room, at, np.int64(3 * _WIDTH))
    weight, at = line(room, at, k)
    found, at = line(room, at, np.int64(2))
    order, start, at = order_of(ints, n, k)
    place, at = table(ints, at, np.int64(2), np.int64(_WIDTH))
    near, at = line(ints, at, k + 1)
    slack = _SHORT * _greatest(power, k)
    for i in range(n):
        order[i] = i
    for first in range(0, n, _BLOCK):
        m = min(_BLOCK, n - first)
        _columns(T, order, first, m, cols)
        _products(cols, m, eta, np.int64(0), k, scores)
        if drawn:
            _leaders(scores, m, k, top, place)
            _draw(scores, k, first, m, u, near, weight, place, odds)
        else:
            _bounds(scores, m, k, const, power, bound)
            _leaders(bound, m, k, top, place)
            _best(scores, k, m, top, slack, const, power, pair, place, found, odds)
        _note(first, m, w, place, odds, z, rivals, doubt)
    sort(z, k, order, start)
    for c in range(k):
        a = k + 2 * c
        for first in range(start[c], start[c + 1], _BLOCK):
            m = min(_BLOCK, start[c + 1] - first)
            _columns(T, order, first, m, cols)
            _products(cols, m, eta, a, np.int64(2), pair)
            if not drawn:
                _score(const, power, a, m, pair)
            _odds(pair, m, odds)
            if drawn:
                _draw_pairs(order, first, m, u, pair, odds)
            seconds = _divided(w, order, first, m, pair, sub, share)
            rows[c, 1] += seconds
            rows[c, 0] += m - seconds
            _add(cols, m, share, c, current)
            doubt[c, c] += _doubt(m, share, odds)
    for a in range(k):
        for b in range(a):
            doubt[a, b] += doubt[b, a]
            doubt[b, a] = doubt[a, b]


@helper
def best_labels(
    X: Any, shift: Any, scale: Any, quad: Any, const: Any, power: Any, room: Any, ints: Any, z: Any
) -> None:  # fmt: skip
    """Take the best labels of rows (n, d) by scores as in `sweep_rows`, of k clusters alone."""
    n, k, p = len(X), len(quad), quad.shape[1]
    cols, _pair, _share, _odds, at = _block(room, p)
    squares, at = line(room, at, (k + 1) * _WIDTH)
    bound, at = line(room, at, (k + 1) * _WIDTH)
    top, at = line(room, at, np.int64(3 * _WIDTH))
    found, at = line(room, at, np.int64(2))
    place, at = table(ints, np.int64(0), np.int64(2), np.int64(_WIDTH))
    slack = _SHORT * _greatest(power, k)
    for first in range(0, n, _BLOCK):
        m = min(_BLOCK, n - first)
        _framed(X, shift, scale, first, m, cols)
        _products(cols, m, quad, np.int64(0), k, squares)
        _bounds(squares, m, k, const, power, bound)
        _leaders(bound, m, k, top, place)
        for j in range(m):
            if top[_WIDTH + j] >= top[j] - slack:
                _exactly(squares, k, j, const, power, place, found)
            z[first + j] = place[0, j]


@helper
def divide_rows(
    T: Any, w: Any, order: Any, start: Any, eta: Any, const: Any, power: Any, plain: bool,
    last: bool, room: Any, sub: Any, current: Any, doubt: Any,
) -> None:  # fmt: skip
    """Take the better sub-labels by pairs (2 k, p), and add up.

    Order and starts of the rows are as in `sort`. Scores are as in `sweep_rows`, or the products
    alone if they are ``plain``. The ``last`` time the doubts (k,) about it are filled.
    """
    cols, pair, share, odds, _at = _block(room, T.shape[1])
    for c in range(len(doubt)):
        a = 2 * c
        doubt[c] = 0.0
        for first in range(start[c], start[c + 1], _BLOCK):
            m = min(_BLOCK, start[c + 1] - first)
            _columns(T, order, first, m, cols)
            _products(cols, m, eta, a, np.int64(2), pair)
            if not plain:
                _score(const, power, a, m, pair)
            _divided(w, order, first, m, pair, sub, share)
            _add(cols, m, share, c, current)
            if last:
                _odds(pair, m, odds)
                doubt[c] += _doubt(m, share, odds)


def room_needed(n: int, k: int, p: int) -> tuple[int, int]:
    """Return how many floats and whole numbers of room n rows, p columns and k clusters need."""
    floats = (p + _GROUP + 2 * k + 10) * _WIDTH + k + 2
    return floats, n + 2 * k + 3 + 2 * _WIDTH


@part
def _block(room: Any, p: int) -> Any:
    """Return room for a block of rows: columns, pairs, shares, odds, and the place behind it."""
    cols, at = line(room, np.int64(0), (p + _GROUP) * _WIDTH)
    pair, at = line(room, at, np.int64(2 * _WIDTH))
    share, at = line(room, at, np.int64(2 * _WIDTH))
    odds, at = line(room, at, np.int64(_WIDTH))
    for j in range((p - 1) * _WIDTH, (p + _GROUP) * _WIDTH):
        cols[j] = 0.0  # columns beyond the last
    return cols, pair, share, odds, at


@helper
def order_of(ints: Any, n: int, k: int) -> Any:
    """Return room for an order of n rows and its starts, see `sort`, and the place behind it."""
    order, at = line(ints, np.int64(0), n)
    start, at = line(ints, at, k + 2)
    return order, start, at


@part
def sort(z: Any, k: int, order: Any, start: Any) -> None:
    """Put the rows in the order of their labels: those of c are ``order[start[c]:start[c + 1]]``.

    Rows without a label are left out. There is room for k + 2 starts.
    """
    for c in range(k + 2):
        start[c] = 0
    for i in range(len(z)):
        if z[i] >= 0:
            start[z[i] + 2] += 1
    for c in range(2, k + 2):
        start[c] += start[c - 1]
    for i in range(len(z)):
        if z[i] >= 0:
            c = z[i] + 1
            order[start[c]] = i
            start[c] += 1


@part
def _columns(T: Any, order: Any, first: int, m: int, cols: Any) -> None:
    """Fill the columns of the next m rows in order but the first, which is 1."""
    p = T.shape[1]
    for j in range(m):
        i = order[first + j]
        for q in range(1, p):
            cols[(q - 1) * _WIDTH + j] = T[i, q]


@part
def _framed(X: Any, shift: Any, scale: Any, first: int, m: int, cols: Any) -> None:
    """Fill the columns that the statistics of m rows have in the family's frame, but the first."""
    d = X.shape[1]
    at = d
    for a in range(d):
        x = cols[a * _WIDTH :]
        for j in range(m):
            x[j] = (X[first + j, a] - shift[a]) / scale[a]
    for a in range(d):
        for b in range(a, d):
            x, y, to = cols[a * _WIDTH :], cols[b * _WIDTH :], cols[at * _WIDTH :]
            for j in range(m):
                to[j] = x[j] * y[j]
            at += 1


@part
def _products(cols: Any, m: int, eta: Any, first: int, k: int, out: Any) -> None:
    """Fill ``out`` with the products of m rows and k parameters from the first, two at a time.

    A last one without a partner is filled twice.
    """
    p = eta.shape[1]
    for c in range(0, k, 2):
        to = out[c * _WIDTH : (c + 2) * _WIDTH]
        for q in range(1, p, _GROUP):
            x = cols[(q - 1) * _WIDTH : (q - 1 + _GROUP) * _WIDTH]
            a, b = first + c, first + min(c + 1, k - 1)
            q1, q2 = min(q + 1, p - 1), min(q + 2, p - 1)  # columns beyond the last are 0
            q3, q4 = min(q + 3, p - 1), min(q + 4, p - 1)
            a0, a1, a2, a3, a4 = eta[a, q], eta[a, q1], eta[a, q2], eta[a, q3], eta[a, q4]
            b0, b1, b2, b3, b4 = eta[b, q], eta[b, q1], eta[b, q2], eta[b, q3], eta[b, q4]
            if q > 1:
                for j in range(m):
                    x0, x1, x2 = x[j], x[j + _WIDTH], x[j + 2 * _WIDTH]
                    x3, x4 = x[j + 3 * _WIDTH], x[j + 4 * _WIDTH]
                    to[j] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3 + a4 * x4
                    to[j + _WIDTH] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3 + b4 * x4
                continue
            level_a, level_b = eta[a, 0], eta[b, 0]
            for j in range(m):
                x0, x1, x2 = x[j], x[j + _WIDTH], x[j + 2 * _WIDTH]
                x3, x4 = x[j + 3 * _WIDTH], x[j + 4 * _WIDTH]
                to[j] = level_a + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3 + a4 * x4
                to[j + _WIDTH] = level_b + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3 + b4 * x4


@numbers
def _bounds(squares: Any, m: int, k: int, const: Any, power: Any, out: Any) -> None:
    """Fill the scores, as near as ``_SHORT power``.

    The bits of a float, read as a whole number, are e + g - 1 for ``2^e g``, but for a factor and
    the bias of e; and ``log2(g) - (g - 1)`` is nearly a polynomial.
    """
    for c in range(k):
        slope = power[c] * _LN2
        level, step = const[c] + slope * _BIAS, slope * _PER_BIT
        q, to = squares[c * _WIDTH : (c + 1) * _WIDTH], out[c * _WIDTH : (c + 1) * _WIDTH]
        for j in range(m):
            bits = np.float64(max(q[j], 1.0)).view(np.int64)
            g = np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
            h = g * g
            rest = (_L0 + _L1 * g) + h * ((_L2 + _L3 * g) + h * (_L4 + _L5 * g))
            to[j] = level - step * np.float64(bits) - slope * rest


@numbers
def _leaders(scores: Any, m: int, k: int, top: Any, place: Any) -> None:
    """Fill the best three scores of m rows and whose the first two are, -1 if there is none.

    The last bits of a score are made to tell whose it is. That says in a single pass without a
    branch who leads; in the scores such bits are rounding.
    """
    tag = 1
    while tag < k:
        tag *= 2
    tag -= 1
    for j in range(m):
        top[j] = top[j + _WIDTH] = top[j + 2 * _WIDTH] = _LEAST
        if k % 2 == 1:
            scores[k * _WIDTH + j] = _LEAST
    for c in range(0, k, 2):
        s = scores[c * _WIDTH : (c + 2) * _WIDTH]
        for j in range(m):
            one = np.float64(max(s[j], _LEAST)).view(np.int64)
            two = np.float64(max(s[j + _WIDTH], _LEAST)).view(np.int64)
            v = np.int64((one & ~tag) | c).view(np.float64)
            w = np.int64((two & ~tag) | (c + 1)).view(np.float64)
            t, second, third = top[j], top[j + _WIDTH], top[j + 2 * _WIDTH]
            low = min(v, t)
            t = max(v, t)
            third = max(third, min(low, second))
            second = max(low, second)
            low = min(w, t)
            top[j] = max(w, t)
            top[j + 2 * _WIDTH] = max(third, min(low, second))
            top[j + _WIDTH] = max(low, second)
    for j in range(m):
        second = top[j + _WIDTH]
        place[0, j] = np.float64(top[j]).view(np.int64) & tag
        place[1, j] = np.float64(second).view(np.int64) & tag if second > _LEAST else -1


@part
def _draw(
    scores: Any, k: int, first: int, m: int, u: Any, near: Any, weight: Any, place: Any, odds: Any
) -> None:  # fmt: skip
    """Draw the labels of m rows, and fill the best other ones and their odds against these.

    Where the best label leads by enough nothing else is drawn, unless by a uniform at the edge.
    """
    slack = _SLACK * (k - 1)
    for j in range(m):
        a, b = place[0, j], place[1, j]
        odds[j] = scores[b * _WIDTH + j] - scores[a * _WIDTH + j] if b >= 0 else -np.inf
    _exp(odds, m)
    for j in range(m):
        best, chosen = scores[place[0, j] * _WIDTH + j], u[0, first + j]
        if odds[j] <= _SLACK and slack <= chosen and chosen * (1.0 + slack) < 1.0:
            continue
        reach = 0
        for c in range(k):
            near[reach] = c
            reach += scores[c * _WIDTH + j] - best > _POSSIBLE
        total = 0.0
        for i in range(reach):  # which is 0 if there is nothing but NaN, or infinities
            weight[i] = exp(scores[near[i] * _WIDTH + j] - best)
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
    squares: Any, k: int, m: int, top: Any, slack: float, const: Any, power: Any, pair: Any,
    place: Any, found: Any, odds: Any,
) -> None:  # fmt: skip
    """Put the best two labels of m rows in order, and fill the odds of the second."""
    one, two = pair[:_WIDTH], pair[_WIDTH:]
    for j in range(m):
        one[j] = max(squares[place[0, j] * _WIDTH + j], 1.0)
        two[j] = max(squares[max(place[1, j], 0) * _WIDTH + j], 1.0)
    for b in range(2):
        _log(pair[b * _WIDTH : (b + 1) * _WIDTH], m)
    for j in range(m):
        a, b = place[0, j], place[1, j]
        best = const[a] - power[a] * one[j]
        second = const[b] - power[b] * two[j] if b >= 0 else -np.inf
        odds[j] = second - best
        if top[2 * _WIDTH + j] >= top[_WIDTH + j] - slack and b >= 0:
            _exactly(squares, k, j, const, power, place, found)
            odds[j] = found[1] - found[0]
        elif second > best or (second == best and b < a):
            place[0, j], place[1, j] = b, a
            odds[j] = best - second
    _exp(odds, m)


@part
def _exactly(
    squares: Any, k: int, j: int, const: Any, power: Any, place: Any, found: Any
) -> None:  # fmt: skip
    """Find the best two labels of a row, and their scores."""
    a = b = -1
    best = second = -np.inf
    for c in range(k):
        v = const[c] - power[c] * log(max(squares[c * _WIDTH + j], 1.0))
        if v > best:
            b, second = a, best
            a, best = c, v
        elif v > second:
            b, second = c, v
    place[0, j], place[1, j] = max(a, 0), b
    found[0], found[1] = best, second


@helper
def _note(
    first: int, m: int, w: Any, place: Any, odds: Any, z: Any, rivals: Any, doubt: Any
) -> None:  # fmt: skip
    """Take the labels of m rows, and count who came second and how sure that is."""
    for j in range(m):
        odds[j] += 1.0
    _log(odds, m)
    for j in range(m):
        a, b = place[0, j], place[1, j]
        z[first + j] = a
        if b >= 0:
            rivals[a, b] += 1
            doubt[a, b] += w[first + j] * odds[j]


@helper
def _draw_pairs(order: Any, first: int, m: int, u: Any, pair: Any, odds: Any) -> None:
    """Draw the sub-labels of m rows by their scores and odds; what was drawn leads then."""
    for j in range(m):
        one, two = pair[j], pair[_WIDTH + j]
        drawn = u[1, order[first + j]] * (1.0 + odds[j]) < (1.0 if two > one else odds[j])
        if drawn != (two > one):
            odds[j] = 1.0 / odds[j]
            pair[j], pair[_WIDTH + j] = two, one


@part
def _odds(pair: Any, m: int, odds: Any) -> None:
    """Fill the odds of the lower of two scores of m rows."""
    for j in range(m):
        odds[j] = -abs(pair[_WIDTH + j] - pair[j])
    _exp(odds, m)


@part
def _score(const: Any, power: Any, first: int, m: int, pair: Any) -> None:
    """Turn the products of m rows and a pair into scores, by levels and powers from the first."""
    for b in range(2):
        x = pair[b * _WIDTH : (b + 1) * _WIDTH]
        for j in range(m):
            x[j] = max(x[j], 1.0)
        _log(x, m)
        for j in range(m):
            x[j] = const[first + b] - power[first + b] * x[j]


@part
def _divided(
    w: Any, order: Any, first: int, m: int, pair: Any, sub: Any, share: Any
) -> Any:  # fmt: skip
    """Give m rows the sub-label that leads, and fill what each side has of their weights.

    Returns how many are on the second side.
    """
    seconds = np.int64(0)
    for j in range(m):
        i = order[first + j]
        second = np.int64(pair[_WIDTH + j] > pair[j])
        sub[i] = second
        seconds += second
        share[_WIDTH + j] = w[i] * second  # without a branch, which could not be foreseen
        share[j] = w[i] * (1 - second)
    return seconds


@part
def _add(cols: Any, m: int, share: Any, c: int, current: Any) -> None:
    """Add m rows of a cluster to the sums (k, 2, p) of their sides."""
    one, two = share[:_WIDTH], share[_WIDTH:]
    a = b = 0.0
    for j in range(m):
        a += one[j]
        b += two[j]
    current[c, 0, 0] += a
    current[c, 1, 0] += b
    for q in range(1, current.shape[2]):
        x = cols[(q - 1) * _WIDTH : q * _WIDTH]
        a = b = 0.0
        for j in range(m):
            a += one[j] * x[j]
            b += two[j] * x[j]
        current[c, 0, q] += a
        current[c, 1, q] += b


@part
def _doubt(m: int, share: Any, odds: Any) -> Any:
    """Return how unsure the sides of m rows are: the logarithms of 1 + odds, weighed."""
    out = 0.0
    for j in range(m):
        odds[j] += 1.0
    _log(odds, m)
    for j in range(m):
        out += (share[j] + share[j + _WIDTH]) * odds[j]
    return out


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
