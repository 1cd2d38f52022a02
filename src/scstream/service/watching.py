"""A chronicle's file that is followed while it grows."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread

from scstream.chronicle import Chronicle
from scstream.service.feed import Feed
from scstream.service.served import Served

_PAUSE = 0.5  # seconds from one look at the file to the next


class Watcher:
    """Reads a chronicle's file, and adds what is written to it later.

    Parameters
    ----------
    path : path
        A file that ``scstream run --chronicle`` wrote, or is writing.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._file = open(self._path, "rb")  # noqa: SIM115  # it stays open while it grows
        chronicle = Chronicle.read(self._path)
        self._file.seek(0, os.SEEK_END)
        self.served = Served(feed=Feed(chronicle))
        self._end = Event()
        self._thread = Thread(target=self._follow, name="scstream-watch", daemon=True)

    def start(self) -> None:
        """Begin to follow the file."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._file.close()

    def _follow(self) -> None:
        while not self._end.wait(_PAUSE):
            self._read_on()

    def _read_on(self) -> None:
        """Add the lines that are whole."""
        raise NotImplementedError
