"""A first batch: the prior is set from all rows so far, and clusters are found from nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from scstream.engines import CpuEngine, Engine
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.heavy_tails import NORMAL, found_no_tails, has_heavy_tails
from scstream.families.scores import Labels, Points
from scstream.sampler.announcing import announce_long_start, announce_memory
from scstream.sampler.background import arisen, arising, everything, left_after, tells_noise
from scstream.sampler.batch import Course, first_batch, redraw_for_memory
from scstream.sampler.challenger import Draws, prior_for
from scstream.sampler.clusters import EQUAL, Ints, State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.dormant import Dormant
from scstream.sampler.initialise import start_from_labels, start_over_clustered
from scstream.sampler.learned import Learner, Outcome, labelled, outcome_of
from scstream.sampler.recipe import Batch, Events, Recipe
from scstream.sampler.rows import load_rows, some_rows
from scstream.sampler.sampled_start import sample_sizes, start_from_samples
from scstream.sampler.scores import Sketch, first_scores
from scstream.sampler.stability import stable
from scstream.sampler.sweep import deterministic_sweep
from scstream.sampler.warmup import (
    KeptBatch,
    is_over,
    joined,
    keep,
    moved_on,
    remembered,
    same_clusters,
)
from scstream.support.generators import copied
from scstream.support.threads import threads_allowed

_SAME = 0.5  # of the rows of two clusters, more than which they share if they are the same


def learn_first(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
    had: Labels | None = None,
) -> tuple[Learner, Outcome] | None:
    """Return the model of all rows so far that are not forgotten, its prior set from them.

    ``had`` are the ids (n,) that rows of the batch have by a model that is to begin anew: a cluster
    of the same rows is the same.

    None if these rows are better not taken together, since clusters move: then the clusters of
    the rows before, which could stand alone, had better be followed.
    """
    before, ages = remembered(learner.warmup if learner else (), batch.time, recipe.forgetting)
    kept, rules = [*(e.batch for e in before), batch], recipe.rules
    X, weight = joined(kept, [*ages, 1.0])
    rng = make_rng() if learner is None else copied(learner.rng)
    seed = int(rng.integers(2**63)) if learner is None else learner.seed
    n_batches = 0 if learner is None else learner.n_batches
    family = recipe.open_family()
    family = family.prepare(some_rows(X, rules.prior_rows))
    if batch.labels is None:
        n, p = next(iter(sample_sizes(X.shape[0], rules)), X.shape[0]), len(family.prior)
        announce_memory(n, p, rules)
        if recipe.progress is None:
            announce_long_start(X, n, p, rules)
    old_ids = np.concatenate([np.zeros(0, dtype=np.int64), *(e.ids for e in before)])
    draws = rng, seed, n_batches
    steps, state = begun(family, engine, draws, recipe, batch.labels, X, weight, old_ids)
    if batch.whole and batch.labels is None:
        state = stable(steps, state, X, weight, recipe, partial(fitted, draws, recipe))
    state = _numbered(engine, state, batch.time, 0)
    again = False
    if learner is not None:
        known = engine.first_labels(len(old_ids))
        again = _are_known(steps, state, old_ids)
        alone = len(known) >= recipe.family.enough_rows(X.shape[1])
        if alone and moved_on(known, state.now.rows.sum(axis=1), rules):
            return None
        state = _renamed(state, known, old_ids, learner)
    if had is not None and learner is not None:
        state = _renamed(state, engine.first_labels(len(had)), had, learner, _SAME)
    state, dormant, events = _reunited(learner, steps, state)
    labels = labelled(steps, state, batch)
    here = isinstance(X, np.ndarray) or sparse.issparse(X)
    warmup: tuple[KeptBatch, ...] = ()
    if here and batch.labels is None and not is_over(X.shape[0], batch, recipe, again=again):
        warmup = keep(kept, np.append(state.ids, -1)[engine.labels])
    state = redraw_for_memory(steps, state)
    new = Learner(
        steps.family,
        state.settle(batch.time),
        steps.rng,
        seed,
        recipe.alpha,
        left_after(steps, state),
        batch.time,
        0.0,
        n_batches + 1,
        dormant,
        Sketch.nothing(),
        warmup,
    )
    scores = first_scores(new, X, weight, rules)
    new = replace(new, scores=scores if batch.alike == 1.0 else scores.faded(1.0 / batch.alike))
    outcome = outcome_of(steps, learner, new, batch, events, state, labels, recipe)
    return replace(new, latest=outcome.rows), outcome


def begun(
    family: Family, engine: Engine, draws: Draws, recipe: Recipe,
    labels: Labels | None, X: Points, weight: Array, old_ids: Labels,
) -> tuple[Context, State]:  # fmt: skip
    """Return the steps of a batch and the clusters that they found, see `_found`.

    Draws are by a copy of a generator, a seed and the number of the batch. If clusters turn out to
    have no heavy tails all is done again without weights of rows, the draws included.
    """

    def once(family: Family) -> tuple[Context, State]:
        rng, seed, n_batches = draws
        load_rows(engine, family, X, weight, n_batches)
        outliers = _outliers(engine, family, recipe, X.shape[1])
        steps = Context(
            family, engine, copied(rng), recipe.alpha, seed, n_batches, outliers, recipe.rules
        )
        return steps, _found(steps, recipe, labels, X, weight, old_ids)

    if labels is None:
        family = prior_for(family, draws, recipe, X, weight)
    steps, state = once(family)
    if family.tails is not None and found_no_tails(steps.family):
        return once(family.tails.of(NORMAL))
    return steps, state


def fitted(
    draws: Draws, recipe: Recipe, family: Family, X: Points, weight: Array
) -> tuple[Context, State]:
    """Return the clusters of some rows, learned as a first batch beside what is learned."""
    plain = replace(recipe, outlier_weight=0.0, progress=None)
    none = np.zeros(0, dtype=np.int64)
    return begun(family, CpuEngine(threads_allowed()), draws, plain, None, X, weight, none)


def _found(
    steps: Context, recipe: Recipe, labels: Labels | None, X: Points, weight: Array, old_ids: Labels
) -> State:
    """Return the clusters of the loaded rows X (n, d), from given labels or many groups.

    There is a background beside them, if it is learned and the start shows noise.

    The start is made without one, and noise is in many small pieces there. Later it may be in a few
    wide clusters, which describe many rows of it better than a background does.
    """
    learned, noise = recipe.outlier_weight == "auto", None
    steps.outliers = None if learned else steps.outliers
    sizes = sample_sizes(X.shape[0], steps.rules, heavy=has_heavy_tails(steps.family))
    start, again = None, False
    if labels is not None:
        start = start_from_labels(steps, recipe.forgetting, labels, adapt=True)
    elif sizes:
        start, noise = start_from_samples(steps, recipe, X, weight)
        again = start is not None
        many = max(sizes) >= steps.rules.heavy_rows
        if start is not None and many and found_no_tails(steps.family):
            return start
    if start is None:
        start = start_over_clustered(steps, recipe.plan, recipe.forgetting, adapt=True)
        n, d = X.shape
        again = n >= recipe.alone_rows(d) and _are_known(steps, start, old_ids)
    if learned:
        steps.outliers = arisen(steps, X, noise)
    if learned and noise is None:
        steps.outliers, _ = arising(steps, deterministic_sweep(steps, start), X)
    course = Course(True, again, recipe.progress, turn=labels is None and not again)
    return first_batch(steps, recipe.plan, start, course)


def _are_known(steps: Context, state: State, old_ids: Labels) -> bool:
    """Whether the first rows are in the clusters that they were in before, by their ids then."""
    if len(old_ids) == 0:
        return False
    return same_clusters(old_ids, steps.engine.first_labels(len(old_ids)), state.k, steps.rules)


def _reunited(
    learner: Learner | None, steps: Context, state: State
) -> tuple[State, Dormant, Events]:
    """Return the clusters with the ids of those that came back, and the dormant ones."""
    events = Events()
    if learner is None:
        return state, Dormant.none(state), events
    dormant = learner.dormant
    if not learner.warmup:
        dormant = dormant.all_asleep(learner.state, steps.rules)
    dormant = dormant.reframed(learner.family, steps.family)
    state, events.returns = dormant.reunite(steps, state)
    return state, dormant.beside(state), events


def _outliers(engine: Engine, family: Family, recipe: Recipe, d: int) -> Outliers | None:
    """Return the component for points that no cluster should take, for a first batch; or None."""
    weight = recipe.outlier_weight
    if weight == 0:
        return None
    if weight != "auto":
        return Outliers(weight, everything(engine, family, recipe.rules))
    if not tells_noise(family):
        raise ValueError(
            f"outlier_weight='auto' cannot distinguish noise from clusters of {family.name!r} "
            f"in {d} columns: it supports 'gaussian' with up to 15 columns, 'diagonal' and "
            "'spherical'. Choose one of these, or give the weight as a number such as 0.01."
        )
    return None  # until there is noise


def _numbered(engine: Engine, state: State, time: float, first_id: int) -> State:
    """Return clusters just born, the heaviest first, numbered from ``first_id``."""
    n = state.totals[:, 0]
    most = max(float(n.max()), 1e-300)  # none may count, if all rows are outliers
    order = np.argsort(-np.round(n / (EQUAL * most)), kind="stable")  # equals stay in order
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    same = np.tile(np.array([0, 1]), (len(order), 1))
    engine.relabel(np.repeat(place[:, None], 2, axis=1), same)
    state = state.select(order)
    k = state.k
    return replace(state, ids=first_id + np.arange(k), born=np.full(k, time), next_id=first_id + k)


def _renamed(
    state: State, known: Labels, old_ids: Ints, learner: Learner, least: float = 0.0
) -> State:
    """Return the clusters with the ids, and births, of the old ones that share most points.

    ``known`` are the labels now, and ``old_ids`` the ids before, of rows seen before. Of both more
    than the ``least`` share is the other's.
    """
    before = learner.state
    both = (known >= 0) & np.isin(old_ids, before.ids)
    old = np.searchsorted(np.sort(before.ids), old_ids[both])
    old = np.argsort(before.ids)[old]
    shared = np.zeros((state.k, before.k))
    np.add.at(shared, (known[both], old), 1.0)
    mine, theirs = linear_sum_assignment(-shared)
    most = np.maximum(shared.sum(axis=1)[mine], shared.sum(axis=0)[theirs])
    overlap = shared[mine, theirs] > least * most
    mine, theirs = mine[overlap], theirs[overlap]
    new = np.ones(state.k, dtype=bool)
    new[mine] = False
    ids, born = state.ids.copy(), state.born.copy()
    ids[mine], born[mine] = before.ids[theirs], before.born[theirs]
    ids[new] = before.next_id + np.arange(new.sum())
    return replace(state, ids=ids, born=born, next_id=before.next_id + int(new.sum()))
