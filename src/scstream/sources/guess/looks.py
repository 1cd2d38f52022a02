"""What a look at a table sees, column by column, and what a column is taken for."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scstream.sources.guess.amounts import amount
from scstream.sources.guess.values import MOSTLY, is_truth
from scstream.support.advice import Advice

FREE_TEXT = "free text"


@dataclass(frozen=True)
class Role:
    """What a column is taken for.

    Attributes
    ----------
    name : str
    kind : {"number", "truth", "text", "time", "out"}
        Numbers, truth values, words, the clock, or left out.
    why : str
    changes : tuple of Advice
        What changes it.
    dates : str
        Of the clock: "" if its numbers have a unit of their own, "iso" or a format of dates, or
        the part of a second ("s", "ms", "us", "ns") that numbers count since 1970.
    unit : str
        What stands next to the numbers of a column, such as "kg" or "€".
    """

    name: str
    kind: str
    why: str = ""
    changes: tuple[Advice, ...] = ()
    dates: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Look:
    """The first rows of a table, column by column.

    Attributes
    ----------
    names : sequence of str
    values : sequence of list
        Of each column what is there, in the rows' order: text, numbers, truth values, dates or
        anything else.
    n : int
        Rows that were looked at: the first ones, and others up to the last of them all.
    total : int
        Rows from which these were taken.
    decimal : str
        The decimal point of numbers that are text.
    typed : bool
        Whether text is never a number or a truth value: these come as such.
    """

    names: Sequence[str]
    values: Sequence[Sequence[Any]]
    n: int
    total: int
    decimal: str = "."
    typed: bool = False


def kind_of(value: Any, look: Look) -> str:
    """Return what a value is: a number, truth, text, a date or something else."""
    if isinstance(value, str):
        if look.typed:
            return "text"
        found = amount(value, look.decimal)
        if found is not None and math.isfinite(found[0]):
            return "number"
        return "truth" if is_truth(value) else "text"
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, int | float | np.number):
        return "number"
    return "date" if hasattr(value, "isoformat") or isinstance(value, np.datetime64) else "other"


def numbers_in(look: Look, j: int) -> list[float]:
    """Return the numbers of a column."""
    return [number for number, _ in _amounts(look, j)]


def units_in(look: Look, j: int) -> list[str]:
    """Return the units next to the numbers of a column: only one if nearly all have it."""
    counts = Counter(unit for _, unit in _amounts(look, j) if unit)
    for unit, n in counts.most_common(1):
        if n >= MOSTLY * counts.total():
            return [unit]
    return sorted(counts)


def _amounts(look: Look, j: int) -> list[tuple[float, str]]:
    """Return the numbers of a column and their units."""
    found = (
        amount(value, look.decimal) if isinstance(value, str) else (_as_float(value), "")
        for value in look.values[j]
    )
    return [pair for pair in found if pair is not None and math.isfinite(pair[0])]


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number that is larger than any
        return math.inf


def range_of(numbers: Any) -> str:
    """Return a description of the numbers."""
    if not len(numbers):
        return "none is finite"
    whole = "whole numbers" if np.all(numbers == np.floor(numbers)) else "numbers"
    return f"{whole} from {numbers.min():g} to {numbers.max():g}"


def form_of(values: Sequence[Any]) -> str:
    """Return what words that differ from row to row are."""
    texts = [str(value) for value in values[:100]]
    words = sum(len(text.split()) for text in texts) / len(texts)
    return FREE_TEXT if words > 3 else "names or identifiers"


def short(value: Any) -> str:
    """Return a value for a table, cut if it is long."""
    text = str(value)
    return text if len(text) <= 20 else text[:20] + "..."


def column_key(names: Sequence[str], j: int) -> str | int:
    """Return how an option names a column: by its number where its name will not do in a list.

    Examples
    --------
    >>> column_key(["x", "a b", "c,d"], 1), column_key(["x", "a b", "c,d"], 2)
    ('a b', 2)
    """
    name = names[j]
    plain = "," not in name and name.strip() == name and not re.fullmatch(r"\d+-\d+", name)
    return name if plain and name.isprintable() and name else j
