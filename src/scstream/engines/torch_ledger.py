"""What the host knows of the clusters' rows, so that it need not ask the device."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scstream.families.base import Array
from scstream.families.scores import Labels

Counts = NDArray[np.int64]
_Numbers = TypeVar("_Numbers", Counts, Array, NDArray[np.bool_])


class Ledger:
    """Numbers of rows and first sums by label and sub-label, kept up through every move.

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
        self._centre: Array | None = None

    def sweep(self, rows: Counts, current: Array) -> None:
        """Take down the rows (k, 2) and sums (k, 2, p) of a sweep."""
        self._rows, self._sums = rows.copy(), current[..., : 1 + self._d].copy()
        self._tried, self._centre = self._tried[:0], None

    def trial(self, chosen: NDArray[np.bool_], rows: Counts, current: Array) -> None:
        """Take down what a trial of the chosen clusters would lead to."""
        k = len(chosen)
        if len(self._tried) != k:
            self._tried = np.zeros(k, dtype=bool)
            self._trial_rows, self._trial_sums = rows.copy(), current[..., : 1 + self._d].copy()
        else:
            self._trial_rows[chosen] = rows[chosen]
            self._trial_sums[chosen] = current[chosen, :, : 1 + self._d]
        self._tried |= chosen

    def adopt(self, chosen: NDArray[np.bool_]) -> Counts | None:
        """Return the rows (k, 2) after the trial was adopted, None if they must be counted."""
        k = len(chosen)
        tried = chosen & _first(self._tried, k)
        self._sums = _first(self._sums, k)
        rows = None
        if self._rows is not None and np.array_equal(tried, chosen):
            rows = _first(self._rows, k)
        if tried.any():
            self._centre = None
            at = tried[: len(self._tried)]
            self._sums[tried] = self._trial_sums[at]
            if rows is not None:
                rows[tried] = self._trial_rows[at]
        self._rows = rows
        return None if rows is None else rows.copy()

    def counted(self, rows: Counts) -> None:
        """Take down rows that were counted."""
        self._rows = rows.copy()

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label by the tables (k, 2) each."""
        k, size = len(label), int(label.max()) + 1
        kept = label >= 0
        at = label[kept], sublabel[kept]
        sums = np.zeros((size, *self._sums.shape[1:]))
        np.add.at(sums, at, _first(self._sums, k)[kept])
        if self._rows is not None:
            rows = np.zeros((size, 2), dtype=np.int64)
            np.add.at(rows, at, _first(self._rows, k)[kept])
            self._rows = rows
        self._sums, self._tried, self._centre = sums, self._tried[:0], None

    def centre(self, k: int) -> Array:
        """Return about where the clusters are (k, d); 0 for those of which nothing is known."""
        if self._centre is None or len(self._centre) != k:
            whole = _first(self._sums, k).sum(axis=1)
            n = whole[:, :1]
            self._centre = np.where(n > 1e-9, whole[:, 1:] / np.maximum(n, 1e-9), 0.0)
        return self._centre


def _first(values: _Numbers, k: int) -> _Numbers:
    """Return a copy with k entries, what is missing being 0."""
    out = np.zeros((k, *values.shape[1:]), dtype=values.dtype)
    m = min(k, len(values))
    out[:m] = values[:m]
    return out
