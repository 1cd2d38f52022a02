"""A stream whose units change: what was expected of clusters does not hold, all at once.

Where numbers are a thousand times smaller from one batch to the next, all clusters of the batch lie
within what is expected of a single one, and become one. The prior follows, half of the way in each
batch. But when it has arrived the one cluster is what is expected: no division in two is better. So
it is asked whether the batch is much more probable if the model begins anew with it. It always does
where rows have gone too far for the floats in which it computes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from scstream.engines import CpuEngine, Engine
from scstream.engines.outputs import Best
from scstream.families.contract import Family
from scstream.sampler.batch import log_level
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.first import begun
from scstream.sampler.learned import Learner
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Batch, Recipe
from scstream.sampler.rows import some_rows
from scstream.sampler.sweep import next_point

_BEYOND = 2.0**20  # scales from where a family computes; squares then hide a cluster's variance
_FEW = 8  # rows that show whether a batch is so far away: all of them are


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
            own = block.family.narrowed(rows[:, block.rows])
            far |= (np.abs(own - shift) > _BEYOND * scale).any(axis=1)
    return bool(far.all())


def unexplained_fraction(
    learner: Learner, past: State, batch: Batch, recipe: Recipe, most: int
) -> float:  # fmt: skip
    """Return the share of a batch's rows that no cluster of the past expects, by so many rows."""
    rows, family = some_rows(batch.X, most), learner.family
    score, _ = next_point(family, past, recipe.alpha, learner.outliers)
    return float((CpuEngine().evaluate(family, rows, score, Best()) == past.k).mean())


def is_suspected(
    learner: Learner, past: State, state: State, batch: Batch, recipe: Recipe
) -> bool:  # fmt: skip
    """Whether a batch may have come in other units, if clusters were born or all became one.

    Most rows are where no cluster expects them, or what is expected of clusters does not suit those
    that the batch has become. Counts have no units, and what the
    user says is remembered so. Beside a background of noise nothing is suspected: rows that it
    holds would not be judged.
    """
    rules, plan, (n, d) = recipe.rules, recipe.plan, batch.X.shape
    free = plan.splits and plan.merges and rules.follow and recipe.forgetting.adaptive
    if not (free and learner.family.real and learner.outliers is None):
        return False
    if n < recipe.family.enough_rows(d):
        return False
    if unexplained_fraction(learner, past, batch, recipe, rules.suspicious_rows) > rules.elsewhere:
        return True
    family, present = learner.family, state.current[state.present]
    gain = family.adapt(present).log_marginal(present).sum() - family.log_marginal(present).sum()
    return bool(gain > rules.other_units * n + _by_chance(family, n))


def begins_anew(
    learner: Learner, steps: Context, state: State, batch: Batch, recipe: Recipe, engine: Engine
) -> bool:
    """Whether a batch that was learned had better be the first of another stream.

    It is much more probable as that, and its clusters then are better than those that it has
    become, even under a prior that suits these. What so many numbers of a prior gain by chance
    does not count. The engine does not hold the batch as it was learned any more.
    """
    rules, n, level = recipe.rules, batch.X.shape[0], _log_evidence(steps, state, batch)
    family = recipe.family.beside_noise() if recipe.outlier_weight == "auto" else recipe.family
    family = family.prepare(some_rows(batch.X, rules.prior_rows))
    draws, nothing = (learner.rng, learner.seed, learner.n_batches), np.zeros(0, dtype=np.int64)
    plain = replace(recipe, outlier_weight=0.0)
    anew, found = begun(family, engine, draws, plain, None, batch.X, batch.weight, nothing)
    as_learned = anew.family.reframed(state.current[state.present], steps.family)
    by_chance = _by_chance(anew.family, n)
    more = _log_evidence(anew, found, batch) - level
    if as_learned is None or more <= rules.other_units * n + by_chance:
        return False
    priors = anew.family, anew.family.adapt(as_learned)
    as_good = max(log_posterior(prior, anew.alpha, as_learned) for prior in priors)
    better = log_level(anew, anew.family, found) - as_good
    return bool(better > rules.other_clusters * n + by_chance)


def _by_chance(family: Family, n: int) -> float:
    """Return what the numbers of a prior gain, about, where they are set from n rows."""
    return float(0.5 * len(family.prior) * np.log(n))


def _log_evidence(steps: Context, state: State, batch: Batch) -> float:
    """Return the log-probability of a batch and of its labels, given what is left of the past.

    The labels are those of a batch by itself: new places are as likely as old ones.
    """
    family, present = steps.family, state.present
    past, n = state.past[present].sum(axis=1), state.current[present, 0]
    each = family.log_marginal(past + state.current[present]) - family.log_marginal(past)
    rows = some_rows(batch.X, steps.rules.elsewhere_rows)
    base = float(family.log_base(rows).mean()) * float(n.sum())
    return float((each + np.log(steps.alpha) + gammaln(n)).sum()) + base
