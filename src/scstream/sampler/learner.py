"""How a batch changes what the model knows: a first one, a later one, and rows without weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Engine, RemoteRows
from scstream.engines.tensors import to_host
from scstream.families.contract import Array
from scstream.families.gaussian_columns import turned
from scstream.families.scores import Labels
from scstream.families.widening import MODEL, Widening
from scstream.sampler.background import arising, background_of, left_after
from scstream.sampler.batch import later_batch, redraw_for_memory
from scstream.sampler.challenger import (
    Draws,
    challenged,
    is_beyond,
    predicts_later_rows,
    unexplained_fraction,
)
from scstream.sampler.clusters import ONE, State
from scstream.sampler.context import Context
from scstream.sampler.first import fitted, learn_first
from scstream.sampler.learned import Learner as Learner
from scstream.sampler.learned import Outcome as Outcome
from scstream.sampler.learned import labelled, outcome_of
from scstream.sampler.recent import latest_after, seen_lately
from scstream.sampler.recipe import Batch, Events, Recipe
from scstream.sampler.repeats import Repeats, without_copies
from scstream.sampler.rows import is_small, load_rows, ordered_rows, some_rows
from scstream.sampler.rules import Rules
from scstream.sampler.scores import Sketch, is_scored, rows_scored, scores_with, share_scored
from scstream.sampler.sweep import deterministic_sweep
from scstream.sampler.warmup import is_due, kept_with
from scstream.sampler.window import Forgetting
from scstream.support.frozen import changed
from scstream.support.generators import copied
from scstream.support.threads import beside


def learn(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome]:
    """Return the model after a batch; ``make_rng`` starts the randomness of a new one.

    Rows without weight teach nothing. They are left out, and labelled by what was learned. Rows
    that resemble the row before count less, and copies of rows nothing, unless their weights are
    given.
    """
    rules, even = recipe.rules, batch.even
    once = counted = without_copies(batch) if even else batch
    if even and learner is not None and learner.alike.weight != 1.0:
        counted = learner.alike.counted(once)
    new, outcome = _learn(learner, counted, recipe, engine, make_rng)
    number = new.n_batches
    few = number <= rules.alike_batches and batch.X.shape[0] < rules.alike_rows
    due = few or number % rules.alike_looks == 0 or number & (number - 1) == 0
    if due and even and rules.alike < 1.0 and new.family.real:
        before = new.alike
        fit = partial(fitted, _draws(new), recipe)
        better = partial(predicts_later_rows, family=recipe.family, fit=fit, rules=rules)
        alike = before.after(batch, outcome.labels, rules, better)
        if alike.weight != before.weight and learner is None:
            new, outcome = _learn(None, alike.counted(once), recipe, engine, make_rng)
        elif alike.weight != before.weight:
            new = recounted(new, alike.weight / before.weight)
        new = changed(new, alike=alike)
    return new, outcome


def _learn(
    learner: Learner | None,
    batch: Batch,
    recipe: Recipe,
    engine: Engine,
    make_rng: Callable[[], np.random.Generator],
) -> tuple[Learner, Outcome]:
    """Return the model after a batch, whose rows count what they are said to."""
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
        usual, recipe = recipe, recipe.for_batch(n * batch.alike, gap, spacing)
        if _is_elsewhere(learner, batch, recipe, usual):
            learner, anew = changed(learner, warmup=()), True
    else:
        recipe = recipe.for_batch(n * batch.alike, 0.0, 1.0)
    repeats = Repeats() if learner is None or anew else learner.repeats
    if repeats.watched < recipe.rules.watched_batches:
        batch, repeats = repeats.with_batch(batch, recipe.forgetting, recipe.rules)
    if learner is None or anew or _begins(learner, batch, recipe):
        first = learn_first(learner, batch, recipe, engine, make_rng)
        if first is not None:
            return _begun(learner, *first, spacing, repeats)
        assert learner is not None
        learner = changed(learner, warmup=())
    if repeats is not learner.repeats:
        learner = changed(learner, repeats=repeats)
    later, had = _learn_later(learner, batch, recipe, engine, spacing)
    if later is not None:
        return later
    batch = _noting(batch, "a fresh start")
    first = learn_first(changed(learner, warmup=()), batch, recipe, engine, make_rng, had)
    assert first is not None  # as there are no rows before
    return _begun(learner, *first, spacing, repeats)


def _begun(
    before: Learner | None, new: Learner, outcome: Outcome, spacing: float, repeats: Repeats
) -> tuple[Learner, Outcome]:
    """Return a model that has begun, with what is known of the stream besides clusters."""
    alike = new.alike if before is None else before.alike
    return changed(new, spacing=spacing, repeats=repeats, alike=alike), outcome


def recounted(learner: Learner, times: float) -> Learner:
    """Return the model with all that it remembers counting so many times as much."""
    outliers, dormant = learner.outliers, learner.dormant
    if outliers is not None and outliers.held is not None:
        outliers = outliers.carried(lambda sums: times * sums)
    return changed(
        learner,
        state=learner.state.recounted(times),
        outliers=outliers,
        dormant=changed(dormant, sums=times * dormant.sums, most=times * dormant.most),
        warmup=tuple(kept.recounted(times) for kept in learner.warmup),
    )


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
    new, outcome = _learn(learner, batch.rows(counted), recipe, engine, make_rng)
    return new, _with_the_rest(new, outcome, batch, counted, engine)


def _all_count(weight: Array) -> bool:
    """Whether no row is without weight. Equal weights may share their memory."""
    some = weight[:1] if weight.strides == (0,) else weight
    return bool(some.min(initial=np.inf) > 0.0)


def _learn_later(
    learner: Learner, batch: Batch, recipe: Recipe, engine: Engine, spacing: float
) -> tuple[tuple[Learner, Outcome] | None, Labels | None]:
    """Return the model after a batch that finds its prior set and something remembered.

    Instead of it, None and the ids (n,) of rows if the model had better begin anew with the batch,
    which came in other units or far away.
    """
    before, rules = learner, recipe.rules
    if learner.family.space is not None:
        learner = _turned(learner, batch, rules)
    family = learner.family
    past = _under(learner.state, recipe.forgetting).advance(batch.time)
    steps = _begin(learner, batch, recipe, engine, past)
    scores = _scores(before, batch, rules, past, engine)
    if engine.takes_collections and isinstance(batch.X, RemoteRows):
        batch.X.release()
    state, events = later_batch(steps, recipe.plan, past, batch.time, learner.dormant)
    born = state.next_id > past.next_id or events.returns
    whole = state.now.rows[:, 0] + state.now.rows[:, 1]
    joined = len(past.ids) > 1 and batch.X.shape[0] in whole  # all are in one cluster
    if (born or joined or len(past.ids) == 1) and is_beyond(learner.family, batch, recipe):
        return None, None
    if born or joined:
        fit = partial(fitted, _draws(learner), recipe)
        verdict = challenged(learner, past, steps, state, batch, recipe, fit)
        if verdict.begin_anew:
            return None, np.append(state.ids, -1)[engine.first_labels(batch.X.shape[0])]
        if verdict.family is not None:
            family, batch = verdict.family, _noting(batch, "a prior that suits it")
    suspicion = 0.0
    if recipe.outlier_weight == "auto" and learner.outliers is None:
        left = past.share_left_of(learner.state)
        noise, suspicion = arising(steps, state, batch.X, learner.suspicion * left)
        if noise is not None:
            noisy = changed(learner, outliers=noise)
            steps, state, events = _run_later(noisy, batch, recipe, engine, past)
    labels = labelled(steps, state, batch)
    state = redraw_for_memory(steps, state)
    here = seen_lately(state)
    state = state if len(here) == state.k else state.select(here)
    if rules.follow:
        family = family.follow(state.totals, state.current)
    if family.tails is not None and learner.n_batches % rules.tail_every == 0:
        rows = some_rows(batch.X, max(rules.tail_rows, batch.X.shape[0] // 4))
        family = family.tails.after(rows, state.totals, rules.tail_memory)
    new = Learner(
        family,
        state.settle(batch.time),
        steps.rng,
        learner.seed,
        recipe.alpha,
        left_after(steps, state),
        batch.time,
        spacing,
        learner.n_batches + 1,
        learner.dormant.after(learner.state, state, events, rules),
        scores(),
        warmup=(),
        suspicion=suspicion,
        repeats=learner.repeats,
        alike=learner.alike,
    )
    outcome = outcome_of(steps, learner, new, batch, events, state, labels, recipe)
    latest = latest_after((learner.state.ids, learner.latest), new.state, outcome)
    new = changed(new, latest=latest)
    if learner.warmup:
        new = changed(new, warmup=kept_with(learner.warmup, batch, outcome.labels, recipe))
    return (new, outcome), None


def _noting(batch: Batch, change: str) -> Batch:
    """Return the batch with a note for its record: what the model has since."""
    return replace(batch, widened=(*batch.widened, Widening("", MODEL, change)))


def _draws(learner: Learner) -> Draws:
    """Return what the next batch's draws follow from."""
    return learner.rng, learner.seed, learner.n_batches


def _run_later(
    learner: Learner, batch: Batch, recipe: Recipe, engine: Engine, past: State
) -> tuple[Context, State, Events]:
    """Run a batch on clusters that are left of the past; returns the steps and what they made."""
    steps = _begin(learner, batch, recipe, engine, past)
    return steps, *later_batch(steps, recipe.plan, past, batch.time, learner.dormant)


def _begin(learner: Learner, batch: Batch, recipe: Recipe, engine: Engine, past: State) -> Context:
    """Return the steps of a batch that the engine has taken.

    A background that is learned has seen the batch only if the batch gave rise to it.
    """
    load_rows(engine, learner.family, batch.X, batch.weight, learner.n_batches)
    outliers = learner.outliers
    steps = Context(
        learner.family, engine, copied(learner.rng), recipe.alpha, learner.seed,
        learner.n_batches, outliers, recipe.rules,
    )  # fmt: skip
    if outliers is not None and outliers.held is not None and outliers.batch is None:
        kept = past.share_left_of(learner.state)
        steps.outliers = background_of(outliers, steps, batch.X, kept)
    return steps


def _scores(
    learner: Learner, batch: Batch, rules: Rules, past: State, engine: Engine
) -> Callable[[], Sketch]:
    """Return what gives the sketch of scores with those of a batch.

    ``past`` is what is left at its time. While an engine that has taken the batch passes over many
    rows, or waits for a device or for workers, another thread computes it.
    """
    n = batch.X.shape[0]
    if rules.scored_rows == 0 or n == 0:
        return lambda: learner.scores
    few = is_small(learner.family, n)
    quick = few or isinstance(batch.X, RemoteRows)  # of those elsewhere some must be fetched
    share = share_scored(learner.scores, learner.n_batches, rules, quick=quick)
    if not is_scored(learner.n_batches, share):
        return lambda: learner.scores
    kept = past.share_left_of(learner.state)
    most = rules.scored_rows if quick else rows_scored(n, learner.n_batches, rules)
    rows = batch.X if batch.here is None else batch.here
    weight = batch.weight if batch.alike == 1.0 else batch.weight / batch.alike  # rows are scored
    some = ordered_rows(rows, weight, most)

    def scores() -> Sketch:
        return scores_with(learner.scores, learner, some(), n, rules, kept, share)

    waits = engine.takes_tensors or engine.takes_collections
    if not (waits or (engine.n_threads > 1 and not few)):
        return scores
    return beside(scores)


def _turned(learner: Learner, batch: Batch, rules: Rules) -> Learner:
    """Return the model with coordinates that describe the rows of a batch too."""
    n = batch.X.shape[0]
    past = min(learner.state.window.count_at(batch.time), rules.turn_past * n)
    rows = some_rows(batch.X, rules.turn_rows)
    family, carry = turned(learner.family, rows, past * rows.shape[0] / max(n, 1))
    if carry is None:
        return changed(learner, family=family)
    outliers = learner.outliers
    if outliers is not None:
        outliers = outliers.carried(carry)
    dormant = changed(learner.dormant, sums=carry(learner.dormant.sums))
    state = learner.state.carried(carry)
    return changed(learner, family=family, state=state, dormant=dormant, outliers=outliers)


def _under(state: State, forgetting: Forgetting) -> State:
    """Return the clusters to be forgotten as the user asks now, which may be new."""
    window = state.window
    if window.forgetting is forgetting:
        return state
    if window.forgetting.kernel is not None and forgetting.kernel is None:
        past, entropy = window.past()  # without a kernel one record is all there is
        window = replace(
            window,
            sums=past[None],
            entropy=entropy[None],
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
    if left >= ONE:
        return False
    return n >= recipe.family.enough_rows(d) or left <= recipe.forgetting.epsilon


def _is_elsewhere(learner: Learner, batch: Batch, recipe: Recipe, usual: Recipe) -> bool:
    """Whether the batch comes, after a pause, where no cluster expects its rows.

    Where the half-life is left open a pause forgets not all: rows that come back where they were
    find their clusters. Those that do not had better begin anew, as if all had been forgotten: what
    is expected of clusters does not hold there either. After the first batch no gap is known yet to
    be a pause.
    """
    n, d = batch.X.shape
    usual_gap = 0.0 < batch.time - learner.time <= learner.spacing  # which is no pause
    if usual_gap or not recipe.auto or batch.labels is not None:
        return False
    if learner.spacing > 0.0:
        long = _under(learner.state, usual.for_batch(n, 0.0, learner.spacing).forgetting)
        if long.window.count_at(batch.time) >= ONE:
            return False
    if n < recipe.family.enough_rows(d):
        return False
    past, rules = _under(learner.state, recipe.forgetting).advance(batch.time), recipe.rules
    return (
        unexplained_fraction(learner, past, batch, recipe, rules.challenger_rows)
        > rules.unexplained
    )


def _with_the_rest(
    new: Learner, outcome: Outcome, batch: Batch, counted: NDArray[np.bool_], engine: Engine
) -> Outcome:
    """Return the outcome with the best labels for the rows that did not count."""
    rest = batch.rows(~counted)
    load_rows(engine, new.family, rest.X, rest.weight, new.n_batches - 1)
    ctx = Context(
        new.family, engine, new.rng, new.alpha, new.seed, new.n_batches, new.outliers
    )  # draws nothing
    deterministic_sweep(ctx, new.state.having())  # which is to hold no more than it did
    labels, sublabels = (np.empty(len(counted), dtype=np.int64) for _ in range(2))
    labels[counted], sublabels[counted] = to_host(outcome.labels), to_host(outcome.sublabels)
    labels[~counted] = np.append(new.state.ids, -1)[engine.labels]
    sublabels[~counted] = engine.sublabels
    record = changed(outcome.record, n_points=len(counted))
    return Outcome(labels, sublabels, record, outcome.rows)
