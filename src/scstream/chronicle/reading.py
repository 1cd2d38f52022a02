"""Reading a chronicle's file: whole, thinned on the way, and as it grows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scstream.chronicle.lines import from_line, read_event
from scstream.chronicle.moment import Moment
from scstream.chronicle.outline import Outline

# Lines begin alike, see `Moment.to_line`: what comes of every batch is read from their ends.
_HEAD = re.compile(
    rb'\{"batch":(\d+),"time":([-+.\deE]+),"n_points":(\d+)(?:,"n_batches":(\d+))?'
    rb',"ids":\[([-\d,]*)\]'
)
_SCORE, _EVENTS = b'"score":[', b'"events":['  # which are never part of values: quotes are escaped
_BUFFER = (
    2**20
)  # bytes; with the usual 2**13 long lines, those of many clusters, take 5 times as long


class ChronicleFile:
    """The lines of a chronicle's file, those that are whole."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.number = 0  # of the last line read
        self._read = 0  # bytes

    def lines(self) -> Iterator[bytes]:
        """Return the lines written since the last call; one that is cut short waits for more.

        A file that is shorter than before was started over, or truncated by a run that resumed:
        `Rewritten` is raised.
        """
        with open(self.path, "rb", buffering=_BUFFER) as file:
            if os.fstat(file.fileno()).st_size < self._read:
                raise Rewritten
            file.seek(self._read)
            for raw in file:
                self._read += len(raw)
                if not raw.endswith(b"\n"):
                    self._read -= len(raw)
                    return
                self.number += 1
                yield raw


class Rewritten(Exception):
    """A file is no longer what it was when it was read last."""


def outline_of(raw: bytes) -> Outline:
    """Return what a batch's line says in short, without reading all of it if that can be."""
    head = _HEAD.match(raw)
    if head is None:
        return Moment.from_dict(from_line(raw)).outline
    ids = head[5]
    score = raw.rfind(_SCORE)  # near the end of a line, and events are behind it
    events = raw.find(_EVENTS, max(score, 0))
    return Outline(
        n_points=int(head[3]),
        n_clusters=ids.count(b",") + 1 if ids else 0,
        time=float(head[2]),
        lowest=None if score < 0 else float(_list_after(raw, score + len(_SCORE))[1]),
        events=() if events < 0 else _events(raw, events + len(_EVENTS)),
        n_batches=int(head[4] or 1),
    )


def _list_after(raw: bytes, start: int) -> list[Any]:
    """Return the flat list of which all but the bracket before it is in a line."""
    found: list[Any] = json.loads(b"[" + raw[start : raw.index(b"]", start) + 1])
    return found


def _events(raw: bytes, start: int) -> tuple[dict[str, Any], ...]:
    found, _ = json.JSONDecoder().raw_decode("[" + raw[start:].decode())
    return tuple(read_event(event) for event in found)
