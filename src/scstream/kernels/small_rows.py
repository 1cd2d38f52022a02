"""Compiled passes over the rows of a small batch of Gaussian clusters.

Rows are taken in blocks, and every step is a loop along a block. Labels are looked for in single
precision; what that leaves open is looked at in full. For sub-labels the rows are put in the order
of their labels: a block has one pair of sub-clusters, and sums stay in registers. What is drawn or
chosen is what `scstream.engines` draws and chooses.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from scstream.kernels.compiling import helper, part
from scstream.kernels.label_proposals import (
    BLOCK,
    GROUP,
    MOST,
    WIDTH,
    ahead,
    look,
    offness,
    products,
    squares,
)
from scstream.kernels.series import POSSIBLE, exponentials, logs
from scstream.kernels.workspace import line, table

_LIKELY = -18.0  # a log-probability against the best label's
_SLACK = float(np.exp(_LIKELY))


@helper
def sweep_rows(
    T: Any, w: Any, eta: Any, const: Any, power: Any, u: Any, drawn: bool, d: int, room: Any,
    ints: Any, z: Any, sub: Any, current: Any, rows: Any, rivals: Any, doubt: Any,
) -> None:  # fmt: skip
    """Label the rows and add everything up, as in `scstream.engines.Sums`.

    Labels are drawn by scores ``T @ eta`` and uniforms ``u`` (2, n), or they are the best by scores
    ``const - power log(T @ eta)``. Of the parameters eta (3 k, p), const and power (3 k,) the first
    k are the clusters', the others those of their pairs of sub-clusters.
    """
    n, p = T.shape
    k = len(rows)
    cols, pair, share, odds, at = _block(room, p)
    weight, at = line(room, at, k)
    scores, short, top, at = _scores(room, at, k)
    order, start, at = order_of(ints, n, k)
    place, at = table(ints, at, np.int64(2), np.int64(WIDTH))
    open_, at = line(ints, at, np.int64(WIDTH))
    near, at = line(ints, at, k + 1)
    share_off, off = offness(k, const, power, drawn)
    for i in range(n):
        order[i] = i
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        _columns(T, order, first, m, d, cols)
        products(cols, m, eta, np.int64(0), k, scores)
        look(scores, m, k, const, power, drawn, short, top, place)
        left = _unsettled(scores, m, top, place, share_off, off, drawn, open_)
        _settle(scores, k, const, power, drawn, open_, left, top, share_off, off, pair, place, odds)
        if drawn:
            _draw(scores, first, k, u, open_, left, top, share_off, pair, near, weight, place, odds)
        _note(first, m, w, open_, left, place, odds, z, rivals, doubt)
    sort(z, k, order, start)
    for c in range(k):
        a = k + 2 * c
        for first in range(start[c], start[c + 1], BLOCK):
            m = min(BLOCK, start[c + 1] - first)
            _columns(T, order, first, m, d, cols)
            products(cols, m, eta, a, np.int64(2), pair)
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
    n, d = X.shape
    k, p = quad.shape
    cols, _pair, _share, _odds, at = _block(room, p)
    scores, short, top, at = _scores(room, at, k)
    place, at = table(ints, np.int64(0), np.int64(2), np.int64(WIDTH))
    plain = n < 0  # a constant would have it all compiled once more
    share_off, off = offness(k, const, power, plain)
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        for q in range(d):
            for j in range(m):
                cols[q * WIDTH + j] = (X[first + j, q] - shift[q]) / scale[q]
        squares(cols, m, d)
        products(cols, m, quad, np.int64(0), k, scores)
        look(scores, m, k, const, power, plain, short, top, place)
        for j in range(m):
            sure = ahead(np.float64(top[j]), np.float64(top[WIDTH + j]), share_off, off)
            if not (sure and scores[place[0, j] * WIDTH + j] < MOST):
                _exactly(scores, k, j, const, power, plain, place)
            z[first + j] = place[0, j]


@helper
def divide_rows(
    T: Any, w: Any, order: Any, start: Any, chosen: Any, eta: Any, const: Any, power: Any,
    plain: bool, last: bool, d: int, room: Any, sub: Any, current: Any, doubt: Any,
) -> None:  # fmt: skip
    """Take the better sub-labels of the chosen clusters' rows by pairs (2 k, p), and add up.

    Order and starts of the rows are as in `sort`. Scores are as in `sweep_rows`, or the products
    alone if they are ``plain``. The ``last`` time the doubts (k,) about it are filled.
    """
    cols, pair, share, odds, _at = _block(room, T.shape[1])
    for c in range(len(doubt)):
        a = 2 * c
        doubt[c] = 0.0
        if not chosen[c]:
            continue
        for first in range(start[c], start[c + 1], BLOCK):
            m = min(BLOCK, start[c + 1] - first)
            _columns(T, order, first, m, d, cols)
            products(cols, m, eta, a, np.int64(2), pair)
            if not plain:
                _score(const, power, a, m, pair)
            _divided(w, order, first, m, pair, sub, share)
            _add(cols, m, share, c, current)
            if last:
                _odds(pair, m, odds)
                doubt[c] += _doubt(m, share, odds)


def room_needed(n: int, k: int, p: int) -> tuple[int, int]:
    """Return how many floats and whole numbers of room n rows, p columns and k clusters need."""
    floats = (p + GROUP + 5 + k + 1) * WIDTH + (k + 4) * WIDTH // 2 + k
    return floats, n + 2 * k + 3 + 3 * WIDTH


@part
def _block(room: Any, p: int) -> Any:
    """Return room for a block of rows: columns, pairs, shares, odds, and the place behind it."""
    cols, at = line(room, np.int64(0), (p + GROUP) * WIDTH)
    pair, at = line(room, at, np.int64(2 * WIDTH))
    share, at = line(room, at, np.int64(2 * WIDTH))
    odds, at = line(room, at, np.int64(WIDTH))
    for j in range((p - 1) * WIDTH, (p + GROUP) * WIDTH):
        cols[j] = 0.0  # columns beyond the last
    return cols, pair, share, odds, at


@part
def _scores(room: Any, at: int, k: int) -> Any:
    """Return room for scores of a block, for the same in single precision, and for the best three.

    What is returned last is the place behind it.
    """
    scores, at = line(room, at, (k + 1) * WIDTH)
    short, at = line(room, at, (k + 4) * WIDTH // 2)
    single = short.view(np.float32)
    return scores, single[3 * WIDTH :], single[: 3 * WIDTH], at


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
def _columns(T: Any, order: Any, first: int, m: int, d: int, cols: Any) -> None:
    """Fill the columns of the next m rows in order but the first, which is 1."""
    for q in range(d):
        for j in range(m):
            cols[q * WIDTH + j] = T[order[first + j], 1 + q]
    squares(cols, m, d)


@part
def _unsettled(
    scores: Any, m: int, top: Any, place: Any, share: float, off: float, plain: bool, out: Any
) -> Any:  # fmt: skip
    """List the rows of which more must be known than `look` finds; returns how many.

    Their best label leads by too little for the others to have no chance, or the second one by no
    more than the scores may be off.
    """
    left = 0
    some, little, much = np.float32(share), np.float32(off), np.float32(off - POSSIBLE)
    for j in range(m):
        a, b, c = top[j], top[WIDTH + j], top[2 * WIDTH + j]
        sure = ahead(a, b, some, much) & ahead(b, c, some, little)
        out[left] = j
        left += not (sure & (plain or scores[place[1, j] * WIDTH + j] < MOST))
    return left


@part
def _settle(
    scores: Any, k: int, const: Any, power: Any, plain: bool, open_: Any, left: int, top: Any,
    share: float, off: float, pair: Any, place: Any, odds: Any,
) -> None:  # fmt: skip
    """Put the best two labels of rows that are open in order.

    Fills the scores of the best, one after the other, and the odds of the second.
    """
    for b in range(2):
        x = pair[b * WIDTH : (b + 1) * WIDTH]
        for t in range(left):
            j = open_[t]
            x[t] = scores[max(place[b, j], 0) * WIDTH + j]
        if not plain:
            for t in range(left):
                x[t] = max(x[t], 1.0)
            logs(x, left)
            for t in range(left):
                c = max(place[b, open_[t]], 0)
                x[t] = const[c] - power[c] * x[t]
    for t in range(left):
        j = open_[t]
        a, b = place[0, j], place[1, j]
        best, second = pair[t], pair[WIDTH + t] if b >= 0 else -np.inf
        high, low = np.float64(top[WIDTH + j]), np.float64(top[2 * WIDTH + j])
        far = not (plain or scores[b * WIDTH + j] < MOST)
        if b >= 0 and (far or not ahead(high, low, share, off)):
            best, second = _exactly(scores, k, j, const, power, plain, place)
        elif second > best or (second == best and b < a):
            place[0, j], place[1, j] = b, a
            best, second = second, best
        pair[t], odds[t] = best, second - best
    exponentials(odds, left)


@part
def _exactly(
    scores: Any, k: int, j: int, const: Any, power: Any, plain: bool, place: Any
) -> Any:  # fmt: skip
    """Find the best two labels of a row; returns their scores."""
    a = b = -1
    best = second = -np.inf
    for c in range(k):
        v = scores[c * WIDTH + j]
        if not plain:
            v = const[c] - power[c] * log(max(v, 1.0))
        if v > best:
            b, second = a, best
            a, best = c, v
        elif v > second:
            b, second = c, v
    place[0, j], place[1, j] = max(a, 0), b
    return best, second


@part
def _draw(
    scores: Any, first: int, k: int, u: Any, open_: Any, left: int, top: Any, share: float,
    pair: Any, near: Any, weight: Any, place: Any, odds: Any,
) -> None:  # fmt: skip
    """Draw the labels of rows that are open, and fill the odds of the best other ones.

    Where all but two labels have no chance it is between these. Where the best one leads by enough
    nothing else is drawn, unless by a uniform at the edge.
    """
    slack = _SLACK * (k - 1)
    for t in range(left):
        j, best = open_[t], pair[t]
        chosen, third = u[0, first + j], np.float64(top[2 * WIDTH + j])
        a, b = place[0, j], place[1, j]
        if ahead(best, third, share, -POSSIBLE):
            below = chosen * (1.0 + odds[t])
            if (odds[t] > below) if b < a else not below < 1.0:
                odds[t] = 1.0 / odds[t]
                place[0, j], place[1, j] = b, a
            continue
        if odds[t] <= _SLACK and slack <= chosen and chosen * (1.0 + slack) < 1.0:
            continue
        reach = 0
        for c in range(k):
            near[reach] = c
            reach += scores[c * WIDTH + j] - best > POSSIBLE
        total = 0.0
        for i in range(reach):  # which is 0 if there is nothing but NaN, or infinities
            weight[i] = exp(scores[near[i] * WIDTH + j] - best)
            total += weight[i]
        at, run = 0, 0.0
        for i in range(reach):
            at = i
            run += weight[i]
            if run > chosen * total:
                break
        if reach > 0 and near[at] != a:
            odds[t] = 1.0 / weight[at]
            place[0, j], place[1, j] = near[at], a


@helper
def _note(
    first: int, m: int, w: Any, open_: Any, left: int, place: Any, odds: Any, z: Any,
    rivals: Any, doubt: Any,
) -> None:  # fmt: skip
    """Take the labels of m rows, and count who came second and how sure that is."""
    for t in range(left):
        odds[t] += 1.0
    logs(odds, left)
    for j in range(m):
        z[first + j] = place[0, j]
    if place[1, 0] >= 0:  # there are others
        for j in range(m):
            rivals[place[0, j], place[1, j]] += 1
    for t in range(left):
        j = open_[t]
        if place[1, j] >= 0:
            doubt[place[0, j], place[1, j]] += w[first + j] * odds[t]


@helper
def _draw_pairs(order: Any, first: int, m: int, u: Any, pair: Any, odds: Any) -> None:
    """Draw the sub-labels of m rows by their scores and odds; what was drawn leads then."""
    for j in range(m):
        one, two = pair[j], pair[WIDTH + j]
        drawn = u[1, order[first + j]] * (1.0 + odds[j]) < (1.0 if two > one else odds[j])
        if drawn != (two > one):
            odds[j] = 1.0 / odds[j]
            pair[j], pair[WIDTH + j] = two, one


@part
def _odds(pair: Any, m: int, odds: Any) -> None:
    """Fill the odds of the lower of two scores of m rows."""
    for j in range(m):
        odds[j] = -abs(pair[WIDTH + j] - pair[j])
    exponentials(odds, m)


@part
def _score(const: Any, power: Any, first: int, m: int, pair: Any) -> None:
    """Turn the products of m rows and a pair into scores, by levels and powers from the first."""
    for b in range(2):
        x = pair[b * WIDTH : (b + 1) * WIDTH]
        for j in range(m):
            x[j] = max(x[j], 1.0)
        logs(x, m)
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
        second = np.int64(pair[WIDTH + j] > pair[j])
        sub[i] = second
        seconds += second
        share[WIDTH + j] = w[i] * second  # without a branch, which could not be foreseen
        share[j] = w[i] * (1 - second)
    return seconds


@part
def _add(cols: Any, m: int, share: Any, c: int, current: Any) -> None:
    """Add m rows of a cluster to the sums (k, 2, p) of their sides."""
    one, two = share[:WIDTH], share[WIDTH:]
    a = b = 0.0
    for j in range(m):
        a += one[j]
        b += two[j]
    current[c, 0, 0] += a
    current[c, 1, 0] += b
    for q in range(1, current.shape[2]):
        x = cols[(q - 1) * WIDTH : q * WIDTH]
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
    logs(odds, m)
    for j in range(m):
        out += (share[j] + share[j + WIDTH]) * odds[j]
    return out
