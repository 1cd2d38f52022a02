"""The start of a large first batch: clusters of some rows, then of more, until they agree."""

from __future__ import annotations

from scstream.families.contract import Array
from scstream.families.heavy_tails import found_no_tails, has_heavy_tails
from scstream.families.scores import Points
from scstream.sampler.background import arisen, arising, left_after
from scstream.sampler.batch import Course, converge
from scstream.sampler.clusters import State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.initialise import first_seeds, start_over_clustered
from scstream.sampler.recipe import Recipe
from scstream.sampler.rows import as_computed, some_weighted_rows
from scstream.sampler.rules import Rules
from scstream.sampler.sweep import deterministic_sweep


def sample_sizes(n: int, rules: Rules, *, heavy: bool = False) -> list[int]:
    """Return how many of n rows are looked at, one sample after the other; none if n is small.

    A heavy tail comes in pieces. Each would have to merge with a middle that, without the others,
    looks as if it had no tail, and the more rows there are the clearer that looks. Among few rows
    the pieces are small enough. So clusters with heavy tails begin with a small sample.
    """
    sizes, least = [], 0
    size = min(rules.sample_rows, n // rules.sample_growth)
    if size < min(rules.sample_rows, rules.sample_least):
        size = 0
    if heavy and n >= 2 * rules.heavy_least:
        least = min(max(n // rules.sample_growth, rules.heavy_least), rules.heavy_rows)
        sizes.append(least)
    while 0 < size <= n // rules.sample_growth:
        if size >= 2 * least:
            sizes.append(size)
        size *= max(rules.sample_growth, 2)
    return sizes


def start_from_samples(
    steps: Context, recipe: Recipe, X: Points, weight: Array
) -> tuple[State | None, Outliers | None]:
    """Return clusters that samples of the rows X (n, d) agree on, as large as those of all rows.

    None if they are so many that each has but a few rows of any sample.

    Each sample starts from the clusters of the one before, under the prior that these have left.
    What is too small to be seen in a sample is split off when all rows are swept. If many rows of
    a sample show no heavy tails, see `found_no_tails`, no more of them are looked at.

    Also returns the background of the last sample, where one is learned and the first showed noise.
    """
    found, rows_seen, noise = None, 0, None
    for size in sample_sizes(X.shape[0], steps.rules, heavy=has_heavy_tails(steps.family)):
        rows, counts = some_weighted_rows(X, weight, size)
        seen = as_computed(steps.family, rows, steps.batch)
        sample = steps.beside(seen, counts, outliers=steps.outliers)
        if found is None:
            seeds = first_seeds(sample)
            if seeds.many:
                continue
            plan, forgetting = recipe.plan, recipe.forgetting
            start = start_over_clustered(sample, plan, forgetting, adapt=True, seeds=seeds)
            if recipe.outlier_weight == "auto":
                sample.outliers, _ = arising(sample, deterministic_sweep(sample, start), rows)
        else:
            start = _as_large(found, size / rows_seen, recipe)
            sample.outliers = sample.outliers or arisen(sample, rows, noise)
        first = found is None
        course = Course(True, not first, recipe.progress, sample=True, turn=first)
        state, gain = converge(sample, recipe.plan, start, course)
        steps.go_on_from(sample)
        steps.family = sample.family
        agree = found is not None and found.k == state.k and gain < steps.rules.sample_gain * size
        found, rows_seen = state, size
        if recipe.outlier_weight == "auto":
            noise = left_after(sample, state)
        if agree or (size >= steps.rules.heavy_rows and found_no_tails(steps.family)):
            break
    if found is None:
        return None, None
    return _as_large(found, X.shape[0] / rows_seen, recipe), noise


def _as_large(found: State, times: float, recipe: Recipe) -> State:
    """Return clusters of some rows, counted as if they had been found among so many times more."""
    return State.start(recipe.forgetting, times * found.totals, 0.0, 0)
