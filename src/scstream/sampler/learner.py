"""What the model keeps between batches, and how a batch changes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from scstream.engines import CpuEngine, Engine, RemoteRows
from scstream.engines.tensors import to_host
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.scores import Labels, Points, Score
from scstream.kernels.draws import Draws, Words
from scstream.records import BatchRecord
from scstream.sampler.announcing import announce_long_start
from scstream.sampler.background import background_of, everything
from scstream.sampler.batch import first_batch, later_batch
from scstream.sampler.choose import choose_steps
from scstream.sampler.clusters import EQUAL, Ints, State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.dormant import Dormant
from scstream.sampler.initialise import (
    start_from_labels,
    start_over_clustered,
)
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Batch, Events, Recipe
from scstream.sampler.rows import some_rows
from scstream.sampler.rules import Rules
from scstream.sampler.scores import Sketch, first_scores, scores_with
from scstream.sampler.split_merge import drop_forgotten
from scstream.sampler.steps import Steps
from scstream.sampler.sweep import deterministic_sweep, next_point
from scstream.sampler.warmup import (
    KeptBatch,
    is_due,
    joined,
    keep,
    kept_with,
    moved_on,
    remembered,
)
from scstream.sampler.window import Forgetting
from scstream.support.frozen import frozen


@frozen
class Learner:
    """A model between two batches. Immutable: a batch makes a new one.

    Attributes
    ----------
    family : Family
        Prepared; once enough rows were seen its prior only follows the clusters, see
        `Family.follow`, until all is forgotten.
    state : State
    rng : ndarray (6,)
        The state of a generator, see `scstream.kernels.draws`. Never advanced in place.
    seed : int
        Keys the draws of labels.
    alpha : float
        That of the last batch.
    outliers : Outliers or None
    time : float
    spacing : float
        The usual time between batches; 0 before the second.
    n_batches : int
    dormant : Dormant
    scores : Sketch
        How expected recent rows were.
    warmup : tuple of KeptBatch
        The first rows, until there are enough of them; then empty.
    """

    family: Family
    state: State
    rng: Words
    seed: int
    alpha: float
    outliers: Outliers | None
    time: float
    spacing: float
    n_batches: int
    dormant: Dormant
    scores: Sketch
    warmup: tuple[KeptBatch, ...]

    def next_point(self) -> tuple[Score, float]:
        """Return how the next point is scored, and what to add for its log density."""
        return next_point(self.family, self.state.totals, self.alpha, self.outliers)


@frozen
class Outcome:
    """What a batch came to: its labels (ids), sub-labels, and a record of events.

    The labels of rows that are elsewhere may be there too.
    """

    labels: Any
    sublabels: Any
    record: BatchRecord


def learn(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome]:
    """Return the model after a batch; ``make_rng`` starts the randomness of a new one.

    Rows without weight teach nothing. They are left out, and labelled by what was learned.
    """
    if not isinstance(batch.X, np.ndarray) and isinstance(batch.X, RemoteRows):
        n, d = batch.X.shape
        begun = learner is not None and not learner.warmup
        if n < (recipe.family.enough_rows(d) if begun else recipe.alone_rows(d)):
            batch = batch.fetched()  # so few rows may have to be kept
    elif not (batch.even or _all_count(batch.weight)):
        return _learn_weighted(learner, batch, recipe, engine, make_rng)
    spacing, n, anew = 0.0, batch.X.shape[0], False
    if learner is not None:
        gap = batch.time - learner.time
        spacing = recipe.new_spacing(learner.spacing, gap, learner.n_batches)
        usual, recipe = recipe, recipe.for_batch(n, gap, spacing)
        if _is_elsewhere(learner, batch, recipe, usual):
            learner, anew = replace(learner, warmup=()), True
    else:
        recipe = recipe.for_batch(n, 0.0, 1.0)
    if learner is None or anew or _begins(learner, batch, recipe):
        first = _learn_first(learner, batch, recipe, engine, make_rng)
        if first is not None:
            return replace(first[0], spacing=spacing), first[1]
        assert learner is not None
        learner = replace(learner, warmup=())
    return _learn_later(learner, batch, recipe, engine, spacing)


def _learn_weighted(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome]:
    """Return the model after a batch some of whose rows do not count."""
    counted = batch.weight > 0
    if learner is None and not counted.any():
        raise ValueError(
            "Every row of the first batch has weight zero: there is nothing to learn from. "
            "Give at least one row a positive sample_weight."
        )
    new, outcome = learn(learner, batch.rows(counted), recipe, engine, make_rng)
    return new, _with_the_rest(new, outcome, batch, counted, engine)


def _all_count(weight: Array) -> bool:
    """Whether no row is without weight. Equal weights may share their memory."""
    some = weight[:1] if weight.strides == (0,) else weight
    return bool(some.min(initial=np.inf) > 0.0)


def _learn_later(
    learner: Learner, batch: Batch, recipe: Recipe, engine: Engine, spacing: float
) -> tuple[Learner, Outcome]:
    """Return the model after a batch that finds its prior set and something remembered."""
    if learner.family.narrows:
        learner = _turned(learner, batch, recipe.rules)
    family = learner.family
    _load(engine, family, batch.X, batch.weight, learner.n_batches)
    steps = _steps(
        family, engine, Draws(learner.rng.copy()), learner.seed, learner.n_batches,
        learner.outliers, recipe,
    )  # fmt: skip
    state = _under(learner.state, recipe.forgetting).advance(batch.time)
    kept = float(state.totals[:, 0].sum() / max(learner.state.totals[:, 0].sum(), 1e-300))
    if learner.outliers is not None and learner.outliers.held is not None:
        steps.outliers = background_of(learner.outliers, steps, batch.X, kept)
    if batch.X.shape[0] == 0:
        state, events = drop_forgotten(steps, state), Events()
    else:
        state, events = later_batch(steps, recipe.plan, state, batch.time, learner.dormant)
    if recipe.rules.follow:
        family = family.follow(state.totals, state.current)
    if family.tames and learner.n_batches % recipe.rules.tail_every == 0 and batch.X.shape[0]:
        rows = some_rows(batch.X, max(recipe.rules.tail_rows, batch.X.shape[0] // 4))[0]
        family = family.with_tails(rows, state.totals, recipe.rules.tail_memory)
    gone = {b for _, b in events.merges} | set(events.given_up)
    new = Learner(
        family,
        state.settle(batch.time),
        steps.rng.words,
        learner.seed,
        recipe.alpha,
        None if steps.outliers is None else steps.outliers.beside_clusters(state),
        batch.time,
        spacing,
        learner.n_batches + 1,
        learner.dormant.after(learner.state, state, gone, recipe.rules),
        scores_with(learner.scores, learner, batch, recipe.rules, kept),
        warmup=(),
    )
    outcome = _outcome(steps, learner, new, batch, events, state)
    if learner.warmup:
        new = replace(new, warmup=kept_with(learner.warmup, batch, outcome.labels, recipe))
    return new, outcome


def _turned(learner: Learner, batch: Batch, rules: Rules) -> Learner:
    """Return the model with coordinates that describe the rows of a batch too."""
    n = batch.X.shape[0]
    past = min(learner.state.window.count_at(batch.time), rules.turn_past * n)
    rows = some_rows(batch.X, rules.turn_rows)[0]
    family, carry = learner.family.turned(rows, past * rows.shape[0] / max(n, 1))
    if carry is None:
        return replace(learner, family=family)
    outliers = learner.outliers
    if outliers is not None:
        outliers = replace(outliers, sums=carry(outliers.sums))
    dormant = replace(learner.dormant, sums=carry(learner.dormant.sums))
    state = learner.state.carried(carry)
    return replace(learner, family=family, state=state, dormant=dormant, outliers=outliers)


def _steps(
    family: Family, engine: Engine, rng: Draws, seed: int, n_batches: int,
    outliers: Outliers | None, recipe: Recipe,
) -> Steps:  # fmt: skip
    """Return the steps of a batch that the engine has loaded."""
    records = recipe.forgetting.kernel is not None
    kind = choose_steps(family, engine, outliers, recipe.rules, records=records)
    return kind(family, engine, rng, recipe.alpha, seed, n_batches, outliers, recipe.rules)


def _load(engine: Engine, family: Family, X: Points, weight: Array, batch: int) -> None:
    """Give an engine the rows of a batch: narrowed, coarse numbers at places within their cells."""
    if family.narrows:
        X = X.narrowed(family) if isinstance(X, RemoteRows) else family.narrowed(to_host(X))
    if family.is_coarse():
        remote = isinstance(X, RemoteRows)
        X = X.unrounded(family, batch) if remote else family.unrounded(to_host(X), batch)
    engine.load(family, X, weight)


def _under(state: State, forgetting: Forgetting) -> State:
    """Return the clusters to be forgotten as the user asks now, which may be new."""
    window = state.window
    if window.forgetting is forgetting:
        return state
    if window.forgetting.kernel is not None and forgetting.kernel is None:
        past, doubt = window.past()  # without a kernel one record is all there is
        window = replace(
            window,
            sums=past[None],
            doubt=doubt[None],
            times=window.times[-1:],
            weight=np.ones(1),
        )
    if window.forgetting == forgetting:
        return state
    return state.having(window=replace(window, forgetting=forgetting))


def _begins(learner: Learner, batch: Batch, recipe: Recipe) -> bool:
    """Whether the batch is to set the prior: it is among the first, or all is forgotten.

    Less than one point of the past is nothing against a batch of many rows. For a few rows
    nothing at all must be left: a stream of single points would otherwise begin again with each
    of them, as no point counts a full one when the next one comes.
    """
    n, d = batch.X.shape
    if n == 0:
        return False
    if learner.warmup:
        return is_due(learner.warmup, batch, recipe)
    left = _under(learner.state, recipe.forgetting).window.count_at(batch.time)
    if left >= 1.0:
        return False
    return n >= recipe.family.enough_rows(d) or left <= recipe.forgetting.epsilon


def _is_elsewhere(learner: Learner, batch: Batch, recipe: Recipe, usual: Recipe) -> bool:
    """Whether the batch comes, after a pause, where no cluster expects its rows.

    Where the half-life is left open a pause forgets not all: rows that come back where they were
    find their clusters. Those that do not had better begin anew, as if all had been forgotten: what
    is expected of clusters does not hold there either. After the first batch nobody knows yet which
    gap is a pause.
    """
    n, d = batch.X.shape
    if not recipe.auto or n < recipe.family.enough_rows(d) or batch.labels is not None:
        return False
    if learner.spacing > 0.0:
        long = _under(learner.state, usual.for_batch(n, 0.0, learner.spacing).forgetting)
        if long.window.count_at(batch.time) >= 1.0:
            return False
    state, family = _under(learner.state, recipe.forgetting).advance(batch.time), learner.family
    rows = some_rows(batch.X, recipe.rules.elsewhere_rows)[0]
    score, _ = next_point(family, state.totals, recipe.alpha, learner.outliers)
    nobodys = CpuEngine().assign(family, rows, score) == state.k
    return bool(nobodys.mean() > recipe.rules.elsewhere)


def _with_the_rest(
    new: Learner, outcome: Outcome, batch: Batch, counted: NDArray[np.bool_], engine: Engine
) -> Outcome:
    """Return the outcome with the best labels for the rows that did not count."""
    rest = batch.rows(~counted)
    _load(engine, new.family, rest.X, rest.weight, new.n_batches - 1)
    ctx = Context(
        new.family, engine, Draws(new.rng), new.alpha, new.seed, new.n_batches, new.outliers
    )  # draws nothing
    deterministic_sweep(ctx, new.state)
    labels, sublabels = (np.empty(len(counted), dtype=np.int64) for _ in range(2))
    labels[counted], sublabels[counted] = to_host(outcome.labels), to_host(outcome.sublabels)
    labels[~counted] = np.append(new.state.ids, -1)[engine.labels]
    sublabels[~counted] = engine.sublabels
    return Outcome(labels, sublabels, replace(outcome.record, n_points=len(counted)))


def _learn_first(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome] | None:
    """Return the model of all rows so far that are not forgotten, its prior set from them.

    None if these rows are better not taken together, since clusters move: then the clusters of
    the rows before, which could stand alone, had better be followed.
    """
    before, ages = remembered(learner.warmup if learner else (), batch.time, recipe.forgetting)
    kept, rules = [*(e.batch for e in before), batch], recipe.rules
    X, weight = joined(kept, [*ages, 1.0])
    rng = Draws.of(make_rng()) if learner is None else Draws(learner.rng.copy())
    seed = int(rng.generator.integers(2**63)) if learner is None else learner.seed
    n_batches = 0 if learner is None else learner.n_batches
    family = recipe.family if not before or learner is None else recipe.family.again(learner.family)
    family = family.prepare(some_rows(X, rules.prior_rows)[0])
    if recipe.progress is None:
        announce_long_start(X.shape[0], len(family.prior), rules)
    _load(engine, family, X, weight, n_batches)
    outliers = _outliers(engine, family, recipe, X.shape[1])
    steps = _steps(family, engine, rng, seed, n_batches, outliers, recipe)
    if recipe.outlier_weight == "auto":
        assert outliers is not None
        outliers = background_of(outliers, steps, X, 1.0)
        steps.outliers = None  # the start is made without: pieces of clusters look like noise
    state = _first_clusters(steps, batch, recipe, outliers)
    again = family.started_again(steps.family)
    if again is not None:
        steps.family, steps.outliers = again, None if recipe.outlier_weight == "auto" else outliers
        state = _first_clusters(steps, batch, recipe, outliers)
    state = _numbered(engine, state, batch.time, 0)
    if learner is not None:
        old_ids = np.concatenate([np.zeros(0, dtype=np.int64), *(e.ids for e in before)])
        known = engine.first_labels(len(old_ids))
        alone = len(known) >= recipe.family.enough_rows(X.shape[1])
        if alone and moved_on(known, state.now.rows.sum(axis=1), rules):
            return None
        state = _renamed(state, known, old_ids, learner)
    dormant, events = Dormant.none(state), Events()
    if learner is not None:
        dormant = learner.dormant
        if not learner.warmup:
            dormant = dormant.all_asleep(learner.state, rules)
        dormant = dormant.reframed(learner.family, steps.family)
        state, events.returns = dormant.reunite(steps, state)
        dormant = dormant.beside(state)
    new = Learner(
        steps.family,
        state.settle(batch.time),
        steps.rng.words,
        seed,
        recipe.alpha,
        None if outliers is None else outliers.beside_clusters(state),
        batch.time,
        0.0,
        n_batches + 1,
        dormant,
        Sketch.nothing(),
        warmup=(),
    )
    new = replace(new, scores=first_scores(new, X, weight, rules))
    outcome = _outcome(steps, learner, new, batch, events, state)
    n, d = X.shape
    few = n < recipe.settled_rows(d) and batch.X.shape[0] < recipe.alone_rows(d)
    here = isinstance(X, np.ndarray) or sparse.issparse(X)
    if few and here and batch.labels is None:
        ids = np.append(new.state.ids, -1)[engine.labels]
        new = replace(new, warmup=keep(kept, ids))
    return new, outcome


def _first_clusters(
    steps: Steps, batch: Batch, recipe: Recipe, outliers: Outliers | None
) -> State:  # fmt: skip
    """Return the clusters of the loaded rows, the first of a stream."""
    if batch.labels is not None:
        start = start_from_labels(steps, recipe.forgetting, batch.labels, adapt=True)
    else:
        start = start_over_clustered(steps, recipe.plan, recipe.forgetting, adapt=True)
    steps.outliers = outliers
    return first_batch(steps, recipe.plan, start, adapt=True, progress=recipe.progress)


def _outliers(engine: Engine, family: Family, recipe: Recipe, d: int) -> Outliers | None:
    """Return the component for points that no cluster should take, for a first batch; or None."""
    weight = recipe.outlier_weight
    if weight == 0:
        return None
    if weight == "auto" and (not family.real or family.points_for_a_shape()):
        # wide is what a background of counts is not; in many columns small clusters look like noise
        raise ValueError(
            f"outlier_weight='auto' cannot tell noise from clusters of family {family.name!r} in "
            f"{d} columns: it takes 'gaussian' of up to 15 columns, 'diagonal' and 'spherical'. "
            "Choose one of these, or give the weight as a number such as 0.01."
        )
    rows = everything(engine, family, recipe.rules)
    return Outliers.learned(rows) if weight == "auto" else Outliers(weight, rows)


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


def _renamed(state: State, known: Labels, old_ids: Ints, learner: Learner) -> State:
    """Return the clusters with the ids, and births, of the old ones that share most points.

    ``known`` are the labels now, and ``old_ids`` the ids before, of rows seen before.
    """
    before = learner.state
    both = (known >= 0) & np.isin(old_ids, before.ids)
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
    ctx: Context, before: Learner | None, after: Learner, batch: Batch, events: Events,
    state: State,
) -> Outcome:  # fmt: skip
    """Return labels as ids and what happened to clusters, seen from outside the batch.

    ``state`` holds the clusters before they were settled.
    """
    known = None if state.known is None else state.known.whole
    n = batch.X.shape[0]
    labels, sublabels = ctx.engine.named_labels(after.state.ids, ctx.engine.n_rows - n)
    level = log_posterior(ctx.family, ctx.alpha, after.state.totals, known)
    changes = *_changes(before, after, events), batch.widened
    here = after.n_batches - 1, batch.time, n, after.state.k, level
    record = BatchRecord(*here, *changes)
    return Outcome(labels, sublabels, record)


def _changes(before: Learner | None, after: Learner, events: Events) -> tuple[Any, ...]:
    """Return the births, deaths, splits, merges and returns of a batch."""
    if before is not None and before.state.ids is after.state.ids:
        return (), (), (), (), ()
    old = [] if before is None else before.state.ids.tolist()
    new = after.state.ids.tolist()
    return (
        tuple(sorted(set(new) - set(old) - set(events.returns))),
        tuple(sorted(set(old) - set(new))),
        tuple(pair for pair in events.splits if pair[1] in new),
        tuple(pair for pair in events.merges if pair[1] in old),
        tuple(sorted(events.returns)),
    )
