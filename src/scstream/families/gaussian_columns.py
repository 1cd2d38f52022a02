"""Rows of Gaussian clusters: the frame, gaps, and many columns by a few directions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import log
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream import core
from scstream.families.contract import Array, Family
from scstream.families.gaps import (
    Completion,
    GaussianCompletion,
    Imputation,
    filled,
    gap_rows,
    rows_with_gaps,
)
from scstream.families.gaussian_division import GaussianDivision
from scstream.families.gaussian_scores import shared
from scstream.families.normal_wishart import NormalWishart
from scstream.families.packed import unpack, upper
from scstream.families.scores import Points, Products, Score, form_of
from scstream.families.subspace import Subspace, narrowed
from scstream.support import rowwise

_LOG_2PI = float(np.log(2.0 * np.pi))
MOST_DESCRIBED = 1000  # columns of which a cluster shows all covariances

Carry = Callable[[Array], Array]  # statistics (..., p) of clusters to those in other directions


class GaussianColumns(NormalWishart):
    """The columns of the rows, and the frame and directions in which the family computes."""

    mean: ArrayLike | None  # what the user gave, see `Gaussian`
    cov: ArrayLike | None
    cov_strength: float | None
    _space: Subspace | None = None  # where rows have many columns: d directions in them

    def check(self, X: Points) -> Points:
        """Return rows as dense floats: float32 stays what it is, a block of it at a time widens."""
        return np.ascontiguousarray(X, dtype=_float_type(X))

    def statistics(self, X: Points) -> Points:
        """Return ``(1, z, upper triangle of z z')`` of each row ``z`` in the frame."""
        X = self._in_directions(X)
        out = np.empty((len(X), len(self._prior)))

        def fill(cut: slice) -> None:
            core.fill_statistics(core.Rows(X[cut], self._shift, self._scale), out[cut])

        shared(fill, len(X), len(self._m))
        return out

    def embed(self, X: Points) -> Array:
        """Return the rows in the family's frame."""
        out: Array = (self._in_directions(X) - self._shift) / self._scale
        return out

    def _in_directions(self, X: Points) -> NDArray[np.floating[Any]]:
        """Return rows with the columns of the frame."""
        X = narrowed(self, X)
        return np.ascontiguousarray(X, dtype=_float_type(X))

    def quadratic_frame(self) -> tuple[Array, Array] | None:
        """Return the frame, unless rows have other coordinates."""
        return None if self._space else (self._shift, self._scale)

    def log_base(self, X: Points) -> Array:
        """Return the log of the base measure of what is observed, the frame's units included."""
        scale, some = self._scale, gap_rows(self, X)
        out: Array = np.full(X.shape[0], -sum([0.5 * _LOG_2PI + log(v) for v in scale.tolist()]))
        if len(some):
            each = 0.5 * _LOG_2PI + np.log(scale)
            out[some] = -rowwise.sums(np.where(np.isnan(X[some]), 0.0, each))
        return out if self._space is None else out + self._space.log_rest(np.asarray(X))

    @property
    def quadratic_rows(self) -> bool:
        """True, unless a subclass has statistics of its own."""
        return type(self).statistics is GaussianColumns.statistics

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of another frame, or of other directions, in this one."""
        if not isinstance(before, GaussianColumns):
            return None
        if (
            before._space is not None
            and self._space is not None
            and before.columns_taken() == len(self._space.centre)
        ):
            before, carry = before.carried_to(self._space)
            sums = carry(sums)
        elif before._space or self._space or len(before._m) != len(self._m):
            return None
        d, n = len(self._m), sums[:, 0]
        ratio, shift = before._scale / self._scale, (before._shift - self._shift) / self._scale
        z = sums[:, 1 : 1 + d] * ratio
        cross = z[:, :, None] * shift
        zz = unpack(sums[:, 1 + d :], d) * np.outer(ratio, ratio)
        zz = zz + cross + cross.transpose(0, 2, 1) + n[:, None, None] * np.outer(shift, shift)
        row, col = upper(d)
        return np.column_stack([n, z + n[:, None] * shift, zz[:, row, col]])

    @property
    def imputation(self) -> Imputation | None:
        """The imputation of missing entries; coordinates in few directions have none."""
        return None if self._space else GaussianImputation(self)

    @property
    def division(self) -> GaussianDivision:
        """Divisions by planes."""
        return GaussianDivision(self)

    # -- many columns ----------------------------------------------------------------------------

    def _may_narrow(self) -> bool:
        """Whether rows may be described by fewer columns: not if a given prior is for all."""
        return self.alone and self.mean is None and self.cov is None and self.cov_strength is None

    @property
    def space(self) -> Subspace | None:
        """The directions by which rows of many columns are described."""
        return self._space

    def carried_to(self, space: Subspace) -> tuple[Self, Carry]:
        """Return a copy that computes in other directions, and what carries statistics there."""
        assert self._space is not None
        d, q = len(self._m), space.lift.shape[1]
        A, b, noise = space.turn_from(self._space)
        move, turn = A @ self._shift + b, A * self._scale

        def carry(s: Array) -> Array:
            n, first = s[..., :1], s[..., 1 : 1 + d]
            moved = first @ turn.T
            cross = moved[..., :, None] * move
            square = turn @ unpack(s[..., 1 + d :], d) @ turn.T + cross + np.swapaxes(cross, -1, -2)
            square += n[..., None] * (np.outer(move, move) + noise)
            row, col = upper(q)
            return np.concatenate([n, moved + n * move, square[..., row, col]], axis=-1)

        new = copy.copy(self)
        new._space, new._shift, new._scale = space, np.zeros(q), np.ones(q)
        new.__dict__.pop("_step", None)
        psi = turn @ self._psi @ turn.T + noise
        return new._with(self._kappa, self._nu + (q - d), psi, turn @ self._m + move), carry

    def columns_taken(self) -> int | None:
        """Return how many columns rows have."""
        return super().columns_taken() if self._space is None else len(self._space.centre)

    def _in_columns(self, mean: Array, cov: Array) -> dict[str, Array]:
        """Return means (k, d) and covariances (k, d, d) for the columns of the rows.

        Where these are very many there are their variances alone.
        """
        if self._space is None:
            return {"mean": mean, "covariance": cov}
        if len(self._space.centre) > MOST_DESCRIBED:
            return {"mean": self._space.means(mean), "variance": self._space.variances(cov)}
        return {"mean": self._space.means(mean), "covariance": self._space.covariances(cov)}


def turned(family: Family, X: Points, past: float) -> tuple[Family, Carry | None]:
    """Return a copy whose directions describe some rows too, beside ``past`` others.

    Also returns what carries statistics (..., p) over to them, None if they stay the same.
    """
    if not isinstance(family, GaussianColumns) or family.space is None or len(X) == 0:
        return family, None
    space = family.space.after(np.asarray(X), past)
    if space is family.space:
        return family, None
    if space.lift is not family.space.lift:
        return family.carried_to(space)
    new = copy.copy(family)
    new._space = space
    return new, None


class GaussianImputation:
    """Completes rows of Gaussian clusters by the entries that are observed."""

    def __init__(self, family: GaussianColumns) -> None:
        self._family = family

    def rows(self, X: Points) -> NDArray[np.int64]:
        """Return the rows with missing entries."""
        return rows_with_gaps(X)

    def filled(self, X: Points) -> Points:
        """Return rows with missing entries as in the nearest rows that have them."""
        if len(rows_with_gaps(X)) == 0:
            return X
        shift, scale = self._family.frame
        return filled(self._family.embed(X)) * scale + shift

    def completion(self, score: Score) -> Completion:
        """Return the components of a score by which rows with gaps are scored and completed."""
        form = form_of(score)
        assert isinstance(form, Products)
        return GaussianCompletion.of(form, len(self._family.frame[0]))


def _float_type(X: Any) -> type[np.floating[Any]]:
    return np.float32 if X.dtype.char == "f" else np.float64
