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
from starlette.types import ASGIApp
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
        config = uvicorn.Config(
            app,
            http=_protocol(settings),
            h11_max_incomplete_event_size=_HEAD,
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


def _protocol(settings: Settings) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with a time for each request's head, and small pieces read."""
    opened: dict[Any, None] = {}  # connections, the oldest first

    class Patient(H11Protocol, asyncio.BufferedProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._piece = bytearray(_PIECE)
            self._timer = self.loop.call_later(settings.patience, self._look, self.cycle)
            opened[self] = None
            if len(opened) > settings.most_connections:
                oldest = next((one for one in opened if one.cycle is None), self)
                del opened[oldest]
                oldest.transport.close()

        def _look(self, before: Any) -> None:
            """Close a connection that has sent no whole head since the last look."""
            cycle: Any = self.cycle
            if cycle is before and (cycle is None or cycle.response_complete):
                self.transport.close()
            else:
                self._timer = self.loop.call_later(settings.patience, self._look, self.cycle)

        def get_buffer(self, sizehint: int) -> bytearray:
            return self._piece

        def buffer_updated(self, nbytes: int) -> None:
            self.data_received(bytes(self._piece[:nbytes]))

        def connection_lost(self, exc: Exception | None) -> None:
            self._timer.cancel()
            opened.pop(self, None)
            super().connection_lost(exc)

    return Patient


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
