"""Scores of rows of counts under Dirichlet-multinomial predictives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from scstream import core
from scstream.families.left_out import Members
from scstream.families.scores import Array, Labels, Points
from scstream.support.once import once

_NONE, _NO_LABELS = np.zeros(0), np.zeros(0, dtype=np.int64)


class CountRows(sparse.csr_array):
    """Compressed rows, of which a run is a view."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice) or key.step not in (None, 1):
            return super().__getitem__(key)
        a, b, _ = key.indices(self.shape[0])
        if (a, b) == (0, self.shape[0]):
            return self
        indptr = self.indptr[a : max(a, b) + 1]
        run = slice(indptr[0], indptr[-1])
        return self.made(self.data[run], self.indices[run], indptr - indptr[0], self.shape[1])

    def made(self, data: Array, indices: Any, indptr: Any, width: int) -> CountRows:
        """Return rows of such parts, as sound as these: SciPy's checks take longer than a pass."""
        rows = CountRows.__new__(CountRows)
        shape = len(indptr) - 1, width
        rows.__dict__.update(vars(self), data=data, indices=indices, indptr=indptr, _shape=shape)
        return rows


@dataclass(frozen=True)
class CountScore:
    """Log weights plus Dirichlet-multinomial predictives, coefficients aside.

    Attributes
    ----------
    prior : ndarray (1 + d,)
        The Dirichlet's parameters, behind a number that is not read.
    sums : ndarray (k, 1 + d)
        What the components' rows add to them, behind the numbers of rows.
    log_weight : ndarray (k,)
    """

    prior: Array
    sums: Array
    log_weight: Array

    @once
    def _conc(self) -> Array:
        """The components' parameters (k, 1 + d), behind a 1: a row counts as one of itself."""
        out: Array = self.prior + self.sums
        out[:, 0] = 1.0
        return out

    @once
    def _whole(self) -> Array:
        """The sums (k, 1) of the components' parameters."""
        out: Array = self._conc.sum(axis=1, keepdims=True) - 1.0
        return out

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of rows ``(1, x)``."""
        return self._scored(T, _NO_LABELS, _NONE, self.log_weight)

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        if len(z) == 0:
            return np.empty((0, 2))
        return self._scored(T, z, _NONE, self.log_weight.reshape(-1, 2)[z])

    def left_out(self, rows: Members, inside: Array) -> Array:
        """Return the scores (n,) of rows under their own components without them."""
        z = np.ascontiguousarray(rows.z)
        return self._scored(rows.T, z, rows.weight, self.log_weight[z][:, None])[:, 0]

    def _scored(self, T: Points, z: Labels, less: Array, level: Array) -> Array:
        """Return the scores (n, g) of rows, as many times their counts taken off before."""
        T = T if sparse.issparse(T) else CountRows(T)
        counts = T.data
        if len(less):
            counts = counts.copy()
            counts[T.indptr[:-1]] = 0.0  # the rows themselves
        total = T @ _categories(T.shape[1])
        out = np.zeros((len(total), len(self.sums) if len(z) == 0 else level.shape[1]))
        core.add_rises((total[:, None],), self._whole, z, less, out)
        np.subtract(level, out, out=out)
        core.add_rises((counts, T.indices, T.indptr), self._conc, z, less, out)
        return out


@lru_cache(maxsize=8)
def _categories(p: int) -> Array:
    """Return 1 for each category, behind a 0."""
    out = np.ones(p)
    out[0] = 0.0
    return out
