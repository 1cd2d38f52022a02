"""Compiled passes over the rows of a small batch of Gaussian clusters.

Rows are taken in blocks, and every step is a loop along a block. Labels are looked for in single
precision; what that leaves open is looked at in full. For sub-labels the rows are put in the order
of their labels: a block has one pair of sub-clusters, and sums stay in registers. What is drawn or
chosen is what `scstream.engines` draws and chooses.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.arguments import (
    Division,
    Floats,
    Ints,
    Rows,
    Scores,
    Singles,
    Sums,
    Workspace,
)
from scstream.kernels.compiling import part
from scstream.kernels.elementary import POSSIBLE, exponentials, logs
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
from scstream.kernels.workspace import line, table

_LIKELY = -18.0  # a log-probability against the best label's
_SLACK = float(np.exp(_LIKELY))


class Block(NamedTuple):
    """Scratch for a block of rows: columns, and of pairs of labels scores, shares and odds."""

    cols: Floats
    pair: Floats
    share: Floats
    odds: Floats


class Search(NamedTuple):
    """Scratch for the search of a block's labels.

    Products in double and scores in single precision, the best three scores, the best two labels
    (2, WIDTH), the rows that are open, and the labels of a row that have a chance, with weights.
    """

    scores: Floats
    short: Singles
    top: Singles
    place: Ints
    open_: Ints
    near: Ints
    weight: Floats


class Accuracy(NamedTuple):
    """How far scores in single precision are off, see `offness`; and whether scores are plain."""

    share: float
    off: float
    plain: bool


@part
def sweep_rows(
    rows: Rows, by: Scores, u: Floats, drawn: bool, d: int, room: Workspace, sums: Sums
) -> None:
    """Label the rows and add everything up.

    Labels are drawn by plain scores and uniforms ``u`` (2, n), or they are the best by Student-t
    scores, and rows count in both sub-clusters by their probabilities. Of the 3 k scores the first
    k are the clusters', the others those of their pairs of sub-clusters.
    """
    n, k = len(rows.label), len(sums.rows)
    block, at = block_of(room.floats, rows.T.shape[1])
    order, start, behind = order_of(room.ints, n, k)
    search = search_of(Workspace(room.floats[at:], room.ints[behind:]), k)
    for i in range(n):
        order[i] = i
    label_rows(rows, by, u, (drawn, drawn), d, order, block, search, sums)
    sublabel_rows(rows, by, u, drawn, d, (order, start), block, sums)


@part
def sublabel_rows(
    rows: Rows, by: Scores, u: Floats, drawn: bool, d: int, sorted_: Any, block: Block, sums: Sums
) -> None:  # fmt: skip
    """Give the rows, which have labels, sub-labels, and add everything up."""
    (order, start), k = sorted_, len(sums.rows)
    sort(rows.label, k, order, start)
    for c in range(k):
        for first in range(start[c], start[c + 1], BLOCK):
            m = min(BLOCK, start[c + 1] - first)
            _sublabel_rows(rows, by, u, drawn, d, order[first : first + m], block, c, sums)
    for a in range(k):
        for b in range(a):
            sums.doubt[a, b] += sums.doubt[b, a]
            sums.doubt[b, a] = sums.doubt[a, b]


@part
def label_rows(
    rows: Rows, by: Scores, u: Floats, how: Any, d: int, order: Ints, block: Block,
    search: Search, sums: Sums,
) -> None:  # fmt: skip
    """Label the rows, which are in order, and count who came second.

    ``how`` says whether labels are drawn, and whether scores are plain.
    """
    k = len(sums.rows)
    drawn, plain = how
    share, off = offness(k, by, plain)
    accuracy = Accuracy(share, off, plain)
    for first in range(0, len(order), BLOCK):
        m = min(BLOCK, len(order) - first)
        _columns(rows.T, order[first : first + m], d, block.cols)
        products(block.cols, m, by.eta, np.int64(0), k, search.scores)
        look(search.scores, m, k, by, plain, search.short, search.top, search.place)
        left = _unsettled(search, m, accuracy)
        _settle(search, k, by, left, accuracy, block)
        if drawn:
            _draw(search, u[0, first:], k, by, left, accuracy, block)
        _note(search, rows.weight[first:], rows.label[first : first + m], left, block.odds, sums)


@part
def _sublabel_rows(
    rows: Rows, by: Scores, u: Floats, drawn: bool, d: int, which: Ints, block: Block, c: int,
    sums: Sums,
) -> None:  # fmt: skip
    """Give the rows ``which`` (m,) of cluster c sub-labels, and add them up."""
    m, a = len(which), len(sums.rows) + 2 * c
    _columns(rows.T, which, d, block.cols)
    products(block.cols, m, by.eta, a, np.int64(2), block.pair)
    if not drawn:
        _score(by, a, m, block.pair)
    _odds(block, m)
    if drawn:
        _draw_pairs(which, u[1], block)
    seconds = _divided(rows.weight, which, block, rows.sublabel)
    if not drawn:
        sums.doubt[c, c] += _shared(block, m)
    sums.rows[c, 1] += seconds
    sums.rows[c, 0] += m - seconds
    _add(block, m, sums.current[c])
    sums.doubt[c, c] += _doubt(block, m)


@part
def best_labels(
    X: Floats, shift: Floats, scale: Floats, by: Scores, room: Workspace, z: Ints
) -> None:  # fmt: skip
    """Take the best labels of rows (n, d), put in a frame, by the Student-t scores of clusters."""
    n, d = X.shape
    k, p = by.eta.shape
    block, at = block_of(room.floats, p)
    search = search_of(Workspace(room.floats[at:], room.ints), k)
    cols, place = block.cols, search.place
    plain = n < 0  # a constant would have it all compiled once more
    share, off = offness(k, by, plain)
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        for q in range(d):
            for j in range(m):
                cols[q * WIDTH + j] = (X[first + j, q] - shift[q]) / scale[q]
        squares(cols, m, d)
        products(cols, m, by.eta, np.int64(0), k, search.scores)
        look(search.scores, m, k, by, plain, search.short, search.top, place)
        for j in range(m):
            high, low = np.float64(search.top[j]), np.float64(search.top[WIDTH + j])
            sure = ahead(high, low, share, off)
            if not (sure and search.scores[place[0, j] * WIDTH + j] < MOST):
                _exactly(search.scores, k, j, by, plain, place)
            z[first + j] = place[0, j]


@part
def divide_rows(
    rows: Rows, chosen: Any, order: Ints, start: Ints, by: Scores, how: Any, d: int,
    block: Block, tried: Division,
) -> None:  # fmt: skip
    """Take the better sub-labels of the chosen clusters' rows by the scores of pairs, and add up.

    Order and starts of the rows are as in `sort`. ``how`` says whether scores are plain, and
    whether this is the last time: then the doubts (k,) about it are filled.
    """
    plain, last = how
    for c in range(len(tried.doubt)):
        a = 2 * c
        tried.doubt[c] = 0.0
        if not chosen[c]:
            continue
        for first in range(start[c], start[c + 1], BLOCK):
            m = min(BLOCK, start[c + 1] - first)
            which = order[first : first + m]
            _columns(rows.T, which, d, block.cols)
            products(block.cols, m, by.eta, a, np.int64(2), block.pair)
            if not plain:
                _score(by, a, m, block.pair)
            _divided(rows.weight, which, block, rows.sublabel)
            _add(block, m, tried.sums[c])
            if last:
                _odds(block, m)
                tried.doubt[c] += _doubt(block, m)


def room_needed(n: int, k: int, p: int) -> tuple[int, int]:
    """Return how many floats and whole numbers of room n rows, p columns and k clusters need."""
    floats = (p + GROUP + 5 + k + 1) * WIDTH + (k + 4) * WIDTH // 2 + k + 1
    return floats, n + 2 * k + 3 + 3 * WIDTH


@part
def block_of(floats: Floats, p: int) -> Any:
    """Return scratch for a block of rows, and the place behind it."""
    cols, at = line(floats, np.int64(0), (p + GROUP) * WIDTH)
    pair, at = line(floats, at, np.int64(2 * WIDTH))
    share, at = line(floats, at, np.int64(2 * WIDTH))
    odds, at = line(floats, at, np.int64(WIDTH))
    for j in range((p - 1) * WIDTH, (p + GROUP) * WIDTH):
        cols[j] = 0.0  # columns beyond the last
    return Block(cols, pair, share, odds), at


@part
def search_of(room: Workspace, k: int) -> Any:
    """Return scratch for a search among k labels."""
    weight, at = line(room.floats, np.int64(0), k + 1)
    scores, at = line(room.floats, at, (k + 1) * WIDTH)
    short, at = line(room.floats, at, (k + 4) * WIDTH // 2)
    place, at = table(room.ints, np.int64(0), np.int64(2), np.int64(WIDTH))
    open_, at = line(room.ints, at, np.int64(WIDTH))
    near, at = line(room.ints, at, k + 1)
    single = short.view(np.float32)
    return Search(scores, single[3 * WIDTH :], single[: 3 * WIDTH], place, open_, near, weight)


@part
def order_of(ints: Ints, n: int, k: int) -> Any:
    """Return room for an order of n rows and its starts, see `sort`, and the place behind it."""
    order, at = line(ints, np.int64(0), n)
    start, at = line(ints, at, k + 2)
    return order, start, at


@part
def sort(z: Ints, k: int, order: Ints, start: Ints) -> None:
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
def _columns(T: Floats, which: Ints, d: int, cols: Floats) -> None:
    """Fill the columns of some rows but the first, which is 1."""
    for q in range(d):
        for j in range(len(which)):
            cols[q * WIDTH + j] = T[which[j], 1 + q]
    squares(cols, len(which), d)


@part
def _unsettled(search: Search, m: int, accuracy: Accuracy) -> Any:
    """List the rows of which more must be known than `look` finds; returns how many.

    Their best label leads by too little for the others to have no chance, or the second one by no
    more than the scores may be off.
    """
    left, top, place, plain = 0, search.top, search.place, accuracy.plain
    off = accuracy.off
    some, little, much = np.float32(accuracy.share), np.float32(off), np.float32(off - POSSIBLE)
    for j in range(m):
        a, b, c = top[j], top[WIDTH + j], top[2 * WIDTH + j]
        sure = ahead(a, b, some, much) & ahead(b, c, some, little)
        search.open_[left] = j
        left += not (sure & (plain or search.scores[place[1, j] * WIDTH + j] < MOST))
    return left


@part
def _settle(
    search: Search, k: int, by: Scores, left: int, accuracy: Accuracy, block: Block
) -> None:  # fmt: skip
    """Put the best two labels of rows that are open in order.

    Fills the scores of the best, one after the other, and the odds of the second.
    """
    scores, top, place, open_ = search.scores, search.top, search.place, search.open_
    plain, pair, odds = accuracy.plain, block.pair, block.odds
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
                x[t] = by.const[c] - by.power[c] * x[t]
    for t in range(left):
        j = open_[t]
        a, b = place[0, j], place[1, j]
        best, second = pair[t], pair[WIDTH + t] if b >= 0 else -np.inf
        high, low = np.float64(top[WIDTH + j]), np.float64(top[2 * WIDTH + j])
        far = not (plain or scores[b * WIDTH + j] < MOST)
        if b >= 0 and (far or not ahead(high, low, accuracy.share, accuracy.off)):
            best, second = _exactly(scores, k, j, by, plain, place)
        elif second > best or (second == best and b < a):
            place[0, j], place[1, j] = b, a
            best, second = second, best
        pair[t], odds[t] = best, second - best
    exponentials(odds, left)


@part
def _exactly(scores: Floats, k: int, j: int, by: Scores, plain: bool, place: Ints) -> Any:
    """Find the best two labels of a row; returns their scores."""
    a = b = -1
    best = second = -np.inf
    for c in range(k):
        v = _one_score(scores[c * WIDTH + j], by, c, plain)
        if v > best:
            b, second = a, best
            a, best = c, v
        elif v > second:
            b, second = c, v
    place[0, j], place[1, j] = max(a, 0), b
    return best, second


@part
def _one_score(product: float, by: Scores, c: int, plain: bool) -> Any:
    """Return the score of a product with the parameters of component c."""
    return product if plain else by.const[c] - by.power[c] * log(max(product, 1.0))


@part
def _draw(
    search: Search, u: Floats, k: int, by: Scores, left: int, accuracy: Accuracy, block: Block
) -> None:  # fmt: skip
    """Draw the labels of rows that are open, and fill the odds of the best other ones.

    Where all but two labels have no chance it is between these. Where the best one leads by enough
    nothing else is drawn, unless by a uniform at the edge.
    """
    scores, place, near, weight = search.scores, search.place, search.near, search.weight
    slack, odds = _SLACK * (k - 1), block.odds
    for t in range(left):
        j, best = search.open_[t], block.pair[t]
        chosen, third = u[j], np.float64(search.top[2 * WIDTH + j])
        a, b = place[0, j], place[1, j]
        if ahead(best, third, accuracy.share, accuracy.off - POSSIBLE):
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
            weight[reach] = _one_score(scores[c * WIDTH + j], by, c, accuracy.plain) - best
            reach += weight[reach] > POSSIBLE
        total = 0.0
        for i in range(reach):  # which is 0 if there is nothing but NaN, or infinities
            weight[i] = exp(weight[i])
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


@part
def _note(search: Search, w: Floats, z: Ints, left: int, odds: Floats, sums: Sums) -> None:
    """Take the labels of a block's rows, and count who came second and how sure that is."""
    place, open_ = search.place, search.open_
    for t in range(left):
        odds[t] += 1.0
    logs(odds, left)
    for j in range(len(z)):
        z[j] = place[0, j]
    for j in range(len(z)):
        if place[1, j] >= 0:
            sums.rivals[place[0, j], place[1, j]] += 1
    for t in range(left):
        j = open_[t]
        if place[1, j] >= 0:
            sums.doubt[place[0, j], place[1, j]] += w[j] * odds[t]


@part
def _draw_pairs(which: Ints, u: Floats, block: Block) -> None:
    """Draw the sub-labels of some rows by their scores and odds; what was drawn leads then."""
    pair, odds = block.pair, block.odds
    for j in range(len(which)):
        one, two = pair[j], pair[WIDTH + j]
        drawn = u[which[j]] * (1.0 + odds[j]) < (1.0 if two > one else odds[j])
        if drawn != (two > one):
            odds[j] = 1.0 / odds[j]
            pair[j], pair[WIDTH + j] = two, one


@part
def _odds(block: Block, m: int) -> None:
    """Fill the odds of the lower of two scores of m rows."""
    for j in range(m):
        block.odds[j] = -abs(block.pair[WIDTH + j] - block.pair[j])
    exponentials(block.odds, m)


@part
def _score(by: Scores, first: int, m: int, pair: Floats) -> None:
    """Turn the products of m rows and a pair into scores, by levels and powers from the first."""
    for b in range(2):
        x = pair[b * WIDTH : (b + 1) * WIDTH]
        for j in range(m):
            x[j] = max(x[j], 1.0)
        logs(x, m)
        for j in range(m):
            x[j] = by.const[first + b] - by.power[first + b] * x[j]


@part
def _divided(w: Floats, which: Ints, block: Block, sub: Ints) -> Any:
    """Give some rows the sub-label that leads, and fill what each side has of their weights.

    Returns how many are on the second side.
    """
    seconds, pair, share = np.int64(0), block.pair, block.share
    for j in range(len(which)):
        i = which[j]
        second = np.int64(pair[WIDTH + j] > pair[j])
        sub[i] = second
        seconds += second
        share[WIDTH + j] = w[i] * second  # without a branch, which could not be foreseen
        share[j] = w[i] * (1 - second)
    return seconds


@part
def _shared(block: Block, m: int) -> Any:
    """Share the weights of m rows among both sides by their odds.

    Returns the doubt expected of sub-labels that are drawn so, less that of the ones that lead.
    """
    out, pair, share, odds = 0.0, block.pair, block.share, block.odds
    for j in range(m):
        if odds[j] > 0.0:  # if not, the gap may be infinite
            less = odds[j] / (1.0 + odds[j])
            one, two = share[j], share[WIDTH + j]
            share[j], share[WIDTH + j] = one + (two - one) * less, two + (one - two) * less
            out += (one + two) * less * abs(pair[WIDTH + j] - pair[j])
    return out


@part
def _add(block: Block, m: int, current: Floats) -> None:
    """Add m rows to the sums (2, p) of their sides."""
    one, two = block.share[:WIDTH], block.share[WIDTH:]
    a = b = 0.0
    for j in range(m):
        a += one[j]
        b += two[j]
    current[0, 0] += a
    current[1, 0] += b
    for q in range(1, current.shape[1]):
        x = block.cols[(q - 1) * WIDTH : q * WIDTH]
        a = b = 0.0
        for j in range(m):
            a += one[j] * x[j]
            b += two[j] * x[j]
        current[0, q] += a
        current[1, q] += b


@part
def _doubt(block: Block, m: int) -> Any:
    """Return how unsure the sides of m rows are: the logarithms of 1 + odds, weighed."""
    out, odds, share = 0.0, block.odds, block.share
    for j in range(m):
        odds[j] += 1.0
    logs(odds, m)
    for j in range(m):
        out += (share[j] + share[j + WIDTH]) * odds[j]
    return out
