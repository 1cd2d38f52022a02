"""Sums over rows by a fixed tree, so that no division of the rows among engines changes a bit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from scstream.kernels.adding import added
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
        added(into, more, into)
    return left.values


def added_leaves(first: int, leaves: Sequence[Values]) -> list[Part]:
    """Return the sums of leaves, from one on, as far as the tree goes, as `Tree` adds them up.

    All sums have as many rows, which threads share.

    Examples
    --------
    >>> import numpy as np
    >>> leaves = [(np.array([1.0, 2.0]),) for _ in range(7)]
    >>> [(part.first, part.leaves, part.values) for part in added_leaves(1, leaves)]
    [(1, 1, (array([1., 2.]),)), (2, 2, (array([2., 4.]),)), (4, 4, (array([4., 8.]),))]
    """
    held: list[tuple[Part, int]] = []
    pairs: list[tuple[int, int]] = []
    for i, values in enumerate(leaves):
        held.append((Part(first + i, 1, values), i))
        while len(held) > 1 and _halves(held[-2][0], held[-1][0]):
            (_, right), (part, left) = held.pop(), held.pop()
            pairs.append((left, right))
            held.append((Part(part.first, 2 * part.leaves, part.values), left))

    def add(rows: slice) -> None:
        for left, right in pairs:
            for into, more in zip(leaves[left], leaves[right], strict=True):
                into[rows] += more[rows]

    if pairs:
        k = len(leaves[0][0])
        over_rows(add, k, width=len(pairs) * sum(v.size for v in leaves[0]) // max(k, 1))
    return [part for part, _ in held]
