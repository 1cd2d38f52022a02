"""Compiled passes over the rows of a small batch of Gaussian clusters.

Rows are taken in blocks, and every step is a loop along a block. Labels are looked for in single
precision; what that leaves open is looked at in full. For sub-labels the rows are put in the order
of their labels: a block has one pair of sub-clusters, and sums stay in registers. What is drawn or
chosen is what `scstream.engines` draws and chooses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.arguments import Division, Floats, Ints, Rows, Scores, Sums, Workspace
from scstream.kernels.compiling import part
from scstream.kernels.elementary import exponentials, logs
from scstream.kernels.label_proposals import BLOCK, WIDTH, products
from scstream.kernels.small_labels import label_rows
from scstream.kernels.small_scratch import Block, block_of, columns, order_of, search_of, sort


@part
def sweep_rows(
    rows: Rows, by: Scores, u: Floats, how: Any, d: int, room: Workspace, sums: Sums
) -> None:
    """Label the rows and add everything up.

    ``how`` says whether labels are drawn, by uniforms ``u`` (2, n), and whether scores are plain
    or Student-t ones. Labels that are not drawn are the best, and rows count in both sub-clusters
    by their probabilities. Of the 3 k scores the first k are the clusters', the others those of
    their pairs of sub-clusters.
    """
    n, k = len(rows.label), len(sums.rows)
    block, at = block_of(room.floats, by.eta.shape[1])
    order, start, behind = order_of(room.ints, n, k)
    rest = Workspace(room.floats[at:], room.ints[behind:], room.singles)
    search = search_of(rest, k)
    for i in range(n):
        order[i] = i
    label_rows(rows, by, u, how, d, order, block, search, sums)
    sublabel_rows(rows, by, u, how, d, (order, start), block, sums)


@part
def sublabel_rows(
    rows: Rows, by: Scores, u: Floats, how: Any, d: int, sorted_: Any, block: Block, sums: Sums
) -> None:  # fmt: skip
    """Give the rows, which have labels, sub-labels, and add everything up; see `sweep_rows`."""
    (order, start), k = sorted_, len(sums.rows)
    sort(rows.label, k, order, start)
    for c in range(k):
        for first in range(start[c], start[c + 1], BLOCK):
            m = min(BLOCK, start[c + 1] - first)
            sublabel_block(rows, by, u, how, d, order[first : first + m], block, c, sums)
    for a in range(k):
        for b in range(a):
            sums.doubt[a, b] += sums.doubt[b, a]
            sums.doubt[b, a] = sums.doubt[a, b]


@part
def sublabel_block(
    rows: Rows, by: Scores, u: Floats, how: Any, d: int, which: Ints, block: Block, c: int,
    sums: Sums,
) -> None:  # fmt: skip
    """Give the rows ``which`` (m,) of cluster c sub-labels, and add them up.

    The last 2 k scores are those of pairs.
    """
    m, a = len(which), len(by.eta) - 2 * (len(sums.rows) - c)
    drawn, plain = how
    columns(rows.T, which, d, block.cols)
    products(block.cols, m, by.eta, a, np.int64(2), block.pair)
    if not plain:
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
            columns(rows.T, which, d, block.cols)
            products(block.cols, m, by.eta, a, np.int64(2), block.pair)
            if not plain:
                _score(by, a, m, block.pair)
            _divided(rows.weight, which, block, rows.sublabel)
            _add(block, m, tried.sums[c])
            if last:
                _odds(block, m)
                tried.doubt[c] += _doubt(block, m)


@part
def _draw_pairs(which: Ints, u: Floats, block: Block) -> None:
    """Draw the sub-labels of some rows by their scores and odds; what was drawn leads then."""
    pair, odds = block.pair, block.odds
    for j in range(len(which)):
        one, two = pair[j], pair[WIDTH + j]
        drawn = u[which[j]] * (1.0 + odds[j]) < (1.0 if two > one else odds[j])
        if drawn != (two > one):
            odds[j] = 1.0 / odds[j]
        pair[j], pair[WIDTH + j] = 0.0, float(np.int64(drawn))  # of equal scores either may lead


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
