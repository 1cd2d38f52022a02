"""Lines around the names of columns that are not data: groups above, rules below."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RULE = re.compile(r"[-=+|:\s]*[-=]{2}[-=+|:\s]*")
_MOST = 3  # lines below the names
_MISSING = 3  # dashes, at most, that stand for a missing value


def lines_beneath(rows: Sequence[Sequence[str]], plain: Sequence[bool]) -> int:
    """Return how many rows at the top of a table, below its names, are not data.

    Parameters
    ----------
    rows : sequence of sequence of str
        Those below the names.
    plain : sequence of bool
        For each column whether it holds numbers, dates or truth values.

    Examples
    --------
    >>> lines_beneath([["---+---"], ["1", "2"]], [True, True])
    1
    >>> lines_beneath([["error", "1"], ["1", "2"]], [True, True])
    0
    """
    n = 0
    while n < min(_MOST, len(rows) - 1) and _describes(rows[n], plain):
        n += 1
    return n


def _describes(row: Sequence[str], plain: Sequence[bool]) -> bool:
    """Whether a row holds a rule, or the name of an index."""
    if all(not field.strip() or _RULE.fullmatch(field) for field in row):
        return _is_rule([field.strip() for field in row])
    alone = len(row) > 1 and not any(field.strip() for field in row[1:])
    return bool(plain) and plain[0] and alone and any(map(str.isalpha, row[0]))


def _is_rule(dashes: Sequence[str]) -> bool:
    """Whether fields of dashes are a rule: between bars, or long. Short ones are missing values."""
    if len(dashes) > 2 and not dashes[0] and not dashes[-1]:
        return any(dashes)
    return all(len(field) > _MISSING for field in dashes)


def is_group_line(first: Sequence[str], second: Sequence[str], plain: Sequence[bool]) -> bool:
    """Whether a first row names groups of the columns that the second one names.

    Groups span columns: some fields are empty, or repeat the one before. A name stands above all
    numbers, and no two columns have the same group and name.

    Examples
    --------
    >>> is_group_line(["engine", "", "body"], ["x", "y", "z"], [True, True, False])
    True
    >>> is_group_line(["x", "y", "z"], ["bad", "bad", "red"], [True, True, False])
    False
    """
    if len(first) != len(second) or len(plain) < len(first) or sum(plain) < 2:
        return False
    group, both = "", []
    spans = False
    for above, name in zip(first, second, strict=True):
        spans |= above.strip() in ("", group)
        group = above.strip() or group
        both.append((group, name.strip()))
    plain_names = [name for (_, name), is_plain in zip(both, plain, strict=False) if is_plain]
    if not second[0].strip():  # an index
        plain_names = plain_names[plain[0] :]
    named = all(any(map(str.isalpha, name)) for name in plain_names)
    return spans and bool(group) and named and len({*both}) == len(both)
