"""Compiled sums over the rows of large Gaussian batches, by label and sub-label.

Rows are divided among sub-clusters and added up in their own order, leaf by leaf of the tree of
sums. Statistics of rows are made on the way and never kept.
"""

from __future__ import annotations

from typing import Any

from scstream.kernels.compiling import part
from scstream.kernels.elementary import exponentials, logs
from scstream.kernels.labelling import Pairs
from scstream.kernels.large_tiles import (
    FIRST,
    LAST,
    MINE,
    OTHER,
    Floats,
    Found,
    Ints,
    Run,
    Tiles,
    fill_statistics,
)
from scstream.kernels.nearby import Components
from scstream.kernels.screened_tiles import TILE
from scstream.kernels.sharing import Totals


@part
def score_tile(
    Z: Floats, by: Components, pairs: Pairs, tiles: Tiles, labels: Ints, second: Ints, doubt: Floats
) -> None:
    """Fill statistics of 64 rows or fewer and their scores; doubts of labels that are NaN."""
    m, k, p = len(Z), len(pairs.eta) // 2, by.eta.shape[1]
    lines, T, left, right = tiles.lines, tiles.T, tiles.left, tiles.right
    own, eta = pairs.eta, by.eta
    for i in range(m):
        row = T[i * p : (i + 1) * p]
        fill_statistics(Z[i], left, right, row)
        c = labels[i]
        a, b, mine, rival = 1.0, 1.0, 1.0, 1.0
        if c < k:
            one, two = own[2 * c], own[2 * c + 1]
            a, b = 0.0, 0.0
            for q in range(p):
                a += row[q] * one[q]
                b += row[q] * two[q]
        if doubt[i] != doubt[i]:
            one, two = eta[c], eta[second[i]]
            mine, rival = 0.0, 0.0
            for q in range(p):
                mine += row[q] * one[q]
                rival += row[q] * two[q]
        lines[FIRST + i], lines[LAST + i] = a, b
        lines[MINE + i], lines[OTHER + i] = mine, rival
    if len(pairs.power) > 0:
        _take_logs(lines[FIRST:MINE], m)
        for i in range(m):
            c = 2 * labels[i] if labels[i] < k else 0
            lines[FIRST + i] = pairs.const[c] - pairs.power[c] * lines[FIRST + i]
            lines[LAST + i] = pairs.const[c + 1] - pairs.power[c + 1] * lines[LAST + i]
    _fill_doubts(by, lines[MINE:], labels, second, doubt)


@part
def _fill_doubts(by: Components, lines: Floats, labels: Ints, second: Ints, doubt: Floats) -> None:
    """Replace doubts that are NaN, by products of rows with labels' parameters and seconds'."""
    m, high = len(doubt), lines[2 * TILE :]
    if len(by.power) > 0:
        for i in range(2 * TILE):
            high[i] = lines[i]
        _take_logs(high, m)
        for i in range(m):
            if doubt[i] != doubt[i]:
                a, b = labels[i], second[i]
                if by.power[a] > 0.0:  # if not, the product is the score
                    lines[i] = by.const[a] - by.power[a] * high[i]
                if by.power[b] > 0.0:
                    lines[TILE + i] = by.const[b] - by.power[b] * high[TILE + i]
    for i in range(m):  # as `doubt_of` has it
        high[i] = lines[TILE + i] - lines[i]
        lines[i] = -abs(high[i])
    exponentials(lines, m)
    for i in range(m):
        lines[i] += 1.0
    logs(lines, m)
    for i in range(m):
        if doubt[i] != doubt[i]:
            doubt[i] = lines[i] + (high[i] if high[i] > 0.0 else 0.0)


@part
def _take_logs(lines: Floats, m: int) -> None:
    """Replace m numbers of each of two lines by their logarithms, those below 1 by 0."""
    for i in range(2 * TILE):
        lines[i] = lines[i] if lines[i] > 1.0 else 1.0
    logs(lines, m)
    logs(lines[TILE:], m)


@part
def add_tile(
    weight: Floats, drawn: bool, tiles: Tiles, run: Run, found: Found, totals: Totals, at: int,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Divide rows among the sub-clusters of their labels, and add them to the sums of a node."""
    labels, sub, second, between = found.z, found.sub, found.second, found.doubt
    current, counts = totals.current[at], totals.rows[at]
    rivals, doubts = totals.rivals[at], totals.between[at]
    m, k, p = stop - start, len(counts) // 2, tiles.T.shape[0] // TILE
    gap, odds = tiles.lines[FIRST:LAST], tiles.lines[LAST:MINE]
    level = tiles.lines[MINE:OTHER]
    for i in range(m):
        gap[i] = odds[i] - gap[i]
        odds[i] = -abs(gap[i])
    exponentials(odds, m)
    for i in range(m):
        level[i] = 1.0 + odds[i]
    logs(level, m)
    for i in range(m):
        r = start + i
        c, w, row = labels[r], weight[r], tiles.T[i * p : (i + 1) * p]
        if c >= k:
            labels[r] = -1
            sub[r] = 0
            continue
        better, doubt = gap[i] > 0.0, level[i]
        first = current[2 * c * p : (2 * c + 1) * p]
        last = current[(2 * c + 1) * p : (2 * c + 2) * p]
        if drawn:
            take = run.u[1, r] * (1.0 + odds[i]) < (1.0 if better else odds[i])
            sub[r] = take
            if take != better:
                doubt += abs(gap[i])
            to = last if take else first
            for q in range(p):
                to[q] += w * row[q]
        else:
            less = odds[i] / (1.0 + odds[i])
            if less > 0.0:
                doubt += less * abs(gap[i])
            sub[r] = better
            two = w * (1.0 - less if better else less)
            one = w - two
            for q in range(p):
                first[q] += one * row[q]
                last[q] += two * row[q]
        counts[2 * c + sub[r]] += 1
        doubts[c * k + c] += w * doubt
        s = second[r]
        if 0 <= s < k:
            rivals[c * k + s] += 1
            doubts[c * k + s] += w * between[r]


@part
def try_tile(
    Z: Floats, weight: Floats, chosen: Any, pairs: Pairs, doubts: bool, tiles: Tiles, z: Ints,
    trial: Ints, current: Floats, doubt: Floats,
) -> None:  # fmt: skip
    """Do so for 64 rows or fewer."""
    m, p, eta = len(z), pairs.eta.shape[1], pairs.eta
    lines, T, left, right = tiles.lines, tiles.T, tiles.left, tiles.right
    for i in range(m):
        c = z[i]
        lines[FIRST + i] = lines[LAST + i] = 1.0
        if c < 0 or not chosen[c]:
            continue
        row, one, two = T[i * p : (i + 1) * p], eta[2 * c], eta[2 * c + 1]
        fill_statistics(Z[i], left, right, row)
        a, b = 0.0, 0.0
        for q in range(p):
            a += row[q] * one[q]
            b += row[q] * two[q]
        lines[FIRST + i], lines[LAST + i] = a, b
    if len(pairs.power) > 0:
        _take_logs(lines[FIRST:MINE], m)
        for i in range(m):
            c = 2 * z[i] if z[i] > 0 else 0
            lines[FIRST + i] = pairs.const[c] - pairs.power[c] * lines[FIRST + i]
            lines[LAST + i] = pairs.const[c + 1] - pairs.power[c + 1] * lines[LAST + i]
    gap, level = lines[FIRST:LAST], lines[LAST:MINE]
    for i in range(m):
        gap[i] = level[i] - gap[i]
        level[i] = -abs(gap[i])
    if doubts:
        exponentials(level, m)
        for i in range(m):
            level[i] = 1.0 + level[i]
        logs(level, m)
    for i in range(m):
        c = z[i]
        if c < 0 or not chosen[c]:
            continue
        j = 1 if gap[i] > 0.0 else 0
        trial[i] = j
        if doubts:
            doubt[c] += weight[i] * level[i]
        to, row = current[(2 * c + j) * p : (2 * c + j + 1) * p], T[i * p : (i + 1) * p]
        for q in range(p):
            to[q] += weight[i] * row[q]
