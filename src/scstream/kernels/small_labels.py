"""The labels of a small batch of Gaussian clusters: looked for in single precision, block by block.

What that leaves open is looked at in full.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.arguments import Floats, Ints, Rows, Scores, Sums, Workspace
from scstream.kernels.compiling import part
from scstream.kernels.elementary import POSSIBLE, exponentials, logs
from scstream.kernels.label_proposals import (
    BLOCK,
    MOST,
    WIDTH,
    ahead,
    look,
    offness,
    products,
    squares,
)
from scstream.kernels.small_scratch import Block, Search, block_of, columns, search_of

_FAR = np.float32(-25.0)  # nats below the best, where a density adds nothing to speak of
_ROUNDED = 1.0 + 1e-9  # more than sums of probabilities may be off by


class Accuracy(NamedTuple):
    """How far scores in single precision are off, see `offness`; and whether scores are plain."""

    share: float
    off: float
    plain: bool


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
        columns(rows.T, order[first : first + m], d, block.cols)
        products(block.cols, m, by.eta, np.int64(0), k, search.scores)
        look(search.scores, m, k, by, plain, search.short, search.top, search.place)
        left = _unsettled(search, m, accuracy)
        _settle(search, k, by, left, accuracy, block)
        if drawn:
            _draw(search, u[0, first:], k, by, left, accuracy, block)
        _note(search, rows.weight[first:], rows.label[first : first + m], left, block.odds, sums)


@part
def best_labels(
    X: Floats, shift: Floats, scale: Floats, by: Scores, room: Workspace, z: Ints
) -> None:  # fmt: skip
    """Take the best labels of rows (n, d), put in a frame, by the Student-t scores of clusters."""
    n, (k, p) = len(X), by.eta.shape
    block, at = block_of(room.floats, p)
    search = search_of(Workspace(room.floats[at:], room.ints, room.singles), k)
    place = search.place
    plain = n < 0  # a constant would have it all compiled once more
    share, off = offness(k, by, plain)
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        _framed(X[first : first + m], shift, scale, block.cols)
        products(block.cols, m, by.eta, np.int64(0), k, search.scores)
        look(search.scores, m, k, by, plain, search.short, search.top, place)
        for j in range(m):
            high, low = np.float64(search.top[j]), np.float64(search.top[WIDTH + j])
            sure = ahead(high, low, share, off)
            if not (sure and search.scores[place[0, j] * WIDTH + j] < MOST):
                _exactly(search.scores, k, j, by, plain, place)
            z[first + j] = place[0, j]


@part
def log_totals(
    X: Floats, shift: Floats, scale: Floats, by: Scores, room: Workspace, out: Floats
) -> None:  # fmt: skip
    """Fill the logs (n,) of sums over clusters of densities, by Student-t scores as above.

    Clusters that are far below the best by a look in single precision add nothing.
    """
    n, (k, p) = len(X), by.eta.shape
    block, at = block_of(room.floats, p)
    search = search_of(Workspace(room.floats[at:], room.ints, room.singles), k)
    scores, short, top, plain = search.scores, search.short, search.top, n < 0
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        _framed(X[first : first + m], shift, scale, block.cols)
        products(block.cols, m, by.eta, np.int64(0), k, scores)
        look(scores, m, k, by, plain, short, top, search.place)
        for j in range(m):
            best, least, total = search.place[0, j], top[j] + _FAR, 1.0
            high = _one_score(scores[best * WIDTH + j], by, best, plain)
            for c in range(k if top[WIDTH + j] > least else 0):
                if short[c * WIDTH + j] > least and c != best:
                    total += exp(_one_score(scores[c * WIDTH + j], by, c, plain) - high)
            out[first + j] = high + log(total)


@part
def _framed(X: Floats, shift: Floats, scale: Floats, cols: Floats) -> None:
    """Fill the columns of some rows, put in a frame, and their products."""
    m, d = X.shape
    for q in range(d):
        for j in range(m):
            cols[q * WIDTH + j] = (X[j, q] - shift[q]) / scale[q]
    squares(cols, m, d)


@part
def _unsettled(search: Search, m: int, accuracy: Accuracy) -> Any:
    """List the rows of which more must be known than `look` finds; returns how many.

    Their best label leads by too little for the others to have no chance, or the second one by no
    more than the scores may be off.
    """
    top, place, open_, off = search.top, search.place, search.open_, accuracy.off
    some, little, much = np.float32(accuracy.share), np.float32(off), np.float32(off - POSSIBLE)
    for j in range(m):  # by itself, since the list below is no vector code
        a, b, c = top[j], top[WIDTH + j], top[2 * WIDTH + j]
        open_[j] = not (ahead(a, b, some, much) & ahead(b, c, some, little))
    if not accuracy.plain:
        for j in range(m):
            open_[j] |= not search.scores[place[1, j] * WIDTH + j] < MOST
    left = 0
    for j in range(m):
        more = open_[j]
        open_[left] = j
        left += more
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

    Where all but two labels have no chance it is between these.
    """
    place, odds, listed = search.place, block.odds, search.listed
    swapped, others = _drawn_otherwise(search, u, k, left, accuracy, block)
    for i in range(swapped):
        t = listed[i]
        j = search.open_[t]
        a, b = place[0, j], place[1, j]
        odds[t] = 1.0 / odds[t]
        place[0, j], place[1, j] = b, a
    for i in range(others + 1, WIDTH):
        t = listed[i]
        j = search.open_[t]
        _draw_among_all(search, u[j], k, by, j, t, accuracy.plain, block)


@part
def _drawn_otherwise(
    search: Search, u: Floats, k: int, left: int, accuracy: Accuracy, block: Block
) -> Any:  # fmt: skip
    """List the open rows that may get another label than the best.

    The first ones have but two to choose from, and get the second. The last ones have more: the
    others have at most the odds of the second, each, so a uniform that is farther from 0 and 1
    draws the best. Returns where the former end, and which place is before the latter. There is no
    branch, which could not be foreseen.
    """
    place, top, listed, odds = search.place, search.top, search.listed, block.odds
    first, last = 0, WIDTH - 1
    for t in range(left):
        j = search.open_[t]
        chosen, before = u[j], place[1, j] < place[0, j]
        two = ahead(
            block.pair[t], np.float64(top[2 * WIDTH + j]), accuracy.share, accuracy.off - POSSIBLE
        )
        below = chosen * (1.0 + odds[t])
        second = (before & (odds[t] > below)) | ((not before) & (not below < 1.0))
        others = _ROUNDED * (k - 1) * odds[t]
        best = (others <= chosen) & (chosen * (1.0 + others) < 1.0)
        listed[first] = listed[last] = t
        first += two & second
        last -= not (two | best)
    return first, last


@part
def _draw_among_all(
    search: Search, chosen: float, k: int, by: Scores, j: int, t: int, plain: bool, block: Block
) -> None:  # fmt: skip
    """Draw the label of a row, which is open number t, among all that have a chance."""
    place, near, weight = search.place, search.near, search.weight
    a, best, reach = place[0, j], block.pair[t], 0
    for c in range(k):
        near[reach] = c
        weight[reach] = _one_score(search.scores[c * WIDTH + j], by, c, plain) - best
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
        block.odds[t] = 1.0 / weight[at]
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
