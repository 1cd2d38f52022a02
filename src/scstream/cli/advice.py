"""Advice of the library in the words of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from scstream.support.advice import Advice

# What stands for a value that the user knows best.
_VALUES = {"columns": "A,B,...", "separator": "C", "access": "FILE", "output": "FILE"}
_ALONE = ("header", "overwrite", "live")  # yes or no
_MORE = {"on_error": " --rejects FILE"}


def option(advice: Advice) -> str:
    """Return an option as it is typed.

    Examples
    --------
    >>> option(Advice("header", False)), option(Advice("missing", "-9")), option(Advice("columns"))
    ('--no-header', '--missing=-9', '--columns A,B,...')
    """
    name, value = advice.option.replace("_", "-"), advice.value
    if name in _ALONE:
        return f"--{name}" if value else f"--no-{name}"
    if value is None:
        return f"--{name} {_VALUES.get(name, 'NAME')}"
    word = shlex.quote(str(value))
    glue = "=" if str(value).startswith("-") else " "
    return f"--{name}{glue}{word}" + _MORE.get(advice.option, "")


def options(advice: Sequence[Advice]) -> str:
    """Return several options; a period is for the clock before it."""
    words = ", ".join(dict.fromkeys(map(option, advice)))
    return words.replace(", --period", " --period")


def spelled(message: str, advice: Sequence[Advice]) -> str:
    """Return a message with what may be done about it.

    Examples
    --------
    >>> spelled("The first row holds 1, 2.", [Advice("header", True, "if these are names")])
    'The first row holds 1, 2. If these are names: --header'
    """
    groups: dict[str, list[Advice]] = {}
    for one in advice:
        groups.setdefault(one.when or "options that change this", []).append(one)
    text = "; ".join(f"{when}: {options(group)}" for when, group in groups.items())
    if not text:
        return message
    gap = "\n" if "\n" in message else " " if message.endswith((".", ")")) else ". "
    return f"{message}{gap}{text[0].upper()}{text[1:]}"
