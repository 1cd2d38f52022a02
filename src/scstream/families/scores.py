"""Scores: what a point's statistics are worth under each of k components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.kernels import scores

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
# Rows of numbers: a dense array, or a scipy.sparse.csr_array, which has no type to name.
Points: TypeAlias = Any
_CELLS = 2**18  # posteriors' entries that are held at a time


class Score(Protocol):
    """Log weight plus log density of points under k components, up to the base measure."""

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of statistics ``T`` (n, p) under every component."""
        ...

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) of row i under its own components ``2 z[i]``, ``2 z[i] + 1``."""
        ...


@dataclass(frozen=True)
class LinearScore:
    """Scores ``T @ eta``: drawn or given natural parameters.

    Attributes
    ----------
    eta : ndarray (k, p)
        ``eta[:, 0]`` holds the log weight minus the log-normaliser.
    """

    eta: Array

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        return _products(T, self.eta)

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
    def rules_out(self) -> bool:
        """Whether `near` takes less than `block`, which is what it returns otherwise."""
        return False

    def near(self, T: Points) -> Array:
        """Return the scores (n, k); upper bounds will do where they do not matter, see `near`."""
        return self.block(T)

    def best(self, Z: Array) -> Labels | None:
        """Return the best component of rows (n, d) in the family's frame, if that is less work."""
        return None

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        q = _products(T, self.quad)
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

    def block(self, T: Points) -> Array:
        """Return the scores (n, sum of k)."""
        return np.concatenate([part.block(T) for part in self.parts], axis=1)

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair of the first part."""
        return self.parts[0].pairs(T, z)


_NOTHING = np.zeros(0)
SOME_ROWS = 8  # tell a score what to get ready for


def near(score: Score, T: Points) -> Array:
    """Return the scores (n, k) as far as they matter.

    Of components that are less probable than the best by certainty (see the engines' kernels) an
    upper bound will do, and some scores have one that is cheaper.
    """
    if isinstance(score, JoinedScore):
        return np.concatenate([near(part, T) for part in score.parts], axis=1)
    return score.near(T) if isinstance(score, StudentScore) else score.block(T)


def best(score: Score, embedded: Callable[[], Array]) -> Labels | None:
    """Return the best component of rows, if the rows in the family's frame are enough for that."""
    return score.best(embedded()) if isinstance(score, StudentScore) else None


def get_ready(score: Score, some: Callable[[], Points]) -> None:
    """Let a score compute what rows need, of which it may ask for some, before threads do it."""
    for part in getattr(score, "parts", (score,)):
        ready = getattr(part, "ready", None)
        if ready is not None:
            ready(some)


def unfinished_pairs(score: Score, T: Points) -> tuple[Array, ...]:
    """Return what a kernel needs to score dense rows under their own pairs, nothing if it cannot.

    That is ``eta`` (k, p), ``const`` and ``power`` (k,): scores are ``const - power log(T @ eta)``,
    or ``T @ eta`` where the others are empty.
    """
    if not isinstance(T, np.ndarray) or getattr(score, "solves_pairs", False):
        return ()
    if isinstance(score, StudentScore):
        return score.quad, score.const, score.power
    return (score.eta, _NOTHING, _NOTHING) if isinstance(score, LinearScore) else ()


def unfinished(score: Score, T: Points) -> tuple[Array, Array, Array]:
    """Return ``q`` (n, k), ``const`` and ``power`` (k,): scores are ``const - power log(q)``.

    If there is nothing left to do, ``q`` holds the scores and the others are empty. Who seeks
    the best score only need not take every logarithm.
    """
    if isinstance(score, StudentScore) and not score.rules_out:
        return _products(T, score.quad), score.const, score.power
    return near(score, T), _NOTHING, _NOTHING


def unfinished_sums(score: Score, T: Points) -> tuple[Any, ...]:
    """Return what a kernel needs to add up the scores of rows, nothing if they are no sums.

    That is numbers ``which`` of rows of a ``table`` (m, k), those of row i from ``first[i]`` on, a
    multiple of eight of them; then the table, the same in single precision, and what the entries
    added up for a row (n,) come to at most, signs aside.
    """
    terms = getattr(score, "terms", None)
    return () if terms is None else terms(T)


def to_dense(T: Points) -> Array:
    """Return rows as a dense array."""
    dense: Array = T if isinstance(T, np.ndarray) else T.toarray()
    return dense


def stack(parts: Sequence[Points]) -> Points:
    """Return rows below one another."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _products(T: Points, eta: Array) -> Array:
    out: Array = np.asarray(T @ eta.T)
    return out


def _pair_products(T: Points, eta: Array, z: Labels) -> Array:
    out = np.empty((T.shape[0], 2))
    if isinstance(T, np.ndarray):
        scores.pair_products(T, eta, z, out)
    else:
        scores.pair_products_csr(T.data, T.indices, T.indptr, eta, z, out)
    return out
