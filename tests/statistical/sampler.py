"""The sampled phase of a first batch run for as long as one likes, and what it is compared with."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from scstream.engines import CpuEngine
from scstream.families import Family
from scstream.sampler import batch, initialise
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.recipe import Plan
from scstream.sampler.window import Forgetting


def loaded(family: Family, X: np.ndarray, alpha: float, seed: int) -> Context:
    """Return a context with the rows loaded, under the family's own prior."""
    X = family.check(X)
    family = family.prepare(X)
    ctx = Context(family, CpuEngine(), np.random.default_rng(seed), alpha, seed, 0)
    ctx.engine.load(family, X, np.ones(X.shape[0]))
    return ctx


def in_one_cluster(ctx: Context) -> State:
    nothing = np.zeros(len(ctx.engine.labels), dtype=np.int64)
    return initialise.start_from_labels(ctx, Forgetting(half_life=None), nothing, adapt=False)


def over_clustered(ctx: Context) -> State:
    return initialise.start_over_clustered(ctx, Plan(), Forgetting(half_life=None), adapt=False)


def sampled(
    ctx: Context, start: State, sweeps: int, look: Callable[[], Any], *, burn: int = 0,
    single_points: int = 0, two_way: bool = True,
) -> list[Any]:  # fmt: skip
    """Return what ``look`` sees after each sweep of `batch.first_batch` that never converges.

    These are the sweeps and moves of the package itself, under a prior that stays as it is;
    ``two_way`` says whether clusters are split and merged.
    """
    seen: list[Any] = []

    def progress(sweep: int, k: int, level: float) -> None:
        if sweep > burn:
            seen.append(look())

    ctx.rules = replace(ctx.rules, patience=np.inf, single_points=single_points)
    plan = Plan(max_sweeps=burn + sweeps, splits=two_way, merges=two_way)
    batch.first_batch(ctx, plan, start, batch.Course(adapt=False, progress=progress))
    return seen


def canonical(labels: np.ndarray) -> tuple[int, ...]:
    """Return the partition with its clusters numbered in the order of their first points."""
    number: dict[int, int] = {}
    return tuple(number.setdefault(int(z), len(number)) for z in labels)
