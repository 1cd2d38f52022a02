"""Priors under which clusters are the most probable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from scstream.families.contract import Family
from scstream.families.scores import Array

Kind = TypeVar("Kind", bound=Family)


def most_probable(trials: Sequence[Kind], clusters: Array) -> Kind:
    """Return the family under whose prior the clusters (k, p) are the most probable."""
    return trials[int(np.argmax([t.log_marginal(clusters).sum() for t in trials]))]


def best_by_doubling(
    make: Callable[[float], Kind], clusters: Array, start: float, least: float,
    bounds: tuple[float, float],
) -> Kind:  # fmt: skip
    """Return the family with the best strength nu.

    From the start, what ``nu`` exceeds ``least`` by is doubled, or else halved, while that helps.
    """
    best, nu = make(start), start
    level = best.log_marginal(clusters).sum()
    for factor in (2.0, 0.5):
        while True:
            new = float(np.clip(least + factor * (nu - least), *bounds))
            trial = make(new)
            reached = trial.log_marginal(clusters).sum()
            if new == nu or reached <= level:
                break
            best, nu, level = trial, new, reached
        if nu != start:
            break
    return best
