"""Text on its way to a terminal: names and values from data must not steer it."""

from __future__ import annotations

import unicodedata


def printable(value: object) -> str:
    r"""Return text with everything but printable characters and line ends escaped.

    Examples
    --------
    >>> printable("x\x1b]0;title\x07")
    'x\\x1b]0;title\\x07'
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def printable_name(value: object) -> str:
    r"""Return a name for one line: line ends are escaped, too.

    Examples
    --------
    >>> printable_name("two\nlines")
    'two\\nlines'
    """
    return printable(value).replace("\n", "\\n")


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian letters take two.

    Examples
    --------
    >>> width_of("size"), width_of("名前")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text with spaces behind it, or before it, up to a width in a terminal."""
    spaces = " " * (width - width_of(text))
    return spaces + text if right else text + spaces


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
