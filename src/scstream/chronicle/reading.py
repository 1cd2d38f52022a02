"""Reading a chronicle's file, which may still grow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_BUFFER = 2**20  # bytes; with 2**13 long lines, those of many clusters, take 5 times as long


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
