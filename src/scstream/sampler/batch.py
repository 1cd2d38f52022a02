"""One batch: the order of its steps, and when the first batch has converged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from scstream.families.contract import Family
from scstream.families.heavy_tails import found_no_tails, has_heavy_tails
from scstream.sampler import forgetting
from scstream.sampler.background import found_in_background, give_up, learned, log_background
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.dormant import Dormant
from scstream.sampler.initialise import turned_start
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Events, Plan, Progress
from scstream.sampler.single_points import move_single_points
from scstream.sampler.split_merge import (
    decisions,
    drop_forgotten,
    keep_names,
    may_move,
    overlapping,
    propose_merges,
    propose_splits,
)
from scstream.sampler.subclusters import seek_subclusters
from scstream.sampler.sweep import last_sweep, predictive_sweep, restricted_sweep


class Converged(NamedTuple):
    """Clusters that have converged, and by how much their log posterior grew since a sweep."""

    state: State
    gain: float


class Course(NamedTuple):
    """How a first batch converges.

    Attributes
    ----------
    adapt : bool
        Whether the prior follows the clusters meanwhile, where the family leaves something open.
    again : bool
        Whether the clusters have converged on other rows before: then calm is soon believed.
    progress : Progress or None
        Is told of each sweep.
    sample : bool
        Whether the rows are a sample, so that all rows are swept afterwards.
    turn : bool
        Whether another start is sought from what the clusters turned out to be.
    """

    adapt: bool
    again: bool = False
    progress: Progress | None = None
    sample: bool = False
    turn: bool = False


def first_batch(steps: Context, plan: Plan, start: State, course: Course) -> State:
    """Run the sampler on the loaded batch to convergence and to its best labels; see `converge`."""
    state, events, rules = converge(steps, plan, start, course).state, Events(), steps.rules
    if found_no_tails(steps.family):
        return state
    if course.adapt:
        _learned_tails(steps, state, rules.seed_rows)
    if course.adapt:
        steps.family = steps.family.settled(state.k)
    few = int(rules.settled_share * steps.engine.n_rows)
    for _ in range(rules.settle_sweeps):
        steps.engine.keep_labels()
        state = last_sweep(steps, state)
        if plan.splits:
            state = seek_subclusters(steps, state)
        state = split_merge_and_drop(steps, plan, state, events, 0.0, greedy=True)
        if steps.engine.labels_changed() <= few:
            break
    return state


def converge(steps: Context, plan: Plan, start: State, course: Course) -> Converged:
    """Run sampled sweeps of the loaded batch from the given clusters, until nothing grows better.

    And once more, if they were told apart more simply so far (`Family.simplified`). If the clusters
    that come of it lead to a start that is better still, all is done from there.
    """
    found = _swept(steps, plan, start, course)
    family = steps.family.simplified(False)
    if family is not steps.family:
        steps.family = family.adapt(found.state.totals)
        found = _swept(steps, plan, found.state, course)
    moves = plan.splits and plan.merges and steps.outliers is None
    if not (course.turn and moves) or found_no_tails(steps.family):
        return found
    state, better = turned_start(steps, plan, found.state)
    return _swept(steps, plan, state, course) if better else found._replace(state=state)


def _swept(steps: Context, plan: Plan, start: State, course: Course) -> Converged:
    """Run the sweeps.

    Clusters of a sample, or of one before, that no sweep splits or merges from the first one on are
    soon believed. What else would change is which labels are drawn where clusters touch.

    Where the prior follows the clusters ``steps.family`` is replaced. Sweeps end as soon as rows
    turn out to have no heavy tails.
    """
    state, events, rules = start, Events(), steps.rules
    adapt, again, progress, sample, _ = course
    best, waited, calm, moves, begin = -np.inf, 0, 0, 0, -np.inf
    none = int(found_no_tails(steps.family))  # looks in a row that showed no heavy tails
    patience = rules.patience_again if again else rules.patience
    gain = max(rules.gain_again * steps.engine.n_rows, 1.0) if again else 1.0
    least_sweeps = 0 if again else rules.adapt_sweeps
    state, _ = give_up(steps, state)
    for sweep in range(plan.max_sweeps):
        state = restricted_sweep(steps, state)
        if plan.splits and sweep % 2 == 0:
            state = seek_subclusters(steps, state)
        state = split_merge_and_drop(steps, plan, state, events, 0.0)
        if rules.single_points:
            state = move_single_points(steps, state, 0.0)
        calm = 0 if len(events.splits) + len(events.merges) > moves else calm + 1
        moves = len(events.splits) + len(events.merges)
        settled = max(calm, waited - rules.patience // 2) >= rules.calm
        if adapt and settled and steps.family.weighs_rows:
            best = -np.inf if _learned_tails(steps, state, rules.heavy_rows) else best
            none = none + 1 if found_no_tails(steps.family) else 0
            if none >= rules.calm:
                break
        level = log_level(steps, steps.family, state)
        if adapt and sweep < rules.adapt_sweeps:
            family = steps.family.adapt(state.totals)
            adapted = log_level(steps, family, state)
            if adapted > level:
                steps.family, level = family, adapted
        if progress is not None:
            progress(sweep + 1, state.k, level)
        waited = 0 if level > best + gain else waited + 1
        best = max(best, level)
        begin = level if sweep == 0 else begin
        untouched = (sample or again) and calm > sweep and calm >= rules.patience_again
        if untouched or (waited >= patience and sweep >= least_sweeps):
            break
    return Converged(state, best - begin)


def _learned_tails(steps: Context, state: State, n_rows: int) -> bool:
    """Let the tails suit the clusters, which have settled; returns whether that changed much.

    At most ``n_rows`` rows are looked at. While there are pieces of clusters, which have no tails,
    nothing is learned from them.
    """
    before = steps.family.tails
    if before is None or not before.active:
        return False
    rows = steps.engine.sample(steps.rng, n_rows)
    family = before.after(rows, state.totals, steps.rules.tail_first, first=True)
    steps.family = family
    return family.tails.differ_from(before)


def later_batch(
    steps: Context, plan: Plan, state: State, time: float, dormant: Dormant | None = None
) -> tuple[State, Events]:
    """Run the loaded batch: sampled sweeps, then the deterministic one.

    Of a batch without rows clusters that are forgotten are dropped.
    """
    events, first_new, before = Events(), state.next_id, state
    if steps.engine.n_rows == 0:
        return drop_forgotten(steps, state), events
    state = found_in_background(steps, plan, state, time)
    state = _sampled(steps, plan, state, events, time)
    split = len(events.splits)
    state = last_sweep(steps, state)
    state = split_merge_and_drop(steps, plan, state, events, time, greedy=True)
    if len(events.splits) > split:  # of shared points: each gets its best label
        state = drop_forgotten(steps, last_sweep(steps, state))
    if dormant is not None and len(dormant.ids):  # what comes back did not move there
        state, events.returns = dormant.reunite(steps, state)
    if events.splits:
        state, events.moves = keep_names(steps, before, state, events.splits)
    return _renumbered(state, events, first_new)


def _sampled(steps: Context, plan: Plan, state: State, events: Events, time: float) -> State:
    """Run the sampled sweeps, some more while clusters become more.

    Where a cluster gets fewer points than it has parameters draws of these are mostly noise, the
    more so the smaller the cluster, and points would flow to the large ones: there the predictives
    draw the labels.
    """
    before, _, p = state.past.shape
    few = steps.engine.n_rows < before * p
    sweep, most = 0, plan.sweeps + steps.rules.more_sweeps
    while sweep < plan.sweeps or (sweep < most and state.k > before):
        before = state.k
        state = (predictive_sweep if few else restricted_sweep)(steps, state)
        forget = None
        if sweep == 0 and state.window.forgetting.adaptive:
            forget = partial(_forget, steps)
        if forget is not None and (has_heavy_tails(steps.family) or not plan.splits):
            state, forget = forget(state), None  # which may sweep again
        if plan.splits:
            state = seek_subclusters(steps, state, forget)
        state = split_merge_and_drop(steps, plan, state, events, time)
        sweep += 1
    return state


def _forget(steps: Context, state: State) -> State:
    """Let clusters that changed forget, and look at their rows from where they are now.

    Where tails are heavy, rows had weights by the places that clusters had before the batch. Seen
    from a place that it has left a cluster looks like two. So weights are found anew, as long as
    something is forgotten: with the sweep before, in as many rounds as those of pairs.
    """
    after = forgetting.forget(steps, state)
    rounds = steps.rules.weight_rounds if has_heavy_tails(steps.family) else 1
    for _ in range(rounds - 1):
        if after is state:
            break
        state = restricted_sweep(steps, after)
        after = forgetting.forget(steps, state)
    return after


def redraw_for_memory(steps: Context, state: State) -> State:
    """Return the clusters as they are remembered, once a batch's labels have been handed out.

    Best labels cut clusters that overlap. What many rows would teach then is not their shapes but
    where they were cut. Drawn labels would show that the next batch differs from it, and the past
    would be forgotten. So where forgetting adapts these learn from one more draw of the labels.
    """
    many = steps.engine.n_rows >= steps.rules.drawn_rows
    if not (many and state.window.forgetting.adaptive):
        return state
    overlap = overlapping(steps, state)
    return state if overlap is None or not overlap.any() else restricted_sweep(steps, state)


def split_merge_and_drop(
    steps: Context, plan: Plan, state: State, events: Events, time: float, *, greedy: bool = False
) -> State:
    """Split, merge and drop clusters as they are divided now.

    The best labels cut a heavy tail off where another cluster begins, and what is left of it looks
    like more than one: greedy moves split no such clusters.
    """
    log_u = steps.log_uniforms((1 + steps.rules.neighbours) * state.k, greedy=greedy)
    if learned(steps) is None and not may_move(steps, state, log_u, greedy=greedy):
        return state
    for_splits, for_merges = decisions(steps, state, log_u, greedy=greedy)
    if plan.splits and not (greedy and has_heavy_tails(steps.family)):
        room = None if plan.max_clusters is None else plan.max_clusters - state.k
        state, split = propose_splits(
            steps, state, time, room=room, greedy=greedy, log_u=for_splits
        )
        events.splits += split
    if plan.merges:
        still = state.k == len(for_splits)  # if not, these are other clusters than decided about
        state, merged = propose_merges(
            steps, state, greedy=greedy, log_u=for_merges if still else None
        )
        events.merges += merged
    state, gone = give_up(steps, drop_forgotten(steps, state))
    events.given_up += gone
    return state


def log_level(steps: Context, family: Family, state: State) -> float:
    """Return the log posterior of clusters and background under a family."""
    level = log_posterior(family, steps.alpha, state.totals)
    return level + log_background(steps, family, state)


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
    events = replace(
        events,
        splits=renamed(events.splits),
        merges=renamed(events.merges),
        moves=renamed(events.moves),
    )
    return state.having(ids=ids, next_id=first + len(lasting)), events
