"""Founders: groups of a batch's points that are tried as new clusters beside the old ones."""

from __future__ import annotations

from scstream.sampler import forgetting
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Events, Plan
from scstream.sampler.seeding import over_cluster
from scstream.sampler.split_merge import drop_forgotten, propose_merges
from scstream.sampler.sweep import predictive_sweep

_ROUNDING = 1e-6  # nats by which the same clusters may seem to differ


def found_clusters(steps: Context, plan: Plan, state: State, events: Events, time: float) -> State:
    """Return the clusters, with more where groups of the batch's points make it more probable.

    Where a cluster gets few points for its columns, those of a new class come to several old
    clusters, none of which would divide for its share of them. So groups of points compete
    with the clusters for all points and are merged, with each other or with old ones, while that
    is better. A group knows its own points and draws them to itself, whosever they are: what
    comes of it is kept only if the past predicts the batch better than without any groups.
    This is tried in the batches after a birth, then ever more seldom.
    """
    rules, enough = steps.rules, steps.family.points_for_a_shape()
    if not (enough and plan.splits and plan.merges):
        return state
    n = steps.engine.n_rows
    points = enough * (rules.founders_points if n <= rules.founders_rows else 1.0)
    if not (
        rules.points_a_group * state.k <= n < points * state.k
        and is_due(int(state.lived.min()), rules.founders_seldom)
    ):
        return state
    m = min(n // rules.points_a_group, rules.founders)
    if plan.max_clusters is not None:
        m = min(m, plan.max_clusters - state.k)
    if m < 1:
        return state
    first = state.next_id
    without = _swept(steps, state)
    sample = steps.family.filled(steps.engine.sample(steps.rng, rules.seed_rows))
    groups = over_cluster(steps.family, sample, m, steps.rng)
    tried, merges = _swept(steps, state.found(groups, time)), []
    while True:
        tried, merged = propose_merges(
            steps, tried, neighbours=rules.many_neighbours, greedy=True, born_from=first
        )
        if not merged:
            break
        merges += merged
    if log_prediction(steps, tried) <= log_prediction(steps, without) + _ROUNDING:
        return state  # if they are the same clusters in the end, those that were there stay
    events.merges += merges
    return tried


def _swept(steps: Context, state: State) -> State:
    """Return the clusters after a first sweep by predictives."""
    state = predictive_sweep(steps, state)
    if state.window.forgetting.adaptive:
        state = forgetting.forget(steps, state)
    return drop_forgotten(steps, state)


def log_prediction(ctx: Context, state: State) -> float:
    """Return the log-probability of the present points and their labels given the past."""
    past = state.past.sum(axis=1)
    with_past = past[past[:, 0] > 0.0]
    before = log_posterior(ctx.family, ctx.alpha, with_past) if len(with_past) else 0.0
    return log_posterior(ctx.family, ctx.alpha, state.totals) - before


def is_due(calm: int, seldom: int) -> bool:
    """Whether founders are tried, so many batches after a cluster was born."""
    return calm & (calm - 1) == 0 or calm % seldom == 0
