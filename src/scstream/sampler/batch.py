"""One batch: the order of sweeps and moves, and when the first batch has converged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from scstream.families.contract import Array, Family
from scstream.kernels import mixture
from scstream.sampler import gaussian
from scstream.sampler.clusters import State
from scstream.sampler.seeding import over_cluster
from scstream.sampler.split_merge import decisions, drop_forgotten, propose_merges, propose_splits
from scstream.sampler.sweep import Context, predictive_sweep

SEED_ROWS = 8192  # rows of a batch that groups are made from, at most
POINTS_A_GROUP = 4  # with fewer for a cluster or a group of points nothing new can be told
_FOUNDERS = 50  # groups of a later batch that are on trial as clusters, at most
MANY_NEIGHBOURS = 6  # merge candidates of a cluster while there are too many clusters
_SELDOM = 8  # batches between such trials, at most
_ADAPT_SWEEPS = 15  # sweeps during which the prior still follows the clusters
_PATIENCE = 8  # sweeps without a better log posterior that mean convergence
_SETTLE = 10  # deterministic sweeps at the end of the first batch, at most


@dataclass(frozen=True)
class Plan:
    """How batches are run.

    Attributes
    ----------
    sweeps : int
        Sampled sweeps of a batch after the first.
    max_sweeps : int
        Sampled sweeps of the first batch, at most.
    max_clusters : int or None
        No split makes more clusters than this.
    splits, merges : bool
        Whether such moves are made.
    """

    sweeps: int = 1
    max_sweeps: int = 100
    max_clusters: int | None = None
    splits: bool = True
    merges: bool = True


@dataclass
class Events:
    """What happened to clusters during a batch, by id, in order."""

    splits: list[tuple[int, int]] = field(default_factory=list)
    merges: list[tuple[int, int]] = field(default_factory=list)


Progress = Callable[[int, int, float], None]


def first_batch(
    ctx: Context,
    plan: Plan,
    start: State,
    *,
    adapt: bool,
    progress: Progress | None = None,
) -> State:
    """Run the sampler on the loaded batch to convergence, from the given clusters.

    While it converges the prior follows the clusters (``ctx.family`` is replaced) where
    ``adapt`` says so and the family leaves something open.
    """
    state, events = start, Events()
    best, waited = -np.inf, 0
    for sweep in range(plan.max_sweeps):
        state = gaussian.restricted_sweep(ctx, state)
        state = _moves(ctx, plan, state, events, 0.0, restart=sweep % 2 == 0)
        level = log_posterior(ctx.family, ctx.alpha, state.totals)
        if adapt and sweep < _ADAPT_SWEEPS:
            family = ctx.family.adapt(state.totals)
            adapted = log_posterior(family, ctx.alpha, state.totals)
            if adapted > level:
                ctx.family, level = family, adapted
        if progress is not None:
            progress(sweep + 1, state.k, level)
        waited = 0 if level > best + 1.0 else waited + 1
        best = max(best, level)
        if waited >= _PATIENCE and sweep >= _ADAPT_SWEEPS:
            break
    if adapt:
        ctx.family = ctx.family.settled(state.k)
    for _ in range(_SETTLE):
        ctx.engine.keep_labels()
        state = gaussian.deterministic_sweep(ctx, state)
        state = _moves(ctx, plan, state, events, 0.0, greedy=True)
        if ctx.engine.labels_as_kept():
            break
    return state


def later_batch(ctx: Context, plan: Plan, state: State, time: float) -> tuple[State, Events]:
    """Run the loaded batch: some sampled sweeps, then the deterministic one.

    Parameters drawn for the first sweep know nothing of the new points yet. Where a cluster gets
    fewer points than it has parameters the draws are mostly noise, the more so the smaller the
    cluster, and points would flow to the large ones: there the predictives draw the labels.
    """
    events, first_new = Events(), state.next_id
    state = _founded(ctx, plan, state, events, time)
    few = ctx.engine.n_rows < state.k * state.past.shape[2]
    for sweep in range(plan.sweeps):
        sampled = predictive_sweep if few and sweep == 0 else gaussian.restricted_sweep
        state = sampled(ctx, state)
        if sweep == 0 and state.window.forgetting.adaptive:
            state = gaussian.forget(ctx, state)
        state = _moves(ctx, plan, state, events, time)
    state = gaussian.deterministic_sweep(ctx, state)
    state = _moves(ctx, plan, state, events, time, greedy=True, restart=False)
    return _renumbered(state, events, first_new)


def _founded(ctx: Context, plan: Plan, state: State, events: Events, time: float) -> State:
    """Return the clusters, with more where groups of the batch's points make it more probable.

    Where a cluster gets too few points to tell its shape, those of a new class come to several
    old clusters, none of which would divide for its share of them. So groups of points compete
    with the clusters for all points and are merged, with each other or with old ones, while that
    is better. A group knows its own points and draws them to itself, whosever they are: what
    comes of it is kept only if the past foretells the batch better than without any groups.
    This is tried in the batches after a birth, then ever more seldom.
    """
    enough = ctx.family.points_for_a_shape()
    if not (enough and plan.splits and plan.merges):
        return state
    n = ctx.engine.n_rows
    if not (POINTS_A_GROUP * state.k <= n < state.k * enough and _is_due(int(state.lived.min()))):
        return state
    m = min(n // POINTS_A_GROUP, _FOUNDERS)
    if plan.max_clusters is not None:
        m = min(m, plan.max_clusters - state.k)
    if m < 1:
        return state
    first = state.next_id
    without = _swept(ctx, state)
    sample = ctx.engine.sample(ctx.rng.generator, SEED_ROWS)
    groups = over_cluster(ctx.family, sample, m, ctx.rng.generator)
    tried, merges = _swept(ctx, state.found(groups, time)), []
    while True:
        tried, merged = propose_merges(
            ctx, tried, neighbours=MANY_NEIGHBOURS, greedy=True, born_from=first
        )
        if not merged:
            break
        merges += merged
    if foresight(ctx, tried) <= foresight(ctx, without):
        return state
    events.merges += merges
    return tried


def _swept(ctx: Context, state: State) -> State:
    """Return the clusters after a first sweep by predictives."""
    state = predictive_sweep(ctx, state)
    if state.window.forgetting.adaptive:
        state = gaussian.forget(ctx, state)
    return drop_forgotten(ctx, state)


def foresight(ctx: Context, state: State) -> float:
    """Return the log-probability of the present points and their labels given the past."""
    past = state.past.sum(axis=1)
    with_past = past[past[:, 0] > 0.0]
    before = log_posterior(ctx.family, ctx.alpha, with_past) if len(with_past) else 0.0
    return log_posterior(ctx.family, ctx.alpha, state.totals) - before


def _is_due(calm: int) -> bool:
    """Whether founders are tried, so many batches after a cluster was born."""
    return calm & (calm - 1) == 0 or calm % _SELDOM == 0


def _renumbered(state: State, events: Events, first: int) -> tuple[State, Events]:
    """Return the clusters with ids from ``first`` on used without gaps, and so the events."""
    if state.next_id == first:
        return state, events
    lasting = sorted(i for i in state.ids.tolist() if i >= first)
    name = dict(zip(lasting, range(first, first + len(lasting)), strict=True))

    def renamed(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        known = [pair for pair in pairs if all(i < first or i in name for i in pair)]
        return [(name.get(a, a), name.get(b, b)) for a, b in known]

    ids = np.array([name.get(i, i) for i in state.ids.tolist()])
    events = Events(renamed(events.splits), renamed(events.merges))
    return state.having(ids=ids, next_id=first + len(lasting)), events


def log_posterior(
    family: Family, alpha: float, totals: Array, log_marginal: Array | None = None
) -> float:
    """Return the log of the joint density of a partition and the data, base measure aside.

    The clusters' log marginals (k,) are computed unless they are given.
    """
    if log_marginal is None:
        log_marginal = family.log_marginal(totals)
    return float(mixture.log_joint(totals, log_marginal, alpha))


def _moves(
    ctx: Context, plan: Plan, state: State, events: Events, time: float, *, greedy: bool = False,
    restart: bool = True,
) -> State:  # fmt: skip
    """Restart sub-clusters, then splits, then merges, then drop what is forgotten."""
    if plan.splits and restart:
        state = gaussian.restart_and_set_apart(ctx, state)
    return _accept(ctx, plan, state, events, time, greedy=greedy)


def _accept(
    ctx: Context, plan: Plan, state: State, events: Events, time: float, *, greedy: bool
) -> State:  # fmt: skip
    """Split, merge and drop clusters as they are divided now."""
    for_merges: Array | None
    for_splits, for_merges = log_u = decisions(ctx, state.k, greedy=greedy)
    if not gaussian.anything_to_do(ctx, state, log_u):
        return state
    if plan.splits:
        room = None if plan.max_clusters is None else plan.max_clusters - state.k
        state, split = propose_splits(ctx, state, time, room=room, greedy=greedy, log_u=for_splits)
        events.splits += split
        if split:
            for_merges = None  # other clusters than those they were drawn for
    if plan.merges:
        state, merged = propose_merges(ctx, state, greedy=greedy, log_u=for_merges)
        events.merges += merged
    return drop_forgotten(ctx, state)
