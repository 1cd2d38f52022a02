"""Fields of a text file that the compiled pass does not take for plain numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from scstream.core import SKIP
from scstream.sources.chunks import Floats, Ints
from scstream.sources.guess.amounts import amount
from scstream.sources.guess.looks import column_key
from scstream.sources.guess.values import TRUTH
from scstream.sources.rows import shown
from scstream.sources.schema import Schema
from scstream.support.advice import Advice, reason

RETURN = (
    "a carriage return without a line feed. Lines must end in LF or CRLF; "
    r"convert the file with: tr '\r' '\n' < FILE > new.csv"
)
_QUOTED = re.compile(rb'"[^"]*"')


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a table are written.

    Attributes
    ----------
    schema : Schema
    decimal : str
        The decimal point.
    missing : collection of str
        Words for missing values, in small letters.
    learned : bool
        Whether a model has learned what the columns hold, so that no option can change it.
    """

    schema: Schema
    decimal: str
    missing: Collection[str]
    learned: bool


def settle(text: bytes, numbers: Floats, odd: Ints, bad: dict[int, str], form: NumberForm) -> None:
    """Fill in missing values, truth values, and numbers that are long, grouped or have a unit.

    Parameters
    ----------
    text : bytes
    numbers : ndarray (n, d)
        The times, if they are numbers, come last.
    odd : ndarray (m, 4)
        Row, column among the numbers, and where the field begins and ends.
    bad : dict of int to str
        Rows and what is wrong with them; those that hold no number are added.
    form : NumberForm
    """
    schema = form.schema
    columns = [
        (schema.names[j], f"{kind} column")
        for j, kind in zip(schema.used, schema.kinds, strict=True)
        if kind != "text"
    ]
    columns.append((schema.clock, "clock"))
    for i, j, a, b in odd.tolist():
        field = text[a:b].decode("utf-8", "replace")
        word, (name, kind) = field.strip().lower(), columns[j]
        numbers[i, j] = np.nan
        if word in form.missing:
            continue
        if kind == "truth column" and word in TRUTH:
            numbers[i, j] = TRUTH[word]
            continue
        found = amount(field, form.decimal)
        said = f"column {name!r} holds {shown(field)}"
        if found is None:
            bad.setdefault(i, _no_number(said, name, kind, field.strip(), form))
            continue
        numbers[i, j], unit = found
        usual = schema.units.get(name, "")
        if np.isinf(found[0]):
            bad.setdefault(i, f"{said}, which is not finite")
        elif unit not in ("", usual):
            before = f"in {usual}" if usual else "without a unit"
            bad.setdefault(i, f"{said}, in {unit}; the rows before are {before}")


def _no_number(said: str, name: str, kind: str, word: str, form: NumberForm) -> str:
    """Return why a field is no number, and what may mend it."""
    if kind != "number column":
        return f"{said}, which is not {'a time' if kind == 'clock' else 'True or False'}"
    said += ", which is not a number"
    said += " but the column's name, as where files were joined" * (word == name)
    if len(word) > 40 or not word.isprintable():
        return said
    advice = [Advice("missing", word, "if it stands for a missing value")]
    if word.isalpha() and word != name and not form.learned:
        names = form.schema.names
        advice.append(Advice("text", column_key(names, names.index(name)), "if these are words"))
    return reason(said, *advice)


def bare_return(record: bytes) -> bool:
    """Whether a record, its line end aside, holds a carriage return outside of quotes."""
    return b"\r" in record and b"\r" in _QUOTED.sub(b"", record)


def scan_roles(schema: Schema) -> tuple[Ints, int, int]:
    """Return what the compiled pass does with each field, and how many numbers and texts it has.

    The times are the last of the numbers, or of the texts.
    """
    roles = np.full(len(schema.names), SKIP)
    numbers = texts = 0
    for j, kind in zip(schema.used, schema.kinds, strict=True):
        if kind == "text":
            roles[j] = -2 - texts
            texts += 1
        else:
            roles[j] = numbers
            numbers += 1
    if schema.time is not None and schema.time_is_text:
        roles[schema.time] = -2 - texts
        texts += 1
    elif schema.time is not None:
        roles[schema.time] = numbers
        numbers += 1
    return roles, numbers, texts
