"""Priors that are tried on some rows of a first batch, before its clusters are looked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scstream.engines.cpu import CpuEngine
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.log_totals import log_totals
from scstream.families.scores import Labels, Points
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.initialise import merged_start
from scstream.sampler.recipe import Recipe
from scstream.sampler.rows import some_weighted_rows
from scstream.sampler.sweep import next_point
from scstream.support.generators import copied
from scstream.support.threads import threads_allowed


def tried(
    family: Family,
    draws: tuple[np.random.Generator, int, int],
    recipe: Recipe,
    X: Points,
    weight: Array,
) -> Family:
    """Return the family with a prior that suits some rows X (n, d) better, or as it is.

    That is the prior which rows suggest by themselves, if the clusters under it bear it out. If
    they suggest none, it is one of those that are weaker, under which clusters predict best. Groups
    of rows are merged under each, by draws that are drawn again afterwards.
    """
    if not (family.tries_priors and recipe.plan.merges):
        return family
    rows, counts = some_weighted_rows(X, weight, recipe.rules.trial_rows)
    trial = family.suggested()
    if trial is None:
        families = [family, *family.weaker(rows)]
        return _predicting_best(families, draws, recipe, rows, counts)
    labels, _ = _clusters(trial, draws, recipe, rows, counts)
    return trial.borne_out(rows, labels) or family


def _clusters(
    family: Family,
    draws: tuple[np.random.Generator, int, int],
    recipe: Recipe,
    X: Points,
    weight: Array,
) -> tuple[Labels, State]:
    """Return groups of rows, merged to clusters: labels (n,), and the clusters."""
    rng, seed, n_batches = draws
    engine = CpuEngine(threads_allowed())
    engine.load(family, X, weight)
    steps = Context(family, engine, copied(rng), recipe.alpha, seed, n_batches, None, recipe.rules)
    state = merged_start(steps, recipe.plan, recipe.forgetting, adapt=False)
    return engine.labels, state


def _predicting_best(
    families: Sequence[Family], draws: tuple[np.random.Generator, int, int], recipe: Recipe,
    X: Points, weight: Array,
) -> Family:  # fmt: skip
    """Return the family whose clusters of every other row predict the rows between best.

    It is the first one unless another is clearly better. Behind one that is worse than the one
    before it no more are tried: too weak a prior knows nothing but the rows it has seen.
    """
    if len(families) == 1 or X.shape[0] < recipe.rules.trial_least:
        return families[0]
    found: list[Array] = []
    for family in families:
        own, rows = family.of_columns_in(X)
        _, state = _clusters(own, draws, recipe, rows[::2], weight[::2])
        score, level = next_point(own, state, recipe.alpha, None)
        found.append(log_totals(score, own.statistics(rows[1::2])) + level)
        if len(found) > 1 and found[-1].mean() < found[-2].mean():
            break
    best = int(np.argmax([each.mean() for each in found]))
    gain = found[best] - found[0]
    clear = gain.mean() > recipe.rules.trial_clear * gain.std() / np.sqrt(len(gain))
    return families[best if clear else 0]
