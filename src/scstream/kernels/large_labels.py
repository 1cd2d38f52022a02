"""Compiled labels of the rows of large Gaussian batches.

Tile by tile, in an order in which tiles are compact, rows are labelled under the components that
come near, see `nearby`: proposed in float32, settled in float64, see `screened_choices`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels import screened_choices as choices
from scstream.kernels.compiling import part
from scstream.kernels.large_tiles import (
    ALL,
    FAR,
    NEAREST,
    Floats,
    Found,
    Ints,
    Run,
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
    LOG_ERROR,
    TILE,
    TOO_LARGE,
    TOP,
    WHICH,
    best_two,
    cumulate,
    find_top,
    finish_products,
)


@part
def label_run(Z: Floats, by: Components, drawn: bool, tiles: Tiles, run: Run, found: Found) -> None:
    """Label all rows, tile by tile."""
    way = run.way[0]
    if way == NEAREST:
        nearest(Z, by.centre, tiles.cols, tiles.cell, tiles.state, tiles.near, found.z)
    if way == ALL:
        sort_rows(run.order)
    else:
        sort_by_label(found.z, len(by.eta), run.first, run.order)
    start = 0
    while start < len(run.order):
        stop = min(start + TILE, len(run.order))
        if way != ALL:
            stop = tile_end(found.z, run.order, start)
        _label_tile(Z, by, drawn, tiles, run, found, run.order[start:stop])
        run.way[2] += 1
        start = stop


@part
def _label_tile(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, run: Run, found: Found, order: Ints
) -> None:
    """Label the rows of a tile."""
    seconds, student = len(found.second) > 0, len(by.slope) > 0
    state, off, which = tiles.state, tiles.off, tiles.box.which
    fill_columns(Z, order, tiles.cols, off, by.reach)
    m = len(by.eta)
    if run.way[0] == ALL:
        _list_all(which, m)
    else:
        m = _list_near(Z, by, drawn, seconds, tiles, order)
    _load(by, tiles, m)
    padded = m + -m % 4
    cell, top = tiles.cell[: TILE * padded], tiles.run[: TILE * padded]
    u, z = tiles.u[: len(order)], tiles.z[: len(order)]
    if drawn:
        for i in range(len(order)):
            u[i] = run.u[0, order[i]]
        find_top(cell, state)
        if student:
            for i in range(TILE):
                off[i] += LOG_ERROR * (abs(state[TOP + i]) + choices.REACH)
        cumulate(cell, state, top)
        choices.propose(off, u, m, top, cell, state, z)
    else:
        best_two(cell, state)
        choices.take_best(cell, state, m, seconds, z)
    if seconds:
        best_two(cell, state)
    run.way[1] += m
    run.way[3] += _settle(Z, by, drawn, tiles, found, order, m)


@part
def _settle(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, found: Found, order: Ints, m: int
) -> int:
    """Take the labels proposed for a tile where they are sure; find the others, and count them."""
    T, eta, const, power = tiles.T, by.eta, by.const, by.power
    state, off, which, near, cell = tiles.state, tiles.off, tiles.box.which, tiles.near, tiles.cell
    labels, second, seconds = found.z, found.second, len(found.second) > 0
    error = LOG_ERROR if len(by.slope) > 0 else choices.SINGLE
    settled = 0
    for i in range(len(order)):
        r = order[i]
        beyond = state[BEST + i] - off[i] < by.floor  # there scores may be higher than they look
        slack = np.inf if beyond else off[i]
        if not choices.is_sure(state, i, slack, error, drawn, seconds):
            n = choices.listed(cell, state, i, tiles.z[i], slack, error, drawn, seconds, m, near)
            fill_statistics(Z[r], tiles.left, tiles.right, T)
            score = tiles.score[:n]
            for j in range(n):
                c = which[near[j]]
                score[j] = _score(T, eta[c], const, power, c)
            at = choices.draw_one(score, tiles.u[i]) if drawn else choices.first_best(score)
            labels[r] = which[near[at]]
            if seconds:
                b, _ = choices.other(near, score, at)
                second[r] = which[b] if b >= 0 else -1
            settled += 1
            continue
        labels[r] = which[tiles.z[i]]
        if seconds:
            b = which[min(int(state[WHICH + i]), m - 1)]
            slack += error * abs(state[BEST + i])
            doubtful = choices.is_doubtful(state[BEST + i] - state[COUNT + i], slack)
            second[r] = b if doubtful else FAR - b
    return settled


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
    return list_near(box.bound, least if least > by.floor else -np.inf, which)


@part
def _load(by: Components, tiles: Tiles, m: int) -> None:
    """Take the scores of a tile's rows under the m components listed."""
    which, padded = tiles.box.which, m + -m % 4
    for c in range(m, padded):
        which[c] = which[0]
    _multiply(by, tiles, padded)
    for i in range(TILE * m, TILE * padded):
        tiles.cell[i] = -np.inf


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
