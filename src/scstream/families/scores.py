"""Scores: what a point's statistics are worth under each of k components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream import core
from scstream.core import Scores
from scstream.families.triangular import MANY, Triangular
from scstream.support.frozen import frozen
from scstream.support.once import once
from scstream.support.threads import over_rows

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
# Rows of numbers: a dense array, or a scipy.sparse.csr_array, which has no type to name.
Points: TypeAlias = Any
_CELLS = 2**18  # posteriors' entries that are held at a time


class Score(Protocol):
    """Log weight plus log density of points under k components, up to the base measure.

    These two methods are all that an engine needs. A score may also have an attribute ``form``,
    see `form_of`, and a method ``left_out``, see `scstream.families.left_out`, where that is quick.
    """

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of statistics ``T`` (n, p) under every component."""
        ...

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) of row i under its own components ``2 z[i]``, ``2 z[i] + 1``."""
        ...


# -- forms --------------------------------------------------------------------------------------

_NOTHING = np.zeros(0)
SOME_ROWS = 8  # by which a score finds out what it has to get ready
SomeRows: TypeAlias = Callable[[], Points]


@frozen
class Products:
    """Scores by products of statistics and parameters: linear, Student-t, or some of each.

    Attributes
    ----------
    make : callable
        Returns the parameters ``eta`` (k, p); called when they are needed.
    const, power : ndarray (k,)
        Scores are ``const - power log(T @ eta)`` where the power is positive, Student-t densities
        by their quadratic forms. They are ``T @ eta`` where it is 0, or where both are empty.
    columns : int
        Of rows z whose statistics are ``(1, z, z z')``, else 0.
    factors : callable, optional
        Returns triangular factors, where that is quicker than by the parameters.
    """

    make: Callable[[], Array]
    const: Array = field(default_factory=lambda: _NOTHING)
    power: Array = field(default_factory=lambda: _NOTHING)
    columns: int = 0
    factors: Callable[[], Triangular | None] | None = None

    @property
    def eta(self) -> Array:
        """The parameters (k, p)."""
        return self.make()

    @property
    def student(self) -> bool:
        """Whether some components are Student-t densities."""
        return len(self.power) > 0

    @property
    def parts(self) -> Scores:
        """The parts, as the core takes them."""
        eta = np.ascontiguousarray(self.make())
        return Scores(eta, np.ascontiguousarray(self.const), np.ascontiguousarray(self.power))

    @once
    def triangular(self) -> Triangular | None:
        """The same by triangular factors, where rows have many columns."""
        if self.columns < MANY:
            return None
        if self.factors is not None:
            return self.factors()
        return Triangular.of(self.eta, self.const, self.power)

    def pairs(self, T: Array, z: Labels) -> Array:
        """Return the scores (n, 2) of rows with many columns under their own pairs."""
        assert self.triangular is not None
        out: Array = self.triangular.pairs(np.ascontiguousarray(T[:, 1 : 1 + self.columns]), z)
        return out

    def ready(self, some: SomeRows) -> None:
        """Compute what rows such as some need, before threads share the work."""
        if self.triangular is None:
            self.make()


@dataclass(frozen=True)
class Opaque:
    """Scores that only the score itself knows how to compute.

    Attributes
    ----------
    ready : callable
        Computes what rows such as some need, before threads share the work.
    """

    ready: Callable[[SomeRows], None] = lambda some: None


Form: TypeAlias = Products | Opaque


def form_of(score: Score) -> Form:
    """Return what kind of numbers a score is made of: its attribute ``form``, or `Opaque`.

    Engines match it once for each pass. A score of a user's family needs none.
    """
    return getattr(score, "form", None) or Opaque()


# -- scores -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearScore:
    """Scores ``T @ eta``: drawn or given natural parameters.

    Attributes
    ----------
    eta : ndarray (k, p)
        ``eta[:, 0]`` holds the log weight minus the log-normaliser.
    """

    eta: Array

    @property
    def form(self) -> Products:
        """The form."""
        return Products(lambda: self.eta)

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        return scored(T, Scores(self.eta, _NOTHING, _NOTHING))

    def part(self, rows: slice) -> LinearScore:
        """Return some of the components."""
        return LinearScore(self.eta[rows])

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        return scored_pairs(T, Scores(self.eta, _NOTHING, _NOTHING), z)


@dataclass(frozen=True)
class StudentScore:
    """Scores ``const - power log(T @ quad)``: Student-t densities by their quadratic forms.

    Attributes
    ----------
    quad : ndarray (k, p)
        ``T @ quad`` is one plus the scaled squared distance from the centre.
    const, power : ndarray (k,)
    """

    quad: Array
    const: Array
    power: Array

    @property
    def form(self) -> Products:
        """The form."""
        return Products(lambda: self.quad, self.const, self.power)

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        return scored(T, Scores(self.quad, self.const, self.power))

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        return scored_pairs(T, Scores(self.quad, self.const, self.power), z)


@dataclass(frozen=True)
class GenericScore:
    """Scores ``logZ(tau + T) - logZ(tau)``: the posterior predictive of any family.

    Attributes
    ----------
    log_partition : callable
        The family's, (..., p) -> (...).
    tau : ndarray (k, p)
        The components' posteriors.
    log_weight : ndarray (k,)
    """

    log_partition: Callable[[Array], Array]
    tau: Array
    log_weight: Array

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        rows = to_dense(T)
        at = self.log_weight - self.log_partition(self.tau)
        out = np.empty((len(rows), len(at)))
        step = max(1, _CELLS // self.tau.size)
        for a in range(0, len(rows), step):
            out[a : a + step] = self.log_partition(rows[a : a + step, None, :] + self.tau) + at
        return out

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        at = (self.log_weight - self.log_partition(self.tau)).reshape(-1, 2)[z]
        tau = self.tau.reshape(-1, 2, self.tau.shape[1])[z]
        return self.log_partition(tau + to_dense(T)[:, None, :]) + at


@dataclass(frozen=True)
class JoinedScore:
    """The components of several scores side by side, as the outlier component beside clusters."""

    parts: Sequence[Score]

    def __reduce__(self) -> Any:
        """Travel as the parts."""
        return JoinedScore, (self.parts,)

    @once
    def form(self) -> Form:
        """The form: that of the parts, or opaque if some have no products."""
        forms = [form_of(part) for part in self.parts]
        products = [form for form in forms if isinstance(form, Products)]
        if len(products) < len(forms):
            return Opaque(partial(_all_ready, forms))
        return _joined(products)

    def block(self, T: Points) -> Array:
        """Return the scores (n, sum of k)."""
        return np.concatenate([part.block(T) for part in self.parts], axis=1)

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair of the first part."""
        return self.parts[0].pairs(T, z)


def _joined(parts: list[Products]) -> Products:
    """Return products side by side."""
    const = power = _NOTHING
    if any(part.student for part in parts):
        none = [np.zeros(0 if part.student else len(part.eta)) for part in parts]
        const = np.concatenate(
            [x for part, y in zip(parts, none, strict=True) for x in (part.const, y)]
        )
        power = np.concatenate(
            [x for part, y in zip(parts, none, strict=True) for x in (part.power, y)]
        )
    columns = max(part.columns for part in parts)

    def eta() -> Array:
        return np.concatenate([part.eta for part in parts])

    def factors() -> Triangular | None:
        each = [
            part.triangular or Triangular.of(part.eta, part.const, part.power) for part in parts
        ]
        found = [one for one in each if one is not None]
        return Triangular.joined(found) if len(found) == len(parts) else None

    return Products(eta, const, power, columns, factors)


def _all_ready(forms: Sequence[Form], some: SomeRows) -> None:
    for form in forms:
        form.ready(some)


def fast_scores(form: Products, T: Points) -> Array:
    """Return scores (n, k) by BLAS, upper bounds of those of 37 nats or more below the best.

    BLAS may round a row's products differently by where in a block the row is. So this is for
    blocks that are always cut at the same rows; others take the score's `block`. Of rows with many
    columns only the first statistics are read.
    """
    if form.triangular is not None:
        out: Array = form.triangular.scores(np.ascontiguousarray(T[:, 1 : 1 + form.columns]))
        return out
    return _finished(np.asarray(T @ form.eta.T), form.const, form.power)


def to_dense(T: Points) -> Array:
    """Return rows as a dense array."""
    return T if isinstance(T, np.ndarray) else np.asarray(T.toarray())


def stack(parts: Sequence[Points]) -> Points:
    """Return rows below one another."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def scored(T: Points, by: Scores) -> Array:
    """Return scores (n, k), the same bits wherever a row stands."""
    if not isinstance(T, np.ndarray):  # SciPy goes row by row
        return _finished(np.asarray(T @ by.eta.T), by.level, by.power)
    T, by = np.ascontiguousarray(T), Scores(*map(np.ascontiguousarray, by))
    out = np.empty((len(T), len(by.eta)))
    over_rows(lambda rows: core.score_rows(T[rows], by, out[rows]), len(T), width=by.eta.size)
    return out


def scored_pairs(T: Points, by: Scores, z: Labels) -> Array:
    """Return the scores (n, 2) of rows under their own pairs, the same bits wherever they stand."""
    if isinstance(T, np.ndarray):
        out = np.empty((len(T), 2))
        by = Scores(*map(np.ascontiguousarray, by))
        core.score_pairs(np.ascontiguousarray(T), by, np.ascontiguousarray(z), out)
        return out
    n, own = T.shape[0], np.column_stack([2 * z, 2 * z + 1])
    row = np.repeat(np.arange(n), np.diff(T.indptr))
    eta = [T.data * by.eta[own[row, side], T.indices] for side in range(2)]
    products = np.column_stack([np.bincount(row, one, n).astype(np.float64) for one in eta])
    return _finished(products, *(x[own] if len(x) else x for x in (by.level, by.power)))


def _finished(products: Array, level: Array, power: Array) -> Array:
    """Return scores by products: where the power is positive they are in a logarithm."""
    if len(power) == 0:
        return products
    students = level - power * np.log(np.maximum(products, 1.0))
    return students if (power > 0.0).all() else np.where(power > 0.0, students, products)


def log_totals(score: Score, T: Points) -> Array:
    """Return the logs of sums over components (n,) of scores, which are logs."""
    form = form_of(score)
    if isinstance(form, Products) and form.triangular is not None:
        return row_log_totals(fast_scores(form, T))
    return row_log_totals(score.block(T))


def row_log_totals(rows: Array) -> Array:
    """Return the logs of the sums (n,) of scores (n, k), which are logs."""
    high = rows.max(axis=1)
    at = np.where(np.isfinite(high), high, 0.0)
    with np.errstate(divide="ignore"):
        out: Array = at + np.log(np.exp(rows - at[:, None]).sum(axis=1))
    return out
