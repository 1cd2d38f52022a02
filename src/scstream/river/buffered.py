"""What the estimators for river share: rows are buffered, and learned in mini-batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from river import base

from scstream.families import BY_NAME, Family, Product
from scstream.families.columns import columns_of
from scstream.model import ScStream
from scstream.support.messages import advise

_MOST_WARNINGS = 100  # features left out that are named; memory stays bounded
_Seen = dict[Any, tuple[int, float]]


class Buffered(base.Estimator):
    """A model that gets rows one by one, as dicts, and learns them `batch_size` at a time."""

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        batch_size: int = 100,
        alpha: float = 1.0,
        half_life: float | Literal["auto"] | None = "auto",
        sweeps: int = 1,
        max_clusters: int | None = None,
        outlier_weight: float | Literal["auto"] = 0.0,
        seed: int | None = None,
    ) -> None:
        if isinstance(batch_size, bool) or batch_size != int(batch_size) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; it must be a whole number, 1 or more.")
        self.family, self.batch_size, self.seed = family, batch_size, seed
        options: dict[str, Any] = {
            "alpha": alpha, "half_life": half_life, "sweeps": sweeps, "max_clusters": max_clusters,
            "outlier_weight": outlier_weight,
        }  # fmt: skip
        self.__dict__ |= options  # where river looks for the parameters
        self.model = ScStream(family, random_state=seed, **options)
        self.features: list[Any] = []
        self._buffer: list[dict[Any, Any]] = []
        self._seen: _Seen = {}  # how often a feature was seen; its mean
        self._ignored: set[Any] = set()

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Add a row, a dict of features; the model learns once there are `batch_size` of them."""
        row = self._observed(x)
        if not row:
            raise ValueError(f"The row {dict(x)!r} has no value to learn from.")
        if self.features:
            self._warn_of_new(row)
        rows = [*self._buffer, row]
        if len(rows) >= self.batch_size:
            self._learn(rows)
        else:
            self._buffer.append(row)

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return how unusual a row is, from 0 to 1: one minus `ScStream.anomaly`.

        In a stream without anomalies one row in a thousand is above 0.999. Before the first batch
        this is 0.
        """
        row = self._observed(x)
        if not self.features:
            return 0.0
        return float(1.0 - self.model.anomaly(self._table([row], self.features))[0])

    def flush(self) -> None:
        """Learn what is in the buffer now, such as at the end of a stream."""
        if self._buffer:
            self._learn(self._buffer)

    def _learn(self, rows: list[dict[Any, Any]]) -> None:
        """Learn rows, of which the buffer is empty then; or raise and leave everything as it was.

        Rows that the model refuses are dropped: it would refuse them again and again.
        """
        features = self.features or sorted({name for row in rows for name in row}, key=_order)
        seen = self._seen_with(rows)
        after = {"features": features, "_seen": seen, "_buffer": []}
        before = self.model.__dict__.get("_learner")
        try:
            self.model.partial_fit(self._table(rows, features, seen))
            self.__dict__.update(after)
        except BaseException as error:
            if self.model.__dict__.get("_learner") is not before:
                self.__dict__.update(after)  # an interrupt came when all was learned
            elif isinstance(error, ValueError):
                self._buffer = []
                error.add_note(f"The {len(rows)} buffered rows were dropped.")
            raise

    def learn_many(self, X: Any) -> None:
        """Take in the rows of a data frame, one after the other."""
        for row in dicts(X):
            self.learn_one(row)

    def _observed(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what a row has, as a copy, or say what cannot be learned from."""
        row = {name: value for name, value in x.items() if not _is_missing(value)}
        if not self._tabular:
            for name, value in row.items():
                row[name] = _number(name, value)
        return row

    def _table(
        self, rows: list[dict[Any, Any]], features: list[Any], seen: _Seen | None = None
    ) -> NDArray[Any]:
        """Return rows as a table (n, d) of the features in their order."""
        if self._tabular:
            table = np.empty((len(rows), len(features)), dtype=object)
            table[:] = [[row.get(name) for name in features] for row in rows]
            return table
        seen = self._seen if seen is None else seen
        fill = {name: seen[name][1] for name in features}
        return np.array([[row.get(name, fill[name]) for name in features] for row in rows])

    @property
    def _tabular(self) -> bool:
        """Whether the family takes columns as they are: text, and entries not observed."""
        if isinstance(self.family, str):
            return BY_NAME.get(self.family, Product).tabular  # "auto" makes a Product
        return self.family.tabular

    def _seen_with(self, rows: list[dict[Any, Any]]) -> _Seen:
        """Return the mean of each feature after rows; it stands in where a row lacks it."""
        seen = dict(self._seen)
        for row in () if self._tabular else rows:
            for name, value in row.items():
                n, mean = seen.get(name, (0, 0.0))
                if n or not self.features:  # of the features of the first batch alone
                    seen[name] = (n + 1, mean + (value - mean) / (n + 1))
        return seen

    def _warn_of_new(self, row: Mapping[Any, Any]) -> None:
        new = row.keys() - set(self.features) - self._ignored
        if new and len(self._ignored) < _MOST_WARNINGS:
            self._ignored |= new
            advise(
                f"Features {sorted(new, key=_order)} were not in the first batch and are left out."
            )


def _order(name: Any) -> tuple[str, str]:
    """Return a key that puts features of any type in one order, however they came."""
    return str(name), type(name).__name__


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def _number(name: Any, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, str | bytes) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"Feature {name!r} is {value!r}, which is not a finite number. Leave it out, or "
            "choose a family for text such as 'auto'."
        )
    return number


def dicts(X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a data frame."""
    table = columns_of(X)
    columns = [values.tolist() for values in table.values]
    return [dict(zip(table.labels, row, strict=True)) for row in zip(*columns, strict=True)]
