"""Gaussian clusters and rows with missing entries: what is observed decides, the rest is completed.

The statistics of a row with gaps are NaN where a gap enters: they say what was observed. A label
depends on the marginal density of that, exactly. What a gap adds to a cluster's statistics depends
on the cluster: it is completed once the row has a label, or among the groups that a first batch
starts from by any that it may be in (`scstream.engines.gaps`).

- With drawn parameters, or labels drawn by predictives, the missing entries are drawn from their
  conditional distribution. This is what a Gibbs sampler does with latent entries, and everything
  that follows, sub-labels, splits and merges, is that of complete rows.
- With the best labels the statistics are the expected ones: conditional means, and products with
  the conditional covariance. Draws would only add noise. Repeated, a cluster's expected covariance
  comes to what the observed entries alone say of it, as in the EM algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, gammaln, ndtri

from scstream import core
from scstream.families.scores import Array, Labels, Points, Products, Score, to_dense
from scstream.support.threads import over_rows

if TYPE_CHECKING:
    from scstream.families.contract import Family

_LOG_2 = float(np.log(2.0))
NO_ROWS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Completion(Protocol):
    """Scores rows by what is observed of them, and completes their statistics."""

    @property
    def uniforms(self) -> int:
        """How many uniforms a row needs whose missing entries are drawn."""
        ...

    def block(self, T: Array) -> Array:
        """Return the scores (n, k) of statistics (n, p) that are NaN where entries are missing."""
        ...

    def completed(self, T: Array, z: Labels, u: Array | None) -> Array:
        """Return the statistics (n, p) without gaps, given labels (n,).

        Missing entries are drawn by uniforms (n, `uniforms`) in (0, 1); without these, statistics
        are the expected ones.
        """
        ...


class Imputation(Protocol):
    """Rows with missing entries, in a family that completes these given a label."""

    def rows(self, X: Points) -> NDArray[np.int64]:
        """Return the checked rows whose statistics have gaps (NaN), in ascending order."""
        ...

    def filled(self, X: Points) -> Points:
        """Return checked rows with a first guess in place of such gaps, for seeding."""
        ...

    def completion(self, score: Score) -> Completion:
        """Return what scores rows with gaps as ``score`` does others, and completes them."""
        ...


def gap_rows(family: Family, X: Points) -> NDArray[np.int64]:
    """Return the checked rows whose statistics have gaps (NaN), in ascending order."""
    return NO_ROWS if family.imputation is None else family.imputation.rows(X)


def filled_rows(family: Family, X: Points) -> Points:
    """Return checked rows with a first guess in place of gaps."""
    return X if family.imputation is None else family.imputation.filled(X)


@dataclass(frozen=True)
class GaussianCompletion:
    """Full-covariance components, normal or Student-t, as their centres and matrices.

    Attributes
    ----------
    centre : ndarray (k, d)
    matrix : ndarray (k, d, d)
        The covariance of a normal component; of a Student-t its scale times the degrees of freedom.
    dof : ndarray (k,)
        The degrees of freedom, 0 for a normal component.
    log_weight : ndarray (k,)
    """

    centre: Array
    matrix: Array
    dof: Array
    log_weight: Array

    @staticmethod
    def of(form: Products, d: int) -> GaussianCompletion:
        """Return the components whose scores of complete rows the products are."""
        eta = form.eta
        k = len(eta)
        const, power = (form.const, form.power) if form.student else np.zeros((2, k))
        student = power > 0.0
        dof = np.where(student, 2.0 * power - d, 0.0)
        factor = np.where(student, 1.0, -2.0)[:, None]
        inverse = _unpacked(eta[:, 1 + d :] * factor, d)
        matrix = np.linalg.inv(inverse)
        centre = (matrix @ (eta[:, 1 : 1 + d] * np.where(student, -0.5, 1.0)[:, None])[..., None])[
            ..., 0
        ]
        log_det = np.linalg.slogdet(inverse)[1]
        far = (centre * (inverse @ centre[..., None])[..., 0]).sum(axis=1)
        normal = eta[:, 0] + 0.5 * (far - log_det)
        own = gammaln(np.where(student, power, 1.0)) - gammaln(np.where(student, 0.5 * dof, 1.0))
        log_weight = np.where(student, const - own - 0.5 * (d * _LOG_2 + log_det), normal)
        return GaussianCompletion(centre, np.ascontiguousarray(matrix), dof, log_weight)

    @property
    def uniforms(self) -> int:
        """One for each column, and one for the tails of a Student-t."""
        return int(self.centre.shape[1]) + 1

    def block(self, T: Array) -> Array:
        """Return the scores (n, k): log weights and marginal densities, base measure aside."""
        d = self.centre.shape[1]
        Z = np.ascontiguousarray(T[:, 1 : 1 + d])
        q = np.arange(d + 1.0)[:, None]
        power = np.where(self.dof > 0.0, 0.5 * (self.dof + q), 0.0)
        some = np.where(self.dof > 0.0, self.dof, 2.0)
        own = gammaln(0.5 * (some + q)) - gammaln(0.5 * some) + 0.5 * q * _LOG_2
        level = self.log_weight + np.where(self.dof > 0.0, own, 0.0)
        out = np.empty((len(Z), len(self.centre)))
        patterns, parts = by_pattern(np.isnan(Z)), (self.centre, self.matrix)
        core.score_observed(Z, patterns, parts, level, power, out)
        return out

    def completed(self, T: Array, z: Labels, u: Array | None) -> Array:
        """Return the statistics (n, p) without gaps, drawn by uniforms (n, d + 1) or expected."""
        d = self.centre.shape[1]
        Z = np.ascontiguousarray(T[:, 1 : 1 + d])
        normal, chi = np.empty((0, d)), np.empty(0)
        if u is not None:
            normal = ndtri(u[:, 1:])
            dof = self.dof[z] + (~np.isnan(Z)).sum(axis=1)
            chi = chdtri(np.maximum(dof, 1.0), u[:, 0])
        out = np.empty(T.shape)
        parts = self.centre, self.matrix, self.dof
        core.complete_rows(Z, z, parts, (normal, chi), out)
        return out


def observed_scores(family: Family, score: Score, X: Points) -> Array:
    """Return the scores (n, k) of checked rows, of those with gaps by what is observed."""
    T, rows, imputation = family.statistics(X), gap_rows(family, X), family.imputation
    if len(rows) == 0 or imputation is None:
        return score.block(T)
    T = to_dense(T)
    whole = np.ones(len(T), dtype=bool)
    whole[rows] = False
    some = score.block(T[whole])
    out = np.empty((len(T), some.shape[1]))
    out[whole], out[rows] = some, imputation.completion(score).block(T[rows])
    return out


def are_finite(X: NDArray[np.floating[Any]], n_threads: int | None = None) -> bool:
    """Whether the sum of all squares is finite, as it mostly is: soon found out.

    As many threads look as are allowed, unless their number is given.
    """

    def some(rows: slice) -> bool:
        flat = X[rows].ravel(order="K")
        return isfinite(np.vdot(flat, flat))  # which never warns

    return all(over_rows(some, len(X), n_threads, prod(X.shape[1:])))


def rows_with_gaps(X: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the rows (m,) of finite numbers that have NaN among them.

    A sum that is a number says that there are none, and takes no time. Tensors have none: their
    rows were looked through when they were taken.
    """
    if not isinstance(X, np.ndarray):
        return NO_ROWS
    if are_finite(X):
        return NO_ROWS
    return np.concatenate(over_rows(lambda rows: _with_gaps(X, rows), len(X), width=X.shape[1]))


def _with_gaps(X: NDArray[np.floating[Any]], rows: slice) -> NDArray[np.int64]:
    """Return those among a run of rows."""
    with np.errstate(all="ignore"):
        total = np.add.reduce(X[rows], axis=None)
    if total == total:
        return NO_ROWS
    found: NDArray[np.int64] = rows.start + np.flatnonzero(np.isnan(X[rows]).any(axis=1))
    return found


def by_pattern(missing: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows (n,) ordered by their gaps, and where each pattern begins, the end behind."""
    bits = np.packbits(missing, axis=1)
    order = np.lexsort(bits.T)
    changes = np.flatnonzero((bits[order][1:] != bits[order][:-1]).any(axis=1)) + 1
    end = [len(order)] * (len(order) > 0)  # no rows have no pattern
    return order, np.concatenate([[0], changes, end]).astype(np.int64)


def _unpacked(packed: Array, d: int) -> Array:
    """Return symmetric matrices (k, d, d) whose quadratic forms have the given coefficients."""
    row, col = np.triu_indices(d)
    out = np.zeros((len(packed), d, d))
    out[:, row, col] += 0.5 * packed
    out[:, col, row] += 0.5 * packed
    return out


def filled(Z: Array, donors: int = 2048, rows: int = 1024) -> Array:
    """Return rows (n, d) with each gap filled by the nearest row that has the entry.

    Nearness is the mean squared difference in the columns that both have. This is where seeding
    starts from, and no more: one in n / donors rows is asked. A column without entries gets 0.
    """
    n, d = Z.shape
    out = np.where(np.isnan(Z), 0.0, Z)
    open_ = np.flatnonzero(np.isnan(Z).any(axis=1))
    some = out[:: max(n // donors, 1)]
    have = (~np.isnan(Z[:: max(n // donors, 1)])).astype(np.float64)
    for start in range(0, len(open_), rows):
        mine = open_[start : start + rows]
        seen = (~np.isnan(Z[mine])).astype(np.float64)
        gap = (out[mine] ** 2) @ have.T - 2.0 * out[mine] @ some.T + seen @ (some**2).T
        shared = seen @ have.T
        gap = np.where(shared > 0, np.maximum(gap, 0.0) / np.maximum(shared, 1.0), 1e300)
        for j in range(d):
            rest = mine[seen[:, j] == 0]
            if len(rest) and have[:, j].any():
                near = np.where(have[:, j] > 0, gap[seen[:, j] == 0], np.inf).argmin(axis=1)
                out[rest, j] = some[near, j]
    return out
