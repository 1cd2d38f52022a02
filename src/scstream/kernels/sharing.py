"""Work on leaves of the tree of sums that threads share, in compiled code.

Leaves are taken in units: nodes of the tree, see `scstream.engines.ordered_sums`. Threads take one
after another. Whoever is the last to finish a half of a node adds the halves up, so that sums are
taken in the same order whoever takes what.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import part
from scstream.kernels.crew import Crew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Totals(NamedTuple):
    """Sums of some nodes of the tree.

    A node has a row of each: sums (2 k p,), rows (2 k,), second choices and doubts (k k,), or empty
    ones.
    """

    current: Floats
    rows: Ints
    rivals: Ints
    between: Floats


class Shares(NamedTuple):
    """Units of work, and the nodes of the tree above them.

    Attributes
    ----------
    leaf_rows : int
    units : ndarray (m, 3)
        The first leaf of each, how many it has, and the node above it, -1 if there is none.
    nodes : ndarray (l, 3)
        The places of both halves among the units' sums, of which the first becomes that of the
        node; and the node above it.
    taken : ndarray (1 + l,)
        How many units are taken, and how many halves of each node are done.
    crew : Crew
        The threads that share them.
    """

    leaf_rows: int
    units: Ints
    nodes: Ints
    taken: Ints
    crew: Crew


@part
def next_unit(shares: Shares) -> int:
    """Return a unit that nobody has taken, or one too many."""
    return claim(shares.taken, 0)  # type: ignore[no-any-return]


@part
def clear_node(totals: Totals, at: int) -> None:
    """Make the sums of a node those of no rows."""
    _clear(totals.current[at])
    _clear(totals.rows[at])
    _clear(totals.rivals[at])
    _clear(totals.between[at])


@part
def add_node(to: Totals, a: int, of: Totals, b: int) -> None:
    """Add the sums of a node to those of another."""
    add_to(to.current[a], of.current[b])
    add_to(to.rows[a], of.rows[b])
    add_to(to.rivals[a], of.rivals[b])
    add_to(to.between[a], of.between[b])


@part
def add_up(totals: Totals, done: int) -> None:
    """Add up the nodes of a unit that are complete with the last of so many leaves."""
    at = place_of(done - 1)
    while done % 2 == 0:
        add_node(totals, at - 1, totals, at)
        at -= 1
        done //= 2


@part
def place_of(done: int) -> int:
    """Return the place for the next leaf's node after so many leaves of a unit.

    Of these, nodes are held as there are ones in the number's binary form.
    """
    at = 0
    while done > 0:
        at += done & 1
        done >>= 1
    return at


@part
def _clear(out: Any) -> None:
    for i in range(len(out)):
        out[i] = 0


@part
def add_to(out: Any, more: Any) -> None:
    """Add numbers to others."""
    for i in range(len(out)):
        out[i] += more[i]


@part
def copy_to(of: Any, out: Any) -> None:
    """Copy numbers to another place."""
    for i in range(len(out)):
        out[i] = of[i]
