"""Who takes the steps of a batch: chosen once, by what the family and the engine offer."""

from __future__ import annotations

from scstream.engines import CpuEngine, Engine
from scstream.engines.ordered_sums import LEAF_ROWS
from scstream.families.contract import Array, Family
from scstream.families.scores import Points
from scstream.kernels import ahead
from scstream.kernels.draws import Draws
from scstream.sampler.context import Outliers
from scstream.sampler.gaussian import SmallSweeps
from scstream.sampler.generic import GenericSteps
from scstream.sampler.recipe import Recipe
from scstream.sampler.rules import Rules
from scstream.sampler.small_gaussian import SmallGaussianSteps
from scstream.sampler.steps import Steps
from scstream.sampler.student import SmallStudentSteps
from scstream.support.threads import threads_allowed

_SMALL, _LARGE = "small_batches", "large_batches"  # see `scstream.kernels.needed`


def few_columns(family: Family, rules: Rules) -> bool:
    """Whether clusters are Gaussian, with so few columns that compiled steps are worth while."""
    prior = family.small_gaussian()
    return prior is not None and prior.columns <= rules.compiled_columns


def few_heavy_columns(family: Family, rules: Rules) -> bool:
    """Whether that is so of Student-t clusters."""
    student = family.small_student()
    return student is not None and student.gaussian.columns <= rules.compiled_columns


def is_small(family: Family, rules: Rules, n: int) -> bool:
    """Whether a batch of n rows is one for compiled steps, if an engine of the CPU holds it."""
    few = few_columns(family, rules) or few_heavy_columns(family, rules)
    return few and 0 < n <= LEAF_ROWS


def expect_rows(n: int) -> None:
    """Tell who compiles ahead of what is needed how many rows a first batch has."""
    ahead.expect(_SMALL if n <= LEAF_ROWS else _LARGE)


def choose_steps(family: Family, engine: Engine, rules: Rules, *, records: bool) -> type[Steps]:
    """Return the steps for a loaded batch; ``records`` says that each past batch has its own."""
    if few_columns(family, rules):
        few_rows = engine.few_rows() is not None
        if records:
            return SmallSweeps if few_rows else GenericSteps
        return SmallGaussianSteps if few_rows else GenericSteps
    heavy = few_heavy_columns(family, rules) and not records
    return SmallStudentSteps if heavy and engine.few_rows() is not None else GenericSteps


def steps_for(
    family: Family, engine: Engine, rng: Draws, seed: int, n_batches: int,
    outliers: Outliers | None, recipe: Recipe,
) -> Steps:  # fmt: skip
    """Return the steps of a batch that the engine has loaded."""
    records = recipe.forgetting.kernel is not None
    kind = choose_steps(family, engine, recipe.rules, records=records)
    return kind(family, engine, rng, recipe.alpha, seed, n_batches, outliers, recipe.rules)


def steps_beside(
    steps: Steps, X: Points, weight: Array, *, outliers: Outliers | None = None,
    rules: Rules | None = None, records: bool = False,
) -> Steps:  # fmt: skip
    """Return the steps of other rows, held on this machine, that go on from where some have come.

    They take the threads that the model may take: an engine of a device or of a cluster waits.
    Whoever goes on with those afterwards calls their `go_on_from`: no uniform is used twice.
    """
    engine, family = CpuEngine(threads_allowed()), steps.family
    engine.load(family, X, weight)
    rules = steps.rules if rules is None else rules
    kind = choose_steps(family, engine, rules, records=records)
    new = kind(family, engine, steps.rng, steps.alpha, steps.seed, steps.batch, outliers, rules)
    new.go_on_from(steps)
    return new
