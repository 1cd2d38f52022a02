"""What the host knows of the clusters' rows, so that it need not ask the device."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.scores import Labels

Counts = NDArray[np.int64]
_Numbers = TypeVar("_Numbers", Counts, Array, NDArray[np.bool_])


class Ledger:
    """Numbers of rows and first sums by label and sub-label, kept up through every move.

    Arrays are kept as they are given, and replaced rather than changed.

    Parameters
    ----------
    d : int
        How many statistics after the first are the coordinates of a point, whose mean is a
        cluster's centre; 0 if there is no such thing.
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self.forget()

    def forget(self) -> None:
        """Know nothing: labels were set from outside."""
        self._rows: Counts | None = None
        self._sums: Array = np.zeros((0, 2, 1 + self._d))
        self._tried: NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def sweep(self, rows: Counts, current: Array) -> None:
        """Take down the rows (k, 2) and sums (k, 2, p) of a sweep."""
        self._rows, self._sums = rows, current[..., : 1 + self._d].copy()
        self._tried = self._tried[:0]

    def trial(self, chosen: NDArray[np.bool_], rows: Counts, current: Array) -> None:
        """Take down what a trial of the chosen clusters would lead to."""
        if len(self._tried) != len(chosen):
            self._tried = chosen.copy()
            self._trial_rows, self._trial_sums = rows, current[..., : 1 + self._d].copy()
            return
        where = chosen[:, None, None]
        self._trial_rows = np.where(where[..., 0], rows, self._trial_rows)
        self._trial_sums = np.where(where, current[..., : 1 + self._d], self._trial_sums)
        self._tried = self._tried | chosen

    def adopt(self, chosen: NDArray[np.bool_]) -> Counts | None:
        """Return the rows (k, 2) after the trial was adopted, None if they must be counted."""
        k = len(chosen)
        tried = chosen & _first(self._tried, k)
        self._sums = _first(self._sums, k)
        rows = None
        if self._rows is not None and np.array_equal(tried, chosen):
            rows = _first(self._rows, k)
        if tried.any():
            where = tried[:, None, None]
            self._sums = np.where(where, _first(self._trial_sums, k), self._sums)
            if rows is not None:
                rows = np.where(where[..., 0], _first(self._trial_rows, k), rows)
        self._rows = rows
        return rows

    def counted(self, rows: Counts) -> None:
        """Take down rows that were counted."""
        self._rows = rows

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label by the tables (k, 2) each."""
        size = int(label.max()) + 1
        if self._rows is not None:
            self._rows = _moved(self._rows, label, sublabel, size)
        self._sums, self._tried = _moved(self._sums, label, sublabel, size), self._tried[:0]

    def sums(self, k: int) -> Array:
        """Return counts and sums of coordinates of the sub-clusters (k, 2, 1 + d), 0 if unknown."""
        return _first(self._sums, k)

    def centre(self, k: int) -> Array:
        """Return about where the clusters are (k, d); 0 for those of which nothing is known."""
        whole = self.sums(k).sum(axis=1)
        n = whole[:, :1]
        return np.where(n > 1e-9, whole[:, 1:] / np.maximum(n, 1e-9), 0.0)


def _moved(values: _Numbers, label: Labels, sublabel: Labels, size: int) -> _Numbers:
    """Return numbers (k, 2, ...) added up by new names; of later clusters they are not known."""
    out = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    known = label[: len(values)] >= 0
    at = label[: len(values)][known], sublabel[: len(values)][known]
    np.add.at(out, at, values[: len(label)][known])
    return out


def _first(values: _Numbers, k: int) -> _Numbers:
    """Return k entries, what is missing being 0."""
    if len(values) == k:
        return values
    out = np.zeros((k, *values.shape[1:]), dtype=values.dtype)
    m = min(k, len(values))
    out[:m] = values[:m]
    return out
