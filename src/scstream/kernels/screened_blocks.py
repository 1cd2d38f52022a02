"""Compiled labels of rows, whatever their scores: proposed in float32, settled in float64.

All labels of large batches, and of rows to be predicted, are drawn or chosen here. Scores in
float32 propose a label and a second choice, see `screened_tiles`. Where rounding could have changed
either, exact scores of the components in question settle it. An exact score is computed from its
row alone, in a fixed order, so that it does not depend on which rows are labelled together.

Small batches of Gaussian clusters have a version of their own in `small_rows`: their rows come in
the order of labels, and a pass takes less time than the calls of a pass here. Student-t predictives
of many columns rule components out before they are scored, see `pruning`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, part
from scstream.kernels.count_scores import EIGHT, add_row, sum_at
from scstream.kernels.screened_choices import (
    SINGLE,
    doubt_of,
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
    REACH,
    TILE,
    TOO_LARGE,
    TOP,
    WHICH,
    best_two,
    cumulate,
    find_top,
    load_linear,
    load_products,
    load_raw,
    load_row,
    make_numbers,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_BIT = float(np.log(2.0))
_ROUNDING = 1.1 * 2.0**-24  # of a sum in float32, relative
_LOOSE = 1.0  # nats of rounding that leave too much open


class Scored(NamedTuple):
    """Rows and the k components that they are scored under.

    There are three kinds of scores, in this order; what a kind does not use is empty.

    Attributes
    ----------
    k : int
    T : ndarray (n, p)
        Statistics, of which scores are products.
    eta : ndarray (k, p)
        Scores are ``T @ eta``;
    const, power : ndarray (k,)
        or ``const - power log(T @ eta)``, where these are not empty and the power is not 0.
    products : ndarray (k or more, n)
        The products in float32, up to a multiple of 4 components, those of linear scores in units
        of log 2. They may be less a number for each row.
    off : ndarray (n,)
        By how much scores by these may be wrong, in units of log 2.
    level, slope : ndarray (k or more,)
        What const and power are in these units.
    scores : ndarray (n, k)
        The scores themselves.
    which : ndarray
        Numbers of rows of a table whose sums are scores: those of row i
    first : ndarray (n + 1,)
        from ``first[i]`` on, a multiple of eight of them.
    table : ndarray (m, k)
    narrow : ndarray (m, k)
        The same in float32.
    length : ndarray (n,)
        What is added up for a row comes to this at most, signs aside.
    own : ndarray (n,)
        The component, or -1, that scores a row otherwise than by such a sum,
    own_score : ndarray (n,)
        and that score. Both are empty if there is none.
    """

    k: int
    T: Floats
    eta: Floats
    const: Floats
    power: Floats
    products: Singles
    off: Floats
    level: Singles
    slope: Singles
    scores: Floats
    which: NDArray[np.int32]
    first: Ints
    table: Floats
    narrow: Singles
    length: Floats
    own: Ints
    own_score: Floats


class Scratch(NamedTuple):
    """Memory for a tile of rows: see `screened_tiles`, and for one row that is settled."""

    state: Singles
    off: Floats
    cell: Singles
    run: Singles
    row: Singles
    near: Ints
    score: Floats


def label_rows(scored: Scored, u: Floats, z: Ints, second: Ints, doubt: Floats) -> None:
    """Draw labels by uniforms (n,), or take the best if there are none, the first of equals.

    ``second`` becomes the best other label, -1 if there is none, and ``doubt`` minus the
    log-probability of the label against that one. If labels are the best and ``second`` is empty,
    nobody wants these. Every label is in range, also where scores are no numbers.
    """
    k, padded = scored.k, scored.k + -scored.k % 4
    scratch = Scratch(
        np.zeros(4 * TILE, np.float32),
        np.zeros(TILE),
        np.full(TILE * padded, -np.inf, np.float32),
        np.zeros(TILE * padded if len(u) > 0 else 0, np.float32),
        np.empty(k, np.float32),
        np.empty(k + 1, np.int64),
        np.empty(max(k, 2)),
    )
    label_block(scored, scratch, u, z, second, doubt)


@bare
def label_block(
    scored: Scored, scratch: Scratch, u: Floats, z: Ints, second: Ints, doubt: Floats
) -> None:
    """Do so with memory that is given."""
    _label_tiles(scored, scratch, u, z, second, doubt)
    _fill_doubts(scored, scratch, z, second, doubt)


@part
def _label_tiles(
    scored: Scored, scratch: Scratch, u: Floats, z: Ints, second: Ints, doubt: Floats
) -> None:
    """Do so, but for doubts that are not 0: they become NaN, unless the row was settled."""
    n, k, drawn, seconds = len(z), scored.k, len(u) > 0, len(second) > 0
    state, off, cell, run, row, near, score = scratch
    error = LOG_ERROR if len(scored.slope) > 0 else SINGLE
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        _load(scored, start, stop, drawn, row, cell, state, off)
        if drawn:
            cumulate(cell, state, run)
            propose(off, u[start:stop], k, run, cell, state, z[start:stop])
        else:
            best_two(cell, state)
            take_best(cell, state, k, seconds, z[start:stop])
        if seconds:
            best_two(cell, state)
        for r in range(start, stop):
            i = r - start
            if not is_sure(state, i, off[i], error, drawn, seconds):
                m = listed(cell, state, i, z[r], off[i], error, drawn, seconds, k, near)
                _fill_exact(scored, r, near, score[:m])
                at = draw_one(score[:m], u[r]) if drawn else first_best(score[:m])
                z[r] = near[at]
                if seconds:
                    second[r], doubt[r] = other(near, score[:m], at)
            elif seconds:
                second[r] = min(int(state[WHICH + i]), k - 1)
                gap, slack = (
                    state[BEST + i] - state[COUNT + i],
                    off[i] + error * abs(state[BEST + i]),
                )
                doubt[r] = np.nan if is_doubtful(gap, slack) else 0.0


# -- proposals ----------------------------------------------------------------------------------


@part
def _load(
    scored: Scored, start: int, stop: int, drawn: bool, row: Singles, cell: Singles,
    state: Singles, off: Floats,
) -> None:  # fmt: skip
    """Take the scores of a tile's rows, the best ones if labels are drawn, and their errors."""
    if len(scored.products) > 0:
        unknown = 0
        for i in range(stop - start):
            off[i] = scored.off[start + i]
            unknown += not off[i] < TOO_LARGE
        if unknown > 0:
            make_numbers(scored.products, start, stop - start, off)
        if len(scored.slope) == 0:
            load_linear(scored.products, start, stop - start, cell, state)
            return
        load_products(scored.products, start, stop - start, scored.level, scored.slope, cell)
        if drawn:
            find_top(cell, state)
            for i in range(stop - start):
                off[i] += LOG_ERROR * (abs(state[TOP + i]) + REACH)
    elif len(scored.scores) > 0:
        for i in range(stop - start):
            load_row(scored.scores[start + i], i, cell, state)
            off[i] = SINGLE * REACH
    else:
        for i in range(stop - start):
            a, b = scored.first[start + i], scored.first[start + i + 1]
            length = scored.length[start + i]
            off[i] = _ROUNDING * ((b - a) // EIGHT + 4) * length
            if off[i] < _LOOSE:
                add_row(scored.which, a, b, scored.narrow, row)
                if len(scored.own) > 0 and scored.own[start + i] >= 0:
                    mine = scored.own_score[start + i]
                    row[scored.own[start + i]] = mine
                    length = max(length, abs(mine))
                load_raw(row, i, cell)
                off[i] = (off[i] + SINGLE * length) / _BIT + SINGLE * REACH
            else:
                off[i] = np.inf
        if drawn:
            find_top(cell, state)


# -- exact scores -------------------------------------------------------------------------------


@part
def _fill_exact(scored: Scored, r: int, near: Ints, score: Floats) -> None:
    """Fill the scores of row ``r`` under the components listed."""
    if len(scored.products) > 0:
        T, eta, const, power = scored.T, scored.eta, scored.const, scored.power
        for i in range(len(score)):
            x = 0.0
            for j in range(T.shape[1]):
                x += T[r, j] * eta[near[i], j]
            score[i] = finished(x, const, power, near[i])
    elif len(scored.scores) > 0:
        for i in range(len(score)):
            score[i] = scored.scores[r, near[i]]
    else:
        a, b = scored.first[r], scored.first[r + 1]
        if 2 < scored.k == len(score):  # of two the order may be another
            add_row(scored.which, a, b, scored.table, score)
        else:
            for i in range(len(score)):
                score[i] = sum_at(scored.which, a, b, scored.table, near[i])
        if len(scored.own) > 0:
            for i in range(len(score)):
                if near[i] == scored.own[r]:
                    score[i] = scored.own_score[r]


@part
def _fill_doubts(scored: Scored, scratch: Scratch, z: Ints, second: Ints, doubt: Floats) -> None:
    """Replace doubts that are NaN by those of exact scores."""
    T, eta, const, power = scored.T, scored.eta, scored.const, scored.power
    near, score, by_products = scratch.near[:2], scratch.score[:2], len(scored.products) > 0
    for r in range(len(doubt)):
        if doubt[r] == doubt[r]:
            continue
        a, b = z[r], second[r]
        if by_products:
            x, y = 0.0, 0.0
            for j in range(T.shape[1]):
                x += T[r, j] * eta[a, j]
                y += T[r, j] * eta[b, j]
            doubt[r] = doubt_of(finished(x, const, power, a), finished(y, const, power, b))
        else:
            near[0], near[1] = a, b
            _fill_exact(scored, r, near, score)
            doubt[r] = doubt_of(score[0], score[1])
