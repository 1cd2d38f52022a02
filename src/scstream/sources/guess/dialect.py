"""How a table is written: what stands between fields, the decimal point, the header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scstream.sources.guess.amounts import bare, is_number
from scstream.sources.guess.columns import TEXTS
from scstream.sources.guess.head import is_group_line, lines_above, lines_beneath
from scstream.sources.guess.header import has_header, is_plain, kind_in
from scstream.sources.records import split

SEPARATORS = "\t;|,^~\x01\x1f"  # in this order: a comma may be a decimal point, or part of a text
_LINES = 500  # that are looked at for the separator
_ROWS, _FIRST = 1000, 200  # that are looked at for the columns, and how many come first
_PROSE = 2.0  # words of a field, on average, above which lines are text
_USUAL = 0.9  # share of the rows that have the same number of fields, at least
_QUOTED = re.compile(r'(?:(?<=^)|(?<=[\t;|,^~ ]))"(?:[^"]|"")*"')
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][+-]?\d+)?", re.ASCII)
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)
_MOST_BENEATH = 3  # rows below the names that may not be data
_CLOCK = re.compile(r"\d{1,4}([-:/.]\d{1,4}){1,2}(\.\d+)?", re.ASCII)  # a date, or a time of day
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How a table is written.

    Attributes
    ----------
    separator, decimal : str
    header : bool
        Whether the first row names the columns.
    above : int
        Lines above the first row that are not part of the table.
    beneath : int
        Rows below the names that are not data, such as rules.
    """

    separator: str
    decimal: str
    header: bool
    above: int = 0
    beneath: int = 0


def guess_dialect(
    text: str,
    separator: str | None,
    decimal: str | None,
    header: bool | None,
    missing: Collection[str],
) -> Dialect:
    r"""Return how a table is written; what is given is as it is given.

    Examples
    --------
    >>> guess_dialect("name;size\nred;1,5\nblue;2,25\n", None, None, None, [""])
    Dialect(separator=';', decimal=',', header=True, above=0, beneath=0)
    """
    lines = records(text)[:_LINES]
    if separator is None and _is_column_of_commas(lines):
        separator = ";"
    separator = separator or _separator(lines)
    rows = [split(line, separator) for line in lines]
    point = decimal or _decimal(rows, separator)
    if header is False:
        return Dialect(separator, point, False)
    blank = next((i for i, row in enumerate(rows) if any(map(str.strip, row))), 0)
    above, header, beneath = _head(rows[blank:], point, header, missing)
    return Dialect(separator, point, header, _lines_of(text, blank + above), beneath)


def _head(
    rows: Sequence[Sequence[str]], point: str, header: bool | None, missing: Collection[str]
) -> tuple[int, bool, int]:
    """Return the rows above the names, whether there are names, and the rows beneath them."""
    above = lines_above(rows)
    if above and not has_header(rows[above:], point, missing):
        above = (
            above - 1 if header else 0
        )  # above a table without names there is no title: such rows are bad rows
    rows = rows[above:]
    plain = _plain_columns(rows[1 + _MOST_BENEATH :] or rows[1:], point, missing)
    if len(rows) > 2 and is_group_line(rows[0], rows[1], plain) and _names(rows[1], point, missing):
        above, rows = above + 1, rows[1:]
    beneath = lines_beneath(rows[1:], plain)
    if header is None:
        header = has_header([*rows[:1], *rows[1 + beneath :]], point, missing)
    return above, header, beneath if header else 0


def _plain_columns(
    rows: Sequence[Sequence[str]], point: str, missing: Collection[str]
) -> list[bool]:
    """Return for each column whether it holds numbers, dates or truth values."""
    values = (
        [row[j].strip() for row in rows if j < len(row)]
        for j in range(max(map(len, rows), default=0))
    )
    there = ([field for field in column if field.lower() not in missing] for column in values)
    return [bool(column) and is_plain(column, point) for column in there]


def _names(row: Sequence[str], point: str, missing: Collection[str]) -> bool:
    """Whether no field of a row is a number, a date, a truth value or a missing one."""
    fields = [field.strip() for field in row if field.strip()]
    return not any(kind_in(field, point) or field.lower() in missing for field in fields)


def _lines_of(text: str, n: int) -> int:
    """Return how many lines of a text come before the record with this number, from 0."""
    lines = text.split("\n")
    above = range(1, len(lines))
    at = next(i for i in above if len(records("\n".join(lines[:i]))) == n) if n else 0
    while at + 1 < len(lines) and not lines[at].strip():
        at += 1
    return at


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
    lines = [_QUOTED.sub("", line) for line in lines]  # what is quoted separates nothing
    for separator in SEPARATORS:
        widths = Counter(line.count(separator) + 1 for line in lines)
        wide = [(n, width) for width, n in widths.items() if width > 1]
        if not wide:
            continue
        share = max(wide)[0] / len(lines)
        if share >= _USUAL:
            return separator
        if share > max(most, 0.5):
            best, most = separator, share
    if best == "," and most == 0.0 and _spaced(lines):
        return " "
    _refuse_text(lines, best)
    return best


def _refuse_text(lines: Sequence[str], separator: str) -> None:
    """Raise `ValueError` for lines of words that no separator cuts into as many fields each."""
    if len({line.count(separator) for line in lines}) < 2:
        return
    fields = [len(field.split()) for line in lines for field in line.split(separator)]
    words = [word for line in lines for word in line.replace(separator, " ").split()]
    letters = sum(any(map(str.isalpha, word)) for word in words)
    if sum(fields) > _PROSE * len(fields) and 2 * letters > len(words):
        raise ValueError(f"the lines are text, not a table. {TEXTS}")


def _spaced(lines: Sequence[str]) -> bool:
    """Whether single spaces cut all rows into the same number of fields, most of them numbers."""
    single = _same_fields([line.split(" ") for line in lines])
    if not single and _same_fields([line.split() for line in lines]):
        raise ValueError(
            "The columns are aligned with several spaces. Put one separator between them, for "
            "example with: tr -s ' ' ',' < FILE > new.csv"
        )
    return single


def _same_fields(rows: Sequence[Sequence[str]]) -> bool:
    """Whether all rows below the first have as many fields, most of them numbers or times."""
    widths = {len(row) for row in rows[1:]}
    fields = [field for row in rows[1:] for field in row if field]
    if len(widths) != 1 or max(widths) < 2 or not 0 <= max(widths) - len(rows[0]) <= 1:
        return False
    plain = sum(is_number(field) or _CLOCK.fullmatch(field) is not None for field in fields)
    return 2 * plain > len(fields)


def _is_column_of_commas(lines: Sequence[str]) -> bool:
    """Whether a table has one column, of numbers with a decimal comma, below its name."""
    if len(lines) < 2 or "," in lines[0] or is_number(lines[0], ","):
        return False
    if not any(_COMMA.fullmatch(bare(line)) for line in lines[1:]):
        return False
    return all(is_number(line, ",") for line in lines[1:])


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """Return the decimal point: a comma if there are such numbers and none with a point."""
    if separator == ",":
        return "."
    fields = [bare(field) for row in rows for field in row]
    if not any(_COMMA.fullmatch(field) for field in fields):
        return "."
    pointed = (f for f in fields if _POINT.fullmatch(f) and not _GROUPED.fullmatch(f))
    return "." if any(pointed) else ","
