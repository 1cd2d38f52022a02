"""Scores: what a point's statistics are worth under each of k components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.kernels import scores
from scstream.kernels.pruning import Predictives, Students
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


class Pruning(Protocol):
    """Rules out most components of a row before these are scored."""

    def ready(self, some: SomeRows) -> None:
        """Compute what rows such as some need, before threads share the work."""
        ...

    def scores(self, T: Points) -> Array:
        """Return the scores (n, k), upper bounds of those that are 25 or more below the best."""
        ...

    def best(self, Z: Array) -> Labels | None:
        """Return the best components of rows (n, d) in the family's frame, if few come close."""
        ...

    def students(self) -> Students | None:
        """Return what kernels need to score rows by triangular solutions, if that is all."""
        ...

    def predictives(self) -> Predictives | None:
        """Return what kernels need to rule them out, if rows such as some come close to few."""
        ...


@dataclass(frozen=True)
class Products:
    """Scores by products of statistics and parameters: linear, Student-t, or some of each.

    Attributes
    ----------
    make : callable
        Returns the parameters ``eta`` (k, p); called when they are needed.
    const, power : ndarray (k,)
        Scores are ``const - power log(T @ eta)`` where the power is positive, Student-t densities
        by their quadratic forms. They are ``T @ eta`` where it is 0, or where both are empty.
    solves_pairs : bool
        Whether the score's own `pairs` is quicker than products.
    pruning : Pruning or None
        What rules components out, where products would take longer.
    """

    make: Callable[[], Array]
    const: Array = field(default_factory=lambda: _NOTHING)
    power: Array = field(default_factory=lambda: _NOTHING)
    solves_pairs: bool = False
    pruning: Pruning | None = None

    @property
    def eta(self) -> Array:
        """The parameters (k, p)."""
        return self.make()

    @property
    def student(self) -> bool:
        """Whether some components are Student-t densities."""
        return len(self.power) > 0

    def ready(self, some: SomeRows) -> None:
        """Compute what rows such as some need, before threads share the work."""
        if self.pruning is None:
            self.make()
        else:
            self.pruning.ready(some)


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
        return products(T, self.eta)

    def part(self, rows: slice) -> LinearScore:
        """Return some of the components."""
        return LinearScore(self.eta[rows])

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        return _pair_products(T, self.eta, z)


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
        q = products(T, self.quad)
        scores.student(q, self.const, self.power)
        return q

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        q = _pair_products(T, self.quad, z)
        scores.student_pairs(q, self.const, self.power, z)
        return q


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

    @property
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


class _JoinedPruning:
    """Rules out components of several scores side by side, each for itself."""

    def __init__(self, parts: list[Products]) -> None:
        self._parts = parts

    def ready(self, some: SomeRows) -> None:
        _all_ready(self._parts, some)

    def scores(self, T: Points) -> Array:
        return np.concatenate([fast_scores(part, T) for part in self._parts], axis=1)

    def best(self, Z: Array) -> Labels | None:
        return None

    def students(self) -> None:
        return None

    predictives = students


def _joined(parts: list[Products]) -> Products:
    """Return products side by side."""
    const = power = _NOTHING
    if any(part.student for part in parts):
        flat = [part.const if part.student else np.zeros(len(part.eta)) for part in parts]
        const = np.concatenate(flat)
        flat = [part.power if part.student else np.zeros(len(part.eta)) for part in parts]
        power = np.concatenate(flat)
    pruning = _JoinedPruning(parts) if any(part.pruning for part in parts) else None
    solves = any(part.solves_pairs for part in parts)
    return Products(
        lambda: np.concatenate([part.eta for part in parts]), const, power, solves, pruning
    )


def _all_ready(forms: Sequence[Form], some: SomeRows) -> None:
    for form in forms:
        form.ready(some)


def fast_scores(form: Products, T: Points) -> Array:
    """Return scores (n, k) by BLAS, upper bounds of those ruled out.

    BLAS may round a row's products differently by where in a block the row is. So this is for
    blocks that are always cut at the same rows; others take the score's `block`.
    """
    if form.pruning is not None:
        return form.pruning.scores(T)
    q: Array = np.asarray(T @ form.eta.T)
    if form.student:
        scores.student(q, form.const, form.power)
    return q


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


def products(T: Points, eta: Array) -> Array:
    """Return ``T @ eta.T`` (n, k), the same bits wherever a row stands."""
    if not isinstance(T, np.ndarray):
        return np.asarray(T @ eta.T)  # SciPy goes row by row
    out = np.empty((len(T), len(eta)))
    over_rows(lambda rows: scores.products(T[rows], eta, out[rows]), len(T), width=eta.size)
    return out


def _pair_products(T: Points, eta: Array, z: Labels) -> Array:
    out = np.empty((T.shape[0], 2))
    if isinstance(T, np.ndarray):
        scores.pair_products(T, eta, z, out)
    else:
        scores.pair_products_csr(T.data, T.indices, T.indptr, eta, z, out)
    return out
