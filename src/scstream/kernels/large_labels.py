"""Compiled labels of the rows of large Gaussian batches.

Tile by tile, in an order in which tiles are compact, rows are labelled under the components that
come near, see `nearby`: proposed in float32, settled in float64, see `screened_choices`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels import screened_choices as choices
from scstream.kernels.compiling import part
from scstream.kernels.label_proposals import tags
from scstream.kernels.large_tiles import (
    ALL,
    FAR,
    NEAREST,
    Floats,
    Found,
    Ints,
    Run,
    Singles,
    Tiles,
    fill_statistics,
)
from scstream.kernels.nearby import (
    Components,
    bound_scores,
    fill_columns,
    least_needed,
    list_near,
    multiply,
    nearest,
    sort_by_label,
    sort_rows,
    tile_end,
)
from scstream.kernels.screened_tiles import (
    BEST,
    COUNT,
    FIRST,
    LEVEL,
    LOG_ERROR,
    NEXT,
    NOBODY,
    OPEN,
    REACH,
    THIRD,
    TILE,
    TOO_LARGE,
    TOP,
    TOTAL,
    best_three,
    best_two_named,
    cumulate,
    draw_among_two,
    finish_products,
    locate,
    weights_of,
)

_UNIT = 2.0**-23  # the last bit of a float32
_MANY = TILE // 2  # labels left open from which all of a tile are drawn at once
_LOWEST = np.float32(-1e30)  # the score of nobody


@part
def label_run(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, run: Run, found: Found, order: Ints,
    listed: bool,
) -> None:  # fmt: skip
    """Label the rows in the order, tile by tile; that is filled with all of them if not listed."""
    way, start = run.way[0], 0
    if way == NEAREST:
        nearest(Z, by.centre, tiles.cols, tiles.cell, tiles.state, tiles.near, found.z)
    if way != ALL:
        sort_by_label(found.z, len(by.eta), run.first, order)
    elif not listed:
        sort_rows(order)
    while start < len(order):
        stop = min(start + TILE, len(order))
        if way != ALL:
            stop = tile_end(found.z, order, start)
        _label_tile(Z, by, drawn, tiles, run, found, order[start:stop])
        run.way[2] += 1
        start = stop
    run.way[4] += len(order)


@part
def _label_tile(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, run: Run, found: Found, order: Ints
) -> None:
    """Label the rows of a tile."""
    fill_columns(Z, order, tiles.cols, tiles.off, by.reach)
    m, tiles.least[0] = len(by.eta), -np.inf
    if run.way[0] == ALL:
        _list_all(tiles.box.which, m)
    else:
        m = _list_near(Z, by, drawn, len(found.second) > 0, tiles, order)
    _load(by, tiles, m)
    error = (tags(m) + 8.0) * _UNIT + (LOG_ERROR if len(by.slope) > 0 else 0.0)
    cell = tiles.cell[: TILE * (m + -m % 4)]
    if len(found.second) > 0:
        best_three(cell, tags(m), tiles.state)
    else:
        best_two_named(cell, tags(m), tiles.state)
    if drawn:
        for i in range(len(order)):
            tiles.u[i] = run.u[0, order[i]]
        open_ = draw_among_two(tiles.off, tiles.u, m, error, tiles.state)
        tiles.draws[COUNT] = -1.0
        if open_ > _MANY:
            _draw_tile(tiles, cell, m, error)
    run.way[1] += m
    run.way[3] += _settle(Z, by, drawn, tiles, found, order, m, error)


@part
def _settle(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, found: Found, order: Ints, m: int,
    error: float,
) -> int:  # fmt: skip
    """Take the labels proposed for a tile where they are sure; find the others, and count them."""
    state, off, which, seconds = tiles.state, tiles.off, tiles.box.which, len(found.second) > 0
    tag, settled, carried = tags(m), 0, found.carried
    carries = len(carried.third) > len(carried.bound)  # this is the first of two sweeps
    for i in range(len(order)):
        r, best, second, third = order[i], state[BEST + i], state[NEXT + i], state[THIRD + i]
        a, b = _tagged(best, tag), _tagged(second, tag)
        if carries:
            carried.first[r], carried.second[r] = which[a], which[b]
            most = max(third + off[i] + error * abs(third), tiles.least[0])
            carried.third[r] = most if off[i] < TOO_LARGE else np.inf
        beyond = (second if seconds else best) - off[i] < by.floor  # scores may be higher there
        slack = np.inf if beyond else off[i]
        if drawn:
            one = a if state[COUNT + i] == FIRST else b
            if state[COUNT + i] == OPEN:
                one = _draw_row(tiles, i, m, error)
            high = second if one == a else best
            sure = one >= 0 and _ahead(high, third if one in (a, b) else second, slack, error)
        else:
            one = a
            sure = _ahead(best, second, slack, error)
            sure = sure and (not seconds or _ahead(second, third, slack, error))
        if not sure:
            _settle_row(Z, by, drawn, tiles, found, r, i, (m, slack, error))
            settled += 1
            continue
        found.z[r] = which[one]
        if seconds:
            gap = (second if one == a else best) - tiles.cell[TILE * one + i]
            other = which[b if one == a else a] if second > NOBODY else -1
            doubtful = choices.is_doubtful(gap, slack + error * abs(second)) or other < 0
            found.second[r] = other if doubtful else FAR - other
    return settled


@part
def _settle_row(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, found: Found, r: int, i: int, how: Any
) -> None:
    """Label row r, which is row i of a tile, by exact scores of those that may be first or second.

    ``how`` says how many components there are, and how far scores are off.
    """
    (m, slack, error), which, near = how, tiles.box.which, tiles.near
    best, second = tiles.state[BEST + i], tiles.state[NEXT + i]
    least = second if len(found.second) > 0 else best
    if drawn:
        least = min(least, best + choices.IN_BITS)
    least -= slack + error * abs(least)
    n, slack = 0, slack if slack < TOO_LARGE else np.inf
    for c in range(m):
        s = np.float64(tiles.cell[TILE * c + i])
        near[n] = c
        n += not s + slack + error * abs(s) < least  # NaN as well
    score = tiles.score[:n]
    fill_statistics(Z[r], tiles.left, tiles.right, tiles.T)
    for j in range(n):
        c = which[near[j]]
        score[j] = _score(tiles.T, by.eta[c], by.const, by.power, c)
    at = choices.draw_one(score, tiles.u[i]) if drawn else choices.first_best(score)
    found.z[r] = which[near[at]]
    if len(found.second) > 0:
        b, _ = choices.other(near, score, at)
        found.second[r] = which[b] if b >= 0 else -1


@part
def _draw_tile(tiles: Tiles, cell: Singles, m: int, error: float) -> None:
    """Draw the labels of a tile by all scores: `_draw_row` takes them from there."""
    draws, best, run = tiles.draws, tiles.state, tiles.run[: len(cell)]
    for i in range(TILE):
        draws[TOP + i] = best[BEST + i]
    cumulate(cell, draws, run)
    for i in range(TILE):
        low, _ = choices.levels(tiles.u[i], _wrong(tiles, i, error), m)
        draws[LEVEL + i] = low * draws[TOTAL + i]
    locate(run, draws)


@part
def _draw_row(tiles: Tiles, i: int, m: int, error: float) -> int:
    """Draw the label of row i of a tile by all its scores; -1 if they are not exact enough."""
    draws, wrong = tiles.draws, _wrong(tiles, i, error)
    low, high = choices.levels(tiles.u[i], wrong, m)
    if not wrong < 0.25:
        return -1
    if draws[COUNT] >= 0.0:
        at = min(int(draws[COUNT + i]), m - 1)
        return at if tiles.run[TILE * at + i] > high * draws[TOTAL + i] else -1
    weight = tiles.run
    total = np.float64(weights_of(tiles.cell, i, m, tiles.state[BEST + i], weight))
    at, sum_, few = 0, 0.0, True
    while few and at + 4 < m:  # four at a time need not wait for each other
        more = sum_ + ((weight[at] + weight[at + 1]) + (weight[at + 2] + weight[at + 3]))
        few = more < low * total
        if few:
            at, sum_ = at + 4, more
    sum_ += weight[at]
    while at < m - 1 and sum_ < low * total:
        at += 1
        sum_ += weight[at]
    return at if sum_ > high * total else -1


@part
def _wrong(tiles: Tiles, i: int, error: float) -> Any:
    """Return how far scores of row i are off that have a chance."""
    return tiles.off[i] + error * (abs(tiles.state[BEST + i]) + REACH)


@part
def _tagged(score: Any, tag: int) -> Any:
    """Return whose a score of `best_three` is."""
    return np.int64(np.float32(score).view(np.int32)) & tag


@part
def _ahead(high: float, low: float, off: float, error: float) -> bool:
    """Whether a score is higher than another in truth, or the other nobody's."""
    slack = 2.0 * off + error * (abs(high) + abs(low))
    return off < TOO_LARGE if low < NOBODY else high - low > slack


@part
def _list_all(which: Ints, k: int) -> None:
    for c in range(k):
        which[c] = c


@part
def _list_near(
    Z: Floats, by: Components, drawn: bool, seconds: bool, tiles: Tiles, order: Ints
) -> int:
    """List the components that come near a tile's rows; return how many they are."""
    box, cell, off = tiles.box, tiles.cell, tiles.off
    first, second = bound_scores(by, Z, order, box)
    which = box.which
    which[0] = which[2] = which[3] = first
    which[1] = second
    _multiply(by, tiles, 4)
    low = lowest = np.inf
    error = 2.0 * LOG_ERROR if len(by.slope) > 0 else choices.SINGLE
    for i in range(len(order)):
        a, b = float(cell[i]), float(cell[TILE + i])
        a -= off[i] + error * (abs(a) + 1.0)
        b -= off[i] + error * (abs(b) + 1.0)
        if not (off[i] < TOO_LARGE and abs(a) < np.inf and abs(b) < np.inf):
            a = b = -np.inf
        low, lowest = min(low, max(a, b)), min(lowest, min(a, b))
    if not seconds:
        lowest = low
    least = least_needed(low, lowest, drawn)
    tiles.least[0] = least if least > by.floor else -np.inf
    return list_near(box.bound, tiles.least[0], which)


@part
def _load(by: Components, tiles: Tiles, m: int) -> None:
    """Take the scores of a tile's rows under the m components listed."""
    which, padded = tiles.box.which, m + -m % 4
    for c in range(m, padded):
        which[c] = which[0]
    _multiply(by, tiles, padded)
    for i in range(TILE * m, TILE * padded):
        tiles.cell[i] = _LOWEST


@part
def _multiply(by: Components, tiles: Tiles, m: int) -> None:
    """Fill scores of a tile under the first m components listed; 0 where float32 cannot tell."""
    which, cell, off = tiles.box.which[:m], tiles.cell, tiles.off
    multiply(tiles.cols, by.narrow, which, cell)
    unknown = 0
    for i in range(TILE):
        unknown += not off[i] < TOO_LARGE
    if unknown > 0:
        for i in range(TILE):
            if not off[i] < TOO_LARGE:
                for c in range(m):
                    cell[TILE * c + i] = np.float32(0.0)
    if len(by.slope) > 0:
        finish_products(by.level, by.slope, which, cell)


@part
def _score(T: Floats, eta: Floats, const: Floats, power: Floats, c: int) -> Any:
    """Return the exact score of a row under a component."""
    x = 0.0
    for q in range(len(T)):
        x += T[q] * eta[q]
    return choices.finished(x, const, power, c)
