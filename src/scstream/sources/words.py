"""Columns of words: each different field of a block is decoded once, however often it occurs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.support.advice import Advice, reason

Ints = NDArray[np.int64]
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
