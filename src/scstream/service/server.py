"""A server in a thread of its own, which ends on request."""

from __future__ import annotations

import socket
import threading
import time

import uvicorn
from starlette.types import ASGIApp

from scstream.service.connections import Connections
from scstream.service.settings import Settings

_START = 10.0  # seconds a server may take to begin
_END = 5.0  # seconds open requests may take when it ends


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
        connections = Connections(app, settings)
        config = uvicorn.Config(
            connections,
            http=connections.protocol(),
            limit_concurrency=2 * settings.most_connections,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # else each malformed request is a line, as many as a client likes
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
