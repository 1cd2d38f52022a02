"""Rows that come one by one, as dicts, buffered and learned in batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families import BY_NAME, Product
from scstream.families.columns import columns_of
from scstream.model import ScStream
from scstream.support.messages import advise

_MOST_WARNINGS = 100  # features left out that are named; memory stays bounded
_NOTHING_LEARNED = -1


class Buffer:
    """Turns rows that come one by one, such as messages, into batches that a model learns.

    Parameters
    ----------
    model : ScStream
        The model that learns.
    batch_size : int, default=100
        Rows that are learned together.
    span : float, optional
        The time after the first row of a batch from which a row begins another one, for rows that
        have times; a batch that has ``batch_size`` rows before is learned at once.

    Attributes
    ----------
    features : list
        The features of a row in the order of the model's columns; empty before the first batch.

    Notes
    -----
    The features of the stream are those of the first batch's rows, all of them together. One that
    appears later is left out, with a warning. One that a row lacks (or that is None or NaN) is
    missing; a family that takes no missing entries refuses the batch. Rows that are not learned yet
    are in no checkpoint: call `flush` first.

    Examples
    --------
    >>> from scstream import Buffer, ScStream
    >>> buffer = Buffer(ScStream(random_state=0), batch_size=50)
    >>> for i in range(100):
    ...     learned = buffer.add({"x": 9.0 * (i % 2) + 0.01 * (i % 7), "y": float(i % 5)})
    >>> learned, buffer.model.n_batches_
    (True, 2)
    """

    def __init__(
        self, model: ScStream, *, batch_size: int = 100, span: float | None = None
    ) -> None:
        if isinstance(batch_size, bool) or batch_size != int(batch_size) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; it must be a whole number, 1 or more.")
        if span is not None and not span > 0.0:
            raise ValueError(f"span is {span!r}; it must be a positive length of time.")
        self.model, self.batch_size, self.span = model, batch_size, span
        self.features: list[Any] = []
        self._buffer: list[dict[Any, Any]] = []
        self._times: tuple[float, float] | None = None  # of the first and the last buffered row
        self._ignored: set[Any] = set()

    def add(self, x: Mapping[Any, Any], time: float | None = None) -> bool:
        """Add a row, a dict of features, and return whether the model learned a batch.

        Times must not fall. A batch has that of its last row.
        """
        row = self._observed(x)
        if not row:
            raise ValueError(f"The row {dict(x)!r} has no value to learn from.")
        if time is None and (self._times or self.span is not None):
            raise ValueError("This row has no time: give add(x, time) one for every row or none.")
        if time is not None and self._buffer and not self._times:
            raise ValueError("Rows before this one have no time: give every row one, or none.")
        if time is not None and self._times and not time >= self._times[1]:
            raise ValueError(f"The row is of time {time!r}, before the row at {self._times[1]!r}.")
        if self.features:
            self._warn_of_new(row)
        due = bool(
            time is not None and self._times and self.span and time - self._times[0] >= self.span
        )
        if due:
            self._learn(self._buffer, self._times)
        first = self._times[0] if self._times else time
        times = None if time is None or first is None else (first, time)
        if len(self._buffer) + 1 >= self.batch_size:
            self._learn([*self._buffer, row], times)
            return True
        self._buffer.append(row)
        self._times = times
        return due

    def flush(self) -> None:
        """Learn what is in the buffer now, such as at the end of a stream."""
        if self._buffer:
            self._learn(self._buffer, self._times)

    def predict(self, rows: Iterable[Mapping[Any, Any]]) -> NDArray[np.int64]:
        """Return the ids of rows' clusters (n,): -1 for outliers, and before the first batch."""
        observed = [self._observed(row) for row in rows]
        if not self.features or not observed:
            return np.full(len(observed), _NOTHING_LEARNED)
        labels: NDArray[np.int64] = self.model.predict(self._table(observed, self.features))
        return labels

    def _learn(self, rows: list[dict[Any, Any]], times: tuple[float, float] | None) -> None:
        """Learn rows, of which the buffer is empty then; or raise and leave everything as it was.

        Rows that the model refuses are dropped: it would refuse them again and again.
        """
        features = self.features or sorted({name for row in rows for name in row}, key=_order)
        after = {"features": features, "_buffer": [], "_times": None}
        before = self.model.__dict__.get("_learner")
        time = None if times is None else times[1]
        try:
            self.model.partial_fit(self._table(rows, features), time=time)
            self.__dict__.update(after)
        except BaseException as error:
            if self.model.__dict__.get("_learner") is not before:
                self.__dict__.update(after)  # an interrupt came when all was learned
            elif isinstance(error, ValueError):
                self._buffer, self._times = [], None
                error.add_note(f"The {len(rows)} buffered rows were dropped.")
            raise

    def _observed(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what a row has, as a copy, or say what cannot be learned from."""
        row = {name: value for name, value in x.items() if not _is_missing(value)}
        if not self._tabular:
            for name, value in row.items():
                row[name] = _number(name, value)
        return row

    def _table(self, rows: list[dict[Any, Any]], features: list[Any]) -> NDArray[Any]:
        """Return rows as a table (n, d) of the features in their order."""
        tabular = self._tabular
        table = np.empty((len(rows), len(features)), dtype=object if tabular else np.float64)
        table[:] = [
            [row.get(name, None if tabular else np.nan) for name in features] for row in rows
        ]
        return table

    @property
    def _tabular(self) -> bool:
        """Whether the family takes columns as they are: text, and entries not observed."""
        if isinstance(self.model.family, str):
            return BY_NAME.get(self.model.family, Product).tabular  # "auto" makes a Product
        return self.model.family.tabular

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
