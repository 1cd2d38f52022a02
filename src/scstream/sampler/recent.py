"""How many of the latest rows each cluster got, for its share as people read it.

A share is what the next row is expected to be: it is computed from the labels of the latest 1,000
rows, or those of the last batch if it has more, older ones counting less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scstream.families.contract import Array
from scstream.sampler.clusters import ONE, Ints, State
from scstream.sampler.learned import Outcome

Pairs = Sequence[tuple[int, int]]
LATEST = 1000  # rows that shares are computed from


def latest_after(before: tuple[Ints, Array], state: State, outcome: Outcome) -> Array:
    """Return how many of the latest rows each cluster labelled, and none (k + 1,), after a batch.

    ``before`` are the ids (m,), and these rows (m + 1,), before it.
    """
    (ids, had), now = before, outcome.rows
    had = max(1.0 - float(now.sum()) / LATEST, 0.0) * had
    if ids is state.ids:
        return had + now
    pairs = (*outcome.record.splits, *outcome.record.merges)
    rows = recent_rows((ids, had[:-1]), state.ids, state.totals[:, 0], now[:-1], pairs)
    return np.append(rows, had[-1] + now[-1])


def seen_lately(state: State) -> Ints:
    """Return the clusters with recent rows and those born in this batch: one at least.

    Others are places that clusters have left. They may be remembered for some half-lives more, but
    nothing is expected there.
    """
    recent = state.recent
    here = (recent >= ONE) | state.present | (state.lived == 0)
    here[np.argmax(recent)] |= not here.any()
    return np.flatnonzero(here)


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
