"""The clusters of several models as those of one: which are the same, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Sums
from scstream.families.contract import Array, Family
from scstream.merging.clusters import Pools, at_most, label_entropy
from scstream.merging.parts import Part, begun
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.forgetting import shares_worth_keeping
from scstream.sampler.recipe import Plan
from scstream.sampler.window import Window

Ints = NDArray[np.int64]


def matched(ctx: Context, plan: Plan, parts: Sequence[Part]) -> tuple[list[Part], list[Ints]]:
    """Return the parts, and the pools that their clusters are in.

    Clusters that cover two pools are split, and all forget what they would have forgotten had one
    model seen the latest rows of all.
    """
    ended = min(part.learner.time for part in parts)
    sizes = [part.state.k for part in parts]
    totals = np.concatenate([part.state.totals for part in parts])
    fresh = np.concatenate([_fresh(part, ended) for part in parts])
    pools = Pools(ctx, totals, np.repeat(np.arange(len(parts)), sizes), fresh)
    pools.unite_same()
    pools.unite_moved()
    swept = pools.swept(np.concatenate([part.state.parts for part in parts]))
    divided, places = [], []
    for part, own in zip(parts, np.split(swept, np.cumsum(sizes)[:-1]), strict=True):
        whole, moved = part.divided(np.flatnonzero(own[:, 0] != own[:, 1]))
        place = np.empty(whole.state.k, dtype=np.int64)
        place[moved] = own
        divided.append(whole)
        places.append(place)
    places = _numbered(places)
    if parts[0].learner.state.window.forgetting.adaptive:
        now = over(places, np.add, [_fresh(part, ended) for part in divided])
        past = over(places, np.add, [part.state.totals for part in divided]) - now
        share = shares_worth_keeping(ctx, past, now)
        divided = [
            part if _follows(part, ended) else replace(part, state=part.state.forget(share[place]))
            for part, place in zip(divided, places, strict=True)
        ]
    if plan.merges:
        sums = over(places, np.add, [part.state.totals for part in divided])
        pools = Pools(ctx, sums, np.zeros(len(sums), dtype=np.int64), sums)
        pools.unite_by_ratio()
        places = _numbered([pools.pool[place] for place in places])
    return divided, places


def _follows(part: Part, ended: float) -> bool:
    """Whether a model began after another had ended."""
    return begun(part.learner) > ended


def _fresh(part: Part, ended: float) -> Array:
    """Return what shows where the clusters (k, p) of a part are by now.

    That is the latest batch, and all of a model that begins when another has ended.
    """
    out: Array = part.state.totals if _follows(part, ended) else part.state.current
    return out


def _numbered(places: Sequence[Ints]) -> list[Ints]:
    """Return the places of clusters in pools, which are numbered from 0."""
    ends = np.cumsum([len(place) for place in places])[:-1]
    return np.split(np.unique(np.concatenate(places), return_inverse=True)[1], ends)


def over(places: Sequence[Ints], join: np.ufunc, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return for pools (k, ...) what their clusters have together, joined by a function."""
    place, value = np.concatenate(places), np.concatenate(values)
    out = np.zeros((int(place.max()) + 1, *value.shape[1:]), dtype=value.dtype)
    join.at(out, place, value)
    return out


def united(
    ctx: Context, parts: Sequence[Part], places: Sequence[Ints], named: tuple[Ints, Array, int],
    time: float,
) -> State:  # fmt: skip
    """Return the pools as clusters with these names, the latest batch as their present."""
    forgetting, (ids, born, next_id) = parts[0].learner.state.window.forgetting, named
    totals = over(places, np.add, [part.state.totals for part in parts])
    k, p = totals.shape
    windows = [part.state.window for part in parts]
    times = np.unique(np.concatenate([window.times for window in windows]))
    sums, here = np.zeros((len(times), k, 2, p)), np.zeros((k, 2, p))
    for part, place, way in zip(parts, places, _ways(ctx, parts, places), strict=True):
        row = np.searchsorted(times, part.state.window.times)[:, None, None]
        np.add.at(sums, (row, place[:, None], way), part.state.window.sums)
        np.add.at(here, (place[:, None], way), part.state.now.current)
    weight = np.ones(1) if forgetting.kernel is None else forgetting.weights(time - times)
    n = sums[..., 0].sum(axis=(1, 2))
    share = n / max(float(weight @ n), 1e-300)  # of the entropy, that each record has
    entropy = share[:, None, None] * _entropy(ctx.family, parts, places, totals)
    window = Window(forgetting, sums, entropy, times, weight).thinned()
    zero = np.zeros(k, dtype=np.int64)
    return State(
        ids=ids,
        born=born,
        lived=over(places, np.maximum, [part.state.lived for part in parts]),
        next_id=next_id,
        now=replace(Sums.nothing(k, p), current=here),
        window=window,
        past=window.past()[0],
        past_entropy=window.past()[1],
        attempt=zero,
        earlier=over(places, np.add, [part.state.earlier for part in parts]),
    )


def _ways(ctx: Context, parts: Sequence[Part], places: Sequence[Ints]) -> list[Ints]:
    """Return which sub-cluster of its pool each sub-cluster (n, 2) becomes.

    The clusters of a pool join it one after the other, the heaviest first: each in the order in
    which its two are more probable as further points of the two that are there.
    """
    family, most = ctx.family, ctx.rules.return_points
    place, halves = np.concatenate(places), np.concatenate([part.state.parts for part in parts])
    out = np.zeros((int(place.max()) + 1, *halves.shape[1:]))
    ways = np.tile(np.array([0, 1]), (len(place), 1))
    for i in np.argsort(-halves[:, :, 0].sum(axis=1), kind="stable").tolist():
        there = out[place[i]]
        if there[:, 0].any():
            mine, theirs = at_most(halves[i], most), at_most(there, most)
            level = family.log_marginal(mine[:, None] + theirs[None])  # (mine, theirs)
            if level[0, 1] + level[1, 0] > level[0, 0] + level[1, 1]:
                ways[i] = 1, 0
        there[ways[i]] += halves[i]
    return np.split(ways, np.cumsum([len(place) for place in places])[:-1])


def _entropy(family: Family, parts: Sequence[Part], places: Sequence[Ints], sums: Array) -> Array:
    """Return the entropies (k, k) of labels of pools with statistics (k, p).

    Of two pools it is known from the models that have both. For the points of the others it is what
    labels that were drawn would have.
    """
    k, n = len(sums), sums[:, 0]
    known, covered = np.zeros((k, k)), np.zeros((k, k))
    for part, place in zip(parts, places, strict=True):
        own = np.zeros(k)
        np.add.at(known, (place[:, None], place), part.state.past_entropy)
        np.add.at(own, place, part.state.totals[:, 0])
        both = (own > 0.0)[:, None] & (own > 0.0)
        covered += np.where(both, own[:, None] + own, 0.0)
    a, b = np.triu_indices(k, 1)
    rest = 1.0 - np.minimum(covered[a, b] / np.maximum(n[a] + n[b], 1e-300), 1.0)
    open_ = rest > 0.0
    a, b, rest = a[open_], b[open_], rest[open_]
    if len(a):
        more = rest * np.nan_to_num(label_entropy(family, sums[a], sums[b]))
        known[a, b] += more
        known[b, a] += more
    return known
