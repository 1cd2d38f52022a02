"""Whether the first row of a table names its columns, by the rows below it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from scstream.sources.guess.amounts import amount, is_number, to_number
from scstream.sources.guess.dates import is_moment_text
from scstream.sources.guess.values import is_truth

_MOSTLY = 0.9  # share of a column's fields that are numbers, below its name
_BY_CHANCE = 1e-3  # probability of a row of data, below which numbers that count are names
_NEW = 0.02  # that, at most, of a number or a form that does not occur below
_ROWS_ALIKE = 0.5  # share of the rows below that count, too, above which the first one is data
_STEPS = 4  # numbers in equal steps, at least, that may be names
_WHOLE = re.compile(r"0|[1-9]\d*", re.ASCII)
_YEAR = re.compile(r"(1[5-9]|20|21)\d\d", re.ASCII)


def has_header(rows: Sequence[Sequence[str]], decimal: str, missing: Collection[str]) -> bool:
    """Whether the first row names the columns: it differs in kind from what is below it.

    Parameters
    ----------
    rows : sequence of sequence of str
    decimal : str
    missing : collection of str
        Words for missing values, in small letters.

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
    for j, values in enumerate(below):  # "30d" above plain numbers is a name
        units = {(amount(value, decimal) or (0.0, ""))[1] for value in values}
        if kinds[j] == "number" and (amount(first[j], decimal) or (0.0, ""))[1] not in {"", *units}:
            kinds[j] = ""
        elif kinds[j] in ("date", "truth") and _are_numbers(values, decimal):
            kinds[j] = ""  # a date above numbers is a name
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
    return _number_names([first[j] for j in at], [below[j] for j in at], rows, at)


def scale(fields: Sequence[str]) -> str:
    """Return how numbers count: "index", from 0 or 1; "years"; "steps" of one size; "" for not.

    Examples
    --------
    >>> scale(["1", "2", "3"]), scale(["1990", "1995"]), scale(["1.5", "2", "2.5", "3"])
    ('index', 'years', 'steps')
    >>> scale(["5", "6"]), scale(["3", "1", "2"])
    ('', '')
    """
    if not fields or not all(is_number(field, grouped=False) for field in fields):
        return ""
    numbers = np.array([to_number(field) for field in fields])
    steps = np.diff(numbers)
    whole = all(_WHOLE.fullmatch(field) for field in fields)
    if whole and numbers[0] in (0.0, 1.0) and np.all(steps == 1.0):
        return "index"
    if len(numbers) < 2 or not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        return ""
    if all(_YEAR.fullmatch(field) for field in fields):
        return "years"
    even = np.ptp(steps) <= 1e-6 * np.abs(numbers).max()
    return "steps" if even and len(numbers) >= _STEPS else ""


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


def _are_numbers(values: Sequence[str], decimal: str) -> bool:
    """Whether nearly all fields are numbers."""
    numbers = sum(is_number(value, decimal) for value in values)
    return bool(values) and numbers >= _MOSTLY * len(values)


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


def _number_names(
    names: Sequence[str],
    below: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    at: Sequence[int],
) -> bool:
    """Whether numbers that count are names, and not a row of data as those below.

    Parameters
    ----------
    names : sequence of str
        The numbers of the first row.
    below : sequence of sequence of str
        What is below each of them.
    rows, at : sequence
        The whole table, and where in its rows the numbers are.
    """
    others = [[row[j].strip() for j in at] for row in rows[1:] if at[-1] < len(row)]
    pairs = [(name, values) for name, values in zip(names, below, strict=True) if values]
    if not pairs or list(names) in others:
        return False
    how = scale(names)
    if how == "steps":
        return 2 * sum(_is_outside(*pair) for pair in pairs) > len(pairs)
    if not how:  # such as columns that were selected by number
        whole = all(_is_in_other_form(*pair) for pair in pairs) and len(rows[0]) == len(rows[1])
        if not whole or not len({*names}) == len(names) > 1:
            return False
    alike = sum(_counts(row) for row in others) if len(at) > 1 else 0
    return (
        alike <= _ROWS_ALIKE * len(others)
        and float(np.prod([_probability(*pair) for pair in pairs])) <= _BY_CHANCE
    )


def _counts(row: Sequence[str]) -> bool:
    """Whether the numbers of a row count on by 1."""
    return scale(row) != "" or (
        all(map(_WHOLE.fullmatch, row)) and bool(np.all(np.diff(list(map(int, row))) == 1))
    )


def _is_in_other_form(name: str, values: Sequence[str]) -> bool:
    """Whether a whole number stands above numbers with fractions."""
    wholes = sum(_WHOLE.fullmatch(value.lstrip("+-")) is not None for value in values)
    return _WHOLE.fullmatch(name) is not None and 2 * wholes < len(values)


def _probability(name: str, values: Sequence[str]) -> float:
    """Return how probable a number is among those of a column, by its form or else its value."""
    if _is_in_other_form(name, values):
        n = sum(_WHOLE.fullmatch(value) is not None for value in values)
    else:
        n = values.count(name)
    return n / len(values) if n else min(0.5 / (len(values) + 1), _NEW)


def _is_outside(name: str, values: Sequence[str]) -> bool:
    """Whether a number lies outside of the range of a column."""
    numbers = [to_number(value) for value in values if is_number(value)]
    return not numbers or not min(numbers) <= to_number(name) <= max(numbers)
