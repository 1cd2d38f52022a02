"""Fields of a text file: odd numbers, and words, each different one decoded once."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """How the numbers of a table are written; whether a model has learned what the columns hold."""

    schema: Schema
    decimal: str
    missing: Collection[str]
    learned: bool


def settle(text: bytes, numbers: Floats, odd: Ints, bad: dict[int, str], form: NumberForm) -> None:
    """Fill in missing values, truth values, and numbers that are long, grouped or have a unit.

    Odd fields (m, 4) are row, column among the numbers (n, d), of which the times come last, and
    where the field begins and ends. Rows that hold no number are added to ``bad``, with the reason.
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
    """Return what the core does with each field, and how many numbers and texts it has.

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


_PART = 7  # bytes of a field that are compared at once, in a word of eight
_LONGEST = 4 * _PART  # bytes: longer fields seldom occur twice, and are decoded one by one
_QUOTE = 34
# By how many bytes are left of a field, from 0 to 8 for more: which of them belong to the part, and
# what stands behind these, so that parts of different lengths differ.
_MASKS = np.array([[255 * (j < left) for j in range(_PART)] + [0] for left in range(9)], np.uint8)
_MASK = _MASKS.view(np.uint64)[:, 0]
_TAG = np.array([[0] * _PART + [left] for left in range(9)], np.uint8).view(np.uint64)[:, 0]


def text_columns(
    text: bytes, spans: Ints, missing: Collection[str], bad: dict[int, str]
) -> list[NDArray[Any]]:
    """Return columns of words, None for what is missing; add rows that are not UTF-8 to ``bad``.

    Parameters
    ----------
    text : bytes
    spans : int64 (n, t, 2)
        Where the field of each row and column begins and ends, quotes aside.
    missing : collection of str
        Words for missing values, in small letters.
    bad : dict of int to str
        Rows whose fields are not looked at, and what is wrong with them.
    """
    buf = np.frombuffer(text + bytes(8), np.uint8)
    out = []
    for t in range(spans.shape[1]):
        good = np.ones(len(spans), dtype=bool)
        good[list(bad)] = False
        rows = np.flatnonzero(good)
        begins, ends = spans[rows, t].T
        quoted = buf[begins - 1] == _QUOTE
        which, firsts = _different(buf, begins, ends, quoted)
        words = np.empty(len(firsts), dtype=object)
        fields = zip(begins[firsts].tolist(), ends[firsts].tolist(), strict=True)
        for k, (a, b) in enumerate(fields):
            field = text[a:b].replace(b'""', b'"') if text[a - 1 : a] == b'"' else text[a:b]
            try:
                word = field.decode("utf-8")
            except UnicodeDecodeError:
                advice = Advice("encoding", when="if the file is in another encoding")
                why = reason(f"{field!r} is not UTF-8", advice)
                bad.update(dict.fromkeys(rows[which == k].tolist(), why))
            else:
                words[k] = word if word and word.lower() not in missing else None
        column = np.empty(len(spans), dtype=object)
        column[rows] = words[which]
        out.append(column)
    return out


def _different(
    buf: NDArray[np.uint8], begins: Ints, ends: Ints, quoted: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Return which of the different fields each one (n,) is, and a place of each different one."""
    left = ends - begins
    which = np.arange(len(left), dtype=np.int64)  # as if all differed
    windows = np.lib.stride_tricks.sliding_window_view(buf, 8)
    rows = np.flatnonzero(left <= _LONGEST)
    known, base = quoted[rows] * np.int64(1), len(left)
    for part in range(0, _LONGEST, _PART):
        more = np.minimum(left[rows] - part, _PART + 1)
        keys = windows[begins[rows] + part].view(np.uint64)[:, 0] & _MASK[more] | _TAG[more]
        kinds, found = np.unique(keys, return_inverse=True)
        if known.any():
            kinds, found = np.unique(known * len(kinds) + found, return_inverse=True)
        which[rows] = found + base
        longer = np.flatnonzero(more > _PART)
        rows, known, base = rows[longer], found[longer], base + len(kinds)
        if not len(rows):
            break
    firsts = np.full(base, -1)
    firsts[which] = np.arange(len(which))
    there = firsts >= 0
    return (np.cumsum(there) - 1)[which], firsts[there]
