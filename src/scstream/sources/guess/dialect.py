"""How a table is written: what stands between fields, the decimal point, the header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scstream.sources.guess.values import is_moment_text, is_number, is_truth
from scstream.sources.records import split

SEPARATORS = "\t;|,"  # in this order: a comma may also be a decimal point, or part of a text
_LINES = 500  # that are looked at for the separator
_ROWS, _FIRST = 1000, 200  # that are looked at for the columns, and how many come first
_NAMED = re.compile(rb"sep=(.)\r?\n")
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
    r"""Return how a table is written; what is given is as it is given.

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
    >>> guess_dialect("name;size\nred;1,5\nblue;2,25\n", None, None, None, [""])
    Dialect(separator=';', decimal=',', header=True)
    """
    lines = records(text)[:_LINES]
    separator = separator or _separator(lines)
    rows = [split(line, separator) for line in lines]
    point = decimal or _decimal(rows, separator)
    if header is None:
        header = _has_header(rows, point, missing)
    return Dialect(separator, point, header)


def preamble(text: bytes) -> tuple[int, str | None]:
    r"""Return how many bytes come before the table, and the separator that they name, if any.

    Lines that begin with ``#`` come before it, unless the last of them has as many fields as the
    line below; so does the line ``sep=;`` of spreadsheets.

    Examples
    --------
    >>> preamble(b"sep=;\nx;y\n"), preamble(b"# a note\nx,y\n1,2\n"), preamble(b"#x,y\n1,2\n")
    ((6, ';'), (9, None), (0, None))
    """
    mark = 3 if text.startswith(b"\xef\xbb\xbf") else 0
    named = _NAMED.match(text, mark)
    if named is not None:
        return named.end(), named[1].decode()
    at = before = mark
    while text.startswith(b"#", at):
        before, at = at, text.find(b"\n", at) + 1 or len(text)
    last, below = text[before:at], text[at : text.find(b"\n", at) + 1 or len(text)]
    names = any(0 < last.count(sign) == below.count(sign) for sign in (b",", b";", b"\t", b"|"))
    return (before if names else at) if at > mark else 0, None


def spread(n: int) -> NDArray[np.int64]:
    """Return which of n rows are looked at: the first ones, and others up to the last."""
    if n <= _ROWS:
        return np.arange(n)
    rest = np.linspace(_FIRST, n - 1, _ROWS - _FIRST).round().astype(np.int64)
    return np.concatenate([np.arange(_FIRST), rest])


def records(text: str) -> list[str]:
    """Return the records of a text: lines, or several where a quoted field holds line ends."""
    out: list[str] = []
    open_quote = False
    for line in (line.removesuffix("\r") for line in text.split("\n")):
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
    return " " if best == "," and most == 0.0 and _spaced(lines) else best


def _spaced(lines: Sequence[str]) -> bool:
    """Whether single spaces cut all rows into the same number of fields, most of them numbers."""
    rows = [line.split(" ") for line in lines]
    fields = [field for row in rows[1:] for field in row]
    same = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return same and sum(map(is_number, fields)) > len(fields) / 2


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
        [
            v
            for v in (row[j].strip() for row in rows[1:] if j < len(row))
            if v.lower() not in missing
        ]
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
