"""The start of a large first batch: clusters of some rows, then of more, until they agree."""

from __future__ import annotations

from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.sampler.batch import Course, converge
from scstream.sampler.choose import steps_beside
from scstream.sampler.clusters import State
from scstream.sampler.initialise import start_over_clustered
from scstream.sampler.recipe import Recipe
from scstream.sampler.rows import as_computed, some_weighted_rows
from scstream.sampler.rules import Rules
from scstream.sampler.steps import Steps


def sample_sizes(n: int, rules: Rules) -> list[int]:
    """Return how many of n rows are looked at, one sample after the other; none if n is small."""
    sizes, size = [], rules.sample_rows
    while 0 < size <= n // rules.sample_growth:
        sizes.append(size)
        size *= max(rules.sample_growth, 2)
    return sizes


def start_from_samples(steps: Steps, recipe: Recipe, X: Points, weight: Array) -> State:
    """Return clusters that samples of the rows X (n, d) agree on, as large as those of all rows.

    Each sample starts from the clusters of the one before, under the prior that these have left.
    What is too small to be seen in a sample is split off when all rows are swept.
    """
    found, rows_seen = None, 0
    for size in sample_sizes(X.shape[0], steps.rules):
        rows, counts = some_weighted_rows(X, weight, size)
        sample = steps_beside(
            steps, as_computed(steps.family, rows, steps.batch), counts,
            outliers=steps.outliers, records=recipe.forgetting.kernel is not None,
        )  # fmt: skip
        if found is None:
            start = start_over_clustered(sample, recipe.plan, recipe.forgetting, adapt=True)
        else:
            start = _as_large(found, size / rows_seen, recipe)
        course = Course(True, found is not None, recipe.progress)
        state, gain = converge(sample, recipe.plan, start, course)
        steps.go_on_from(sample)
        steps.family = sample.family
        agree = found is not None and found.k == state.k and gain < steps.rules.sample_gain * size
        found, rows_seen = state, size
        if agree:
            break
    assert found is not None
    return _as_large(found, X.shape[0] / rows_seen, recipe)


def _as_large(found: State, times: float, recipe: Recipe) -> State:
    """Return clusters of some rows, counted as if they had been found among so many times more."""
    return State.start(recipe.forgetting, times * found.totals, 0.0, 0)
