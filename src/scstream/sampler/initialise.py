"""Where the first batch starts from: deliberately many clusters, or labels that are given."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from scstream.engines import Engine
from scstream.families.contract import Array, Family
from scstream.families.gaps import filled_rows
from scstream.families.scale_mixture import row_score
from scstream.families.scores import Labels, LinearScore, Points
from scstream.sampler.clusters import State, heavier
from scstream.sampler.context import Context
from scstream.sampler.forgetting import needs_completing
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Plan
from scstream.sampler.seeding import (
    enough_groups,
    in_deviations_within,
    informative_columns,
    over_cluster,
)
from scstream.sampler.split_merge import drop_forgotten, propose_merges
from scstream.sampler.subclusters import restart
from scstream.sampler.sweep import best_labels, deterministic_sweep
from scstream.sampler.window import Forgetting


class _Start(NamedTuple):
    """Clusters to start from, their prior, the log posterior, and that plus label entropy."""

    level: float
    evidence: float
    state: State
    family: Family


class Seeds(NamedTuple):
    """Small groups of rows that a start is merged from.

    Attributes
    ----------
    rows : rows that they were made from
    size : int
        How many are usual, at most.
    groups : ndarray (k, p)
        Their statistics.
    """

    rows: Points
    size: int
    groups: Array

    @property
    def many(self) -> bool:
        """Whether the usual number would not have done."""
        return len(self.groups) > self.size


def first_seeds(steps: Context, *, adapt: bool = True) -> Seeds:
    """Return groups of the loaded batch, by what they are told apart by at first."""
    steps.family = steps.family.simplified(True)
    return _seeds(steps, adapt=adapt)


def start_over_clustered(
    steps: Context, plan: Plan, forgetting: Forgetting, *, adapt: bool, seeds: Seeds | None = None
) -> State:
    """Return the loaded batch in deliberately many clusters, then merged while that is better.

    On the way the prior follows the clusters, if it may. Should they be left with too few points
    to show their shapes, all is done again under a prior that takes them for alike. What they are
    told apart by at first, see `Family.simplified`, it is until they have converged.

    It starts from the given groups, see `first_seeds`, or else makes them.
    """
    if seeds is None:
        seeds = first_seeds(steps, adapt=adapt)
    state = merged_start(steps, plan, forgetting, adapt=adapt, seeds=seeds)
    if adapt and _is_sparse(steps, state):
        alike = steps.family.alike()
        if alike is not steps.family:
            steps.family = alike
            state = merged_start(steps, plan, forgetting, adapt=True)
    return restart(steps, state, np.ones(state.k, dtype=bool))


def _is_sparse(steps: Context, state: State) -> bool:
    """Whether most points are in clusters with too few of them to show a shape."""
    n = state.totals[:, 0]
    few = n[heavier(steps.family.points_for_a_shape(), n)]
    return bool(heavier(2.0 * few.sum(), n.sum()))


def merged_start(
    steps: Context, plan: Plan, forgetting: Forgetting, *, adapt: bool, seeds: Seeds | None = None
) -> State:
    """Return the best of some starts, with its prior: merged from small groups, or from a few.

    Where clusters differ in a few of many columns, small groups are mixed: chance neighbours in
    all the others. The few groups are made by the most informative columns.
    """
    family, rules, rng = steps.family, steps.rules, steps.rng
    sample, size, small = seeds or _seeds(steps, adapt=adapt)
    groups, weight = [small], None
    for _ in range(rules.starts - 1 if family.real and not family.weighs_rows else 0):
        groups.append(over_cluster(family, sample, len(small), rng))
    if family.real and size > rules.few_seeds:
        weight = informative_columns(family.embed(sample), rules)
    if weight is not None:
        E = family.embed(sample) * weight
        groups.append(over_cluster(family, sample, rules.few_seeds, rng, E))
    best: _Start | None = None
    steps.engine.by_groups(True)
    for start in groups:
        steps.family = family.adapt(start) if adapt else family
        best = _merged_down(steps, plan, State.start(forgetting, start, 0.0, 0), best, adapt=adapt)
    assert best is not None
    steps.family = best.family
    steps.engine.by_groups(False)
    steps.engine.restore_labels()
    return best.state


def turned_start(steps: Context, plan: Plan, state: State) -> tuple[State, bool]:
    """Return a start more probable than the clusters that a batch converged to, and if there is.

    Where clusters are long in the directions of noise, neighbours in all columns are so by chance,
    and a cluster that is two in one column looks like one in all. So groups are made by distances
    in the deviations within the clusters that were found, and merged, and so on while they become
    more probable: each time more of the noise is gone. If none is, the clusters are what they were.

    Rows with gaps are completed by the groups that they are in, and more probable the more of these
    there are: starts of such rows cannot be compared.
    """
    family, rules, rng = steps.family, steps.rules, steps.rng
    sample, size = _sample(steps, np.random.default_rng(0))  # round clusters cost no draw
    if not family.real or size <= rules.few_seeds or needs_completing(steps):
        return state, False
    E, best = family.embed(sample), _Start(-np.inf, -np.inf, state, family)
    turned = in_deviations_within(E, _labels(steps, best, sample), rules)
    if turned is None:
        return state, False
    steps.engine.keep_labels()
    level = log_posterior(family, steps.alpha, deterministic_sweep(steps, state).totals)
    found, best = level, best._replace(level=level)
    for _ in range(rules.turns):
        m = min(size, rules.few_seeds + rules.points_a_group * best.state.k)
        groups = over_cluster(family, sample, m, rng, turned)
        steps.family, before = family.adapt(groups), best.level
        clusters = State.start(state.window.forgetting, groups, 0.0, 0)
        best = _merged_down(steps, plan, clusters, best, adapt=True)
        turned = in_deviations_within(E, _labels(steps, best, sample), rules)
        if turned is None or best.level < before + rules.turn_gain:
            break
    steps.family = best.family
    steps.engine.restore_labels()
    return restart(steps, best.state, np.ones(best.state.k, dtype=bool)), best.level > found


def _seeds(steps: Context, *, adapt: bool) -> Seeds:
    """Return groups of the loaded batch; more than usual if clusters are, and the prior adapts."""
    rules, rng = steps.rules, steps.rng
    sample, size = _sample(steps, rng)
    most = size
    if adapt and size == rules.seeds and steps.family.rounding is None:
        most = max(sample.shape[0] // rules.points_a_group, size)
    return Seeds(
        sample, size, enough_groups(steps.family, sample, (size, most), rng, steps.alpha, rules)
    )


def _sample(steps: Context, rng: np.random.Generator) -> tuple[Points, int]:
    """Return rows that groups are made from, and how many groups at most."""
    rules = steps.rules
    sample = filled_rows(steps.family, steps.engine.sample(rng, rules.seed_rows))
    return sample, max(1, min(steps.engine.n_rows // rules.points_a_group, rules.seeds))


def _labels(steps: Context, start: _Start, X: Points) -> Labels:
    """Return the clusters of rows, numbered from 0 without gaps."""
    best = best_labels(start.family, start.state, steps.alpha, X)
    return np.unique(best, return_inverse=True)[1]


def _merged_down(
    steps: Context, plan: Plan, state: State, best: _Start | None, *, adapt: bool
) -> _Start:
    """Return groups of the loaded batch, merged while that is better, or the best start so far.

    A wider prior calls for more merges and these for a wider prior, so the last step is not always
    the best: the most probable one is taken, with its prior. The engine keeps its labels.

    In one column groups may be slices of a cluster. No two of them merge: together they are a
    wider slice, which is no more like a cluster than they were. So they are merged all the same, a
    quarter at a time. The log posterior is that of sharp labels; with the entropy about them it is
    about that of the rows alone, by which fewer clusters that say the same are more probable.
    """
    forced, rules, d = False, steps.rules, steps.family.columns_taken()
    if best is None:
        best = _Start(-np.inf, -np.inf, state, steps.family)
        steps.engine.keep_labels()
    while True:
        state = drop_forgotten(steps, deterministic_sweep(steps, state))
        if adapt:
            steps.family = steps.family.adapt(state.totals)
        excess = 0 if plan.max_clusters is None else max(state.k - plan.max_clusters, 0)
        level = log_posterior(steps.family, steps.alpha, state.totals) if excess == 0 else -np.inf
        evidence = level + float(np.triu(state.now.entropy, 1).sum())
        if evidence >= best.evidence if forced else level >= best.level:
            best = _Start(level, evidence, state, steps.family)
            steps.engine.keep_labels()
        if not plan.merges:
            break
        merges = partial(propose_merges, steps, neighbours=rules.many_neighbours, greedy=True)
        state, merged = merges(state, must_go=excess)
        if not merged and d is not None and d <= rules.sliced_columns:
            forced = True
            state, merged = merges(state, must_go=-(-state.k // 4))
        if not merged:
            break
    return best


def start_from_labels(
    steps: Context, forgetting: Forgetting, labels: Labels, *, adapt: bool
) -> State:
    """Return the loaded batch in the given clusters, numbered from 0 without gaps.

    The prior follows them at once, if it may: under one that knows nothing they might merge.
    """
    k = int(labels.max()) + 1
    steps.engine.start(labels)
    clusters = sums_of_clusters(steps.family, steps.engine, k, steps.rules.complete_rounds)
    if adapt:
        steps.family = steps.family.adapt(clusters)
    state = State.start(forgetting, clusters, 0.0, 0)
    return restart(steps, state, np.ones(k, dtype=bool))


def sums_of_clusters(family: Family, engine: Engine, k: int, rounds: int) -> Array:
    """Return the statistics (k, p) of the loaded rows by their labels.

    Missing entries are completed by the clusters themselves, some rounds.
    """
    undivided = LinearScore(np.zeros((2 * k, len(family.prior))))
    current, _ = engine.resplit(undivided, np.ones(k, dtype=bool))
    for _ in range(rounds if engine.has_gaps() else 0):
        engine.complete(row_score(family, current.sum(axis=1), np.zeros(k)))
        current, _ = engine.resplit(undivided, np.ones(k, dtype=bool))
    out: Array = current.sum(axis=1)
    return out
