"""Who takes the steps of a batch: chosen once, by what the family and the engine offer."""

from __future__ import annotations

from scstream.engines import Engine
from scstream.families.contract import Family
from scstream.sampler.context import Outliers
from scstream.sampler.gaussian import GaussianSteps, SmallGaussianSteps, SmallSweeps
from scstream.sampler.generic import GenericSteps
from scstream.sampler.rules import Rules
from scstream.sampler.steps import Steps
from scstream.sampler.student import SmallStudentSteps


def few_columns(family: Family, rules: Rules) -> bool:
    """Whether clusters are Gaussian, with so few columns that compiled steps are worth while."""
    prior = family.small_gaussian()
    return prior is not None and prior.columns <= rules.compiled_columns


def choose_steps(
    family: Family, engine: Engine, outliers: Outliers | None, rules: Rules, *, records: bool
) -> type[Steps]:
    """Return the steps for a loaded batch; ``records`` says that each past batch has its own."""
    student = family.small_student()
    few_rows = outliers is None and engine.few_rows() is not None
    if student is not None and few_rows and not records:
        few = student.gaussian.columns <= rules.compiled_columns
        return SmallStudentSteps if few else GenericSteps
    if not few_columns(family, rules):
        return GenericSteps
    if records:
        return SmallSweeps if few_rows else GenericSteps
    return SmallGaussianSteps if few_rows else GaussianSteps
