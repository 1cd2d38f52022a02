"""Which ids merged clusters get, and where the ids of each model went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Claim(NamedTuple):
    """That a cluster of a model makes for its id, the strongest first in order."""

    born: float
    lighter: float  # minus its points
    id: int
    model: int
    pool: int  # the merged cluster that it is in


def named(
    claims: Sequence[Claim], pools: int, next_id: int, time: float
) -> tuple[list[int], list[float], int]:
    """Return an id and a birth for each pool, and the first id that was never used.

    Each gets the id of its strongest claim that is free, or a new one. One that nothing lays claim
    to is born at this time.
    """
    ids: dict[int, int] = {}
    born: dict[int, float] = {}
    used: set[int] = set()
    for claim in sorted(claims):
        born.setdefault(claim.pool, claim.born)
        if claim.pool not in ids and claim.id not in used:
            ids[claim.pool] = claim.id
            used.add(claim.id)
    for pool in [*(claim.pool for claim in sorted(claims)), *range(pools)]:
        if pool not in ids:
            ids[pool], next_id = next_id, next_id + 1
    return [ids[p] for p in range(pools)], [born.get(p, time) for p in range(pools)], next_id
