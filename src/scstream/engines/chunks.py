"""Chunks of a batch, added up in one order: the same bits on any threads and workers.

How many rows a chunk has follows from the whole batch's number of rows alone. Each is summed in the
order of its rows; the sums of chunks are added in pairs, and pairs of pairs, as their numbers go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from scstream.support.frozen import frozen
from scstream.support.threads import together

_FEWEST = 4096  # rows of a chunk
_MOST = 128  # chunks

Values = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Sizes:
    """How much is taken at a time, on which results do not depend but for the last bits of sums.

    Attributes
    ----------
    chunk_rows : int or None
        Rows of a chunk; by default they follow from the batch.
    block_rows : int or None
        Rows that are labelled at a time. None is as many as stay in cache.
    kept_bytes : int
        A batch's statistics are stored between passes up to this size.
    """

    chunk_rows: int | None = None
    block_rows: int | None = None
    kept_bytes: int = 2**27


SIZES = Sizes()


def chunk_rows(n: int) -> int:
    """Return how many rows a chunk of a batch of n rows has.

    Examples
    --------
    >>> [chunk_rows(n) for n in (1, 500_000, 600_000, 10_000_000)]
    [4096, 4096, 8192, 81920]
    """
    return _FEWEST * max(-(-n // (_FEWEST * _MOST)), 1)


def cut(stop: int, size: int, start: int = 0) -> list[slice]:
    """Return runs of so many rows each, the last one shorter."""
    return [slice(a, min(a + size, stop)) for a in range(start, max(stop, start + 1), size)]


@frozen
class Part:
    """Sums over a run of chunks.

    Attributes
    ----------
    first : int
        The number of its first chunk within the batch.
    chunks : int
        How many it spans, a power of two; 0 if the engine makes no promise about the order in
        which it sums.
    values : tuple of ndarray
        The sums. They are overwritten when they are added up.
    """

    first: int
    chunks: int
    values: Values

    def joined(self, right: Part, chunks: int) -> Part:
        """Return the sums over this run and the one to its right."""
        for into, more in zip(self.values, right.values, strict=True):
            into += more
        return Part(self.first, chunks, self.values)


def summed(
    n_threads: int, job: Callable[[slice], Values], chunks: list[slice], first: int
) -> list[Part]:
    """Return the sums of chunks, numbered from one on, as far as pairs of them go.

    They are added up as they come, so that few are held at a time.
    """
    if len(chunks) == 1:
        return [Part(first, 1, job(chunks[0]))]
    held: dict[int, Part] = {}
    lock = Lock()

    def one(i: int) -> None:
        part = Part(first + i, 1, job(chunks[i]))
        while True:
            size = part.chunks
            is_left = part.first // size % 2 == 0
            with lock:
                other = held.get(part.first + (size if is_left else -size))
                if other is None or other.chunks != size:
                    held[part.first] = part
                    return
                del held[other.first]
            left, right = (part, other) if is_left else (other, part)
            part = left.joined(right, 2 * size)

    together(n_threads, one, range(len(chunks)))
    return [held[i] for i in sorted(held)]


def parts_of(runs: Iterable[tuple[int, int]], sums: Values) -> list[Part]:
    """Return the sums of runs of chunks, which the core gives in stacks."""
    return [Part(*run, tuple(one[i] for one in sums)) for i, run in enumerate(runs)]


class Tree:
    """Adds up parts that come from left to right.

    Two neighbours of equal span are added as soon as they are the two halves of a node of the
    binary tree over all chunks of the batch. Which nodes there are does not depend on where a run
    of chunks begins, so a shard sends the largest nodes that it holds, and what they add up to is,
    to the last bit, what one engine that holds all rows gets.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Tree()
    >>> for chunk in range(1, 8):
    ...     tree.add(Part(chunk, 1, (np.array([1.0]),)))
    >>> [(part.first, part.chunks) for part in tree.parts]
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
            self.parts.append(left.joined(right, 2 * left.chunks))

    def total(self) -> Values:
        """Return the sums over everything, the ragged end from right to left."""
        total = self.parts[-1]
        for part in reversed(self.parts[:-1]):
            total = part.joined(total, 0)
        return total.values


def _halves(left: Part, right: Part) -> bool:
    return 0 < left.chunks == right.chunks and left.first % (2 * left.chunks) == 0
