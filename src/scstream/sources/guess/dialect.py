"""How a table is written: what stands between fields, the decimal point, the header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scstream.sources.guess.values import is_moment_text, is_number, is_truth
from scstream.sources.records import split

SEPARATORS = "\t;|,"  # in this order: a comma may also be a decimal point, or part of a text
_LINES = 500  # that are looked at
_USUAL = 0.9  # share of the rows that have the same number of fields, at least
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][+-]?\d+)?", re.ASCII)
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How a table is written.

    Attributes
    ----------
    separator, decimal : str
    header : bool
        Whether the first row names the columns.
    """

    separator: str
    decimal: str
    header: bool


def guess_dialect(
    text: str,
    separator: str | None,
    decimal: str | None,
    header: bool | None,
    missing: Collection[str],
) -> Dialect:
    """Return how a table is written; what is given is as it is given.

    Parameters
    ----------
    text : str
        Its first rows.
    separator, decimal, header : optional
        What the user said.
    missing : collection of str
        Words for missing values, in small letters.

    Examples
    --------
    >>> guess_dialect("name;size\\nred;1,5\\nblue;2,25\\n", None, None, None, [""])
    Dialect(separator=';', decimal=',', header=True)
    """
    lines = records(text)[:_LINES]
    separator = separator or _separator(lines)
    rows = [split(line, separator) for line in lines]
    point = decimal or _decimal(rows, separator)
    if header is None:
        header = _has_header(rows, point, missing)
    return Dialect(separator, point, header)


def records(text: str) -> list[str]:
    """Return the records of a text: lines, or several where a quoted field holds line ends."""
    out: list[str] = []
    open_quote = False
    for line in text.splitlines():
        if open_quote:
            out[-1] += "\n" + line
        elif line.strip():
            out.append(line)
        else:
            continue
        open_quote ^= line.count('"') % 2 == 1
    return out[:-1] if open_quote else out


def _separator(lines: Sequence[str]) -> str:
    """Return the separator that cuts most rows into the same number of fields."""
    best, most = ",", 0.0
    for separator in SEPARATORS:
        widths = Counter(len(split(line, separator)) for line in lines)
        wide = [(n, width) for width, n in widths.items() if width > 1]
        if not wide:
            continue
        share = max(wide)[0] / len(lines)
        if share >= _USUAL:
            return separator
        if share > max(most, 0.5):
            best, most = separator, share
    return best


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """Return the decimal point: a comma if there are such numbers and none with a point."""
    if separator == ",":
        return "."
    fields = [field.strip() for row in rows for field in row]
    if not any(_COMMA.fullmatch(field) for field in fields):
        return "."
    pointed = (f for f in fields if _POINT.fullmatch(f) and not _GROUPED.fullmatch(f))
    return "." if any(pointed) else ","


def _has_header(rows: Sequence[Sequence[str]], decimal: str, missing: Collection[str]) -> bool:
    """Whether the first row names the columns: it differs in kind from what is below it."""
    if not rows:
        return False
    first = [field.strip() for field in rows[0]]
    below = [
        [v for v in (row[j].strip() for row in rows[1:] if j < len(row)) if v.lower() not in missing]
        for j in range(len(first))
    ]
    kinds = [_kind(first[j], decimal) for j in range(len(first))]
    plain = [bool(values) and all(_kind(v, decimal) for v in values) for values in below]
    if any(plain[j] and not kinds[j] and first[j] for j in range(len(first))):
        return True  # a word above numbers, dates or truth values
    if any(kinds):
        return False
    named = [word for word in first if word]
    return (
        bool(named)
        and len(set(named)) == len(named)
        and all(word.lower() not in missing for word in named)
        and not any(word in values for word, values in zip(first, below, strict=True))
    )


def _kind(field: str, decimal: str) -> str:
    """Return what a field holds besides a word; nothing for a word."""
    if is_number(field, decimal):
        return "number"
    if is_truth(field):
        return "truth"
    return "date" if is_moment_text(field) else ""


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return a name for each column: those without one are numbered, doubles told apart.

    Examples
    --------
    >>> distinct_names(["", "x", "x", " y "])
    ['column 0', 'x', 'x (2)', 'y']
    """
    out: list[str] = []
    for j, name in enumerate(names):
        word, again = name.strip() or f"column {j}", 1
        while word in out:
            again += 1
            word = f"{name.strip() or f'column {j}'} ({again})"
        out.append(word)
    return out
