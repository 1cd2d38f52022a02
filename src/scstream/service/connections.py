"""Connections that cannot hold up the service: silent ones end, and only so many wait."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class Waiting:
    """The connections that have not sent a whole request, oldest first.

    Parameters
    ----------
    most : int
        How many connections there may be before the oldest of those that wait are closed.
    patience : float
        Seconds that each may take for the head of a request.
    """

    def __init__(self, most: int, patience: float) -> None:
        self.most = most
        self.patience = patience
        self.open = 0
        self._since: dict[Any, asyncio.TimerHandle] = {}

    def add(self, connection: Any, loop: asyncio.AbstractEventLoop) -> None:
        """Let a connection wait for a request, which has to come in time."""
        if connection not in self._since:
            self._since[connection] = loop.call_later(self.patience, self._close, connection)
        if self.open > self.most:
            self._close(next(iter(self._since)))

    def remove(self, connection: Any) -> None:
        """Let a connection go: its request has come, or it is gone."""
        timer = self._since.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _close(self, connection: Any) -> None:
        self.remove(connection)
        connection.transport.close()


def bounded_protocol(most: int, patience: float) -> type[asyncio.Protocol]:
    """Return the protocol of a server whose silent connections end, see `Waiting`."""

    class Bounded(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        waiting: ClassVar[Waiting] = Waiting(most, patience)

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.waiting.open += 1
            self.waiting.add(self, self.loop)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self.waiting.remove(self)
            else:
                self.waiting.add(self, self.loop)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle is None or self.cycle.response_complete:
                self.waiting.add(self, self.loop)

        def connection_lost(self, exc: Exception | None) -> None:
            self.waiting.open -= 1
            self.waiting.remove(self)
            super().connection_lost(exc)

    return Bounded
