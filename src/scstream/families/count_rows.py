"""Compressed rows of counts: runs and some of them, and the numbered terms of their scores."""

from __future__ import annotations

import weakref
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families.scores import Array, Points
from scstream.kernels import count_scores, counts

_ORDER = "_has_canonical_format", "_has_sorted_indices"  # what SciPy knows of each row
_TABLED = 256  # counts of a category below this are scored once for all rows that have them


class Numbers(NamedTuple):
    """The terms of rows' scores, numbered.

    Attributes
    ----------
    terms : ndarray (m, 2)
        Categories and counts. The first ones, of category 0, are the rows' sums.
    sums : int
        How many these are.
    which : ndarray
        The numbers of all rows' terms, row after row, some of which are m: nothing.
    first : ndarray (n + 1,)
        Where the rows begin there.
    """

    terms: NDArray[np.int64]
    sums: int
    which: NDArray[np.int32]
    first: NDArray[np.int64]


def compressed(
    kind: Any, data: Array, indices: NDArray[Any], indptr: NDArray[Any], n: int, p: int
) -> Any:
    """Return compressed rows (n, p) that are known to be sound: checks take longer than a pass."""
    rows = kind.__new__(kind)
    vars(rows).update(_nothing(p), _shape=(n, p), data=data, indices=indices, indptr=indptr)
    if rows.shape == (n, p):
        return rows
    return kind((data, indices, indptr), shape=(n, p))  # SciPy keeps them in another way now


@lru_cache(maxsize=8)
def _nothing(p: int) -> dict[str, Any]:
    """Return what SciPy keeps of no rows."""
    return dict(vars(sparse.csr_array((0, p))))


class CompressedRows(sparse.csr_array):
    """Compressed rows of which some are taken without looking at everything several times."""

    def __getitem__(self, key: Any) -> Any:
        mine = self.data, self.indices, self.indptr
        if not (isinstance(key, np.ndarray) and key.dtype == np.int64 and key.ndim == 1):
            return super().__getitem__(key)
        if key.min(initial=0) < 0 or key.max(initial=-1) >= self.shape[0]:
            return super().__getitem__(key)
        starts = np.zeros(len(key) + 1, dtype=self.indptr.dtype)
        np.cumsum(np.diff(self.indptr)[key], out=starts[1:])
        size = int(starts[-1])
        to = np.empty(size, self.data.dtype), np.empty(size, self.indices.dtype), starts
        counts.take_rows(mine, key, to)
        rows = compressed(type(self), *to, len(key), self.shape[1])
        vars(rows).update({name: held for name, held in vars(self).items() if name in _ORDER})
        return rows


class CountRows(CompressedRows):
    """Rows ``(1, x)`` of counts, from which a run of them is cut without a copy, and once."""

    _cut: tuple[weakref.ref[CountRows], int] | None = None

    @staticmethod
    def of(T: Points) -> CountRows:
        """Return rows in this form."""
        return T if isinstance(T, CountRows) else CountRows(T)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice) or key.step is not None:
            return super().__getitem__(key)
        a, b, _ = key.indices(self.shape[0])
        if (a, b) == (0, self.shape[0]):
            return self
        if (a, b) not in self._runs:
            self._runs[a, b] = self._run(a, max(a, b))
        return self._runs[a, b]

    @cached_property
    def _runs(self) -> dict[tuple[int, int], CountRows]:
        return {}

    def _run(self, a: int, b: int) -> CountRows:
        indptr = self.indptr[a : b + 1]
        run = slice(indptr[0], indptr[-1])
        parts = self.data[run], self.indices[run], indptr - indptr[0]
        rows: CountRows = compressed(CountRows, *parts, b - a, self.shape[1])
        whole, first = self.whole
        rows._cut = weakref.ref(whole), first + a
        return rows

    @property
    def whole(self) -> tuple[CountRows, int]:
        """The rows that these were cut from, if there still are such, and where they begin."""
        whole = None if self._cut is None else self._cut[0]()
        return (self, 0) if whole is None or self._cut is None else (whole, self._cut[1])

    @cached_property
    def total(self) -> Array:
        """The rows' sums (n,)."""
        out = np.empty(self.shape[0])
        count_scores.totals(self.data, self.indptr, out)
        return out

    @cached_property
    def numbers(self) -> Numbers:
        """The numbered terms."""
        (n, p), room = self.shape, 4 * self.nnz
        sums = np.zeros(int(min(self.total.max(initial=0.0), room)) + 1, dtype=np.int32)
        found = np.zeros((p, min(_TABLED, room // p)), dtype=np.int32)
        terms = np.empty((n + self.nnz, 2), dtype=np.int64)
        which = np.empty(self.nnz + count_scores.EIGHT * n, dtype=np.int32)
        first = np.empty(n + 1, dtype=np.int64)
        n_sums, m = count_scores.number(
            self.data, self.indices, self.indptr, self.total, sums, found, first, which, terms
        )
        return Numbers(terms[:m], n_sums, which, first)
