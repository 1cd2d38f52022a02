"""Compiled passes over the rows of large Gaussian batches: one call from rows to labels and sums.

A run of rows is labelled tile by tile in an order in which tiles are compact, under the components
that come near, see `nearby`: proposed in float32, settled in float64, see `screened_blocks`. Then
its rows are divided among sub-clusters and added up in their own order, leaf by leaf, so that sums
are the same however rows are shared among threads. Statistics of rows are made on the way and never
kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, part
from scstream.kernels.elementary import exponentials, logs
from scstream.kernels.labelling import Pairs, uniforms
from scstream.kernels.nearby import (
    Box,
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
from scstream.kernels.screened_blocks import (
    REACH,
    SINGLE,
    draw_one,
    finished,
    first_best,
    is_doubtful,
    is_sure,
    listed,
    other,
    propose,
    take_best,
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

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


ALL = 0  # none is
LABELLED = 1  # rows have labels, and those of one lie close together
NEAREST = 2  # those do that have the same centre nearest


_FIRST, _LAST, _MINE, _OTHER = 0, TILE, 2 * TILE, 3 * TILE  # lines: scores of a row under its two
_LINES = 6  # sub-clusters, its label and its second choice; and two more
_SHORT = 8  # columns: loops over fewer take longer than to look up which they are


class Tiles(NamedTuple):
    """Memory for a tile of rows under k components, and for rows that are settled.

    Products of a row's columns are those of the ``left`` ones and the ``right`` ones. ``lines`` is
    for numbers of each row, see `_add_tile`.
    """

    cols: Singles
    cell: Singles
    run: Singles
    state: Singles
    off: Floats
    T: Floats
    near: Ints
    score: Floats
    u: Floats
    z: Ints
    lines: Floats
    left: Ints
    right: Ints
    box: Box

    @staticmethod
    def of(k: int, d: int, centres: int) -> Tiles:
        """Return memory for so many components, columns, and columns of centres."""
        p, most, (left, right) = (d + 1) * (d + 2) // 2, k + 7, np.triu_indices(d)
        return Tiles(
            np.zeros(TILE * max(p + 3, centres), np.float32),
            np.zeros(TILE * most, np.float32),
            np.zeros(TILE * most, np.float32),
            np.zeros(4 * TILE, np.float32),
            np.zeros(TILE),
            np.zeros(TILE * p),
            np.zeros(most, np.int64),
            np.zeros(most),
            np.zeros(TILE),
            np.zeros(TILE, np.int64),
            np.zeros(_LINES * TILE),
            left.astype(np.int64),
            right.astype(np.int64),
            Box(np.zeros(d), np.zeros(d), np.zeros(p), np.zeros(k), np.zeros(k),
                np.zeros(most, np.int64)),
        )  # fmt: skip


class Found(NamedTuple):
    """What is found about the rows of a run; ``second`` and ``doubt`` may be empty."""

    z: Ints
    sub: Ints
    second: Ints
    doubt: Floats


class Run(NamedTuple):
    """Memory for a run of rows: their order, where labels begin in it, and uniforms (2, n).

    ``way`` says how components are ruled out: `ALL`, `LABELLED` or `NEAREST`; behind it are counted
    the components that tiles were scored under, and the tiles.
    """

    order: Ints
    first: Ints
    u: Floats
    way: Ints


class Totals(NamedTuple):
    """Sums of the tree's nodes that are held at a time: see `scstream.engines.ordered_sums`.

    A node has a row of each: sums (2 k p,), rows (2 k,), second choices and doubts (k k,).
    ``nodes`` has the first leaf of each and how many these are. Its last entry says how many nodes
    are held.
    """

    current: Floats
    rows: Ints
    rivals: Ints
    between: Floats
    nodes: Ints


class Keyed(NamedTuple):
    """By what draws are keyed, and the number of a run's first row; ``drawn`` is 0 if none is."""

    drawn: int
    seed: int
    batch: int
    sweep: int
    first: int


@bare
def sweep_run(
    Z: Floats, weight: Floats, by: Components, pairs: Pairs, key: Keyed, leaf: int, tiles: Tiles,
    run: Run, found: Found, totals: Totals, number: int,
) -> None:  # fmt: skip
    """Label the rows of a run, divide them among sub-clusters, and add them up by the tree."""
    n = len(weight)
    if key.drawn:
        uniforms(key.seed, key.batch, key.sweep, key.first, run.u)
    label_run(Z, by, key.drawn > 0, tiles, run, found)
    for start in range(0, n, leaf):
        at = _new_node(totals, number + start // leaf)
        stop = min(start + leaf, n)
        for tile in range(start, stop, TILE):
            rows = slice(tile, min(tile + TILE, stop))
            _score_tile(
                Z[rows], by, pairs, tiles, found.z[rows], found.second[rows], found.doubt[rows]
            )
            _add_tile(weight, key.drawn > 0, tiles, run, found, totals, at, tile, rows.stop)
        _add_up(totals)


@bare
def assign_run(Z: Floats, by: Components, tiles: Tiles, run: Run, found: Found) -> None:
    """Fill the best labels of the rows of a run."""
    label_run(Z, by, False, tiles, run, found)


@bare
def resplit_run(
    Z: Floats, weight: Floats, chosen: Any, pairs: Pairs, doubts: bool, leaf: int, tiles: Tiles,
    z: Ints, trial: Ints, totals: Totals, number: int,
) -> None:  # fmt: skip
    """Try the better sub-labels for rows of the chosen clusters, and add up by the tree."""
    for start in range(0, len(weight), leaf):
        at = _new_node(totals, number + start // leaf)
        stop = min(start + leaf, len(weight))
        for tile in range(start, stop, TILE):
            rows = slice(tile, min(tile + TILE, stop))
            _try_tile(Z[rows], weight[rows], chosen, pairs, doubts, tiles, z[rows], trial[rows],
                      totals.current[at], totals.between[at])  # fmt: skip
        _add_up(totals)


@part
def _try_tile(
    Z: Floats, weight: Floats, chosen: Any, pairs: Pairs, doubts: bool, tiles: Tiles, z: Ints,
    trial: Ints, current: Floats, doubt: Floats,
) -> None:  # fmt: skip
    """Do so for 64 rows or fewer."""
    m, p, eta = len(z), pairs.eta.shape[1], pairs.eta
    lines, T, left, right = tiles.lines, tiles.T, tiles.left, tiles.right
    for i in range(m):
        c = z[i]
        lines[_FIRST + i] = lines[_LAST + i] = 1.0
        if c < 0 or not chosen[c]:
            continue
        row, one, two = T[i * p : (i + 1) * p], eta[2 * c], eta[2 * c + 1]
        _fill_statistics(Z[i], left, right, row)
        a, b = 0.0, 0.0
        for q in range(p):
            a += row[q] * one[q]
            b += row[q] * two[q]
        lines[_FIRST + i], lines[_LAST + i] = a, b
    if len(pairs.power) > 0:
        _take_logs(lines[_FIRST:_MINE], m)
        for i in range(m):
            c = 2 * z[i] if z[i] > 0 else 0
            lines[_FIRST + i] = pairs.const[c] - pairs.power[c] * lines[_FIRST + i]
            lines[_LAST + i] = pairs.const[c + 1] - pairs.power[c + 1] * lines[_LAST + i]
    gap, level = lines[_FIRST:_LAST], lines[_LAST:_MINE]
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


# -- labels -------------------------------------------------------------------------------------


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
        run.way[1] += _label_tile(Z, by, drawn, tiles, run, found, run.order[start:stop])
        run.way[2] += 1
        start = stop


@part
def _label_tile(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, run: Run, found: Found, order: Ints
) -> int:
    """Label the rows of a tile; return under how many components they were scored."""
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
                off[i] += LOG_ERROR * (abs(state[TOP + i]) + REACH)
        cumulate(cell, state, top)
        propose(off, u, m, top, cell, state, z)
    else:
        best_two(cell, state)
        take_best(cell, state, m, seconds, z)
    if seconds:
        best_two(cell, state)
    _settle(Z, by, drawn, tiles, found, order, m)
    return m


@part
def _settle(
    Z: Floats, by: Components, drawn: bool, tiles: Tiles, found: Found, order: Ints, m: int
) -> None:
    """Take the labels proposed for a tile where they are sure, and find the others.

    Doubts become NaN where they are not 0, unless the row was not sure.
    """
    T = tiles.T[: by.eta.shape[1]]
    eta, const, power = by.eta, by.const, by.power
    state, off, which, near, cell = tiles.state, tiles.off, tiles.box.which, tiles.near, tiles.cell
    labels, second, doubt, seconds = found.z, found.second, found.doubt, len(found.second) > 0
    error = LOG_ERROR if len(by.slope) > 0 else SINGLE
    for i in range(len(order)):
        r = order[i]
        if not is_sure(state, i, off[i], error, drawn, seconds):
            n = listed(cell, state, i, tiles.z[i], off[i], error, drawn, seconds, m, near)
            _fill_statistics(Z[r], tiles.left, tiles.right, T)
            score = tiles.score[:n]
            for j in range(n):
                c = which[near[j]]
                score[j] = _score(T, eta[c], const, power, c)
            at = draw_one(score, tiles.u[i]) if drawn else first_best(score)
            labels[r] = which[near[at]]
            if seconds:
                b, doubt[r] = other(near, score, at)
                second[r] = which[b] if b >= 0 else -1
            continue
        a = which[tiles.z[i]]
        labels[r] = a
        if seconds:
            b = which[min(int(state[WHICH + i]), m - 1)]
            second[r], doubt[r] = b, 0.0
            slack = off[i] + error * abs(state[BEST + i])
            if is_doubtful(state[BEST + i] - state[COUNT + i], slack):
                doubt[r] = np.nan


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
    error = 2.0 * LOG_ERROR if len(by.slope) > 0 else SINGLE
    for i in range(len(order)):
        a, b = float(cell[i]), float(cell[TILE + i])
        a -= off[i] + error * (abs(a) + 1.0)
        b -= off[i] + error * (abs(b) + 1.0)
        if not (off[i] < TOO_LARGE and abs(a) < np.inf and abs(b) < np.inf):
            a = b = -np.inf
        low, lowest = min(low, max(a, b)), min(lowest, min(a, b))
    if not seconds:
        lowest = low
    return list_near(box.bound, least_needed(low, lowest, drawn), which)


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


# -- sums ---------------------------------------------------------------------------------------


@part
def _score_tile(
    Z: Floats, by: Components, pairs: Pairs, tiles: Tiles, labels: Ints, second: Ints, doubt: Floats
) -> None:
    """Fill statistics of 64 rows or fewer and their scores; doubts of labels that are NaN."""
    m, k, p = len(Z), len(pairs.eta) // 2, by.eta.shape[1]
    lines, T, left, right = tiles.lines, tiles.T, tiles.left, tiles.right
    own, eta = pairs.eta, by.eta
    for i in range(m):
        row = T[i * p : (i + 1) * p]
        _fill_statistics(Z[i], left, right, row)
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
        lines[_FIRST + i], lines[_LAST + i] = a, b
        lines[_MINE + i], lines[_OTHER + i] = mine, rival
    if len(pairs.power) > 0:
        _take_logs(lines[_FIRST:_MINE], m)
        for i in range(m):
            c = 2 * labels[i] if labels[i] < k else 0
            lines[_FIRST + i] = pairs.const[c] - pairs.power[c] * lines[_FIRST + i]
            lines[_LAST + i] = pairs.const[c + 1] - pairs.power[c + 1] * lines[_LAST + i]
    _fill_doubts(by, lines[_MINE:], labels, second, doubt)


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
def _add_tile(
    weight: Floats, drawn: bool, tiles: Tiles, run: Run, found: Found, totals: Totals, at: int,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Divide rows among the sub-clusters of their labels, and add them to the sums of a node."""
    labels, sub, second, between = found.z, found.sub, found.second, found.doubt
    current, counts = totals.current[at], totals.rows[at]
    rivals, doubts = totals.rivals[at], totals.between[at]
    m, k, p = stop - start, len(counts) // 2, tiles.T.shape[0] // TILE
    gap, odds = tiles.lines[_FIRST:_LAST], tiles.lines[_LAST:_MINE]
    level = tiles.lines[_MINE:_OTHER]
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
def _clear(out: Any) -> None:
    for i in range(len(out)):
        out[i] = 0


@part
def _add(out: Any, more: Any) -> None:
    for i in range(len(out)):
        out[i] += more[i]


@part
def _new_node(totals: Totals, number: int) -> int:
    """Hold a node more, of one leaf and without any rows yet; return its place."""
    held = totals.nodes[-1]
    at = int(held[0])
    held[0] += 1
    totals.nodes[at, 0] = number
    totals.nodes[at, 1] = 1
    _clear(totals.current[at])
    _clear(totals.rows[at])
    _clear(totals.rivals[at])
    _clear(totals.between[at])
    return at


@part
def _add_up(totals: Totals) -> None:
    """Add the last node to the one before it while they are two halves of a node."""
    nodes, held = totals.nodes, totals.nodes[-1]
    while held[0] > 1:
        b = held[0] - 1
        a = b - 1
        leaves = nodes[a, 1]
        if leaves != nodes[b, 1] or nodes[a, 0] % (2 * leaves) != 0:
            break
        _add(totals.current[a], totals.current[b])
        _add(totals.rows[a], totals.rows[b])
        _add(totals.rivals[a], totals.rivals[b])
        _add(totals.between[a], totals.between[b])
        nodes[a, 1] = 2 * leaves
        held[0] = b


# -- a row --------------------------------------------------------------------------------------


@part
def _fill_statistics(z: Floats, left: Ints, right: Ints, T: Floats) -> None:
    """Fill the statistics (p,) of a row."""
    d = len(z)
    T[0] = 1.0
    for j in range(d):
        T[1 + j] = z[j]
    to = T[1 + d :]
    if d < _SHORT:
        for q in range(len(left)):
            to[q] = z[left[q]] * z[right[q]]
        return
    q = 0
    for a in range(d):
        x, tail, line = z[a], z[a:], to[q : q + d - a]
        for b in range(d - a):
            line[b] = x * tail[b]
        q += d - a


@part
def _score(T: Floats, eta: Floats, const: Floats, power: Floats, c: int) -> Any:
    """Return the exact score of a row under a component."""
    x = 0.0
    for q in range(len(T)):
        x += T[q] * eta[q]
    return finished(x, const, power, c)
