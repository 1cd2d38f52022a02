"""Connections that cannot hold up the service: silent ones end, and only so many wait.

uvicorn has no limit for the time until a request's head is there, and its limit on connections
turns everyone away once silent ones have reached it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from scstream.service.settings import Settings

_PIECE = 2048  # bytes that are read at once: a body in chunks of one byte costs much for each

_Client = tuple[str, int]


class Connections:
    """The open connections, and an application that notes which of them are being answered.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
        How many connections there may be before the oldest of those that wait are closed, and
        the seconds that each may wait for the head of a request.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._most = settings.most_connections
        self._patience = settings.patience
        self._open: dict[_Client, Any] = {}
        self._waiting: dict[_Client, asyncio.TimerHandle] = {}  # oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; its connection waits before and after."""
        client = tuple(scope["client"] or ())
        self._stop_waiting(client)
        try:
            await self._app(scope, receive, send)
        finally:
            self._wait(client)

    def _wait(self, client: Any) -> None:
        """Let a connection wait for a request, which has to come in time."""
        if client in self._open:
            self._stop_waiting(client)
            loop = asyncio.get_running_loop()
            self._waiting[client] = loop.call_later(self._patience, self._close, client)
            if len(self._open) > self._most:
                self._close(next(iter(self._waiting)))

    def _stop_waiting(self, client: Any) -> None:
        timer = self._waiting.pop(client, None)
        if timer is not None:
            timer.cancel()

    def _close(self, client: _Client) -> None:
        self._stop_waiting(client)
        self._open[client].close()

    def protocol(self) -> type[asyncio.Protocol]:
        """Return uvicorn's protocol, which here reports connections and reads small pieces."""
        connections = self

        class Bounded(AutoHTTPProtocol, asyncio.BufferedProtocol):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                self._piece = bytearray(_PIECE)
                self._client: _Client = transport.get_extra_info("peername")[:2]
                connections._open[self._client] = transport
                connections._wait(self._client)

            def get_buffer(self, sizehint: int) -> bytearray:
                return self._piece

            def buffer_updated(self, nbytes: int) -> None:
                self.data_received(bytes(self._piece[:nbytes]))

            def connection_lost(self, exc: Exception | None) -> None:
                connections._stop_waiting(self._client)
                connections._open.pop(self._client, None)
                super().connection_lost(exc)

        return Bounded
