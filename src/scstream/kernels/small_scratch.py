"""What passes over the rows of a small batch work in: blocks of rows, and the order of labels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.arguments import Floats, Ints, Singles, Workspace
from scstream.kernels.compiling import part
from scstream.kernels.label_proposals import GROUP, WIDTH, squares
from scstream.kernels.side_by_side import ROWS, SIDE
from scstream.kernels.workspace import LINE, line, room_of, table


class Block(NamedTuple):
    """Scratch for a block of rows: columns, and of pairs of labels scores, shares and odds."""

    cols: Floats
    pair: Floats
    share: Floats
    odds: Floats


class Search(NamedTuple):
    """Scratch for the search of a block's labels.

    Products in double and scores in single precision, the best three scores, the best two labels
    (2, WIDTH), the rows that are open, a list of some of these, and the labels of a row that have a
    chance, with weights.
    """

    scores: Floats
    short: Singles
    top: Singles
    place: Ints
    open_: Ints
    listed: Ints
    near: Ints
    weight: Floats


def room_needed(n: int, k: int, p: int) -> tuple[int, int, int]:
    """Return how much room n rows, p columns and k clusters need.

    That is so many floats, whole numbers, and floats of single precision.
    """
    floats = (p + GROUP + 5 + k + 1) * WIDTH + k + 1
    return floats, n + 2 * k + 3 + 4 * WIDTH, (k + 4) * WIDTH


def workspace(n: int, k: int, p: int, neighbours: int = 0) -> tuple[Floats, Ints, Singles]:
    """Return memory to work in on n rows and k clusters with p statistics, as a plain tuple."""
    floats, ints, singles = room_of(*_needed(n, k, p, neighbours))
    return floats, ints, singles


@lru_cache
def _needed(n: int, k: int, p: int, neighbours: int) -> tuple[int, int, int]:
    """Return how much room that takes."""
    floats, ints, singles = room_needed(n, k, p)
    of_clusters = (30 + neighbours) * (k + 1) * (p + 1) + SIDE * (4 * p + ROWS) + 3 * LINE
    return floats + 2 * n + of_clusters, ints + (3 * neighbours + 1) * k, singles


@part
def block_of(floats: Floats, p: int) -> Any:
    """Return scratch for a block of rows, and the place behind it."""
    cols, at = line(floats, np.int64(0), (p + GROUP) * WIDTH)
    pair, at = line(floats, at, np.int64(2 * WIDTH))
    share, at = line(floats, at, np.int64(2 * WIDTH))
    odds, at = line(floats, at, np.int64(WIDTH))
    for j in range((p - 1) * WIDTH, (p + GROUP) * WIDTH):
        cols[j] = 0.0  # columns beyond the last
    return Block(cols, pair, share, odds), at


@part
def search_of(room: Workspace, k: int) -> Any:
    """Return scratch for a search among k labels."""
    scores, at = line(room.floats, np.int64(0), (k + 1) * WIDTH)
    weight, at = line(room.floats, at, k + 1)
    top, at = line(room.singles, np.int64(0), np.int64(3 * WIDTH))
    short, at = line(room.singles, at, (k + 1) * WIDTH)
    place, at = table(room.ints, np.int64(0), np.int64(2), np.int64(WIDTH))
    open_, at = line(room.ints, at, np.int64(WIDTH))
    listed, at = line(room.ints, at, np.int64(WIDTH))
    near, at = line(room.ints, at, k + 1)
    return Search(scores, short, top, place, open_, listed, near, weight)


@part
def order_of(ints: Ints, n: int, k: int) -> Any:
    """Return room for an order of n rows and its starts, see `sort`, and the place behind it."""
    order, at = line(ints, np.int64(0), n)
    start, at = line(ints, at, k + 2)
    return order, start, at


@part
def sort(z: Ints, k: int, order: Ints, start: Ints) -> None:
    """Put the rows in the order of their labels: those of c are ``order[start[c]:start[c + 1]]``.

    Rows without a label are left out. There is room for k + 2 starts.
    """
    for c in range(k + 2):
        start[c] = 0
    for i in range(len(z)):
        if z[i] >= 0:
            start[z[i] + 2] += 1
    for c in range(2, k + 2):
        start[c] += start[c - 1]
    for i in range(len(z)):
        if z[i] >= 0:
            c = z[i] + 1
            order[start[c]] = i
            start[c] += 1


@part
def columns(T: Floats, which: Ints, d: int, cols: Floats) -> None:
    """Fill the columns of some rows but the first, which is 1: of statistics, or rows (n, d)."""
    first = 1 if T.shape[1] > d else 0
    for q in range(d):
        for j in range(len(which)):
            cols[q * WIDTH + j] = T[which[j], first + q]
    squares(cols, len(which), d)
