"""Where a table begins, and what its columns are called."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from scstream.sources.guess.amounts import is_number
from scstream.sources.guess.header import scale
from scstream.support.advice import Advice, advised

_NAMED = re.compile(rb'"?sep=(.)"?\r?\n', re.IGNORECASE)
_ANNOTATED = (b"#default", b"#datatype", b"#group")  # lines of InfluxDB
_USUAL = 0.9  # share of the rows that have the same number of fields, at least
_MOST_ABOVE = 30  # lines above a table


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
    names = not last.startswith(_ANNOTATED) and any(
        0 < last.count(sign) == below.count(sign) for sign in (b",", b";", b"\t", b"|")
    )
    if not names and _names_spaced(last, below):
        return before + len(last) - len(last.lstrip(b"# ")), None
    return (before if names else at) if at > mark else 0, None


def _names_spaced(last: bytes, below: bytes) -> bool:
    """Whether a comment has a word for each number of the line below, as NumPy writes names."""
    words, numbers = last.lstrip(b"# ").split(), below.decode("utf-8", "replace").split()
    return 1 < len(words) == len(numbers) and all(map(is_number, numbers))


def refuse_other(text: bytes, name: str) -> None:
    """Raise `ValueError` for what is text, but not a table."""
    start = text[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ValueError(
            f"{name} holds HTML or XML, not a table. If it was downloaded, it may be an error page."
        )
    if start.startswith((b"[{", b"[ {", b"[\n", b"[\r\n")):
        raise ValueError(
            f"{name} holds a JSON array. Write one object per line, for example with "
            f"jq -c '.[]' {name} > rows.jsonl, and run that file."
        )


def refuse_json_lines(text: bytes, name: str) -> None:
    """Raise `ValueError` for JSON lines that are read as CSV."""
    first = text.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)[0]
    if not first.startswith(b"{"):
        return
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return
    raise advised(
        ValueError(f"{name} holds JSON lines, not CSV."), Advice("format", "jsonl", "to say so")
    )


def usual_width(widths: Sequence[int]) -> int:
    """Return how many fields nearly all rows have, 0 if they differ.

    Examples
    --------
    >>> usual_width([1, *[3] * 20]), usual_width([3, 4, 3, 4])
    (3, 0)
    """
    if not widths:
        return 0
    width, n = Counter(widths).most_common(1)[0]
    return width if n >= _USUAL * len(widths) else 0


def lines_above(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows at the top have another number of fields than the table below.

    Examples
    --------
    >>> lines_above([["a report"], ["of May"], ["x", "y"], ["1", "2"], ["3", "4"], ["5", "6"]])
    2
    """
    widths = [len(row) for row in rows]
    for above in range(min(_MOST_ABOVE, len(rows) // 2)):
        if usual_width(widths[above:]) == widths[above] > 1:
            return above
    return 0


def names_columns(row: Sequence[str], width: int) -> bool:
    """Whether a row with a field too few or too many may name the columns of a table."""
    if any(is_number(field) for field in row) and scale(row) in ("", "index"):
        return False
    return len(row) == width - 1 or (len(row) == width + 1 and not row[-1].strip())


def named_columns(first: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns, from a first row that may have a field too few or too many.

    Rows that end in a separator have an empty column at their end; rows that begin with a number
    of their own have a column without a name at their beginning.

    Examples
    --------
    >>> named_columns(["x", "y"], [["1", "5", "6"]] * 3), named_columns(["x"], [["5", ""]] * 3)
    (['column 0', 'x', 'y'], ['x', 'column 1'])
    """
    width = usual_width([len(row) for row in rows])
    names = list(first)
    if width and names_columns(first, width):
        if len(first) == width + 1:
            names.pop()
        elif all(not row[-1].strip() for row in rows if len(row) == width):
            names.append("")
        else:
            names.insert(0, "")
    return distinct_names(names)


def same_columns(names: Sequence[str], first: Sequence[str]) -> bool:
    """Whether a row holds the names of columns again, as `named_columns` would read it."""
    forms = ([*first], [*first, ""], ["", *first], [*first[:-1]])
    return any(list(names) in (form, distinct_names(form)) for form in forms)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return a name for each column: those without one are numbered, doubles are distinguished.

    Examples
    --------
    >>> distinct_names(["", "x", "x", " y ", " 'z'"]), distinct_names(["# a", "b"])
    (['column 0', 'x', 'x (2)', 'y', 'z'], ['a', 'b'])
    """
    out: list[str] = []
    for j, name in enumerate(names):
        own = name.strip()
        if j == 0:  # a header may be written as a comment
            own = own.lstrip("# ") or own
        if len(own) > 2 and own[0] == own[-1] and own[0] in "'\"":  # quotes, not as CSV has them
            own = own[1:-1].strip()
        word, again = own or f"column {j}", 1
        while word in out:
            again += 1
            word = f"{own or f'column {j}'} ({again})"
        out.append(word)
    return out


_RULE = re.compile(r"[-=+|:\s]*[-=]{2}[-=+|:\s]*")
_MOST = 3  # lines below the names
_MISSING = 3  # dashes, at most, that stand for a missing value


def lines_beneath(rows: Sequence[Sequence[str]], plain: Sequence[bool]) -> int:
    """Return how many rows below the names are not data; ``plain``: which columns are numbers.

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
