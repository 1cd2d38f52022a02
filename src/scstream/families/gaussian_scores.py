"""Scores of points under Gaussian clusters: drawn parameters and Student-t predictives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.special import gammaln

from scstream import core
from scstream.families.in_single import InSingle
from scstream.families.left_out import Members
from scstream.families.scores import (
    SOME_ROWS,
    Array,
    Labels,
    LinearScore,
    Points,
    Products,
    SomeRows,
    StudentScore,
)
from scstream.kernels import pruning
from scstream.support.threads import over_slices

MANY = 16  # columns from which a triangular solution for a point is cheaper than an inverse
_LEADING = 16  # columns by which most components are ruled out where there are twice as many
_ERROR = 1.0  # nats that scores by products may be off
_FINER = 2.0**-23  # of that of single precision is the error of double, many times over
_Result = TypeVar("_Result")


def shared(job: Callable[[slice], _Result], k: int, d: int) -> list[_Result]:
    """Run a job on slices of k matrices (d, d), shared among threads if that is work."""
    return over_slices(job, k) if d >= MANY else [job(slice(None))]


class PredictiveScore(StudentScore):
    """Student-t predictives by Cholesky factors; the quadratic forms are made when asked for.

    They cost an inverse for each component, which pays where every point meets every component.
    For pairs a triangular solution for each point is cheaper unless d is small.
    """

    factors: Array  # (k, p): rows (n, L^-1 mean, L)
    d: int
    widths: Callable[[], tuple[Array, Array]] | None  # means (k, d), largest eigenvalues (k,)
    _hard: bool = False  # whether rows are expected to be near many components: only a guess

    def __init__(
        self, factors: Array, const: Array, power: Array, d: int,
        widths: Callable[[], tuple[Array, Array]] | None = None,
    ) -> None:  # fmt: skip
        self.__dict__.update(factors=factors, const=const, power=power, d=d, widths=widths)

    @property
    def solves_pairs(self) -> bool:
        """Whether pairs are scored by triangular solutions."""
        return self.d >= MANY

    @property
    def form(self) -> Products:
        """The form; of many columns most components are ruled out by the first ones."""
        pruning = self if self.d >= 2 * _LEADING else None
        return Products(lambda: self.quad, self.const, self.power, self.solves_pairs, pruning)

    def __reduce__(self) -> Any:
        """Travel as the quadratic forms where these are all that is used."""
        if self.solves_pairs:
            return PredictiveScore, (self.factors, self.const, self.power, self.d)
        return StudentScore, (self.quad, self.const, self.power)

    @cached_property
    def quad(self) -> Array:
        """The quadratic forms (k, p)."""
        out = np.empty(self.factors.shape)

        def fill(cut: slice) -> None:
            core.student_forms(self.factors[cut], out[cut])

        shared(fill, len(out), self.d)
        return out

    @cached_property
    def _leading(self) -> Array:
        """The quadratic forms of the first columns alone, which those of all only exceed."""
        m = _LEADING
        L = self.factors[:, 1 + self.d : 1 + self.d + m * (m + 1) // 2]
        rows = np.concatenate([self.factors[:, : 1 + m], L], axis=1)
        out = np.empty(rows.shape)
        core.student_forms(rows, out)  # sooner than a thread wakes
        return out

    @cached_property
    def _inverse(self) -> Array:
        """One over the factors' diagonals (k, d)."""
        i = np.arange(self.d)
        return np.divide(1.0, self.factors[:, 1 + self.d + i * (i + 3) // 2], order="C")

    def ready(self, some: SomeRows) -> None:
        """Make what rows such as some need."""
        self.__dict__["_hard"] = not self._is_easy(some())
        if self._hard:
            _ = self._single

    def part(self, rows: slice) -> PredictiveScore:
        """Return some of the components."""
        return PredictiveScore(self.factors[rows], self.const[rows], self.power[rows], self.d)

    def scores(self, T: Points) -> Array:
        """Return the scores (n, k), of components that do not matter an upper bound.

        A squared distance is a sum over columns, of which the first ones give a lower bound. Who
        is thereby further from a point's best than certainty has it is not looked at again. Where
        too many are left, as the first rows show, all are scored: by products in single precision
        if that is fine enough for these rows, and the few scores that matter once more.
        """
        out = np.empty((len(T), len(self.const)))
        # where rows are hard the first ones show that too, and soon
        if (not self._hard or self._is_easy(T[:SOME_ROWS])) and self._ruled_out(T, out):
            return out
        base, forms, error = self._single
        square = np.einsum("ij,ij->i", T[:, 1 : 1 + self.d], T[:, 1 : 1 + self.d])
        size = np.sqrt(square + square * square)  # or less, which is the length of (z, z z')
        if not (size * (self.power * error).max() < _ERROR).all():
            forms, error = self.quad[:, 1:], _FINER * error
        size[~(size * (self.power * error).max() < _ERROR)] = np.inf  # nothing is known of these
        with np.errstate(all="ignore"):
            q = T[:, 1:].astype(forms.dtype, copy=False) @ forms.T
        pruning.refine(self.students(), T, q.astype(np.float64), base, error, size, out)
        return out

    def _is_easy(self, some: Points) -> bool:
        """Whether a few rows tell that most components are ruled out."""
        return self._ruled_out(some, np.empty((len(some), len(self.const))))

    def _ruled_out(self, T: Points, out: Array) -> bool:
        """Whether scores (n, k), or bounds, were filled by looking at few components of a row."""
        first = np.empty((len(T), self._leading.shape[1]))
        pruning.leading(T, self.d, _LEADING, first)
        np.matmul(first, self._leading.T, out=out)
        return bool(pruning.students(self.students(), T, out) == len(T))

    def students(self) -> pruning.Students:
        """Return what kernels need for triangular solutions."""
        return pruning.Students(self.factors, self._inverse, self.const, self.power)

    def predictives(self) -> pruning.Predictives | None:
        """Return what kernels need to rule components out, unless rows are hard."""
        if self._hard:
            return None
        more = self._leading.copy()
        more[:, 0] -= 1.0  # what is left is the smaller the more points a component has
        return pruning.Predictives(self.students(), _LEADING, *InSingle.of(more))

    def best(self, Z: Array) -> Labels | None:
        """Return the best component of rows (n, d) in the family's frame, if few come close.

        A squared distance is at least that from the mean over the largest eigenvalue.
        """
        if self.widths is None:
            return None
        T = np.empty((len(Z), 2 + self.d))
        T[:, 0], T[:, 1:-1] = 1.0, Z
        np.einsum("ij,ij->i", Z, Z, out=T[:, -1])
        z = np.empty(len(T), dtype=np.int64)
        done = pruning.best_students(self.students(), T, T @ self._balls.T, z)
        return z if done == len(T) else None

    @cached_property
    def _balls(self) -> Array:
        """Quadratic forms (k, d + 2) of ``(1, z, z'z)`` that are below those of all columns.

        They are lowered by more than what rounding may add to them.
        """
        assert self.widths is not None
        mean, widest = self.widths()
        n = self.factors[:, 0]
        slope = (n / (n + 1.0) / widest * (1.0 - 1e-9))[:, None]
        least = 1.0 - 4 * (self.d + 4) * np.finfo(np.float64).eps
        square = least * np.einsum("ij,ij->i", mean, mean)[:, None]
        return np.hstack([1.0 + slope * square, -2.0 * slope * mean, least * slope])

    @cached_property
    def _single(self) -> tuple[Array, Any, Array]:
        """The quadratic forms' constants (k,), the rest in single precision, and its error (k,).

        That is relative to the length of a point's statistics: no more than so many roundings of
        a product of vectors (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
        """
        rest = self.quad[:, 1:]
        roundings = (rest.shape[1] + 3) * 0.5 * np.finfo(np.float32).eps
        error: Array = roundings * np.sqrt(np.einsum("ij,ij->i", rest, rest))
        return self.quad[:, 0].copy(), rest.astype(np.float32), error

    @property
    def left_out(self) -> Callable[[Members, Array], Array] | None:
        """What scores rows under their own components without them, where it travels too."""
        return self._left_out if self.solves_pairs else None

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

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        if not self.solves_pairs:
            return super().pairs(T, z)
        out, order = np.empty((len(z), 2)), np.argsort(z)
        pruning.student_pairs(self.students(), T, z, order, out)
        return out


class DrawnScore(LinearScore):
    """Drawn means and precisions; the natural parameters are made when asked for."""

    drawn: tuple[Array, Array, Array, Array]  # rows (n, L^-1 mean, L), and what was drawn
    log_det: Array
    log_weight: Array

    def __init__(
        self, factors: Array, log_det: Array, chi: Array, low: Array, noise: Array,
        log_weight: Array,
    ) -> None:  # fmt: skip
        drawn = (factors, chi, low, noise)
        self.__dict__.update(drawn=drawn, log_det=log_det, log_weight=log_weight)

    @property
    def solves_pairs(self) -> bool:
        """Whether pairs are scored by triangular solutions."""
        return bool(self.drawn[1].shape[1] >= MANY)

    def __reduce__(self) -> Any:
        """Travel as the natural parameters where these are all that is used."""
        if not self.solves_pairs:
            return LinearScore, (self.eta,)
        factors, *drawn = self.drawn
        return DrawnScore, (factors, self.log_det, *drawn, self.log_weight)

    @property
    def form(self) -> Products:
        """The form."""
        return Products(lambda: self.eta, solves_pairs=self.solves_pairs)

    @cached_property
    def eta(self) -> Array:
        """The natural parameters (k, p)."""
        out = np.empty(self.drawn[0].shape)

        def fill(cut: slice) -> None:
            factors, chi, low, noise = (each[cut] for each in self.drawn)
            core.drawn_scores(factors, chi, low, noise, self.log_weight[cut], out[cut])

        shared(fill, len(out), self.drawn[1].shape[1])
        return out

    def part(self, rows: slice) -> DrawnScore:
        """Return some of the components."""
        factors, chi, low, noise = (each[rows] for each in self.drawn)
        return DrawnScore(factors, self.log_det[rows], chi, low, noise, self.log_weight[rows])
