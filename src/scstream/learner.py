"""What the model keeps between batches, and how a batch changes it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from scstream.chain import (
    Events,
    Plan,
    Progress,
    first_batch,
    later_batch,
    log_posterior,
    start_from_labels,
    start_over_clustered,
)
from scstream.engines import Engine
from scstream.families import Family
from scstream.families.base import Array
from scstream.families.scores import Labels, Points
from scstream.moves import drop_forgotten
from scstream.records import BatchRecord
from scstream.state import Ints, State
from scstream.sweep import Context, Outliers
from scstream.window import Forgetting


@dataclass(frozen=True)
class Batch:
    """A checked batch: rows, their weights and the time; labels if the user gives a start."""

    X: Points
    weight: Array
    time: float
    labels: Labels | None = None


@dataclass(frozen=True)
class Early:
    """A batch that is kept while the model has seen too few rows to trust its prior."""

    batch: Batch
    ids: Labels


@dataclass(frozen=True)
class Recipe:
    """What the user asked for: all that shapes the learning besides the data."""

    family: Family
    alpha: float
    forgetting: Forgetting
    plan: Plan
    outlier_weight: float
    progress: Progress | None


@dataclass(frozen=True)
class Learner:
    """A model between two batches. Immutable: a batch makes a new one.

    Attributes
    ----------
    family : Family
        Prepared; its prior does not change once enough rows were seen.
    state : State
    rng : numpy.random.Generator
        Never advanced in place.
    seed : int
        Keys the draws of labels.
    outliers : Outliers or None
    time : float
    n_batches : int
    early : tuple of Early
        The first rows, until there are enough of them; then empty.
    """

    family: Family
    state: State
    rng: np.random.Generator
    seed: int
    outliers: Outliers | None
    time: float
    n_batches: int
    early: tuple[Early, ...]


@dataclass(frozen=True)
class Outcome:
    """What a batch came to: its labels (ids), sub-labels, and a record of events."""

    labels: Labels
    sublabels: Labels
    record: BatchRecord


def learn(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome]:
    """Return the model after a batch; ``make_rng`` starts the randomness of a new one."""
    if learner is None or learner.early:
        return _learn_first(learner, batch, recipe, engine, make_rng)
    rng = copy.deepcopy(learner.rng)
    ctx = Context(
        learner.family, engine, rng, recipe.alpha, learner.seed, learner.n_batches, learner.outliers
    )
    engine.load(ctx.family, batch.X, batch.weight)
    state = learner.state.advance(batch.time)
    events = Events()
    if batch.X.shape[0] == 0:
        state = drop_forgotten(ctx, state)
    elif state.totals[:, 0].sum() < 1.0:  # all is forgotten: begin again, under the same prior
        fresh = start_over_clustered(ctx, recipe.plan, recipe.forgetting, adapt=False)
        fresh = first_batch(ctx, recipe.plan, fresh, adapt=False, progress=recipe.progress)
        state = _numbered(ctx, fresh, batch.time, state.next_id)
    else:
        state, events = later_batch(ctx, recipe.plan, state, batch.time)
    new = replace(
        learner,
        state=state.settle(batch.time),
        rng=rng,
        time=batch.time,
        n_batches=learner.n_batches + 1,
    )
    return new, _outcome(ctx, learner, new, batch, events)


def _learn_first(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome]:
    """Return the model of all rows so far, its prior set from them."""
    early = () if learner is None else learner.early
    kept = [e.batch for e in early] + [batch]
    X = _stack([b.X for b in kept])
    ages = [batch.time - b.time for b in kept]
    weight = np.concatenate(
        [b.weight * _age_weight(recipe.forgetting, age) for b, age in zip(kept, ages, strict=True)]
    )
    if not np.any(weight > 0):
        raise ValueError("The first batch needs at least one row with a positive weight.")
    rng = make_rng() if learner is None else copy.deepcopy(learner.rng)
    seed = int(rng.integers(2**63)) if learner is None else learner.seed
    n_batches = 0 if learner is None else learner.n_batches
    family = recipe.family.prepare(X)
    outliers = None
    if recipe.outlier_weight > 0:
        sums = np.asarray(family.statistics(X).T @ weight)[None, :]
        outliers = Outliers(recipe.outlier_weight, sums)
    ctx = Context(family, engine, rng, recipe.alpha, seed, n_batches, outliers)
    engine.load(family, X, weight)
    if batch.labels is not None:
        start = start_from_labels(ctx, recipe.forgetting, batch.labels)
    else:
        start = start_over_clustered(ctx, recipe.plan, recipe.forgetting, adapt=True)
    state = first_batch(ctx, recipe.plan, start, adapt=True, progress=recipe.progress)
    state = _numbered(ctx, state, batch.time, 0)
    if learner is not None:
        state = _renamed(state, engine.labels, np.concatenate([e.ids for e in early]), learner)
    new = Learner(
        ctx.family,
        state.settle(batch.time),
        rng,
        seed,
        outliers,
        batch.time,
        n_batches + 1,
        early=(),
    )
    outcome = _outcome(ctx, learner, new, batch, Events())
    if X.shape[0] < enough_rows(X.shape[1]):
        new = replace(new, early=(*early, Early(replace(batch, labels=None), outcome.labels)))
    return new, outcome


def enough_rows(d: int) -> int:
    """Return how many rows of d columns set the prior for good."""
    return max(20, 4 * d)


def _age_weight(forgetting: Forgetting, age: float) -> float:
    if forgetting.kernel is None or age == 0:
        return forgetting.decay(age)
    return float(forgetting.weights(np.array([age]))[0])


def _stack(parts: list[Points]) -> Points:
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _numbered(ctx: Context, state: State, time: float, first_id: int) -> State:
    """Return clusters just born, the heaviest first, numbered from ``first_id``."""
    order = np.argsort(-state.totals[:, 0], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    same = np.tile(np.array([0, 1]), (len(order), 1))
    ctx.engine.relabel(np.repeat(place[:, None], 2, axis=1), same)
    state = state.select(order)
    k = state.k
    return replace(
        state, ids=first_id + np.arange(k), born=np.full(k, time), next_id=first_id + k
    )


def _renamed(state: State, labels: Labels, old_ids: Ints, learner: Learner) -> State:
    """Return the clusters with the ids, and births, of the old ones that share most points."""
    before = learner.state
    known = labels[: len(old_ids)]
    both = (known >= 0) & (old_ids >= 0)
    old = np.searchsorted(np.sort(before.ids), old_ids[both])
    old = np.argsort(before.ids)[old]
    shared = np.zeros((state.k, before.k))
    np.add.at(shared, (known[both], old), 1.0)
    mine, theirs = linear_sum_assignment(-shared)
    overlap = shared[mine, theirs] > 0
    mine, theirs = mine[overlap], theirs[overlap]
    new = np.ones(state.k, dtype=bool)
    new[mine] = False
    ids, born = state.ids.copy(), state.born.copy()
    ids[mine], born[mine] = before.ids[theirs], before.born[theirs]
    ids[new] = before.next_id + np.arange(new.sum())
    return replace(state, ids=ids, born=born, next_id=before.next_id + int(new.sum()))


def _outcome(
    ctx: Context, before: Learner | None, after: Learner, batch: Batch, events: Events
) -> Outcome:
    """Return labels as ids and what happened to clusters, seen from outside the batch."""
    n = batch.X.shape[0]
    z = ctx.engine.labels
    z = z[len(z) - n :]
    ids = np.append(after.state.ids, -1)[z]
    old = set() if before is None else set(before.state.ids.tolist())
    new = set(after.state.ids.tolist())
    record = BatchRecord(
        batch=after.n_batches - 1,
        time=batch.time,
        n_points=n,
        n_clusters=after.state.k,
        log_posterior=log_posterior(ctx.family, ctx.alpha, after.state.totals),
        births=tuple(sorted(new - old)),
        deaths=tuple(sorted(old - new)),
        splits=tuple(pair for pair in events.splits if pair[1] in new),
        merges=tuple(pair for pair in events.merges if pair[1] in old),
    )
    sub = ctx.engine.sublabels
    return Outcome(ids, sub[len(sub) - n :].copy(), record)
