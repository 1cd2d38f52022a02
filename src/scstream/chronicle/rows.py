"""Rows of a batch that a chronicle keeps: a few spread over all of it, and the most unusual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle.lines import Floats, read_table, to_short
from scstream.plot.projection import Projection

SAMPLED = 50  # rows of a batch that are drawn
UNUSUAL = 3  # rows of a batch that are kept whole, the least expected
EXAMPLES = 6  # and others, spread over the batch
FIELDS = 32  # values of a row, at most
_WORD = 80  # characters of a value, at most


@dataclass(frozen=True)
class SampledRows:
    """Rows of a batch as they are drawn.

    Attributes
    ----------
    places : ndarray (m, 2)
        In the chronicle's projection.
    labels : ndarray (m,)
    """

    places: Floats
    labels: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"places": to_short(self.places), "labels": self.labels.tolist()}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> SampledRows:
        """Return what plain values say."""
        labels = np.array(saved["labels"], dtype=np.int64).reshape(-1)
        return cls(read_table(saved["places"], len(labels), 2), labels)


@dataclass(frozen=True)
class KeptRow:
    """A row that is kept whole.

    Attributes
    ----------
    label : int
    values : list
        What its columns hold, at most 32 of them: numbers, words or None.
    score : float or None
        Minus its log density, of rows that are kept because they were hardly expected.
    """

    label: int
    values: list[Any]
    score: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {"label": self.label, "values": self.values}
        return plain if self.score is None else {"score": to_short(self.score), **plain}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> KeptRow:
        """Return what plain values say."""
        values = [_plain(value) for value in saved["values"]]
        score = saved.get("score")
        return cls(int(saved["label"]), values, None if score is None else float(score))


def sampled(
    X: Any, labels: NDArray[np.int64], keys: Sequence[Any], view: Projection | None
) -> SampledRows | None:
    """Return rows spread evenly over a batch, None where rows have no place in the view."""
    n = len(labels)
    if view is None or n == 0 or view.n_columns != len(keys):
        return None
    chosen = np.unique(np.linspace(0, n - 1, min(n, SAMPLED)).astype(int))
    try:
        table = np.column_stack([_column(X, key, chosen) for key in keys])
    except (TypeError, ValueError):
        return None
    known = np.isfinite(table).all(axis=1)
    return SampledRows(view(table[known]), np.asarray(labels)[chosen[known]])


def unusual(X: Any, labels: NDArray[np.int64], scores: ArrayLike) -> tuple[KeptRow, ...]:
    """Return the rows with the highest scores, the highest first."""
    values = np.asarray(scores, dtype=float).ravel()
    values = np.where(np.isfinite(values), values, -np.inf)
    order = np.argsort(-values, kind="stable")[:UNUSUAL]
    return tuple(
        KeptRow(int(labels[i]), _row(X, int(i)), float(values[i]))
        for i in order
        if np.isfinite(values[i])
    )


def examples(X: Any, labels: NDArray[np.int64]) -> tuple[KeptRow, ...]:
    """Return some rows spread evenly over a batch."""
    chosen = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), EXAMPLES)).astype(int))
    return tuple(KeptRow(int(labels[i]), _row(X, int(i))) for i in chosen)


def _column(X: Any, key: Any, rows: NDArray[np.int64]) -> Floats:
    """Return numbers of a column, by the name or number that the model knows it by."""
    if hasattr(X, "values") and hasattr(X, "place"):
        return np.asarray(X.values[X.place(key)], dtype=float)[rows]
    if not isinstance(key, int | np.integer):
        raise TypeError("an array has no names")
    picked = X[rows, key]
    return np.asarray(
        picked.toarray() if hasattr(picked, "toarray") else picked, dtype=float
    ).ravel()


def _row(X: Any, i: int) -> list[Any]:
    """Return what a row holds, as plain values."""
    if hasattr(X, "values") and hasattr(X, "place"):
        return [_plain(column[i]) for column in X.values[:FIELDS]]
    row = X[i : i + 1, :FIELDS]
    return [
        _plain(v) for v in np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()
    ]


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it: a number, a short text, or None."""
    if value is None or isinstance(value, str):
        return value if value is None else value[:_WORD]
    if isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        return to_short(float(value))
    return str(value)[:_WORD]
