"""Text on its way to a terminal: names and values from data must not steer it."""

from __future__ import annotations


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


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
