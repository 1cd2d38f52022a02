"""How many recent rows each cluster got, which is its share of the mixture as people read it.

A cluster that changes forgets most of its past, which no longer describes it (see `forgetting`).
What it remembers says little about how many rows it gets then: one that moves and one that stays
may get as many.
"""

from __future__ import annotations

import numpy as np

from scstream.families.contract import Array
from scstream.kernels import mixture
from scstream.sampler.clusters import Ints, State
from scstream.sampler.recipe import Events

Pairs = list[tuple[int, int]]


def recent_after(before: tuple[Ints, Array], state: State, events: Events, kept: float) -> Array:
    """Return the rows (k,) after a batch, given the ids and rows before it (m,) each.

    ``kept`` is what a row of the last batch counts now. Where the user says what counts, clusters
    forget nothing else.
    """
    if not state.window.forgetting.adaptive:
        count: Array = state.totals[:, 0].copy()
        return count
    ids, had = before
    if ids is state.ids:  # of a batch that changed no cluster
        same = np.empty(had.shape)
        mixture.recent(kept, had, state.current, same)
        return same
    past = np.maximum(state.past[:, 0, 0] + state.past[:, 1, 0], 0.0)  # rounding may cost it
    pairs = events.splits + events.merges
    return recent_rows((ids, had * kept), state.ids, past, state.current[:, 0], pairs)


def recent_rows(
    before: tuple[Ints, Array], ids: Ints, past: Array, current: Array, pairs: Pairs
) -> Array:
    """Return the rows (k,) of clusters, from those before the batch.

    Clusters that were split or merged are one family. What its members had before is shared by
    those that are left, by what is remembered of each.

    Parameters
    ----------
    before : tuple of ndarray (m,)
        Ids before the batch, and their rows, aged.
    ids, past, current : ndarray (k,)
        The clusters now: names, points remembered of earlier batches, points of the batch.
    pairs : list of tuple
        Ids that were one cluster, or became one.
    """
    head = _heads(pairs)
    had: dict[int, float] = {}
    for i, rows in zip(before[0].tolist(), before[1].tolist(), strict=True):
        own = head.get(i, i)
        had[own] = had.get(own, 0.0) + rows
    heads = [head.get(i, i) for i in ids.tolist()]
    left: dict[int, float] = {}
    for own, points in zip(heads, past.tolist(), strict=True):
        left[own] = left.get(own, 0.0) + points
    share = [
        had.get(own, 0.0) * points / left[own] if left[own] > 0.0 else 0.0
        for own, points in zip(heads, past.tolist(), strict=True)
    ]
    return np.array(share) + current


def _heads(pairs: Pairs) -> dict[int, int]:
    """Return for each id in the pairs the least one of those that pairs connect it with."""
    head: dict[int, int] = {}
    for a, b in pairs:
        x, y = head.get(a, a), head.get(b, b)
        low, high = min(x, y), max(x, y)
        head |= {i: low for i, own in head.items() if own == high}
        head[a] = head[b] = head[high] = low
    return head
