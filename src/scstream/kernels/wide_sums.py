"""Compiled sums over rows of Gaussian clusters of many columns, a cluster at a time.

Statistics are made row by row and never kept. Threads take the rows of one cluster in one unit of
the tree of sums, see `sharing`; whoever is the last to finish a half of a node adds up what both
have of the cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, part
from scstream.kernels.crew import on_threads, own_of
from scstream.kernels.labelling import Pairs, certainty
from scstream.kernels.large_rows import Rows, fill_frame
from scstream.kernels.pruning import Students, score_of
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


class Listed(NamedTuple):
    """The rows of each unit by cluster: (n,), and where each cluster of a unit ends (units, k)."""

    order: Ints
    end: Ints


class Sides(NamedTuple):
    """On which side of its cluster a row is.

    Sub-labels (n,) say so, or shares (n,) of the second side, if there are some. Or it is the side
    with the better score, which becomes the sub-label: Student-t predictives, or products.
    """

    sub: Ints
    share: Floats
    students: Students
    products: Pairs


class Work(NamedTuple):
    """Memory of a thread: a row's statistics (p,), a solution (d,), sums of leaves."""

    point: Floats
    y: Floats
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
    own, leaf, d = work.totals, shares.leaf_rows, len(work.y)
    first, leaves = shares.units[unit, 0], shares.units[unit, 1]
    at = listed.end[unit, c - 1] if c > 0 else first * leaf
    end = listed.end[unit, c]
    for done in range(leaves):
        place, stop = place_of(done), (first + done + 1) * leaf
        clear_node(own, place)
        while at < end:
            row = listed.order[at]
            if row >= stop:
                break
            fill_frame(rows, row * d, work.point[1 : 1 + d])
            _add_row(row, weight[row], c, sides, work, own.current[place], own.between[place])
            at += 1
        add_up(own, done + 1)


@part
def _add_row(
    row: int, w: float, c: int, sides: Sides, work: Work, current: Floats, doubt: Floats
) -> None:
    """Add a row in the frame to the sums (2 p,) of a cluster."""
    d, p = len(work.y), len(work.point)
    z, first, last = work.point[1 : 1 + d], current[:p], current[p:]
    if len(sides.share) > 0:
        two = w * sides.share[row]
        _add_statistics(z, w - two, first)
        _add_statistics(z, two, last)
        return
    if len(sides.students.const) + len(sides.products.eta) > 0:
        a, b = _scores(c, sides, work)
        sides.sub[row] = 1 if b > a else 0
        doubt[0] += w * certainty(-abs(b - a))
    _add_statistics(z, w, last if sides.sub[row] else first)


@part
def _scores(c: int, sides: Sides, work: Work) -> tuple[float, float]:
    """Return the scores of a row under the two sub-clusters of its cluster."""
    point, a, b = work.point, 0.0, 0.0
    if len(sides.products.eta) == 0:
        a = score_of(sides.students, 2 * c, point, np.inf, work.y)
        return a, score_of(sides.students, 2 * c + 1, point, np.inf, work.y)
    _fill_statistics(point, len(work.y))
    one, two = sides.products.eta[2 * c], sides.products.eta[2 * c + 1]
    for q in range(len(point)):
        a += point[q] * one[q]
        b += point[q] * two[q]
    return a, b


@part
def _add_statistics(z: Floats, w: float, to: Floats) -> None:
    """Add the statistics of a row of some weight to sums (p,)."""
    d = len(z)
    to[0] += w
    q = 1 + d
    for a in range(d):
        x, tail, line = w * z[a], z[a:], to[q : q + d - a]
        to[1 + a] += x
        for b in range(d - a):
            line[b] += x * tail[b]
        q += d - a


@part
def _fill_statistics(point: Floats, d: int) -> None:
    """Fill the statistics (p,) of a row, given its columns in the frame."""
    z = point[1 : 1 + d]
    point[0] = 1.0
    q = 1 + d
    for a in range(d):
        x, tail, line = z[a], z[a:], point[q : q + d - a]
        for b in range(d - a):
            line[b] = x * tail[b]
        q += d - a
