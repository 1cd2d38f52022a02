"""Lines around the names of columns that are not data: groups above; units, types, rules below."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RULE = re.compile(r"[-=+|:\s]*[-=]{2}[-=+|:\s]*")
_UNIT = re.compile(
    r"[\[(<{].{0,20}[\])>}]|[^\d\s]{0,12}[/°%²³µΩ·^][^\s]{0,8}"
    r"|n?s|ms|us|sec|seconds?|min|minutes?|h|hours?|d|days?|nm|mm|cm|m|km|g|mg|kg|t|l|ml|K|C|F|V|mV|kV"
    r"|A|mA|k?W|MW|k?Wh|MWh|[kMG]?Hz|h?Pa|kPa|m?bar|psi|k?Nm?|k?J|rpm|lux|lx|dBm?|pp[mb]|pH|mol|deg"
    r"|degC|degF|rad|px|[kMGT]?i?B|bytes?|EUR|USD|GBP|CHF|JPY|pcs|Stk|Stück|units?|counts?"
)
_TYPE = re.compile(
    r"(float|int|uint|decimal|char|varchar|nvarchar|numeric)(\d{0,2}|\(.{1,7}\))|double|integer|bigint"
    r"|smallint|tinyint|long|short|real|number|string|str|text|bool|boolean|date|datetime|time"
    r"|timestamp|factor|categor(y|ical)|continuous|nominal",
    re.IGNORECASE,
)
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
    >>> lines_beneath([["m/s", "[°C]"], ["1", "2"]], [True, True])
    1
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
    """Whether a row holds a rule, the units or types of columns, or the name of an index."""
    if all(not field.strip() or _RULE.fullmatch(field) for field in row):
        return _is_rule([field.strip() for field in row])
    if plain and plain[0] and len(row) > 1 and not any(field.strip() for field in row[1:]):
        return any(map(str.isalpha, row[0]))  # the name of an index
    fields = [field.strip() for field, is_plain in zip(row, plain, strict=False) if is_plain]
    words = [field for field in fields if field and field not in ("-", "--")]
    if not words or len(row) != len(plain):
        return False
    return any(all(form.fullmatch(word) for word in words) for form in (_UNIT, _TYPE))


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
