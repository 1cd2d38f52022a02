"""A chronicle's file that is followed while it grows."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Event, Thread

from scstream.chronicle import Chronicle, ChronicleError, Rewritten
from scstream.service.feed import Feed
from scstream.service.served import Served

_LOG = logging.getLogger("scstream.service")
_PAUSE = 0.5  # seconds from one look at the file to the next


class Watcher:
    """Reads a chronicle's file, and adds what is written to it later.

    Parameters
    ----------
    path : path
        A file that ``scstream run --chronicle`` wrote, or is writing.
    pause : float
        Seconds from one look at the file to the next.
    """

    def __init__(self, path: str | Path, pause: float = _PAUSE) -> None:
        self._path = path
        self._pause = pause
        self.served = Served(feed=Feed(Chronicle.read(path)))
        self._end = Event()
        self._thread = Thread(target=self._follow, name="scstream-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._end.set()
        self._thread.join()

    def _follow(self) -> None:
        self.served.whole_text()  # the JSON of what was read is made before a page asks for it
        while not self._end.wait(self._pause):
            try:
                for moment in self.served.feed.chronicle.read_on():
                    self.served.show(moment)
            except Rewritten:
                self._begin_anew()
            except (OSError, ChronicleError) as error:
                _LOG.warning("Cannot follow %s: %s", self._path, error)

    def _begin_anew(self) -> None:
        try:
            chronicle = Chronicle.read(self._path)
        except (OSError, ChronicleError):
            return  # it is being written: the next look will tell
        self.served.feed.restart(chronicle)
