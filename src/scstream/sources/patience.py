"""Servers that go away: calls are tried again, with growing pauses, for as long as is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from scstream.support.messages import warn
from scstream.support.printable import printable_name
from scstream.support.secrets import hidden

PATIENCE = 300.0  # seconds for which a server that was there is waited for
_AT_START = 8.0  # seconds for one that was never there: an address may be wrong
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0

T = TypeVar("T")


class BrokerError(OSError):
    """A broker that refuses, or cannot be reached; the message says why and what to do."""


class BrokerAwayError(BrokerError):
    """A broker that could not be reached for as long as it was waited for."""


class Away(Exception):
    """The server cannot be reached just now; the message is the reason."""


class Patience:
    """Tries calls to a server again while it is away.

    Parameters
    ----------
    name : str
        What is read or written, such as ``redis:orders``.
    server : str
        Its address, for messages.
    limit : float
        Seconds for which a server that was there before is waited for.

    Attributes
    ----------
    notify : callable (str)
        Called once each time the server is away; writes to standard error by default.
    back : float
        When the server came back the last time, by ``time.monotonic()``.
    away : bool
        Whether the last call found no server.
    """

    def __init__(self, name: str, server: str, limit: float) -> None:
        if not limit >= 0:
            raise ValueError(f"patience is {limit!r}; it must be a number of seconds, 0 or more.")
        self.name = name
        self.server = server
        self.limit = limit
        self.notify: Callable[[str], object] = _notice
        self.back = -float("inf")
        self.away = False
        self._met = False

    def keep_trying(
        self,
        call: Callable[[], T],
        again: Callable[[], object] | None = None,
        most: float = float("inf"),
    ) -> T:
        """Return what a call returns, as soon as it does not raise `Away`."""
        limit = min(self.limit, most if self._met else _AT_START)
        since, pause, told = time.monotonic(), 0.0, False
        while True:
            try:
                if pause and again is not None:
                    again()
                result = call()
            except Away as error:
                self.away = True
                gone = time.monotonic() - since
                if gone >= limit:
                    raise self._given_up(gone, str(error)) from None
                if pause and self._met and not told:
                    self.tell(str(error))
                    told = True
                time.sleep(min(pause, limit - gone))
                # The first time at once: a server closes connections that were idle for long.
                pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
            else:
                self._met, self.away = True, False
                if pause:
                    self.back = time.monotonic()
                return result

    def tell(self, reason: str) -> None:
        """Give notice that the server is away."""
        self.notify(
            f"{self.name}: the server at {self.server} is away ({reason}); waiting up to "
            f"{self.limit:g} seconds for it"
        )

    def _given_up(self, gone: float, reason: str) -> BrokerAwayError:
        where = f"{self.name}: the server at {self.server}"
        if not self._met:
            return BrokerAwayError(
                f"{where} cannot be reached ({reason}). Check the address, and that it runs."
            )
        return BrokerAwayError(
            f"{where} has been away for {gone:.0f} seconds ({reason}). Start the run again when "
            "it is back: with a checkpoint it resumes from there. The setting patience is how "
            "long to wait."
        )


def _notice(text: str) -> None:
    warn(printable_name(hidden(text)))  # what a server answers is in it
