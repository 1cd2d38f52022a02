"""Compiled passes over the rows of large Gaussian batches: one call from rows to labels and sums.

Labels are the business of `large_labels`, sums that of `large_sums`. Sums are the same however runs
of rows are shared among threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scstream.kernels.compiling import bare
from scstream.kernels.labelling import Pairs, uniforms
from scstream.kernels.large_labels import label_run
from scstream.kernels.large_sums import Totals, add_tile, add_up, new_node, score_tile, try_tile
from scstream.kernels.large_tiles import Floats, Found, Ints, Run, Tiles
from scstream.kernels.nearby import Components
from scstream.kernels.screened_tiles import TILE


class Keyed(NamedTuple):
    """By what draws are keyed, and the number of a run's first row; ``drawn`` is 0 if none is."""

    drawn: int
    seed: int
    batch: int
    sweep: int
    first: int


class Leaves(NamedTuple):
    """How many rows a leaf of the tree of sums has, and the number of a run's first leaf."""

    rows: int
    number: int


@bare
def sweep_run(
    Z: Floats, weight: Floats, by: Components, pairs: Pairs, key: Keyed, leaves: Leaves,
    tiles: Tiles, run: Run, found: Found, totals: Totals,
) -> None:  # fmt: skip
    """Label the rows of a run, divide them among sub-clusters, and add them up by the tree."""
    n, leaf = len(weight), leaves.rows
    if key.drawn:
        uniforms(key.seed, key.batch, key.sweep, key.first, run.u)
    label_run(Z, by, key.drawn > 0, tiles, run, found)
    for start in range(0, n, leaf):
        at = new_node(totals, leaves.number + start // leaf)
        stop = min(start + leaf, n)
        for tile in range(start, stop, TILE):
            rows = slice(tile, min(tile + TILE, stop))
            score_tile(
                Z[rows], by, pairs, tiles, found.z[rows], found.second[rows], found.doubt[rows]
            )
            add_tile(weight, key.drawn > 0, tiles, run, found, totals, at, tile, rows.stop)
        add_up(totals)


@bare
def assign_run(Z: Floats, by: Components, tiles: Tiles, run: Run, found: Found) -> None:
    """Fill the best labels of the rows of a run."""
    label_run(Z, by, False, tiles, run, found)


@bare
def resplit_run(
    Z: Floats, weight: Floats, chosen: Any, pairs: Pairs, doubts: bool, leaves: Leaves,
    tiles: Tiles, z: Ints, trial: Ints, totals: Totals,
) -> None:  # fmt: skip
    """Try the better sub-labels for rows of the chosen clusters, and add up by the tree."""
    n, leaf = len(weight), leaves.rows
    for start in range(0, n, leaf):
        at = new_node(totals, leaves.number + start // leaf)
        stop = min(start + leaf, n)
        for tile in range(start, stop, TILE):
            rows = slice(tile, min(tile + TILE, stop))
            try_tile(Z[rows], weight[rows], chosen, pairs, doubts, tiles, z[rows], trial[rows],
                      totals.current[at], totals.between[at])  # fmt: skip
        add_up(totals)
