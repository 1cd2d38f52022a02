"""Where the first batch starts from: deliberately many clusters, or labels that are given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scstream.families.contract import Family
from scstream.families.scores import Labels, LinearScore
from scstream.sampler import gaussian
from scstream.sampler.batch import (
    MANY_NEIGHBOURS,
    POINTS_A_GROUP,
    SEED_ROWS,
    Plan,
    log_posterior,
)
from scstream.sampler.clusters import State
from scstream.sampler.forgetting import Forgetting
from scstream.sampler.seeding import over_cluster, telling_columns
from scstream.sampler.split_merge import drop_forgotten, propose_merges, restart_subclusters
from scstream.sampler.sweep import Context

_SEEDS = 200  # groups of the over-clustering that the first batch starts from, at most
_FEW_SEEDS = 30  # groups by the columns that tell most


class _Start(NamedTuple):
    """Clusters to start from, their prior, and the log posterior."""

    level: float
    state: State
    family: Family


def start_over_clustered(ctx: Context, plan: Plan, forgetting: Forgetting, *, adapt: bool) -> State:
    """Return the loaded batch in deliberately many clusters, then merged while that is better.

    On the way the prior follows the clusters, if it may. Should they be left with too few points
    to tell their shapes, all is done again under a prior that takes them for alike.
    """
    state = _most_probable(ctx, plan, forgetting, adapt=adapt)
    if adapt and _is_sparse(ctx, state):
        alike = ctx.family.alike()
        if alike is not ctx.family:
            ctx.family = alike
            state = _most_probable(ctx, plan, forgetting, adapt=True)
    return restart_subclusters(ctx, state, np.ones(state.k, dtype=bool), keep_better=False)


def _is_sparse(ctx: Context, state: State) -> bool:
    """Whether most points are in clusters with too few of them to tell a shape."""
    n = state.totals[:, 0]
    return bool(2.0 * n[n < ctx.family.points_for_a_shape()].sum() > n.sum())


def _most_probable(ctx: Context, plan: Plan, forgetting: Forgetting, *, adapt: bool) -> State:
    """Return the better of two starts, with its prior: merged from small groups, or from a few.

    Where clusters differ in a few of many columns, small groups are mixed: chance neighbours in
    all the others. The few groups are made by the columns that tell most.
    """
    family, n = ctx.family, ctx.engine.n_rows
    sample = ctx.engine.sample(ctx.rng.generator, SEED_ROWS)
    size = max(1, min(n // POINTS_A_GROUP, _SEEDS))
    groups = [over_cluster(family, sample, size, ctx.rng.generator)]
    weight = None
    if family.real and size > _FEW_SEEDS:
        weight = telling_columns(family.embed(sample))
    if weight is not None:
        groups.append(over_cluster(family, sample, _FEW_SEEDS, ctx.rng.generator, weight))
    best: _Start | None = None
    for seeds in groups:
        ctx.family = family.adapt(seeds) if adapt else family
        best = _merged_down(ctx, plan, State.start(forgetting, seeds, 0.0, 0), best, adapt=adapt)
    assert best is not None
    ctx.family = best.family
    ctx.engine.restore_labels()
    return best.state


def _merged_down(
    ctx: Context, plan: Plan, state: State, best: _Start | None, *, adapt: bool
) -> _Start:
    """Return groups of the loaded batch, merged while that is better, or the best start so far.

    A wider prior calls for more merges and these for a wider prior, so the last step is not always
    the best: the most probable one is taken, with its prior. The engine keeps its labels.
    """
    if best is None:
        best = _Start(-np.inf, state, ctx.family)
        ctx.engine.keep_labels()
    while True:
        state = drop_forgotten(ctx, gaussian.deterministic_sweep(ctx, state))
        if adapt:
            ctx.family = ctx.family.adapt(state.totals)
        excess = 0 if plan.max_clusters is None else max(state.k - plan.max_clusters, 0)
        level = log_posterior(ctx.family, ctx.alpha, state.totals) if excess == 0 else -np.inf
        if level >= best.level:
            best = _Start(level, state, ctx.family)
            ctx.engine.keep_labels()
        if not plan.merges:
            break
        state, merged = propose_merges(
            ctx, state, neighbours=MANY_NEIGHBOURS, greedy=True, must_go=excess
        )
        if not merged:
            break
    return best


def start_from_labels(
    ctx: Context, forgetting: Forgetting, labels: Labels, *, adapt: bool
) -> State:
    """Return the loaded batch in the given clusters, numbered from 0 without gaps.

    The prior follows them at once, if it may: under one that knows nothing they might merge.
    """
    k = int(labels.max()) + 1
    ctx.engine.start(labels)
    everything = np.ones(k, dtype=bool)
    undivided = LinearScore(np.zeros((2 * k, len(ctx.family.prior))))
    current, _ = ctx.engine.resplit(undivided, everything)
    if adapt:
        ctx.family = ctx.family.adapt(current.sum(axis=1))
    state = State.start(forgetting, current.sum(axis=1), 0.0, 0)
    return restart_subclusters(ctx, state, everything, keep_better=False)
