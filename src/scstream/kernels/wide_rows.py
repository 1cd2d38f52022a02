"""Compiled labels of rows of Gaussian clusters of many columns: see `pruning`.

Rows are labelled tile by tile by the threads of a `crew`, and added up afterwards: see `wide_sums`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.atomic import claim
from scstream.kernels.choices import draw_one, first_best, other
from scstream.kernels.compiling import bare, part
from scstream.kernels.crew import Crew, on_threads, own_of
from scstream.kernels.elementary import logs
from scstream.kernels.frames import (
    TILE,
    Floats,
    Ints,
    Keyed,
    Rows,
    Singles,
    fill_columns,
    fill_frame,
    multiply,
    sort_rows,
)
from scstream.kernels.labelling import draw_pair, first_uniforms, share_pair
from scstream.kernels.pruning import REACH, Predictives, Students, score_near, score_of


class Labelled(NamedTuple):
    """What is found about rows (n,).

    Labels, sub-labels, second choices, doubts between these, doubts of sub-labels, and shares of
    the second one.
    """

    z: Ints
    sub: Ints
    second: Ints
    doubt: Floats
    own_doubt: Floats
    share: Floats


class Tile(NamedTuple):
    """Memory of a thread for the rows of a tile.

    Rows are ``(1, z)``; ``lead`` are their first columns, ``cols`` the statistics of these for some
    rows, and ``cell`` their products, which are ``off`` by so much at most. ``which`` are the
    numbers of components. ``y`` is for a solution, ``first`` for where clusters begin in the order
    of rows.
    """

    point: Floats
    lead: Floats
    cols: Singles
    off: Singles
    cell: Singles
    which: Ints
    score: Floats
    pair: Floats
    u: Floats
    y: Floats
    best: Ints
    order: Ints
    first: Ints
    near: Ints
    value: Floats


@bare
def label(
    crew: Crew, rows: Rows, by: Predictives, own: Students, key: Keyed, tiles: Tile,
    found: Labelled, left: Ints, taken: Ints,
) -> None:  # fmt: skip
    """Label rows, tile by tile.

    ``left`` becomes 1 for a tile of which rows come near to too many components.
    """
    on_threads(crew, _label_share, (crew, rows, by, own, key, tiles, found, left, taken))


@part
def _label_share(thread: int, given: Any) -> None:
    """Label tiles that no other thread has taken."""
    crew, rows, by, own, key, tiles, found, left, taken = given
    tile = own_of(tiles, thread, crew.threads)
    n, size = len(found.z), len(tile.point)
    number = claim(taken, 0)
    while number * size < n:
        start, stop = number * size, min(number * size + size, n)
        here = Labelled(
            found.z[start:stop], found.sub[start:stop], found.second[start:stop],
            found.doubt[start:stop], found.own_doubt[start:stop], found.share[start:stop],
        )  # fmt: skip
        if key.drawn > 0:
            first_uniforms(key.seed, key.batch, key.sweep, key.first + start, stop - start, tile.u)
        _fill_tile(rows, start, tile, stop - start)
        left[number] = _label_tile(by, key.drawn > 0, tile, here)
        if left[number] == 0:
            _divide_tile(own, key.drawn > 0, tile, here)
        number = claim(taken, 0)


@part
def _fill_tile(rows: Rows, start: int, tile: Tile, n: int) -> None:
    """Fill rows in the frame, and their first columns."""
    d = len(tile.y)
    for i in range(n):
        point = tile.point[i]
        point[0] = 1.0
        fill_frame(rows, (start + i) * d, point[1:])
        for j in range(tile.lead.shape[1]):
            tile.lead[i, j] = point[1 + j]


@part
def _label_tile(by: Predictives, drawn: bool, tile: Tile, found: Labelled) -> int:
    """Label the rows of a tile; return 1 if there are too many components to score."""
    n, k, known = len(found.z), len(by.narrow), by.known
    sort_rows(tile.order)
    _fill_bounds(by, tile, n)
    _sort_by_best(tile, n, k)
    scored = 0
    for at in range(n):
        i = tile.order[at]
        more = score_near(known, tile.point[i], tile.best[i], tile.score[i], tile.y, at, scored)
        if more < 0:
            return 1
        scored += more
    for i in range(n):
        m = _list_near(tile.score[i], tile.near, tile.value)
        value = tile.value[:m]
        at = draw_one(value, tile.u[0, i]) if drawn else first_best(value)
        found.z[i] = tile.near[at]
        found.second[i], found.doubt[i] = other(tile.near, value, at)
    return 0


@part
def _fill_bounds(by: Predictives, tile: Tile, n: int) -> None:
    """Fill upper bounds of scores, by forms of the first columns, which those of all exceed."""
    k, const, power = len(by.narrow), by.known.const, by.known.power
    for start in range(0, n, TILE):
        m = min(TILE, n - start)
        fill_columns(tile.lead[start:], tile.order[:m], tile.cols, tile.off, by.reach)
        multiply(tile.cols, by.narrow, tile.which, tile.cell)
        for i in range(m):
            score = tile.score[start + i]
            for c in range(k):
                more = np.float64(tile.cell[TILE * c + i]) - tile.off[i]
                score[c] = 1.0 + (more if more > 0.0 else 0.0)
            logs(score, k)
            for c in range(k):
                score[c] = const[c] - power[c] * score[c]


@part
def _sort_by_best(tile: Tile, n: int, k: int) -> None:
    """Order the rows of a tile by their best components: whose factors are then in cache."""
    first = tile.first
    for c in range(k + 1):
        first[c] = 0
    for i in range(n):
        tile.best[i] = first_best(tile.score[i])
        first[tile.best[i] + 1] += 1
    for c in range(k):
        first[c + 1] += first[c]
    for i in range(n):
        c = tile.best[i]
        tile.order[first[c]] = i
        first[c] += 1


@part
def _list_near(score: Floats, near: Ints, value: Floats) -> int:
    """List components within reach of the best, and the two best; return how many they are."""
    a = first_best(score)
    b = 0 if a > 0 else min(1, len(score) - 1)
    for c in range(len(score)):
        if c != a and score[c] > score[b]:
            b = c
    m = 0
    for c in range(len(score)):
        if (c - a) * (c - b) == 0 or score[c] > score[a] - REACH:
            near[m], value[m] = c, score[c]
            m += 1
    return m


@part
def _divide_tile(own: Students, drawn: bool, tile: Tile, found: Labelled) -> None:
    """Divide the rows of a tile among the sub-clusters of their labels."""
    n = len(found.z)
    for at in range(n):
        i = tile.order[at]
        for b in range(2):
            tile.pair[i, b] = score_of(own, 2 * found.z[i] + b, tile.point[i], np.inf, tile.y)
    if drawn:
        draw_pair(tile.pair[:n], tile.u[1, :n], found.sub, found.own_doubt)
    else:
        share_pair(tile.pair[:n], found.sub, found.share, found.own_doubt)
