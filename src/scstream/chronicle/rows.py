"""Rows of a batch that a chronicle keeps: a few spread over all of it, and the most unusual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle.lines import Floats, read_table, to_short
from scstream.engines.tensors import to_host
from scstream.families.columns import Columns, columns_of, is_frame
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
        Its log density, of rows that are kept because they were hardly expected.
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


def as_rows(X: Any, names: Sequence[Any]) -> Any:
    """Return the rows of a batch, whatever they came as, so that some can be picked.

    Columns that have the model's names are in its order.
    """
    if X is None or isinstance(X, np.ndarray) or hasattr(X, "toarray"):
        return X
    if not (isinstance(X, Columns) or is_frame(X)):
        return np.asarray(to_host(X))
    table = columns_of(X)
    return table.ordered(names) if set(names) <= set(table.labels) else table


def sampled(
    X: Any, labels: NDArray[np.int64], keys: Sequence[Any], view: Projection | None
) -> SampledRows | None:
    """Return rows spread evenly over a batch, None where rows have no place in the view."""
    n = len(labels)
    if view is None or n == 0 or view.n_columns != len(keys):
        return None
    chosen = _spread(n, SAMPLED)
    try:
        table = _numbers(X, keys, chosen)
    except (TypeError, ValueError):
        return None
    known = np.isfinite(table).all(axis=1)
    return SampledRows(view(table[known]), np.asarray(labels)[chosen[known]])


def unusual(X: Any, labels: NDArray[np.int64], scores: ArrayLike) -> tuple[KeptRow, ...]:
    """Return the rows with the lowest scores, the lowest first."""
    values = np.asarray(scores, dtype=float).ravel()
    values = np.where(np.isfinite(values), values, np.inf)
    order = np.argsort(values, kind="stable")[:UNUSUAL]
    order = order[np.isfinite(values[order])]
    return tuple(
        KeptRow(int(labels[i]), row, float(values[i]))
        for i, row in zip(order, _rows(X, order), strict=True)
    )


def examples(X: Any, labels: NDArray[np.int64]) -> tuple[KeptRow, ...]:
    """Return some rows spread evenly over a batch."""
    chosen = _spread(len(labels), EXAMPLES)
    rows = zip(chosen, _rows(X, chosen), strict=True)
    return tuple(KeptRow(int(labels[i]), row) for i, row in rows)


def _spread(n: int, most: int) -> NDArray[np.int64]:
    """Return the places of some of n rows, from the first to the last."""
    m = min(n, most)
    return np.arange(m) * (n - 1) // max(m - 1, 1)


def _numbers(X: Any, keys: Sequence[Any], rows: NDArray[np.int64]) -> Floats:
    """Return some rows of columns of numbers, by names or numbers that the model knows them by."""
    if isinstance(X, Columns):
        return np.column_stack([np.asarray(X.values[X.place(key)][rows], float) for key in keys])
    if not all(isinstance(key, int | np.integer) for key in keys):
        raise TypeError("an array has no names")
    return np.asarray(_dense(X[rows]), dtype=float)[:, list(keys)]


def _rows(X: Any, chosen: NDArray[np.int64]) -> list[list[Any]]:
    """Return what some rows hold, as plain values."""
    if isinstance(X, Columns):
        columns = [_plain_values(column[chosen]) for column in X.values[:FIELDS]]
        return [list(row) for row in zip(*columns, strict=True)]
    found: list[list[Any]] = _plain_values(_dense(X[chosen])[:, :FIELDS])
    return found


def _dense(rows: Any) -> NDArray[Any]:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _plain_values(values: NDArray[Any]) -> Any:
    """Return values as JSON knows them."""
    if values.dtype.kind in "fiub":
        return to_short(values.astype(float))
    plain = [_plain(value) for value in values.ravel()]
    if values.ndim == 1:
        return plain
    width = values.shape[1]
    return [plain[a : a + width] for a in range(0, len(plain), width)]


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it: a number, a short text, or None."""
    if value is None or isinstance(value, str):
        return value if value is None else value[:_WORD]
    if isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        return to_short(float(value))
    return str(value)[:_WORD]
