"""Columns that hold one value, or nothing, so far: they say nothing about clusters."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from scstream.families.columns import columns_of, numbers_of
from scstream.families.contract import Array, Family
from scstream.families.scores import LinearScore, Points


class Idle(Family):
    """Columns without a part in the clusters, as ``family="auto"`` finds them in a first batch.

    Parameters
    ----------
    value : array-like (d,), optional
        What each column holds, NaN for nothing. Default: what the first batch holds.

    Notes
    -----
    A column that begins to vary is refused here, and then given to another family by
    ``family="auto"``. Its past counts as not observed: it distinguished nothing.
    """

    name: ClassVar[str] = "idle"
    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {"_value": "d~"}

    _value: Array = np.zeros(0)  # (d,)

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def check(self, X: Points) -> Points:
        """Return the columns as they are, if they hold what they held before."""
        table = columns_of(X)
        for j in range(len(table.values)):
            if self.awakes(table.select([j]), j):
                raise table.refuse(
                    j, "was constant, or empty, and now holds something else: its kind is unknown."
                )
        return numbers_of(X) if table.n else np.empty(table.shape)

    def awakes(self, column: Any, j: int) -> bool:
        """Whether a column, the j-th of these, holds something else than before."""
        if not len(self._value):
            return False
        try:
            x = numbers_of(column)[:, 0]
        except (TypeError, ValueError):
            return True
        seen = x[~np.isnan(x)]
        return bool(np.any(seen != self._value[j]))

    def prepare(self, X: Points) -> Self:
        """Return a copy that knows what the columns hold."""
        new = copy.copy(self)
        seen = [x[~np.isnan(x)][:1] for x in np.asarray(X, dtype=np.float64).T]
        new._value = np.array([x[0] if len(x) else np.nan for x in seen])
        if self.value is not None:
            new._value = np.asarray(self.value, dtype=np.float64)
        return new

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of as many columns: they hold nothing."""
        return sums if isinstance(before, Idle) and sums.shape[1] == len(self.prior) else None

    def statistics(self, X: Points) -> Points:
        """Return the count of each row."""
        return np.ones((X.shape[0], 1))

    def log_base(self, X: Points) -> Array:
        """Return zeros."""
        return np.zeros(X.shape[0])

    @property
    def prior(self) -> Array:
        """A count of 0."""
        return np.zeros(1)

    def log_partition(self, tau: Array) -> Array:
        """Return zeros: every cluster is as likely."""
        return np.zeros(tau.shape[:-1])

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Return zeros: there is nothing to draw."""
        return np.zeros(tau.shape)

    def predictive_score(self, s: Array, log_weight: Array) -> LinearScore:
        """Score rows by the weights alone."""
        return LinearScore(log_weight[:, None])

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return what the columns hold, in every cluster."""
        return {"value": np.broadcast_to(self._value, (len(tau), len(self._value)))}
