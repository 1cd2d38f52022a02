"""Fields of a text file that the compiled pass does not take for plain numbers."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from scstream.core import SKIP
from scstream.sources.chunks import Floats, Ints
from scstream.sources.guess.amounts import amount
from scstream.sources.guess.looks import column_key
from scstream.sources.guess.values import TRUTH, is_truth
from scstream.sources.rows import shown
from scstream.sources.schema import Schema
from scstream.support.advice import Advice, reason

RETURN = (
    "a carriage return without a line feed. Lines must end in LF or CRLF; "
    r"convert the file with: tr '\r' '\n' < FILE > new.csv"
)
_QUOTED = re.compile(rb'"[^"]*"')
_NONE = (np.nan, "")  # a field that holds no number


class NumberFields:
    """Reads missing values, truth values, and numbers that are long, grouped or have a unit.

    Parameters
    ----------
    schema : Schema
    decimal : str
        The decimal point.
    missing : collection of str
        Words for missing values, in small letters.
    learned : bool
        Whether a model has learned what the columns hold, so that no option can change it.
    """

    def __init__(
        self,
        schema: Schema,
        decimal: str,
        missing: Collection[str],
        *,
        learned: bool = False,
    ) -> None:
        self._schema = schema
        self._decimal = decimal
        self._missing = missing
        self._learned = learned
        pairs = zip(schema.used, schema.kinds, strict=True)
        numeric = [(u, kind == "truth") for u, kind in pairs if kind != "text"]
        self._truths = [truth for _, truth in numeric] + [False]  # the times come last
        self._names = [schema.names[u] for u, _ in numeric] + [schema.names[schema.time or 0]]

    def settle(self, text: bytes, numbers: Floats, odd: Ints, bad: dict[int, str]) -> None:
        """Fill in the numbers of odd fields; add rows with wrong ones to ``bad``.

        Parameters
        ----------
        text : bytes
        numbers : ndarray (n, d)
        odd : ndarray (m, 4)
            Row, column among the numbers, and where the field begins and ends.
        bad : dict of int to str
            Rows and what is wrong with them.
        """
        for i, j, a, b in odd.tolist():
            field = text[a:b].decode("utf-8", "replace")
            if field.strip().lower() in self._missing:
                numbers[i, j] = np.nan
            elif self._truths[j] and is_truth(field):
                numbers[i, j] = TRUTH[field.strip().lower()]
            else:
                numbers[i, j], unit = self._number(field)
                wrong = self._wrong(j, field, numbers[i, j], unit)
                if wrong:
                    bad.setdefault(i, wrong)

    def _number(self, field: str) -> tuple[float, str]:
        """Return the number in a field and its unit; NaN if there is none."""
        return amount(field, self._decimal) or _NONE

    def _wrong(self, j: int, field: str, value: float, unit: str) -> str:
        """Return what is wrong with a field, and what may mend it; nothing if all is well."""
        name = self._names[j]
        usual = self._schema.units.get(name, "")
        said = f"column {name!r} holds {shown(field)}"
        if np.isinf(value):
            return f"{said}, which is not finite"
        if np.isnan(value):
            why, advice = self._reason(j, field)
            return reason(said + why, *advice)
        if unit in ("", usual):
            return ""
        before = f"the rows before are in {usual}" if usual else "the rows before have no unit"
        return f"{said}, in {unit}; {before}"

    def _reason(self, j: int, field: str) -> tuple[str, list[Advice]]:
        """Return why a field is no number, and what may mend it."""
        name, word = self._names[j], field.strip()
        if j == len(self._truths) - 1:
            return ", which is not a time", []
        if self._truths[j]:
            return ", which is not True or False", []
        said = ", which is not a number"
        if word == name:
            said += " but the column's name, as where files were joined"
        if len(field) > 40 or not field.isprintable():
            return said, []
        advice = [Advice("missing", word, "if it stands for a missing value")]
        if word.isalpha() and word != name and not self._learned:
            names = self._schema.names
            key = column_key(names, names.index(name))
            advice.append(Advice("text", key, "if these are words"))
        return said, advice


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
