"""Compiled passes over the rows of large Gaussian batches: one call each, from rows to sums.

The threads of a `crew` take units of leaves of the tree of sums, see `sharing`. Labels are the
business of `large_labels`, sums that of `large_sums`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scstream.kernels import arguments
from scstream.kernels.arguments import Scores
from scstream.kernels.carried import fill_gaps, settle_carried
from scstream.kernels.compiling import bare, part
from scstream.kernels.crew import on_threads, own_of
from scstream.kernels.labelling import Pairs, first_uniforms
from scstream.kernels.large_labels import label_run
from scstream.kernels.large_sums import add_rows, try_rows
from scstream.kernels.large_tiles import ALL, Carried, Floats, Found, Ints, Run, Singles, Tiles
from scstream.kernels.nearby import Components
from scstream.kernels.sharing import (
    Shares,
    Totals,
    add_up,
    clear_node,
    finish_unit,
    next_unit,
    place_of,
)
from scstream.kernels.small_scratch import block_of


class Rows(NamedTuple):
    """The numbers (n d,) of rows in double or in single precision, the others being none.

    Statistics are ``(1, z, z z')`` of ``z = (x - shift) / scale``; shift and scale are given for
    some rows behind one another, so that loops over these are long.
    """

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


class Scratch(NamedTuple):
    """What a thread works in: rows (n, d) of a run in the frame, and what is found about them.

    Kernels are given that of all threads, see `crew.for_each`.

    ``numbers`` (n d,) are those of the rows, and ``block`` is room for a block of them.
    ``totals`` are the sums of nodes of a unit; there is room for those that are held at a time.
    """

    Z: Floats
    numbers: Floats
    block: Floats
    second: Ints
    gap: Floats
    run: Run
    tiles: Tiles
    totals: Totals


@bare
def sweep(
    rows: Rows, weight: Floats, by: Components, pairs: Pairs, key: Keyed, shares: Shares,
    scratch: Scratch, labels: Any, carried: Carried, sums: Totals,
) -> None:  # fmt: skip
    """Label rows, divide them among sub-clusters, and add them up by the tree.

    Where there is no room for sums, (m, 0), best labels are all that is filled.
    """
    given = rows, weight, by, pairs, key, shares, scratch, labels, carried, sums
    on_threads(shares.crew, _sweep_share, given)


@part
def _sweep_share(thread: int, given: Any) -> None:
    rows, weight, by, pairs, key, shares, scratches, labels, carried, sums = given
    scratch = own_of(scratches, thread, shares.crew.threads)
    n, leaf, own, drawn = len(labels[0]), shares.leaf_rows, scratch.totals, key.drawn > 0
    parts, adds = Scores(*pairs), sums.current.shape[1] > 0
    block, _ = block_of(scratch.block, by.eta.shape[1])
    most = leaf if scratch.run.way[0] == ALL else len(scratch.Z)  # the order of labels wants many
    unit = next_unit(shares)
    while unit < len(shares.units):
        first, leaves = shares.units[unit, 0], shares.units[unit, 1]
        done = 0
        while done < leaves:
            start = (first + done) * leaf
            stop = min(start + most, min((first + leaves) * leaf, n))
            Z, run = _run(rows, scratch, start, stop)
            found = _found(scratch, labels, carried, adds, start, stop)
            if drawn:
                first_uniforms(
                    key.seed, key.batch, key.sweep, key.first + start, stop - start, run.u
                )
            order, listed = run.order, len(carried.bound) > 0
            if listed:
                order = order[: settle_carried(Z, by, scratch.tiles, found, order)]
            label_run(Z, by, drawn, scratch.tiles, run, found, order, listed)
            if not adds:
                done += (stop - start + leaf - 1) // leaf
                continue
            fill_gaps(Z, by, scratch.tiles, found, order)
            for begin in range(0, stop - start, leaf):
                at, end = place_of(done), min(begin + leaf, stop - start)
                clear_node(own, at)
                here = slice(begin, end)
                leaf_rows = arguments.Rows(
                    Z[here], weight[start + begin : start + end], found.z[here], found.sub[here]
                )
                leaf_run = Run(run.order, run.first, run.u[:, here], run.way)
                add_rows(leaf_rows, _some(found, here), parts, drawn, leaf_run, block, own, at)
                done += 1
                add_up(own, done)
        if adds:
            finish_unit(shares, unit, own, sums)
        unit = next_unit(shares)


@bare
def resplit(
    rows: Rows, weight: Floats, chosen: Any, pairs: Pairs, doubts: bool, shares: Shares,
    scratch: Scratch, labels: Any, sums: Totals,
) -> None:  # fmt: skip
    """Try the better sub-labels for rows of the chosen clusters, and add up by the tree."""
    given = rows, weight, chosen, pairs, doubts, shares, scratch, labels, sums
    on_threads(shares.crew, _resplit_share, given)


@part
def _resplit_share(thread: int, given: Any) -> None:
    rows, weight, chosen, pairs, doubts, shares, scratches, labels, sums = given
    scratch = own_of(scratches, thread, shares.crew.threads)
    n, leaf, own, (z, trial) = len(weight), shares.leaf_rows, scratch.totals, labels
    block, _ = block_of(scratch.block, pairs.eta.shape[1])
    unit = next_unit(shares)
    while unit < len(shares.units):
        first, leaves = shares.units[unit, 0], shares.units[unit, 1]
        for done in range(leaves):
            at, start = place_of(done), (first + done) * leaf
            here = slice(start, min(start + leaf, n))
            clear_node(own, at)
            Z, run = _run(rows, scratch, start, here.stop)
            tried = arguments.Rows(Z, weight[here], z[here], trial[here])
            try_rows(tried, chosen, Scores(*pairs), doubts, run, block, own, at)
            add_up(own, done + 1)
        finish_unit(shares, unit, own, sums)
        unit = next_unit(shares)


@part
def _run(rows: Rows, scratch: Scratch, start: int, stop: int) -> Any:
    """Return some rows in the frame, and what they are labelled with."""
    n, d, run = stop - start, scratch.Z.shape[1], scratch.run
    fill_frame(rows, start * d, scratch.numbers[: n * d])
    return scratch.Z[:n], Run(run.order[:n], run.first, run.u, run.way)


@part
def _found(
    scratch: Scratch, labels: Any, carried: Carried, seconds: bool, start: int, stop: int
) -> Any:  # fmt: skip
    """Return where it is written what is found about some rows, second choices or none."""
    n, here = stop - start, slice(start, stop)
    return Found(
        labels[0][here], labels[1][here], scratch.second[: n if seconds else 0], scratch.gap[:n],
        Carried(
            carried.first[here], carried.second[here], carried.third[here], carried.bound,
            carried.low, carried.step,
        ),
    )  # fmt: skip


@part
def _some(found: Found, here: slice) -> Any:
    """Return what was found about some of these rows, but what is carried."""
    return Found(found.z[here], found.sub[here], found.second[here], found.gap[here], found.carried)


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
