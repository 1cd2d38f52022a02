"""Nested objects of JSON as flat rows: what is in ``{"user": {"age": 3}}`` is ``user.age``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DEPTH = 8  # levels that are flattened; what is below stays as it is
_FIELDS = 2000  # fields of a flat row; objects that are met later stay as they are


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose nested objects are fields of their own, named by their path.

    Lists stay as they are, and so do objects too deep within others.

    Examples
    --------
    >>> flat({"user": {"age": 3, "home": {"zip": "1"}}, "tags": ["a"]})
    {'user.age': 3, 'user.home.zip': '1', 'tags': ['a']}
    """
    for _ in range(_DEPTH):
        if dict not in map(type, row.values()):
            break
        out: dict[str, Any] = {}
        room = _FIELDS - len(row)
        for name, value in row.items():
            if type(value) is dict and 0 < len(value) <= room:
                room -= len(value)
                for inner, held in value.items():
                    out.setdefault(f"{name}.{inner}", held)
            else:
                out.setdefault(name, value)
        row = out
    return row


def flat_names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the fields of flat rows, in the order in which they come first.

    A field that is null or empty where others have an object is none.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    above = {name.rpartition(".")[0] for name in names} & names.keys()
    held = {name for name in above if any(row.get(name) not in (None, {}) for row in rows)}
    return [name for name in names if name not in above or name in held]
