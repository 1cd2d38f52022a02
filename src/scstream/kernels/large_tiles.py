"""What passes over large Gaussian batches work with: tiles of 64 rows, and runs of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import part
from scstream.kernels.crew import for_each
from scstream.kernels.nearby import COLUMNS, Box
from scstream.kernels.screened_tiles import TILE

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

ALL = 0  # none is
LABELLED = 1  # rows have labels, and those of one lie close together
NEAREST = 2  # those do that have the same centre nearest


FAR = -2  # less its number is a second choice that leaves no doubt; -1 is none
SHORT = 8  # columns: loops over fewer take longer than to look up which they are


class Tiles(NamedTuple):
    """Memory for a tile of rows under k components, and for rows that are settled.

    Products of a row's columns are those of the ``left`` ones and the ``right`` ones. Two
    components of some ``rows`` are ``ids``, and ``pair`` is what they score. Draws have a state and
    running sums of weights of their own. Components that are ruled out score ``least`` at most.
    """

    cols: Singles
    cell: Singles
    run: Singles
    state: Singles
    draws: Singles
    off: Singles
    T: Floats
    near: Ints
    score: Floats
    u: Floats
    rows: Ints
    ids: Ints
    pair: Floats
    log: Floats
    least: Floats
    left: Ints
    right: Ints
    box: Box

    @staticmethod
    def of(threads: int, k: int, d: int, centres: int) -> Tiles:
        """Return memory of each thread for so many components, columns, and columns of centres."""
        p, most, (left, right) = (d + 1) * (d + 2) // 2, k + 7, np.triu_indices(d)

        def floats(n: int) -> Floats:
            return for_each(threads, (n,))

        def singles(n: int) -> Singles:
            return for_each(threads, (n,), np.float32)

        def ints(n: int) -> Ints:
            return for_each(threads, (n,), np.int64)

        return Tiles(
            singles(TILE * max(p + COLUMNS, centres)),
            singles(TILE * most),
            singles(TILE * most),
            singles(4 * TILE),
            singles(4 * TILE),
            singles(TILE),
            floats(p),
            ints(most),
            floats(most),
            floats(TILE),
            ints(TILE),
            ints(2 * TILE),
            floats(2 * TILE),
            floats(2 * TILE),
            floats(1),
            np.tile(left.astype(np.int64), (threads, 1)),
            np.tile(right.astype(np.int64), (threads, 1)),
            Box(floats(d), floats(d), floats(p), floats(k), floats(k), ints(most)),
        )


class Carried(NamedTuple):
    """What a sweep leaves for the next one about rows (n,); nothing where these are none.

    Attributes
    ----------
    first, second : ndarray (n,)
        The best two components.
    third : ndarray (n,)
        What all others scored at most, in units of log 2.
    bound : ndarray (m,)
        What a component that scored ``low + i step`` at most scores at most under the parameters
        of the next sweep, in nats; a convex function, and empty in the first of the two.
    low, step : float
    """

    first: Shorts
    second: Shorts
    third: Singles
    bound: Floats
    low: float
    step: float


class Found(NamedTuple):
    """What is found about the rows of a run.

    ``second`` may be empty. If not, ``gap`` is by how much it scores more, where in doubt.
    """

    z: Ints
    sub: Ints
    second: Ints
    gap: Floats
    carried: Carried


class Run(NamedTuple):
    """Memory for a run of rows: their order, where labels begin in it, and uniforms (2, n).

    ``way`` says how components are ruled out: `ALL`, `LABELLED` or `NEAREST`; behind it are counted
    the components that tiles were scored under, the tiles, the rows that were settled by exact
    scores, and those whose labels were sought at all.
    """

    order: Ints
    first: Ints
    u: Floats
    way: Ints


@part
def fill_statistics(z: Floats, left: Ints, right: Ints, T: Floats) -> None:
    """Fill the statistics (p,) of a row."""
    d = len(z)
    T[0] = 1.0
    for j in range(d):
        T[1 + j] = z[j]
    to = T[1 + d :]
    if d < SHORT:
        for q in range(len(left)):
            to[q] = z[np.uint32(left[q])] * z[np.uint32(right[q])]  # places are not negative
        return
    q = 0
    for a in range(d):
        x, tail, line = z[a], z[a:], to[q : q + d - a]
        for b in range(d - a):
            line[b] = x * tail[b]
        q += d - a
