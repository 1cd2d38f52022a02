"""A pass over the blocks of a batch, on threads: rows are labelled, and added up leaf by leaf.

Where a batch has many leaves, threads take a leaf each. Where it has few, they first label blocks,
and then add up the rows of some clusters of a leaf each. A cluster's rows are added up in their own
order either way, so that sums are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scstream.engines.ordered_sums import Part, Values, added_leaves
from scstream.families.scores import Labels, Points
from scstream.support.threads import together

At = slice | NDArray[np.int64]  # a run of rows, or some of one in their order
_Job = tuple[int, NDArray[np.int64], Labels]  # a leaf, and rows of some clusters with labels
_CELLS = 2**17  # statistics and scores of rows that are worth a thread to add them up
_PRODUCTS = 2**21  # of statistics and clusters, that are worth a thread to label rows by them
_LEAVES = 4  # of each thread, from which on all are busy


@dataclass(frozen=True)
class BlockPass:
    """What is done with rows.

    Attributes
    ----------
    nothing : callable
        Returns the sums of no rows.
    labels : callable
        Returns labels of rows, by which they are added up; -1 for those that are not.
    add : callable
        Adds rows, with their statistics and such labels, to sums.
    label : callable, optional
        Labels a block of rows, with its statistics, before.
    count : callable, optional
        Adds what needs no statistics of a run of labelled rows to sums.
    """

    nothing: Callable[[], Values]
    labels: Callable[[At], Labels]
    add: Callable[[At, Points, Labels, Values], None]
    label: Callable[[slice, Points], None] | None = None
    count: Callable[[slice, Values], None] | None = None

    def over(self, blocks: RowsInBlocks, k: int, size: int, n_threads: int) -> list[Part]:
        """Pass over blocks of so many rows, and return sums as far as the tree goes."""
        leaves, label, rest = cut(blocks.n, blocks.leaf_rows), self.label, self
        adding = min(n_threads, max((blocks.entries + blocks.n * k) // _CELLS, 1))
        labelling = min(n_threads, max(blocks.entries * k // _PRODUCTS, adding))
        if label is not None and labelling > 1 and len(leaves) < _LEAVES * labelling:
            runs = [rows for leaf in leaves for rows in cut(leaf.stop, size, leaf.start)]
            together(labelling, lambda rows: label(rows, blocks.statistics(rows)), runs)
            rest = replace(self, label=None)
        if adding == 1 or len(leaves) >= _LEAVES * adding:
            sums = together(adding, lambda leaf: rest._leaf(blocks, leaf, size), leaves)
        else:
            sums = rest._few_leaves(blocks, leaves, k, size, adding)
        return added_leaves(blocks.first_row // blocks.leaf_rows, sums)

    def _leaf(self, blocks: RowsInBlocks, leaf: slice, size: int) -> Values:
        """Return the sums of a leaf."""
        to = self.nothing()
        for rows in cut(leaf.stop, size, leaf.start):
            T = blocks.statistics(rows)
            if self.label is not None:
                self.label(rows, T)
            if self.count is not None:
                self.count(rows, to)
            self.add(rows, T, self.labels(rows), to)
        return to

    def _few_leaves(
        self, blocks: RowsInBlocks, leaves: list[slice], k: int, size: int, n_threads: int
    ) -> list[Values]:
        """Return the sums of leaves that are fewer than threads, or hardly more, once labelled."""
        sums: dict[int, Values] = {}
        parts = -(-_LEAVES * n_threads // len(leaves))

        def sort(i: int) -> list[_Job]:
            """Return the rows of a leaf by part, in their order, and their labels."""
            sums[i] = self.nothing()
            if self.count is not None:
                self.count(leaves[i], sums[i])
            z = self.labels(leaves[i])
            part = _parts(z, k, parts)
            order = np.argsort(part, kind="stable")
            edges = np.searchsorted(part[order], np.arange(parts + 1)).tolist()
            rows, labels = leaves[i].start + order, z[order]
            return [(i, rows[a:b], labels[a:b]) for a, b in pairwise(edges) if b > a]

        def add(job: _Job) -> None:
            i, mine, z = job
            if blocks.keep:  # to pass by the rows of others takes less than a copy
                leaf = leaves[i]
                labels = np.full(leaf.stop - leaf.start, -1)
                labels[mine - leaf.start] = z
                for rows in cut(leaf.stop, size, leaf.start):
                    of_these = labels[rows.start - leaf.start : rows.stop - leaf.start]
                    self.add(rows, blocks.statistics(rows), of_these, sums[i])
                return
            for a in range(0, len(mine), size):
                at = mine[a : a + size]
                self.add(at, blocks.statistics_of(at), z[a : a + size], sums[i])

        jobs = together(n_threads, sort, range(len(leaves)))
        together(n_threads, add, [job for some in jobs for job in some])
        return [sums[i] for i in range(len(leaves))]


class RowsInBlocks(Protocol):
    """What a pass needs to know of a batch of n rows, whose statistics may be kept."""

    n: int
    keep: bool
    leaf_rows: int
    first_row: int

    @property
    def entries(self) -> int:
        """The numbers that describe the rows, those left out that are 0."""

    def statistics(self, rows: slice) -> Points:
        """Return the statistics of a run of rows."""

    def statistics_of(self, rows: NDArray[np.int64]) -> Points:
        """Return the statistics of chosen rows."""


def cut(stop: int, size: int, start: int = 0) -> list[slice]:
    """Return runs of so many rows each, the last one shorter."""
    return [slice(a, min(a + size, stop)) for a in range(start, max(stop, start + 1), size)]


def _parts(z: Labels, k: int, parts: int) -> Labels:
    """Return in which of some parts of the clusters, with about as many rows each, rows are.

    Rows that are not added up are in one too many.
    """
    inside = (z >= 0) & (z < k)
    rows = np.bincount(z[inside], minlength=k)
    before = np.cumsum(rows) - rows
    part = before * parts // max(int(rows.sum()), 1)
    return np.where(inside, part[np.where(inside, z, 0)], parts)
