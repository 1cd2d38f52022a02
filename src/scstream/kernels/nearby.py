"""Which components come near a tile of rows: the others need not be scored.

Rows are taken in the order of a label that they had, or of the nearest centre, so that a tile of 64
of them lies close together. Scores are quadratic functions of a row, or falling functions of such:
``s(x)``, of which the curved part only lowers the score. So within a box around the tile's centre,
half as wide as ``h``, a score is at most ``s(centre) + |s'(centre)| h``. A component whose bound is
below what two others have in every row of the tile is neither first nor second anywhere.

Rows ``Z`` (n, d) are in the family's frame: their statistics are ``(1, z, z z')``. Columns of a
tile are 64 apart. Scores are in units of log 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import in_order, part
from scstream.kernels.screened_tiles import LOG_ERROR, TILE, WHICH, best_two, log2

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

COLUMNS = 5  # of products that are taken at once
_FEW = TILE // 2  # rows from which on a tile ends where the label does
_BEYOND = 53.0  # bits below the best: no such label is drawn
_SLACK = 1e-12  # of the bounds in float64, relative to all that is added up


class Components(NamedTuple):
    """The k components that rows are scored under.

    Attributes
    ----------
    eta : ndarray (k, p)
        Scores are ``T @ eta``;
    const, power : ndarray (k,)
        or ``const - power log(T @ eta)``, where these are not empty and the power is not 0.
    narrow : ndarray (k, p or more)
        What products in float32 are taken with: of the first statistic, which is 1, and up to a
        multiple of 5 others.
    turned : ndarray (p, k)
        The same in float64, statistic by statistic.
    level, slope : ndarray (k or more,)
        What const and power are in units of log 2; empty if scores are products.
    reach : ndarray (p,)
        How far scores by products in float32 are off, for each statistic's size.
    size : ndarray (p,)
        How large parameters are.
    centre : ndarray (k or more, d + 1 or more)
        The nearest centre has the largest product of this and ``(1, z)``.
    floor, bend : float
        What scores are at most that are not within the bend of their products, or near them by
        logarithms.
    """

    eta: Floats
    const: Floats
    power: Floats
    narrow: Singles
    turned: Floats
    level: Singles
    slope: Singles
    reach: Singles
    size: Floats
    centre: Singles
    floor: float
    bend: float


class Box(NamedTuple):
    """Memory for the bounds of a tile: its centre, half width and statistics, and components'."""

    middle: Floats
    half: Floats
    T: Floats
    bound: Floats
    slope: Floats
    which: Ints


@part
def fill_columns(Z: Floats, order: Ints, cols: Singles, off: Singles, reach: Singles) -> None:
    """Fill the statistics of a tile's rows by columns, and how far scores may be off."""
    m, d = len(order), Z.shape[1]
    for i in range(TILE):
        cols[i] = np.float32(1.0)
    for j in range(d):
        to = cols[TILE * (1 + j) : TILE * (2 + j)]
        for i in range(m):
            to[i] = np.float32(Z[order[i], j])
        for i in range(m, TILE):
            to[i] = to[0]
    q = 1 + d
    for a in range(d):
        for b in range(a, d):
            x, y = cols[TILE * (1 + a) : TILE * (2 + a)], cols[TILE * (1 + b) : TILE * (2 + b)]
            to = cols[TILE * q : TILE * (q + 1)]
            for i in range(TILE):
                to[i] = x[i] * y[i]
            q += 1
    for i in range(TILE):
        off[i] = reach[0]
    for c in range(1, q):
        x, by32 = cols[TILE * c : TILE * (c + 1)], reach[c]
        for i in range(TILE):
            off[i] += abs(x[i]) * by32


@in_order
def multiply(cols: Singles, narrow: Singles, which: Ints, cell: Singles) -> None:
    """Fill products of a tile's columns and the components listed, a multiple of 4 of them.

    The first column is 1, and besides there is a multiple of 5 of them.
    """
    for c in range(0, len(which), 4):
        to = cell[TILE * c : TILE * (c + 4)]
        k0, k1, k2, k3 = which[c], which[c + 1], which[c + 2], which[c + 3]
        l0, l1, l2, l3 = narrow[k0, 0], narrow[k1, 0], narrow[k2, 0], narrow[k3, 0]
        for i in range(TILE):
            to[i], to[TILE + i], to[2 * TILE + i], to[3 * TILE + i] = l0, l1, l2, l3
        for q in range(1, narrow.shape[1], COLUMNS):
            x = cols[TILE * q : TILE * (q + COLUMNS)]
            a, b, e, f = narrow[k0, q:], narrow[k1, q:], narrow[k2, q:], narrow[k3, q:]
            a0, a1, a2, a3, a4 = a[0], a[1], a[2], a[3], a[4]
            b0, b1, b2, b3, b4 = b[0], b[1], b[2], b[3], b[4]
            e0, e1, e2, e3, e4 = e[0], e[1], e[2], e[3], e[4]
            f0, f1, f2, f3, f4 = f[0], f[1], f[2], f[3], f[4]
            for i in range(TILE):
                x0, x1, x2 = x[i], x[TILE + i], x[2 * TILE + i]
                x3, x4 = x[3 * TILE + i], x[4 * TILE + i]
                s = to[i] + a0 * x0
                s = s + a1 * x1
                s = s + a2 * x2
                s = s + a3 * x3
                to[i] = s + a4 * x4
                s = to[TILE + i] + b0 * x0
                s = s + b1 * x1
                s = s + b2 * x2
                s = s + b3 * x3
                to[TILE + i] = s + b4 * x4
                s = to[2 * TILE + i] + e0 * x0
                s = s + e1 * x1
                s = s + e2 * x2
                s = s + e3 * x3
                to[2 * TILE + i] = s + e4 * x4
                s = to[3 * TILE + i] + f0 * x0
                s = s + f1 * x1
                s = s + f2 * x2
                s = s + f3 * x3
                to[3 * TILE + i] = s + f4 * x4


@part
def nearest(
    Z: Floats, centre: Singles, cols: Singles, cell: Singles, state: Singles, which: Ints,
    out: Ints,
) -> None:  # fmt: skip
    """Fill the nearest centre of each row."""
    d = Z.shape[1]
    for c in range(len(centre)):
        which[c] = c
    for start in range(0, len(out), TILE):
        m = min(TILE, len(out) - start)
        for i in range(TILE):
            cols[i] = np.float32(1.0)
        for j in range(d):
            to = cols[TILE * (1 + j) : TILE * (2 + j)]
            for i in range(m):
                to[i] = np.float32(Z[start + i, j])
        for q in range(TILE * (1 + d), TILE * centre.shape[1]):
            cols[q] = np.float32(0.0)
        multiply(cols, centre, which[: len(centre)], cell)
        best_two(cell[: TILE * len(centre)], state)
        for i in range(m):
            out[start + i] = np.int64(state[WHICH + i])


@part
def sort_rows(order: Ints) -> None:
    """Fill the numbers of rows as they stand."""
    for i in range(len(order)):
        order[i] = i


@part
def sort_by_label(label: Ints, k: int, first: Ints, order: Ints) -> None:
    """Fill the numbers of rows by label, -1 last, and where each label begins (k + 2,)."""
    for c in range(k + 2):
        first[c] = 0
    for i in range(len(label)):
        c = label[i]
        first[(c if 0 <= c < k else k) + 1] += 1
    for c in range(k + 1):
        first[c + 1] += first[c]
    for i in range(len(label)):
        c = label[i]
        c = c if 0 <= c < k else k
        order[first[c]] = i
        first[c] += 1


@part
def tile_end(label: Ints, order: Ints, start: int) -> int:
    """Return where the tile that begins at a place ends."""
    most = min(start + TILE, len(order))
    stop = start + 1
    while stop < most:
        if stop - start >= _FEW and label[order[stop]] != label[order[stop - 1]]:
            break
        stop += 1
    return stop


@part
def bound_scores(by: Components, Z: Floats, order: Ints, box: Box) -> Any:
    """Fill upper bounds of the components' scores within a tile; return the best two's places."""
    d, k = Z.shape[1], len(by.eta)
    middle, half, T, bound, slope = box.middle, box.half, box.T, box.bound, box.slope
    for j in range(d):
        low = high = Z[order[0], j]
        for i in range(1, len(order)):
            x = Z[order[i], j]
            low = x if x < low else low
            high = x if x > high else high
        middle[j] = 0.5 * (low + high)
        half[j] = 0.5 * (high - low)
    T[0] = 1.0
    q = 1 + d
    for a in range(d):
        T[1 + a] = middle[a]
        for b in range(a, d):
            T[q] = middle[a] * middle[b]
            q += 1
    slack = 0.0
    for q in range(len(T)):
        slack += abs(T[q]) * by.size[q]
    for c in range(k):
        bound[c] = 0.0
    for q in range(len(T)):
        eta, t = by.turned[q], T[q]
        for c in range(k):
            bound[c] += eta[c] * t
    first, second = _best_places(by, bound)
    sign = 1.0 if len(by.slope) == 0 else -1.0
    for j in range(d):
        eta = by.turned[1 + j]
        for c in range(k):
            slope[c] = eta[c]
        for i in range(d):
            a, b = (i, j) if i < j else (j, i)
            q = 1 + d + a * d - a * (a - 1) // 2 + b - a
            x = 2.0 * middle[j] if i == j else middle[i]
            eta = by.turned[q]
            for c in range(k):
                slope[c] += eta[c] * x
        h = sign * half[j]
        for c in range(k):
            bound[c] += abs(slope[c]) * h
    if len(by.slope) > 0:
        for c in range(k):
            if by.slope[c] > 0.0:
                q32 = log2(np.float32(bound[c] - _SLACK * slack))
                at = by.level[c] - by.slope[c] * q32
                bound[c] = at + 2.0 * LOG_ERROR * (abs(at) + 1.0)
            else:  # a score that is a product, and rises by what was taken away
                bound[c] = np.inf
    else:
        for c in range(k):
            bound[c] += _SLACK * slack + by.bend
    return first, second


@part
def _best_places(by: Components, value: Floats) -> Any:
    """Return whose scores are best and next best at a tile's centre."""
    first = second = 0
    best = runner = -np.inf
    for c in range(len(value)):
        s = value[c]
        if len(by.slope) > 0 and by.slope[c] > 0.0:
            s = by.level[c] - by.slope[c] * log2(np.float32(s))
        if s > best:
            second, runner = first, best
            first, best = c, s
        elif s > runner:
            second, runner = c, s
    return first, second


@part
def list_near(bound: Floats, least: float, which: Ints) -> int:
    """List the components whose bound is not below a score; return how many they are."""
    m = 0
    for c in range(len(bound)):
        which[m] = c
        m += not bound[c] < least
    return m


@part
def least_needed(low: float, lowest: float, drawn: bool) -> float:
    """Return the score that matters least.

    ``low`` is what the better of two components has at least in every row, ``lowest`` what both do.
    """
    return min(lowest, low - _BEYOND) if drawn else lowest
