"""Rows of a batch that a chronicle stores: a few spread over all of it, and the most unusual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle.moment import Floats, to_short
from scstream.engines.tensors import to_host
from scstream.families.columns import Columns, columns_of, is_frame
from scstream.plot.projection import Projection

SAMPLED = 50  # rows of a batch that are drawn
UNUSUAL = 3  # rows of a batch that are stored whole, the least expected
EXAMPLES = 6  # and others, spread over the batch
FIELDS = 32  # values of a row, at most
_WORD = 80  # characters of a value, at most


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
) -> dict[str, Any] | None:
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
    places = view(table[known])
    return {"places": to_short(places), "labels": labels[chosen[known]].tolist()}


def unusual(X: Any, labels: NDArray[np.int64], scores: ArrayLike) -> tuple[dict[str, Any], ...]:
    """Return the rows with the lowest scores, the lowest first."""
    values = np.asarray(scores, dtype=float).ravel()
    values = np.where(np.isfinite(values), values, np.inf)
    order = np.argsort(values, kind="stable")[:UNUSUAL]
    order = order[np.isfinite(values[order])]
    found = zip(to_short(values[order]), stored(X, labels, order), strict=True)
    return tuple({"score": score, **row} for score, row in found)


def examples(X: Any, labels: NDArray[np.int64]) -> tuple[dict[str, Any], ...]:
    """Return some rows spread evenly over a batch."""
    return stored(X, labels, _spread(len(labels), EXAMPLES))


def stored(X: Any, labels: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[Any, ...]:
    """Return some rows whole: their labels, and what their first columns hold."""
    if isinstance(X, Columns):
        columns = [column[chosen] for column in X.values[:FIELDS]]
    else:
        columns = list(_dense(X[chosen]).T[:FIELDS])
    rows = zip(*(_plain(column) for column in columns), strict=True)
    found = zip(labels[chosen].tolist(), rows, strict=True)
    return tuple({"label": label, "values": list(row)} for label, row in found)


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


def _dense(rows: Any) -> NDArray[Any]:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _plain(values: NDArray[Any]) -> list[Any]:
    """Return values as JSON knows them: numbers, short texts, or None."""
    if values.dtype.kind in "fiub":
        found: list[Any] = to_short(values)
        return found
    numbers = bool | np.bool_ | int | np.integer | float | np.floating
    return [
        value if value is None else to_short(value) if isinstance(value, numbers)
        else str(value)[:_WORD] for value in values
    ]  # fmt: skip
