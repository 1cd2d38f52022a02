"""The categories in a table's columns, and their places among the statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns, absent, kind_of
from scstream.families.scores import Array

_NOTHING = 1e-9  # a share of the prior that leaves the shares of a single row as they are


def check_places(value: Any) -> int:
    """Return the largest number of places, or say what it must be."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"max_categories must be a whole number of at least 1; got {value!r}.")
    return int(value)


def checked_width(width: Any, total: int) -> NDArray[np.int64]:
    """Return the columns' numbers of places from a checkpoint."""
    fits = isinstance(width, np.ndarray) and width.dtype == np.int64 and width.ndim == 1
    if not fits or len(width) == 0 or not np.all((width >= 1) & (width <= total)):
        raise ValueError("the columns have no places")
    if int(width.sum()) != total:
        raise ValueError(f"the columns have {int(width.sum())} places, and {total} are described")
    out: NDArray[np.int64] = width
    return out


def checked_known(known: Any, width: NDArray[np.int64]) -> tuple[tuple[Any, ...], ...]:
    """Return the columns' categories from a checkpoint: words or numbers, none twice."""
    if not isinstance(known, list | tuple) or len(known) != len(width):
        raise ValueError("there is no list of categories for each column")
    for labels in known:
        words = isinstance(labels, list | tuple) and {*map(type, labels)} <= {int, float, str}
        if not words:
            raise ValueError("categories are neither words nor numbers")
        if len(set(labels)) != len(labels):
            raise ValueError("a category appears twice")
    return tuple(map(tuple, known))


def categories_of(
    table: Columns, j: int, known: tuple[Any, ...] = ()
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.bool_]]:
    """Return a column's categories, which one each observed entry is, and which are observed.

    Numbers must be whole. Beside numbers that are known a fraction is a category as any other.
    """
    values = table.values[j]
    kind, seen = kind_of(values), ~absent(values)
    if kind == "text":
        words = list(map(str, values[seen]))
        found = sorted(set(words))
        code = {word: i for i, word in enumerate(found)}
        return found, np.fromiter(map(code.__getitem__, words), np.int64, len(words)), seen
    if kind not in ("number", "truth"):
        what = "a date" if kind == "date" else "things of several kinds"
        raise table.refuse(
            j,
            f"holds {what}, such as {str(values[seen][0])!r}: categories are words, truth values "
            "or whole numbers. Turn it into such, or leave it out.",
        )
    numbers, at = np.unique(values[seen].astype(np.float64), return_inverse=True)
    whole = numbers == np.floor(numbers)
    coded = len(known) > 0 and not any(isinstance(label, str) for label in known)
    odd = numbers[np.isinf(numbers) | ~(whole | coded)]
    if len(odd):
        raise table.refuse(
            j,
            f"holds {odd[0]:g}: categories are words, truth values or whole numbers. For real "
            "values use 'gaussian' or 'diagonal'.",
        )
    return [int(v) if w else float(v) for v, w in zip(numbers, whole, strict=True)], at, seen


def newcomers(table: Columns, j: int, old: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a column's categories that are not among the old ones, the commonest first."""
    labels, at, _ = categories_of(table, j, old)
    known = set(old)
    order = np.argsort(-np.bincount(at, minlength=len(labels)), kind="stable")
    return tuple(labels[i] for i in order if labels[i] not in known)


def of_rows(tau: Array, prior: Array) -> Array:
    """Return posteriors (k, p) of the rows alone; of a cluster without rows, the prior.

    What people are shown of a cluster's categories are shares of its rows.
    """
    return tau - (1.0 - _NOTHING) * prior


def by_label(labels: list[Any], share: Array) -> dict[Any, float]:
    """Return probabilities by category; the free places and the last one are the others."""
    out = {label: float(p) for label, p in zip(labels, share, strict=False)}
    out["(other)"] = float(share[len(labels) :].sum())
    return out
