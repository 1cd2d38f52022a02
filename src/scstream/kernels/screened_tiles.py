"""Compiled passes over scores in float32, 64 rows at a time, component by component.

Each inner loop runs along rows, so that it takes four of them at once; nothing branches. What
comes out is a proposal: `screened_blocks` knows how far scores may be off, and settles what is
not sure by exact scores.

Scores of a tile are in ``cell`` (64 k,), component by component, k a multiple of 4, in units of
log 2. The rows' state is one array (4 * 64,), so that the compiler sees that its parts do not
overlap.

All but `load_row`, `load_raw` and `narrow` are compiled under the promise that there are no NaN
(``nnan``). `make_numbers` sees to it: products of a row whose error has no bound are set to 0
before they are loaded, and the others are bounded by their error. Levels and slopes are numbers,
see `scstream.engines.labels.Screen`, and `load_row` and `load_raw` write no NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.compiling import bare, in_order, ordered_numbers, part

TILE = 64
TOP, TOTAL, LEVEL = 0, TILE, 2 * TILE  # the state before a label is drawn, which becomes
BEST, NEXT, WHICH = 0, TILE, 2 * TILE  # the best score, the next and whose the best is
COUNT = 3 * TILE
MOST = 1e30  # numbers above this are not for float32
TOO_LARGE = 1e3  # an error with which scores may not be numbers
WEIGHT_ERROR = 1e-4  # of a weight by `cumulate`, relative
LOG_ERROR = 5e-4  # of a logarithm by `load_products`, relative
REACH = 60.0  # bits below the best: whoever is further away has no weight

_F = np.float32
_NONE, _LOWEST = _F(-np.inf), _F(-1e30)  # from the latter a number may be subtracted
_IN_BITS = 1.0 / float(np.log(2.0))
_LEAST = _F(-126.0)
_ROUND = _F(1.5 * 2.0**23)  # added and taken away again, it leaves a whole number
_E0, _E1, _E2, _E3 = map(_F, (0.99992807, 0.69326099, 0.24261112, 0.05517166))
_ONE = np.int32(_F(1.0).view(np.int32))
_MANTISSA = np.int32(2**23 - 1)
_EXPONENT_AT = np.int32(23)
_WHOLE = np.int32(_F(2.0**23).view(np.int32))
_NO_EXPONENT = _F(2.0**23 + 127.0)
_L0, _L1, _L2, _L3 = map(_F, (0.44205681, -0.70010752, 0.36118968, -0.10313897))


@bare
def narrow(T: Any, reach: Any, loose: float, small: Any, off: Any) -> int:
    """Fill ``small`` with rows (n, p) and ``off`` with ``|T| @ reach``; count those that are loose.

    That is those of more than ``loose``, or NaN.
    """
    count = 0
    for i in range(len(T)):
        total = 0.0
        for j in range(T.shape[1]):
            small[i, j] = T[i, j]
            total += abs(T[i, j]) * reach[j]
        off[i] = total
        count += not total <= loose
    return count


@ordered_numbers
def log2(x: Any) -> Any:
    """Return ``log2`` of a number, 0 below 1, wrong by `LOG_ERROR` of it at most.

    A float's bits are those of e and f for ``2^e (1 + f)``. Those of e, put behind a 1 that counts
    2^23, are a whole number as they stand, and ``log2(1 + f) - f`` is about f times a polynomial
    that is 0 at 1.
    """
    bits = _F(x if x > _F(1.0) else _F(1.0)).view(np.int32)
    e = np.int32((bits >> _EXPONENT_AT) | _WHOLE).view(_F) - _NO_EXPONENT
    f = np.int32((bits & _MANTISSA) | _ONE).view(_F) - _F(1.0)
    bend = f * ((_L0 + f * _L1) + (f * f) * (_L2 + f * _L3))
    return (e + f) + bend


@part
def make_numbers(S: Any, first: int, rows: int, off: Any) -> None:
    """Set scores of a tile of ``S`` (k, n) to 0 where a row's error ``off`` is too large."""
    for i in range(rows):
        if not off[i] < TOO_LARGE:
            for c in range(len(S)):
                S[c, first + i] = _F(0.0)


@ordered_numbers  # reordering would undo the rounding
def load_linear(S: Any, first: int, rows: int, cell: Any, state: Any) -> None:
    """Take the scores of a tile of ``S`` (k, n), and find the best."""
    for i in range(TILE):
        state[TOP + i] = _LOWEST
    for c in range(0, len(S), 4):
        to = cell[TILE * c : TILE * (c + 4)]
        a, b = S[c, first : first + rows], S[c + 1, first : first + rows]
        p, q = S[c + 2, first : first + rows], S[c + 3, first : first + rows]
        for i in range(rows):
            to[i], to[TILE + i], to[2 * TILE + i], to[3 * TILE + i] = a[i], b[i], p[i], q[i]
            one = a[i] if a[i] > b[i] else b[i]
            two = p[i] if p[i] > q[i] else q[i]
            one = one if one > two else two
            state[TOP + i] = one if one > state[TOP + i] else state[TOP + i]


@ordered_numbers
def load_products(S: Any, first: int, rows: int, level: Any, slope: Any, cell: Any) -> None:
    """Take the scores of a tile of products ``S`` (k, n): ``level - slope log2(S)``.

    Where the slope is 0 the product is the score.
    """
    for c in range(len(S)):
        to, q = cell[TILE * c : TILE * (c + 1)], S[c, first : first + rows]
        high, by = level[c], slope[c]
        if by > _F(0.0):
            for i in range(rows):
                to[i] = high - by * log2(q[i])
        else:
            for i in range(rows):
                to[i] = q[i]


@in_order
def load_row(row: Any, i: int, cell: Any, state: Any) -> None:
    """Take the scores (k,) of row i of a tile, in nats: less the best, which becomes 0.

    A score that is NaN, or infinite as the best is, is taken for impossible.
    """
    k, whole = len(row), len(row) - len(row) % 4
    top, one, two, three = -np.inf, -np.inf, -np.inf, -np.inf
    for c in range(0, whole, 4):  # four at a time, since one would wait for the other
        top = row[c] if row[c] > top else top
        one = row[c + 1] if row[c + 1] > one else one
        two = row[c + 2] if row[c + 2] > two else two
        three = row[c + 3] if row[c + 3] > three else three
    top, two = max(top, one), max(two, three)
    top = max(top, two)
    for c in range(whole, k):
        top = row[c] if row[c] > top else top
    for c in range(k):
        s = _F((row[c] - top) * _IN_BITS)
        cell[TILE * c + i] = s if s > _NONE else _NONE
    state[TOP + i] = _F(0.0)


@in_order
def load_raw(row: Any, i: int, cell: Any) -> None:
    """Take the scores (k,) of row i of a tile, in nats, as they are; NaN is impossible."""
    for c in range(len(row)):
        s = row[c] * _F(_IN_BITS)
        cell[TILE * c + i] = s if s > _NONE else _NONE


@ordered_numbers
def find_top(cell: Any, state: Any) -> None:
    """Find the best score of each row."""
    for i in range(TILE):
        state[TOP + i] = _LOWEST
    for c in range(0, len(cell), TILE):
        s = cell[c : c + TILE]
        for i in range(TILE):
            state[TOP + i] = s[i] if s[i] > state[TOP + i] else state[TOP + i]


@ordered_numbers
def cumulate(cell: Any, state: Any, run: Any) -> None:
    """Fill ``run`` with sums of ``2^(score - top)`` over the clusters so far, and the total."""
    for i in range(TILE):
        state[TOTAL + i] = _F(0.0)
    for c in range(0, len(cell), 2 * TILE):
        s, to = cell[c : c + 2 * TILE], run[c : c + 2 * TILE]
        for i in range(TILE):
            total = state[TOTAL + i] + _exp2(s[i] - state[TOP + i])
            to[i] = total
            total += _exp2(s[TILE + i] - state[TOP + i])
            to[TILE + i] = total
            state[TOTAL + i] = total


@ordered_numbers
def _exp2(t: Any) -> Any:
    """Return ``2^t``: a polynomial on either side of a whole number, which is put in the bits."""
    t = t if t > _LEAST else _LEAST
    whole = _F(t + _ROUND)
    f = t - (whole - _ROUND)
    y = _F((_E0 + f * _E1) + (f * f) * (_E2 + f * _E3))
    return np.int32(y.view(np.int32) + np.int32(whole.view(np.int32) << 23)).view(_F)


@part  # told that there is no NaN, the compiler compares one by one
def locate(run: Any, state: Any) -> None:
    """Count the clusters at which the running sum is below the level sought."""
    for i in range(TILE):
        state[COUNT + i] = _F(0.0)
    for c in range(0, len(run), 4 * TILE):
        r = run[c : c + 4 * TILE]
        for i in range(TILE):
            level = state[LEVEL + i]
            one = _F(1.0) if r[i] < level else _F(0.0)
            two = _F(1.0) if r[TILE + i] < level else _F(0.0)
            three = _F(1.0) if r[2 * TILE + i] < level else _F(0.0)
            four = _F(1.0) if r[3 * TILE + i] < level else _F(0.0)
            state[COUNT + i] += (one + two) + (three + four)


@ordered_numbers
def best_two(cell: Any, state: Any) -> None:
    """Find the best score, the first of equals, the next best, and whose the best is."""
    for i in range(TILE):
        state[BEST + i] = state[NEXT + i] = _NONE
        state[WHICH + i] = _F(-1.0)
    for c in range(0, len(cell) // TILE, 2):
        s, one, two = cell[TILE * c : TILE * (c + 2)], _F(c), _F(c + 1)
        for i in range(TILE):
            best, runner, which = state[BEST + i], state[NEXT + i], state[WHICH + i]
            v = s[i]
            low = v if v < best else best
            runner = low if low > runner else runner
            which = one if v > best else which
            best = v if v > best else best
            v = s[TILE + i]
            low = v if v < best else best
            state[NEXT + i] = low if low > runner else runner
            state[WHICH + i] = two if v > best else which
            state[BEST + i] = v if v > best else best
