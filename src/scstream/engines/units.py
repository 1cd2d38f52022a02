"""How the leaves of a batch are shared among threads, for `kernels.sharing`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scstream.kernels.crew import Crew
from scstream.kernels.sharing import Ints, Shares

_FEW_LEAVES = 8  # of a unit, whose rows are to stay in cache
_MANY_UNITS = 16  # for each thread; a unit has sums of its own
_SUM_BYTES = 2**28  # which take no more than this, if each thread has some units then
_FINENESS = 16  # times smaller than the largest unit are the smallest
_TURNS = 2  # of each thread, that are left when units become smaller


@dataclass(frozen=True)
class Units:
    """The leaves of a batch in units, from left to right, and the tree above them.

    Attributes
    ----------
    units, nodes : ndarray
        See `kernels.sharing.Shares`.
    roots : tuple of (int, int, int)
        What the tree comes to: the place of the sums, the first leaf and how many they are.
    largest : int
        The leaves of the largest unit.
    """

    units: Ints
    nodes: Ints
    roots: tuple[tuple[int, int, int], ...]
    largest: int

    def root_of(self) -> Ints:
        """Return which root's sums are at a place in the end, -1 for none (m,)."""
        out = np.full(len(self.units), -1, dtype=np.int64)
        for i, (place, _, _) in enumerate(self.roots):
            out[place] = i
        return out

    def shares(self, leaf_rows: int, crew: Crew) -> Shares:
        """Return the units as nobody of a crew has taken them."""
        taken = np.zeros(1 + len(self.nodes), dtype=np.int64)
        return Shares(leaf_rows, self.units, self.nodes, taken, crew)


def units_of(first: int, leaves: int, n_threads: int, bytes_of_sums: int) -> Units:
    """Return so many leaves of a batch, from one on, in units for so many threads."""
    most = min(_MANY_UNITS * n_threads, _SUM_BYTES // max(bytes_of_sums, 1))
    return _units_of(first, leaves, n_threads, max(most, 2 * n_threads))


@lru_cache(maxsize=64)
def _units_of(first: int, leaves: int, n_threads: int, most: int) -> Units:
    largest = _FEW_LEAVES
    while largest * most < leaves:
        largest *= 2
    units: list[list[int]] = []
    nodes: list[list[int]] = []
    held: list[tuple[int, int, int, list[int]]] = []  # first leaf, leaves, place, who is above
    at, end = first, first + leaves
    while at < end:
        size = largest if n_threads == 1 else min((end - at) // (_TURNS * n_threads), largest)
        size = 2 ** (max(size, largest // _FINENESS, 1).bit_length() - 1)
        while at % size or at + size > end:
            size //= 2
        held.append((at, size, len(units), [at - first, size, -1]))
        units.append(held[-1][3])
        at += size
        while len(held) > 1 and held[-2][1] == held[-1][1] and held[-2][0] % (2 * size) == 0:
            (_, _, right, last), (begin, size, left, half) = held.pop(), held.pop()
            half[2] = last[2] = len(nodes)
            nodes.append([left, right, -1])
            size *= 2
            held.append((begin, size, left, nodes[-1]))
    return Units(
        np.array(units, dtype=np.int64).reshape(-1, 3),
        np.array(nodes, dtype=np.int64).reshape(-1, 3),
        tuple((place, begin, size) for begin, size, place, _ in held),
        max((unit[1] for unit in units), default=1),
    )
