"""Parts of kernels for rows of many columns: rows in the frame, and products of a tile of them.

Statistics of rows are ``(1, z, z z')`` of ``z = (x - shift) / scale``. Columns of a tile are 64
apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import in_order, part

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

TILE = 64  # rows
COLUMNS = 5  # of products that are taken at once
MOST = 1e30  # numbers above this are not for float32
TOO_LARGE = 1e3  # an error with which scores may not be numbers


class Rows(NamedTuple):
    """The numbers (n d,) of rows in double or in single precision, the others being none."""

    wide: Floats
    narrow: Singles
    shift: Floats
    scale: Floats


class Keyed(NamedTuple):
    """By what draws are keyed, and the number of the first row; ``drawn`` is 0 if none is."""

    drawn: int
    seed: int
    batch: int
    sweep: int
    first: int


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
def sort_rows(order: Ints) -> None:
    """Fill the numbers of rows as they stand."""
    for i in range(len(order)):
        order[i] = i


@part
def fill_frame(rows: Rows, start: int, z: Floats) -> None:
    """Fill numbers of rows in the frame, from one that begins a row on."""
    step = len(rows.shift)
    for at in range(0, len(z), step):
        to = z[at : at + step]
        if len(rows.wide) > 0:
            x = rows.wide[start + at : start + at + step]
            for i in range(len(to)):
                to[i] = (x[i] - rows.shift[i]) / rows.scale[i]
        else:
            y = rows.narrow[start + at : start + at + step]
            for i in range(len(to)):
                to[i] = (y[i] - rows.shift[i]) / rows.scale[i]
