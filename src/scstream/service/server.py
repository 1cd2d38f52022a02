"""A server in a thread of its own, whose connections cannot hold it up.

uvicorn has no limit for the time until a request's head is there, and its limit on connections
turns everyone away once silent ones have reached it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from scstream.service.settings import Settings

_START = 10.0  # seconds a server may take to begin
_END = 5.0  # seconds open requests may take when it ends
_PIECE = 4096  # bytes that are read at once, before others have their turn
_HEAD = 2**14  # bytes of a request's head


class Server:
    """Runs an application next to the rest of the program.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
        Where to listen.

    Raises
    ------
    OSError
        If the address cannot be listened on.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._socket = _listen(settings.host, settings.port)
        self.port: int = self._socket.getsockname()[1]
        connections = _Connections(app, settings)
        config = uvicorn.Config(
            connections,
            http=connections.protocol(),
            h11_max_incomplete_event_size=_HEAD,
            limit_concurrency=2 * settings.most_connections,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # else malformed requests fill the log; the guard notes errors
            access_log=False,
            server_header=False,
            timeout_keep_alive=int(settings.patience),
            timeout_graceful_shutdown=int(_END),
        )
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._run, name="scstream-service", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _START
        while not self._server.started and self._thread.is_alive():
            if time.monotonic() > deadline:
                raise OSError("The service did not start in time.")
            time.sleep(0.005)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def close(self) -> None:
        """End: open requests are finished, pages disconnected."""
        self._server.should_exit = True
        self._thread.join(_END + 5.0)
        self._socket.close()


class _Connections:
    """An application that knows which connections are silent: they have sent no whole request.

    Each of them is closed in time, and the oldest once there are too many connections.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._open: dict[Any, asyncio.Transport] = {}  # by the client's address
        self._silent: dict[Any, asyncio.TimerHandle] = {}  # oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        self._heard(client)
        try:
            await self._app(scope, receive, send)
        finally:
            self._wait(client)

    def _wait(self, client: Any) -> None:
        if client in self._open:
            self._heard(client)
            later = asyncio.get_running_loop().call_later
            self._silent[client] = later(self._settings.patience, self._close, client)
            if len(self._open) > self._settings.most_connections:
                self._close(next(iter(self._silent)))

    def _heard(self, client: Any) -> None:
        if client in self._silent:
            self._silent.pop(client).cancel()

    def _close(self, client: Any) -> None:
        self._heard(client)
        self._open[client].close()

    def protocol(self) -> type[asyncio.Protocol]:
        """Return uvicorn's protocol, which here reports connections and reads small pieces."""
        connections = self

        class Reported(H11Protocol, asyncio.BufferedProtocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                self._piece = bytearray(_PIECE)
                self._client = transport.get_extra_info("peername")[:2]
                connections._open[self._client] = transport
                connections._wait(self._client)

            def get_buffer(self, sizehint: int) -> bytearray:
                return self._piece

            def buffer_updated(self, nbytes: int) -> None:
                self.data_received(bytes(self._piece[:nbytes]))

            def connection_lost(self, exc: Exception | None) -> None:
                connections._heard(self._client)
                connections._open.pop(self._client, None)
                super().connection_lost(exc)

        return Reported


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends answers at once (TCP_NODELAY) only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(
            error.errno, f"Cannot listen on {host}:{port} ({error.strerror}). Choose another port."
        ) from error
    return listener
