"""Whether the first row of a table names its columns, by the rows below it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from scstream.sources.guess.amounts import is_number
from scstream.sources.guess.dates import is_moment_text
from scstream.sources.guess.values import is_truth

_MOSTLY = 0.9  # share of a column's fields that are numbers, below its name
_BY_CHANCE = 1e-3  # probability of a row of data, below which numbers that count are names
_NEW = 0.02  # that, at most, of a number or a form that does not occur below
_WHOLE = re.compile(r"0|[1-9]\d*", re.ASCII)
_YEAR = re.compile(r"(1[5-9]|20|21)\d\d", re.ASCII)


def has_header(rows: Sequence[Sequence[str]], decimal: str, missing: Collection[str]) -> bool:
    """Whether the first row names the columns: it differs in kind from what is below it.

    Examples
    --------
    >>> has_header([["x", "y"], ["1", "2"]], ".", ()), has_header([["5", "3"], ["1", "2"]], ".", ())
    (True, False)
    >>> has_header([["0", "1"], ["0.5", "2.5"]], ".", ())
    True
    """
    if not rows:
        return False
    first = [field.strip() for field in rows[0]]
    below = [
        [
            v
            for v in (row[j].strip() for row in rows[1:] if j < len(row))
            if v.lower() not in missing
        ]
        for j in range(len(first))
    ]
    kinds = [kind_in(first[j], decimal) for j in range(len(first))]
    for j, values in enumerate(below):
        if kinds[j] == "date" and sum(is_number(v, decimal) for v in values) > len(values) / 2:
            kinds[j] = ""  # a month above numbers is a name
    plain = [bool(values) and is_plain(values, decimal) for values in below]
    if any(plain[j] and not kinds[j] and first[j] for j in range(len(first))):
        return True  # a word above numbers, dates or truth values
    if not _are_new_words([w for w, kind in zip(first, kinds, strict=True) if not kind],
                          [c for c, kind in zip(below, kinds, strict=True) if not kind],
                          missing):  # fmt: skip
        return False
    at = [j for j, kind in enumerate(kinds) if kind]
    if not at:
        return any(first)
    if any(kinds[j] != "number" for j in at):
        return False
    others = [[row[j].strip() for j in at] for row in rows[1:] if at[-1] < len(row)]
    return _number_names([first[j] for j in at], others)


def scale(fields: Sequence[str]) -> str:
    """Return how numbers count: "index", from 0 or 1; "years"; "" for not.

    Examples
    --------
    >>> scale(["1", "2", "3"]), scale(["1990", "1995"]), scale(["3", "1", "2"])
    ('index', 'years', '')
    """
    if not fields or not all(_WHOLE.fullmatch(field) for field in fields):
        return ""
    numbers = np.array([float(field) for field in fields])
    steps = np.diff(numbers)
    if numbers[0] in (0.0, 1.0) and np.all(steps == 1.0):
        return "index"
    if len(numbers) < 2 or not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        return ""
    return "years" if all(_YEAR.fullmatch(field) for field in fields) else ""


def is_plain(values: Sequence[str], decimal: str) -> bool:
    """Whether nearly all fields are numbers, dates or truth values."""
    return sum(kind_in(value, decimal) != "" for value in values) >= _MOSTLY * len(values)


def kind_in(field: str, decimal: str) -> str:
    """Return what a field holds besides a word; nothing for a word."""
    if is_number(field, decimal):
        return "number"
    if is_truth(field):
        return "truth"
    return "date" if is_moment_text(field) else ""


def _are_new_words(
    words: Sequence[str], below: Sequence[Sequence[str]], missing: Collection[str]
) -> bool:
    """Whether words are all different, none is missing, and none occurs below itself."""
    named = [word for word in words if word]
    return (
        len(set(named)) == len(named)
        and all(word.lower() not in missing for word in named)
        and not any(word in values for word, values in zip(words, below, strict=True))
    )


def _number_names(names: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether numbers of the first row are names, and not data as in the other rows.

    They count, few other rows do, and they hardly occur below themselves.
    """
    if not scale(names) or list(names) in others or not others:
        return False
    if len(names) > 1 and 2 * sum(map(_counts, others)) > len(others):
        return False
    least = min(0.5 / (len(others) + 1), _NEW)
    shares = (
        column.count(name) / len(column)
        for name, column in zip(names, zip(*others, strict=True), strict=True)
    )
    return float(np.prod([max(share, least) for share in shares])) <= _BY_CHANCE


def _counts(row: Sequence[str]) -> bool:
    """Whether the numbers of a row count on by 1."""
    return all(map(_WHOLE.fullmatch, row)) and bool(np.all(np.diff([*map(int, row)]) == 1))
