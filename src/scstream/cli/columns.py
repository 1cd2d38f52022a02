"""The table of columns that a command prints: what each one is taken for, why, what changes it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from scstream.cli.advice import options
from scstream.support.printable import padded, printable_name, width_of

if TYPE_CHECKING:
    from scstream.sources.guess import Role

_MOST = 40  # lines; in wider tables neighbours of a kind share a line
_WORDS = {
    "number": "number", "truth": "yes/no", "text": "category", "time": "time", "out": "left out",
}  # fmt: skip
_WIDE = 44  # characters of a cell


def tell_columns(roles: Sequence[Role], out: TextIO | None = None) -> None:
    """Print what each column is taken for, to standard error."""
    print(column_table(roles), file=out or sys.stderr, flush=True)


def column_table(roles: Sequence[Role]) -> str:
    """Return what each column is taken for, as a table of text.

    Examples
    --------
    >>> from scstream.sources.guess import Role
    >>> from scstream.support.advice import Advice
    >>> print(column_table([Role("x", "number", "numbers from 0 to 1", (Advice("exclude", "x"),))]))
    column  taken for  why                  to change it
    x       number     numbers from 0 to 1  --exclude x
    """
    rows = [(role.name, _WORDS[role.kind], role.why, options(role.changes)) for role in roles]
    if len(rows) > _MOST:
        rows = _joined(roles)
    cells = [["column", "taken for", "why", "to change it"]]
    cells += [[_cell(text) for text in row] for row in rows]
    width = [max(width_of(row[j]) for row in cells) for j in range(4)]
    lines = ("  ".join(padded(c, w) for c, w in zip(row, width, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _joined(roles: Sequence[Role]) -> list[tuple[str, str, str, str]]:
    """Return a line for each run of columns that are taken for the same."""
    out = []
    for kind, run in groupby(roles, key=lambda role: role.kind):
        group = list(run)
        first, last = group[0], group[-1]
        if len(group) < 3:
            out += [(role.name, _WORDS[kind], role.why, options(role.changes)) for role in group]
        else:
            name = f"{first.name} ... {last.name}"
            out.append(
                (name, _WORDS[kind], f"{len(group):,} columns; {first.why}", options(first.changes))
            )
    if len(out) > _MOST:
        rest = len(out) - _MOST
        out = [*out[:_MOST], ("...", "", f"and {rest:,} more groups of columns", "")]
    return out


def _cell(text: str) -> str:
    shown = printable_name(text)
    return shown if len(shown) <= _WIDE else shown[: _WIDE - 3] + "..."
