"""How the rows of a batch get from its chunks to the workers: each chunk as a whole goes to one.

Runs of rows end elsewhere than chunks do. The worker that has a chunk hands pieces of it to others
itself: were they tasks, Dask would book each, and without them whole chunks would travel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

Cut = tuple[int, tuple[int, int]]  # a chunk, and from which row to which of it


class Piece(NamedTuple):
    """Rows of a chunk: whose chunk it is, which of those, and from which row to which."""

    shard: int
    chunk: int
    start: int
    stop: int


class Plan(NamedTuple):
    """Who gets what of a batch.

    Attributes
    ----------
    workers : list of str
        The worker of each shard.
    chunks : list of list of int
        The chunks that each gets, as numbers within the batch.
    pieces : list of list of Piece
        What each one's run of rows is made of.
    """

    workers: list[str]
    chunks: list[list[int]]
    pieces: list[list[Piece]]


def planned(
    runs: Sequence[Sequence[Cut]], free: Sequence[str], has: Sequence[Collection[str]]
) -> Plan:
    """Return who gets what: each run the worker that has most of it, of those still free.

    A chunk goes to one of those that need it: to the worker that has it, else where most of it is
    needed. ``has`` says by chunk which workers have it.

    Examples
    --------
    >>> runs = [[(0, (0, 4))], [(0, (4, 5)), (1, (0, 5))]]
    >>> plan = planned(runs, ["a", "b"], [["b"], ["a"]])
    >>> plan.workers, plan.chunks
    (['b', 'a'], [[0], [1]])
    >>> plan.pieces[1]
    [Piece(shard=0, chunk=0, start=4, stop=5), Piece(shard=1, chunk=0, start=0, stop=5)]
    """
    workers = _nearest(runs, free, has)
    claims: dict[int, tuple[bool, int, int]] = {}
    for shard, run in enumerate(runs):
        for chunk, (start, stop) in run:
            claim = workers[shard] in has[chunk], stop - start, -shard
            claims[chunk] = max(claims.get(chunk, claim), claim)
    chunks: list[list[int]] = [[] for _ in runs]
    place = {}
    for chunk, (_, _, shard) in claims.items():
        place[chunk] = -shard, len(chunks[-shard])
        chunks[-shard].append(chunk)
    pieces = [[Piece(*place[chunk], *cut) for chunk, cut in run] for run in runs]
    return Plan(workers, chunks, pieces)


def _nearest(
    runs: Sequence[Sequence[Cut]], free: Sequence[str], has: Sequence[Collection[str]]
) -> list[str]:
    chosen: list[str] = []
    left = dict.fromkeys(free)
    for run in runs:
        held = dict.fromkeys(left, 0)
        for chunk, (start, stop) in run:
            for worker in has[chunk]:
                if worker in held:
                    held[worker] += stop - start
        chosen.append(max(held, key=lambda worker: held[worker]))
        del left[chosen[-1]]
    return chosen
