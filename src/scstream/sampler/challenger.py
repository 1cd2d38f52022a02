"""The challenger: an alternative to what a model believes, fitted on some rows of a batch.

It is fitted on every other one of at most `Rules.challenger_rows` rows and judged by the rows
between, which it has not seen. It is adopted only where it predicts these clearly better than the
model, which has learned them. There are three occasions. A family may suggest several priors for a
first batch. And a later batch may have come in other units or elsewhere, or with heavy tails, so
that what is expected of clusters does not hold: where numbers are a thousand times smaller all
clusters of a batch lie within what is expected of a single one, and where they are larger, or tails
are heavy, clusters seem to be born everywhere. Last, rows that resemble the row before may count
less (`scstream.sampler.alike`), which is judged by later rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scstream.engines import CpuEngine
from scstream.engines.outputs import Best
from scstream.families.contract import Array, Family
from scstream.families.heavy_tails import has_heavy_tails
from scstream.families.scores import Points, log_totals
from scstream.families.subspace import narrowed
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.initialise import merged_start
from scstream.sampler.learned import Learner
from scstream.sampler.recipe import Batch, Recipe
from scstream.sampler.rows import some_rows, some_weighted_rows
from scstream.sampler.rules import Rules
from scstream.sampler.scores import log_density
from scstream.sampler.sweep import next_point, with_unborn
from scstream.support.generators import copied
from scstream.support.threads import threads_allowed

Draws = tuple[np.random.Generator, int, int]
Fit = Callable[[Family, Points, Array], tuple[Context, State]]  # a first batch of some rows

_BEYOND = 2.0**20  # scales from where a family computes; squares then hide a cluster's variance
_FEW = 8  # rows that show whether a batch is so far away: all of them are


class Verdict(NamedTuple):
    """What is better than the model: to begin anew with the batch, or another prior, or nothing."""

    begin_anew: bool = False
    family: Family | None = None


def clearly_better(new: Array, old: Array, rules: Rules, margin: float = 0.0) -> bool:
    """Whether log densities (n,) of held-out rows are clearly higher than others, by a margin."""
    gain = new - old
    error = float(gain.std()) / np.sqrt(len(gain))
    return bool(gain.mean() > max(margin, rules.challenger_clear * error))


def prior_for(family: Family, draws: Draws, recipe: Recipe, X: Points, weight: Array) -> Family:
    """Return the family with the prior under which clusters of a first batch predict it best.

    That is the prior which rows suggest by themselves, if the clusters under it bear it out. If
    they suggest none it is one of those that are weaker. Groups of rows are merged under each, by
    draws that are drawn again afterwards.
    """
    trials = family.prior_trials
    if trials is None or not recipe.plan.merges:
        return family
    rows, counts = some_weighted_rows(X, weight, recipe.rules.challenger_rows)

    def merged(family: Family, X: Points, weight: Array) -> tuple[Context, State]:
        rng, seed, n_batches = draws
        engine, rules = CpuEngine(threads_allowed()), recipe.rules
        engine.load(family, X, weight)
        steps = Context(family, engine, copied(rng), recipe.alpha, seed, n_batches, None, rules)
        return steps, merged_start(steps, recipe.plan, recipe.forgetting, adapt=False)

    if trials.suggested is not None:
        steps, _ = merged(trials.suggested, rows, counts)
        labels = steps.engine.first_labels(rows.shape[0])
        return trials.suggested if trials.borne_out(rows, labels) else family
    best, least = family, recipe.rules.challenger_least
    level: Array | None = None
    first: Array | None = None
    for trial in [family, *trials.weaker(rows)] if rows.shape[0] >= least else []:
        own, some = trials.of_columns_in(trial, rows)
        steps, state = merged(own, some[::2], counts[::2].copy())
        score, more = next_point(own, state, recipe.alpha, None)
        new = log_totals(score, own.statistics(some[1::2])) + more
        if level is not None and new.mean() < level.mean():
            break  # too weak a prior knows nothing but the rows it has seen
        first = new if first is None else first
        best = trial if clearly_better(new, first, recipe.rules) else best
        level = new
    return best


def is_beyond(family: Family, batch: Batch, recipe: Recipe) -> bool:
    """Whether a batch is so far from where a family computes that floats do not hold its shape.

    Sums of squares hold the variance of a cluster as a difference of numbers that are then alike in
    all their digits.
    """
    n, d = batch.X.shape
    blocks = family.independent_blocks(d)
    if n < recipe.family.enough_rows(d) or not any(block.family.real for block in blocks):
        return False
    rows = some_rows(batch.X, _FEW)
    far = np.zeros(rows.shape[0], dtype=bool)
    for block in blocks:
        if block.family.real:
            shift, scale = block.family.frame
            own = narrowed(block.family, rows[:, block.rows])
            far |= (np.abs(own - shift) > _BEYOND * scale).any(axis=1)
    return bool(far.all())


def challenged(
    learner: Learner, past: State, steps: Context, state: State, batch: Batch, recipe: Recipe,
    fit: Fit,
) -> Verdict:  # fmt: skip
    """Return what describes a batch clearly better than the clusters ``state`` that it has become.

    Another prior for these clusters comes first, since all that is remembered stays. ``past`` is
    what was left of the clusters before the batch; ``fit`` learns rows as a first batch.
    """
    if not _is_suspected(learner, past, steps, state, batch, recipe):
        return Verdict()
    rules, margin = recipe.rules, recipe.rules.challenger_margin
    rows, weight = some_weighted_rows(batch.X, batch.weight, rules.challenger_rows)
    seen, held_out = rows[::2].copy(), rows[1::2]
    family = recipe.open_family()
    anew, found = fit(family.prepare(seen), seen, weight[::2].copy())
    new = _density(anew, found.totals, found.totals[:, 0], held_out)
    here = state.present
    totals, n = state.totals[here], state.current[here, 0]
    now = _density(steps, totals, n, held_out)
    if has_heavy_tails(anew.family) and found.k < len(n) and new.mean() > now.mean():
        return Verdict(begin_anew=True)  # pieces of tails describe rows as well as tails do
    if not clearly_better(new, now, rules, margin):
        return Verdict()
    steps.family = steps.family.adapt(state.current[here]).settled(len(n))
    if clearly_better(new, _density(steps, totals, n, held_out), rules, margin):
        return Verdict(begin_anew=True)
    return Verdict(family=steps.family)


def predicts_later_rows(weight: float, X: Array, family: Family, fit: Fit, rules: Rules) -> bool:
    """Whether rows (n, d) that count less say more of those that come later.

    Where rows follow each other slowly, the places where they gather for a while are left again,
    and clusters of these predict nothing. Where neighbours are alike since they are of one kind, as
    those of an image are, they come again.
    """
    rows = X[: rules.challenger_rows]
    seen, later = np.split(rows, [len(rows) // 2])

    def density(weight: float) -> Array:
        steps, state = fit(family.prepare(seen), seen.copy(), np.full(len(seen), weight))
        return _density(steps, state.totals, state.totals[:, 0], later)

    gain = density(weight) - density(1.0)
    return bool(gain.mean() > gain.std() / np.sqrt(weight * len(gain)))  # a standard error


def unexplained_fraction(
    learner: Learner, past: State, batch: Batch, recipe: Recipe, most: int
) -> float:
    """Return the share of a batch's rows that no cluster of the past expects, by so many rows."""
    rows, family = some_rows(batch.X, most), learner.family
    score, _ = next_point(family, past, recipe.alpha, learner.outliers)
    return float((CpuEngine().evaluate(family, rows, score, Best()) == past.k).mean())


def _is_suspected(
    learner: Learner, past: State, steps: Context, state: State, batch: Batch, recipe: Recipe
) -> bool:
    """Whether it is worth the time to fit an alternative, if clusters were born or all became one.

    That is where tails may be learned that none are known of, where most rows are where no cluster
    expects them, and where what is expected of clusters does not suit those that the batch has
    become. Beside a background of noise nothing is suspected: rows that it holds would not be
    judged. Nor is it where the user says what is remembered.
    """
    rules, plan, (n, d) = recipe.rules, recipe.plan, batch.X.shape
    free = plan.splits and plan.merges and rules.follow and recipe.forgetting.adaptive
    shaped = steps.family.real or steps.family.points_for_a_shape()
    if not (free and shaped and learner.outliers is None):
        return False
    if n < recipe.family.enough_rows(d):
        return False
    tails = steps.family.tails
    if tails is not None and tails.learned and not tails.heavy and state.next_id > past.next_id:
        return True
    if unexplained_fraction(learner, past, batch, recipe, rules.seen_rows) > rules.unexplained:
        return True
    family, present = steps.family, state.current[state.present]
    gain = family.adapt(present).log_marginal(present).sum() - family.log_marginal(present).sum()
    chance = 0.5 * len(family.prior) * np.log(n)  # what so many numbers of a prior gain, about
    return bool(gain > rules.challenger_margin * n + chance)


def _density(steps: Context, totals: Array, n: Array, X: Points) -> Array:
    """Return the log density of rows (n,) under clusters (k, p) of such weights, and a new one."""
    return log_density(steps.family, with_unborn(steps.family, totals, n, steps.alpha), X)
