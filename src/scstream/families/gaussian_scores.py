"""Scores of points under Gaussian clusters: drawn parameters and Student-t predictives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import gammaln

from scstream import core
from scstream.families.left_out import Members
from scstream.families.scores import (
    Array,
    Labels,
    LinearScore,
    Points,
    Products,
    StudentScore,
)
from scstream.families.triangular import Triangular
from scstream.support.once import once
from scstream.support.threads import over_slices

MANY = 16  # columns from which matrices are shared among threads
_Result = TypeVar("_Result")


def shared(job: Callable[[slice], _Result], k: int, d: int) -> list[_Result]:
    """Run a job on slices of k matrices (d, d), shared among threads if that is work."""
    return over_slices(job, k) if d >= MANY else [job(slice(None))]


def _student_forms(factors: Array, d: int) -> Array:
    """Return quadratic forms (k, p) of Student-t predictives, see `scstream.core`."""
    out = np.empty(factors.shape)
    shared(lambda cut: core.student_forms(factors[cut], out[cut]), len(out), d)
    return out


class PredictiveScore(StudentScore):
    """Student-t predictives by Cholesky factors; the quadratic forms are made when asked for."""

    factors: Array  # (k, p): rows (n, L^-1 mean, L)
    d: int

    def __init__(self, factors: Array, const: Array, power: Array, d: int) -> None:
        self.__dict__.update(factors=factors, const=const, power=power, d=d)

    @once
    def form(self) -> Products:
        """The form, which does not hold the score."""
        factors, const, power, d = self.factors, self.const, self.power, self.d
        return Products(
            lambda: _student_forms(factors, d), const, power, d,
            lambda: Triangular.of_factors(factors, const, power),
        )  # fmt: skip

    def __reduce__(self) -> Any:
        """Travel as the factors."""
        return PredictiveScore, (self.factors, self.const, self.power, self.d)

    @once
    def quad(self) -> Array:
        """The quadratic forms (k, p)."""
        out: Array = self.form.eta
        return out

    def part(self, rows: slice) -> PredictiveScore:
        """Return some of the components."""
        return PredictiveScore(self.factors[rows], self.const[rows], self.power[rows], self.d)

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        form = self.form
        return super().pairs(T, z) if form.triangular is None else form.pairs(T, z)

    @property
    def left_out(self) -> Callable[[Members, Array], Array] | None:
        """What scores rows under their own components without them, where it travels too."""
        return self._left_out if self.d >= MANY else None

    def _left_out(self, rows: Members, inside: Array) -> Array:
        """Return the scores (n,) of rows under their own components without them.

        Without a row of weight w the scatter has ``w kappa / (kappa - w) (x - m)(x - m)'`` less,
        and its determinant follows from the row's distance, which the score tells.
        """
        w, kappa = rows.weight, self.factors[rows.z, 0]
        const, power = self.const[rows.z], self.power[rows.z]
        distance = np.expm1((const - inside) / power) * (kappa + 1.0) / kappa
        less, half = kappa - w, 0.5 * self.d
        shrunk = 1.0 - w * kappa / less * distance
        again = shrunk + kappa * kappa / (less * (less + 1.0)) * distance
        power_left = power - 0.5 * w
        level = gammaln(power_left) - gammaln(power_left - half)
        level -= gammaln(power) - gammaln(power - half)
        level += half * np.log(less / (less + 1.0) * (kappa + 1.0) / kappa)
        out: Array = const + level - 0.5 * np.log(shrunk) - power_left * np.log(again / shrunk)
        out[~(power_left > half)] = np.nan
        return out


@dataclass(frozen=True)
class DrawnScore(LinearScore):
    """Drawn means and precisions.

    Attributes
    ----------
    chi : ndarray (k, d)
        Diagonals of the factors that precisions were drawn by.
    log_det : ndarray (k,)
        Log determinants of the posteriors' scatters.
    log_weight : ndarray (k,)
    """

    chi: Array
    log_det: Array
    log_weight: Array

    @property
    def form(self) -> Products:
        """The form."""
        return Products(lambda: self.eta, columns=self.chi.shape[1])

    def part(self, rows: slice) -> DrawnScore:
        """Return some of the components."""
        of_drawn = self.chi[rows], self.log_det[rows], self.log_weight[rows]
        return DrawnScore(self.eta[rows], *of_drawn)

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        form = self.form
        return super().pairs(T, z) if form.triangular is None else form.pairs(T, z)
