"""Priors under which clusters are the most probable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Protocol, Self, TypeVar

import numpy as np

from scstream.families.contract import Family
from scstream.families.scores import Array

Kind = TypeVar("Kind", bound=Family)
_Trial = TypeVar("_Trial")

_FAR = 0.5 * log(4.0)  # half of what the log determinant of an expected covariance may grow by


class NormalPrior(Protocol):
    """The prior of clusters with covariances: its strengths, and what is expected."""

    _kappa: float
    _nu: float
    _psi: Array
    _log_z: float

    def _with(self, kappa: float, nu: float, psi: Array) -> Self: ...
    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihoods of clusters (k, p)."""


Normal = TypeVar("Normal", bound=NormalPrior)


def most_probable(trials: Sequence[Kind], clusters: Array) -> Kind:
    """Return the family under whose prior the clusters (k, p) are the most probable."""
    return best_judged([(trial, trial.log_marginal(clusters).sum()) for trial in trials])


def best_judged(judged: Sequence[tuple[_Trial, float]]) -> _Trial:
    """Return what has the largest sum of log marginals; of equals it is the first."""
    best, level = judged[0]
    for trial, reached in judged[1:]:
        if _is_more(reached, level):
            best, level = trial, reached
    return best


def step_that_suits(before: Normal, whole: Normal, clusters: Array) -> Normal:
    """Return the family after a step of its prior, or after a share of the step if it goes far.

    One batch of rows far wider than all before, as of a faulty sensor, would make all that is
    remembered as wide. So such a step is quartered while that makes the clusters (k, p) more
    probable and it is still far: if clusters stay so wide the prior arrives in some batches.
    """
    wider, share, best = whole._psi - before._psi, 1.0, whole
    level = float(whole.log_marginal(clusters).sum())
    while goes_far(before, best):
        share *= 0.25
        trial = whole._with(whole._kappa, whole._nu, before._psi + share * wider)
        reached = float(trial.log_marginal(clusters).sum())
        if not _is_more(reached, level):
            break
        best, level = trial, reached
    return best


def goes_far(before: Normal, after: Normal) -> bool:
    """Whether far wider clusters are expected after a step, which the log-normalisers show."""
    return before._log_z - after._log_z > _FAR * after._nu


def at_most(strength: Array | float, k: int, start: Array | float) -> Array:
    """Return strengths of a prior, at most those that k clusters can show.

    However many rows one cluster has, it does not show how clusters differ: it is most probable
    under a prior by which all are like it, and no other kind of rows would ever be found. So what
    was expected before the first batch, the strength at the ``start``, counts as one cluster, and
    the k clusters as no more than k of them.
    """
    return np.minimum(strength, k * start)


def best_by_doubling(
    make: Callable[[float], Kind], clusters: Array, start: float, least: float,
    bounds: tuple[float, float],
) -> tuple[Kind, float]:  # fmt: skip
    """Return the family with the best strength nu, and its sum of log marginals.

    From the start, what ``nu`` exceeds ``least`` by is doubled, or else halved, while that helps.
    """
    best, nu = make(start), start
    level = float(best.log_marginal(clusters).sum())
    for factor in (2.0, 0.5):
        while True:
            new = float(np.clip(least + factor * (nu - least), *bounds))
            if new == nu:
                break
            trial = make(new)
            reached = float(trial.log_marginal(clusters).sum())
            if not _is_more(reached, level):
                break
            best, nu, level = trial, new, reached
        if nu != start:
            break
    return best, level


def _is_more(reached: float, level: float) -> bool:
    """Whether a sum of log marginals is larger than another, by more than rounding may be.

    Of two or three clusters any strength is about as probable: whoever computes it, in whatever
    order, must come to the same one.
    """
    return reached > level + 1e-6 + 1e-10 * abs(level)
