"""What pages follow: a chronicle, and its latest lines until all pages have had them."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from itertools import islice
from threading import Lock

from scstream.chronicle import Chronicle, Moment
from scstream.web import PageData

_KEPT_LINES = 512  # that a page may lie behind before it loads the chronicle anew
_KEPT_BYTES = 32 * 2**20
_LOOK = 0.1  # seconds from one look for new lines to the next


class Feed:
    """Hands each moment of a run to the pages that follow it.

    A run adds moments from its own thread and never waits. Pages read from a bounded line of the
    latest ones, each at its own pace; a page that falls behind the whole line is asked to load
    the chronicle again.

    Attributes
    ----------
    chronicle : Chronicle
        What came before.
    n_pages : int
        How many pages follow.
    """

    def __init__(self, chronicle: Chronicle | None = None) -> None:
        self._lock = Lock()
        self._ended = False
        self.n_pages = 0
        self.restart(Chronicle() if chronicle is None else chronicle)

    # -- the run's side -------------------------------------------------------------------------

    def add(self, moment: Moment) -> None:
        """Hand on a moment that the chronicle has just observed."""
        with self._lock:
            self._lines.append(moment.text)
            self._bytes += len(moment.text)
            self._next += 1
            while len(self._lines) > _KEPT_LINES or (
                self._bytes > _KEPT_BYTES and len(self._lines) > 1
            ):
                self._bytes -= len(self._lines.popleft())

    def restart(self, chronicle: Chronicle) -> None:
        """Continue with another chronicle: every page loads it."""
        with self._lock:
            self.chronicle = chronicle
            self._epoch = secrets.token_hex(4)  # a server that starts anew counts from 0 again
            self._lines: deque[str] = deque()
            self._bytes = 0
            self._next = 0  # the number of the next line, from 0

    def end(self) -> None:
        """Let every page go once it has had all: the service ends."""
        self._ended = True

    # -- the pages' side ------------------------------------------------------------------------

    def whole(self) -> tuple[str, PageData]:
        """Return where the feed continues, and what a page begins with: the chronicle, thinned."""
        with self._lock:
            return f"{self._epoch}-{self._next}", PageData.of(self.chronicle)

    async def follow(self, name: str, every: float = 15.0) -> AsyncGenerator[str]:
        """Return nothing, and then server-sent events after the one of a name, until the end.

        The page counts from the first on. When nothing comes for so many seconds, a comment shows
        that the service is still alive.
        """
        epoch, _, number = name.partition("-")
        position = int(number) if number.isdecimal() and len(number) < 18 else -1
        quiet = 0.0
        self.n_pages += 1
        try:
            yield ""
            while True:
                ended = self._ended
                text, epoch, position = self._since(epoch, position)
                if not text and ended:
                    return
                if not text and quiet < every:
                    await asyncio.sleep(_LOOK)
                    quiet += _LOOK
                    continue
                yield text or ": still here\n\n"
                quiet = 0.0
        finally:
            self.n_pages -= 1

    def _since(self, epoch: str, position: int) -> tuple[str, str, int]:
        """Return the events from a line on, and the epoch and number of the line behind them."""
        with self._lock:
            now, last = self._epoch, self._next
            first = last - len(self._lines)
            if epoch != now or not first <= position <= last:
                return f"event: reload\nid: {now}-{last}\ndata: {{}}\n\n", now, last
            lines = list(islice(self._lines, position - first, None))
        parts = [
            f"id: {now}-{number}\ndata: {line}\n\n"
            for number, line in enumerate(lines, start=position + 1)
        ]
        return "".join(parts), now, position + len(lines)
