"""Sums over rows by a fixed tree, so that no division of the rows among engines changes a bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from scstream.support.threads import over_rows

LEAF_ROWS = 4096  # a leaf is an aligned group of rows: blocks divide it, shards hold it whole

Values = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Part:
    """Sums over a run of leaves.

    Attributes
    ----------
    first : int
        The number of its first leaf within the batch.
    leaves : int
        How many it spans, a power of two; 0 if the engine makes no promise about the order in
        which it sums.
    values : tuple of ndarray
        The sums. They belong to whoever adds them up, and are overwritten.
    """

    first: int
    leaves: int
    values: Values


class Tree:
    """Adds up parts that come from left to right.

    Two neighbours of equal span are added as soon as they are the two halves of a node of the
    binary tree over all leaves of the batch. Which nodes there are does not depend on where a
    run of leaves begins, so a shard sends the largest nodes that it holds, and what they add up
    to is, to the last bit, what one engine that holds all rows gets.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Tree()
    >>> for leaf in range(1, 8):
    ...     tree.add(Part(leaf, 1, (np.array([1.0]),)))
    >>> [(part.first, part.leaves) for part in tree.parts]
    [(1, 1), (2, 2), (4, 4)]
    >>> tree.total()
    (array([7.]),)
    """

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self.parts: list[Part] = []
        for part in parts:
            self.add(part)

    def add(self, part: Part) -> None:
        """Add the part to the right of those so far."""
        self.parts.append(part)
        while len(self.parts) > 1 and _halves(*self.parts[-2:]):
            right, left = self.parts.pop(), self.parts.pop()
            self.parts.append(Part(left.first, 2 * left.leaves, _added(left, right.values)))

    def closed(self) -> list[Part]:
        """Return the parts of a run that ends the batch, those that can grow no more as one.

        These are the ragged end, which `total` adds up first. So a run is always sent as a few
        parts, however long it is.
        """
        while len(self.parts) > 1 and all(map(_grown, self.parts[-2:])):
            right, left = self.parts.pop(), self.parts.pop()
            self.parts.append(Part(left.first, 0, _added(left, right.values)))
        return self.parts

    def total(self) -> Values:
        """Return the sums over everything, the ragged end from right to left."""
        total = self.parts[-1].values
        for part in reversed(self.parts[:-1]):
            total = _added(part, total)
        return total


def _halves(left: Part, right: Part) -> bool:
    return 0 < left.leaves == right.leaves and left.first % (2 * left.leaves) == 0


def _grown(part: Part) -> bool:
    """Whether a part at the end of the batch is nobody's right half."""
    return part.leaves == 0 or part.first // part.leaves % 2 == 0


def _added(left: Part, right: Values) -> Values:
    for into, more in zip(left.values, right, strict=True):
        _add(into, more)
    return left.values


def _add(into: NDArray[Any], more: NDArray[Any]) -> None:
    def add(rows: slice) -> None:
        into[rows] += more[rows]

    n = len(into)
    over_rows(add, n, width=into.size // max(n, 1))
