"""Compiled sums over rows of Gaussian clusters of many columns, a cluster at a time.

Statistics are made for a few rows at a time and never kept: who adds row by row spends more time on
reading and writing sums than on anything else. Threads take the rows of one cluster in one unit of
the tree of sums, see `sharing`; whoever is the last to finish a half of a node adds up what both
have of the cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, in_order, part
from scstream.kernels.crew import on_threads, own_of
from scstream.kernels.frames import Rows, fill_frame
from scstream.kernels.labelling import Pairs, certainty
from scstream.kernels.pruning import Students
from scstream.kernels.sharing import (
    Floats,
    Ints,
    Shares,
    Totals,
    add_to,
    add_up,
    clear_node,
    copy_to,
    next_unit,
    place_of,
)
from scstream.kernels.solutions import LANES, side_by_side, student_scores

TOGETHER = 4  # rows that are added up at a time


class Listed(NamedTuple):
    """The rows of each unit by cluster: (n,), and where each cluster of a unit ends (units, k)."""

    order: Ints
    end: Ints


class Sides(NamedTuple):
    """On which side of its cluster a row is.

    Sub-labels (n,) say so, or shares (n,) of the second side, if there are some. Or it is the side
    with the better score, which becomes the sub-label: Student-t predictives, or products. These
    may be functions of the first statistics alone.
    """

    sub: Ints
    share: Floats
    students: Students
    products: Pairs


class Held(NamedTuple):
    """Rows of either side that wait to be added up together: (2, few, d).

    Also their weights (2, few), and how many they are (2,).
    """

    rows: Floats
    weight: Floats
    many: Ints


class Work(NamedTuple):
    """Memory of a thread.

    Attributes
    ----------
    rows : ndarray (LANES, d)
        Some rows in the frame;
    columns, y : ndarray (d LANES,)
        the same side by side, and room for their solutions;
    pair : ndarray (2, LANES)
        their scores under the two sub-clusters of their cluster.
    point : ndarray (p,)
        A row's statistics.
    held : Held
    totals : Totals
        Sums of leaves.
    """

    rows: Floats
    columns: Floats
    y: Floats
    pair: Floats
    point: Floats
    held: Held
    totals: Totals


@bare
def list_rows(z: Ints, chosen: Any, shares: Shares, listed: Listed) -> None:
    """List the rows of chosen clusters, unit by unit, each cluster's in their order."""
    on_threads(shares.crew, _list_share, (z, chosen, shares, listed))


@part
def _list_share(_: int, given: Any) -> None:
    z, chosen, shares, listed = given
    k = len(chosen)
    unit = next_unit(shares)
    while unit < len(shares.units):
        start = shares.units[unit, 0] * shares.leaf_rows
        stop = min(start + shares.units[unit, 1] * shares.leaf_rows, len(z))
        end = listed.end[unit]
        for c in range(k):
            end[c] = 0
        for i in range(start, stop):
            if 0 <= z[i] < k:
                end[z[i]] += 1
        at = start
        for c in range(k):
            rows = end[c] if chosen[c] else 0
            end[c] = at
            at += rows
        for i in range(start, stop):
            c = z[i]
            if 0 <= c < k and chosen[c]:
                listed.order[end[c]] = i
                end[c] += 1
        unit = next_unit(shares)


@bare
def add_clusters(
    rows: Rows, weight: Floats, listed: Listed, sides: Sides, shares: Shares, work: Work,
    sums: Totals, whole: Any,
) -> None:  # fmt: skip
    """Add up statistics and doubts of the rows listed.

    ``sums`` are those of units: (2 k p,) and (k,) each. ``whole`` are those of the roots of the
    tree, in the same form, and which root a place is.
    """
    given = rows, weight, listed, sides, shares, work, sums, whole
    on_threads(shares.crew, _add_share, given)


@part
def _add_share(thread: int, given: Any) -> None:
    rows, weight, listed, sides, shares, works, sums, whole = given
    work = own_of(works, thread, shares.crew.threads)
    k, p, own = listed.end.shape[1], len(work.point), work.totals
    number = next_unit(shares)
    while number < k * len(shares.units):
        place, c = number // k, number % k
        _add_unit(rows, weight, listed, sides, shares, work, place, c)
        mine = slice(2 * p * c, 2 * p * (c + 1))
        copy_to(own.current[0], sums.current[place, mine])
        sums.between[place, c] = own.between[0, 0]
        node = shares.units[place, 2]
        while node >= 0:
            if claim(shares.taken, 1 + node * k + c) == 0:
                break
            place, other = shares.nodes[node, 0], shares.nodes[node, 1]
            add_to(sums.current[place, mine], sums.current[other, mine])
            sums.between[place, c] += sums.between[other, c]
            node = shares.nodes[node, 2]
        if node < 0:
            totals, root_of = whole
            copy_to(sums.current[place, mine], totals.current[root_of[place], mine])
            totals.between[root_of[place], c] = sums.between[place, c]
        number = next_unit(shares)


@part
def _add_unit(
    rows: Rows, weight: Floats, listed: Listed, sides: Sides, shares: Shares, work: Work,
    unit: int, c: int,
) -> None:  # fmt: skip
    """Add up the rows of a cluster in a unit, leaf by leaf."""
    own, leaf = work.totals, shares.leaf_rows
    first, leaves = shares.units[unit, 0], shares.units[unit, 1]
    begin = listed.end[unit, c - 1] if c > 0 else first * leaf
    at, end = begin, listed.end[unit, c]
    for done in range(leaves):
        place, stop = place_of(done), (first + done + 1) * leaf
        clear_node(own, place)
        while at < end and listed.order[at] < stop:
            i = (at - begin) % LANES
            if i == 0:
                _fill_block(rows, listed.order[at : min(at + LANES, end)], c, sides, work)
            _hold_row(i, listed.order[at], weight, sides, work, own, place)
            at += 1
        for side in range(2):
            _add_held(work.held, side, own.current[place])
        add_up(own, done + 1)


@part
def _fill_block(rows: Rows, which: Ints, c: int, sides: Sides, work: Work) -> None:
    """Fill some rows of a cluster in the frame, and their scores if their sides depend on them."""
    n, d, known = len(which), work.rows.shape[1], sides.students
    for i in range(n):
        fill_frame(rows, which[i] * d, work.rows[i])
    if len(sides.products.eta) > 0:
        for i in range(n):
            work.pair[0, i], work.pair[1, i] = _products(i, c, sides.products, work)
    elif len(known.const) > 0:
        side_by_side(work.rows, n, work.columns)
        for b in range(2):
            student_scores(known, 2 * c + b, work.columns, work.y, work.pair[b])


@part
def _products(i: int, c: int, by: Pairs, work: Work) -> tuple[float, float]:
    """Return the products of a row's statistics and the parameters of two sub-clusters."""
    d, point, a, b = work.rows.shape[1], work.point, 0.0, 0.0
    one, two = by.eta[2 * c], by.eta[2 * c + 1]
    point[0] = 1.0
    copy_to(work.rows[i], point[1 : 1 + d])
    if len(one) > 1 + d:
        _fill_products(point, d)
    for q in range(len(one)):
        a += point[q] * one[q]
        b += point[q] * two[q]
    return a, b


@part
def _hold_row(
    i: int, row: int, weight: Floats, sides: Sides, work: Work, own: Totals, place: int
) -> None:
    """Hold a row of a block that is to be added to the sums of a leaf."""
    w, current = weight[row], own.current[place]
    if len(sides.share) > 0:
        two = w * sides.share[row]
        _hold(work, i, 0, w - two, current)
        _hold(work, i, 1, two, current)
        return
    if len(sides.students.const) + len(sides.products.eta) > 0:
        a, b = work.pair[0, i], work.pair[1, i]
        sides.sub[row] = 1 if b > a else 0
        own.between[place, 0] += w * certainty(-abs(b - a))
    _hold(work, i, sides.sub[row], w, current)


@part
def _hold(work: Work, i: int, side: int, w: float, current: Floats) -> None:
    """Hold a row of a block for a side, and add up what is held once that is enough."""
    held = work.held
    n = held.many[side]
    copy_to(work.rows[i], held.rows[side, n])
    held.weight[side, n] = w
    held.many[side] = n + 1
    if n + 1 == TOGETHER:
        _add_held(held, side, current)


@part
def _add_held(held: Held, side: int, current: Floats) -> None:
    """Add the rows held for a side to the sums (2 p,) of a cluster."""
    n, p = held.many[side], len(current) // 2
    if n == 0:
        return
    rows, weight = held.rows[side], held.weight[side]
    for i in range(n, TOGETHER):
        weight[i] = 0.0
        for a in range(rows.shape[1]):
            rows[i, a] = 0.0
    held.many[side] = 0
    _add_four(rows, weight, current[side * p : (side + 1) * p])


@in_order
def _add_four(Z: Floats, w: Floats, to: Floats) -> None:
    """Add the statistics of four rows to sums (p,), to each number one row after another."""
    d, q = Z.shape[1], 1 + Z.shape[1]
    z0, z1, z2, z3 = Z[0], Z[1], Z[2], Z[3]
    to[0] = to[0] + w[0] + w[1] + w[2] + w[3]
    for a in range(d):
        x0, x1, x2, x3 = w[0] * z0[a], w[1] * z1[a], w[2] * z2[a], w[3] * z3[a]
        to[1 + a] = to[1 + a] + x0 + x1 + x2 + x3
        y0, y1, y2, y3, line = z0[a:], z1[a:], z2[a:], z3[a:], to[q : q + d - a]
        for b in range(d - a):
            line[b] = line[b] + x0 * y0[b] + x1 * y1[b] + x2 * y2[b] + x3 * y3[b]
        q += d - a


@part
def _fill_products(point: Floats, d: int) -> None:
    """Fill the products among the statistics (p,) of a row, given its columns in the frame."""
    z = point[1 : 1 + d]
    q = 1 + d
    for a in range(d):
        x, tail, line = z[a], z[a:], point[q : q + d - a]
        for b in range(d - a):
            line[b] = x * tail[b]
        q += d - a
