"""A prior that single rows suggest, tried on a first batch before its clusters are looked for."""

from __future__ import annotations

from scstream.engines.cpu import CpuEngine
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.kernels.draws import Draws, Words
from scstream.sampler.choose import steps_for
from scstream.sampler.initialise import merged_start
from scstream.sampler.recipe import Recipe
from scstream.sampler.rows import some_weighted_rows
from scstream.support.threads import threads_allowed


def tried(
    family: Family, draws: tuple[Words, int, int], recipe: Recipe, X: Points, weight: Array
) -> Family:
    """Return the family with the prior that rows suggest, if the clusters under it bear it out.

    Otherwise it is returned as it is. Groups of some rows X (n, d) are merged under that prior,
    by draws that are drawn again afterwards.
    """
    trial = family.suggested()
    if trial is None or not recipe.plan.merges:
        return family
    rows, counts = some_weighted_rows(X, weight, recipe.rules.trial_rows)
    words, seed, n_batches = draws
    engine = CpuEngine(threads_allowed())
    engine.load(trial, rows, counts)
    steps = steps_for(trial, engine, Draws(words.copy()), seed, n_batches, None, recipe)
    merged_start(steps, recipe.plan, recipe.forgetting, adapt=False)
    return trial.borne_out(rows, engine.labels) or family
