"""Requests that are refused: errors that show little of what was sent, and bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scstream.service.settings import Settings

_MOST = 1000  # characters of an error
_QUOTED = re.compile(r"""(?<!\w)(['"])((?:\\.|(?!\1).){50})(?:\\.|(?!\1).)+(?:\1|$)""", re.DOTALL)
_UNBROKEN = re.compile(r"""([^\s'"]{50})[^\s'"]+""")


class Refused(Exception):
    """A request that is answered with an error.

    Parameters
    ----------
    status : int
        The HTTP status.
    reason : str
        What was wrong, for the person who sent it.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def shortened(text: str) -> str:
    """Return an error's text with at most 50 characters of each value that it quotes.

    Examples
    --------
    >>> shortened("Column 'a' holds " + repr("x" * 1000))
    "Column 'a' holds 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    text = _QUOTED.sub(r"\1\2...\1", text[: 100 * _MOST])
    text = _UNBROKEN.sub(r"\1...", text)
    return text if len(text) <= _MOST else text[:_MOST] + "..."


def check_size(n: int, width: int, settings: Settings) -> None:
    """Raise `Refused` for too many rows, columns, or values of so many rows and columns."""
    if n > settings.most_rows:
        raise Refused(413, f"There are too many rows: at most {settings.most_rows:,} at once.")
    if width > settings.most_columns:
        raise Refused(413, f"There are too many columns: at most {settings.most_columns:,}.")
    if n * width > settings.most_values:
        raise Refused(413, f"There are too many values: at most {settings.most_values:,} at once.")


def check_names(names: Sequence[str]) -> None:
    """Raise `Refused` for names of columns that are too long, or come twice."""
    if len(set(names)) < len(names):
        raise Refused(422, "Two columns have the same name.")
    if any(len(name) > _MOST for name in names):
        raise Refused(422, f"A column's name is longer than {_MOST:,} characters.")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise Refused(422, "A name holds half a character, which Unicode does not allow.") from None
