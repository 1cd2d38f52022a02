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
    chunks : list of list of int
        The chunks that each gets, as numbers within the batch.
    pieces : list of list of Piece
        What each one's run of rows is made of.
    """

    chunks: list[list[int]]
    pieces: list[list[Piece]]


def in_order(
    workers: Sequence[str], lengths: Sequence[int], has: Sequence[Collection[str]]
) -> list[str]:
    """Return workers such that, if they get runs of rows in that order, little has to move.

    ``has`` says by chunk which workers have it, and ``lengths`` how many rows it has.

    Examples
    --------
    >>> in_order(["a", "b", "c"], [5, 5], [["b"], ["a"]])
    ['b', 'c', 'a']
    """
    rows, places = dict.fromkeys(workers, 0.0), dict.fromkeys(workers, 0.0)
    begin, total = 0.0, max(sum(lengths), 1)
    for n, holders in zip(lengths, has, strict=True):
        for worker in rows.keys() & holders:
            rows[worker] += n
            places[worker] += n * (begin + 0.5 * n) / total
        begin += n
    idle = [worker for worker in workers if not rows[worker]]
    place = {worker: (i + 0.5) / len(idle) for i, worker in enumerate(idle)}
    return sorted(workers, key=lambda w: places[w] / rows[w] if rows[w] else place[w])


def planned(
    runs: Sequence[Sequence[Cut]], workers: Sequence[str], has: Sequence[Collection[str]]
) -> Plan:
    """Return who gets what, each worker one run.

    A chunk goes to one of those that need it: to the worker that has it, else where most of it is
    needed.

    Examples
    --------
    >>> runs = [[(0, (0, 4))], [(0, (4, 5)), (1, (0, 5))]]
    >>> plan = planned(runs, ["b", "a"], [["b"], ["a"]])
    >>> plan.chunks
    [[0], [1]]
    >>> plan.pieces[1]
    [Piece(shard=0, chunk=0, start=4, stop=5), Piece(shard=1, chunk=0, start=0, stop=5)]
    """
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
    return Plan(chunks, pieces)
