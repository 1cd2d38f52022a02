"""A NATS connection for code that does not await, and reading from a JetStream consumer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from typing import Any

from scstream.sources.access import Access
from scstream.sources.message_urls import take_login
from scstream.sources.patience import Away, BrokerError
from scstream.support.extras import need_package

_AT_ONCE = 500  # messages asked for in one request
_CONNECT = 4.0  # seconds to reach a server
_ANSWER = 5.0  # seconds within which a server that is there says a word about a request
_CLOSE = 1.0  # seconds to take leave of a server
_PING = 10  # seconds between pings; a server that leaves two unanswered is away
_IDLE = 300.0  # seconds after which the server may clear away a reader that has died
_ALIVE = ("404", "408")  # nothing there, and nothing came in time: the consumer is well
_REFUSED = ("authorization", "authentication", "permissions violation")


class Connection:
    """A connection that lives in a thread of its own.

    There it answers the server's pings while a model is busy. Where the server goes away, calls
    raise `Away`, and `connect` makes a new connection.

    Parameters
    ----------
    name : str
        What is read or written, such as ``nats:EVENTS``.
    servers : str or list of str
    access : Access, optional
        By default what the environment says. A user or password in a URL comes first.
    config : dict, optional
        Further settings of the connection.

    Attributes
    ----------
    server : str
        The addresses without user and password.
    client : nats.aio.client.Client
    stream : nats.js.JetStreamContext
    on_lost : callable
        Called in the connection's thread when the server goes away.
    """

    def __init__(
        self,
        name: str,
        servers: str | list[str],
        access: Access | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        need_package("nats", "nats")
        self._nats = need_package("nats.aio.client", "nats")
        self._errors = need_package("nats.errors", "nats")
        self._answers = need_package("nats.js.errors", "nats")
        self.name = name
        taken = [take_login(one) for one in ([servers] if isinstance(servers, str) else servers)]
        self._servers = [url for url, _ in taken]
        self.server = ",".join(self._servers)
        access = taken[0][1].over(access or Access.from_environment("nats"))
        self._config = {**self._settings(access), **(config or {}), **self._ours()}
        self._complaint = ""  # what the client said last
        self.client: Any = None
        self.stream: Any = None
        self.on_lost: Callable[[], object] = lambda: None
        logging.getLogger("asyncio").addFilter(_says_something)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _settings(self, access: Access) -> dict[str, Any]:
        access.check_means("NATS", ("token", "credentials"))
        encrypt = any(url.startswith("tls://") for url in self._servers)
        if not encrypt and (access.ca or access.certificate):
            raise ValueError("Certificates need an encrypted connection: write tls://.")
        login = {"user": access.user, "password": access.password, "token": access.token}
        if access.user is not None and access.password is None:  # as NATS has it in URLs
            login = {"token": access.user}
        given = {
            **login,
            "user_credentials": access.credentials,
            "tls": access.context() if encrypt else None,
            "error_cb": self._hear,
            "connect_timeout": _CONNECT,
            "ping_interval": _PING,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _ours(self) -> dict[str, Any]:
        """Return the settings that make connecting again our own business."""
        return {
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.05,
            "closed_cb": self._lose,
        }

    async def _hear(self, error: Exception) -> None:
        self._complaint = str(error) or type(error).__name__

    async def _lose(self) -> None:
        self.on_lost()

    def connect(self) -> None:
        """Connect, or raise `Away`; a connection there was before is given up."""
        self.call(self._connect())

    async def _connect(self) -> None:
        await self._give_up()
        self._complaint = ""
        self.client = self._nats.Client()
        try:
            await asyncio.wait_for(self.client.connect(self._servers, **self._config), 2 * _CONNECT)
        except BaseException:
            await self._give_up()
            raise
        self.stream = self.client.jetstream(timeout=_ANSWER)

    async def _give_up(self) -> None:
        """Close the connection, whatever state it is in."""
        before, self.client = self.client, None
        if before is not None:
            with suppress(Exception):
                await asyncio.wait_for(before.close(), _CLOSE)

    def call(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Return what an asynchronous call returns."""
        waiting = asyncio.run_coroutine_threadsafe(what, self._loop)
        try:
            with self._meanings():
                return waiting.result()
        except BaseException:  # such as Ctrl-C: let it not go on unheard
            waiting.cancel()
            raise

    @contextlib.contextmanager
    def _meanings(self) -> Iterator[None]:
        """Raise what NATS refuses as a `BrokerError`, and its absence as `Away`."""
        where = f"{self.name} at {self.server}"
        try:
            yield
        except self._answers.NotFoundError:
            raise
        except (OSError, TimeoutError, self._errors.Error, self._answers.Error) as error:
            text = str(error).strip() or self._complaint or type(error).__name__
            said = f"{text} {self._complaint}"
            if isinstance(error, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in said:
                raise BrokerError(
                    f"{where}: no encrypted connection can be made ({text}). Name the file of "
                    "the certificate authority: ca."
                ) from None
            if any(word in said.lower() for word in _REFUSED):
                raise BrokerError(
                    f"{where}: the server refuses the user, the password or the token ({text}). "
                    "Give them by SCSTREAM_NATS_USER and SCSTREAM_NATS_PASSWORD or "
                    "SCSTREAM_NATS_TOKEN, or a file (--access)."
                ) from None
            if isinstance(error, self._answers.APIError) and not isinstance(
                error, self._answers.ServiceUnavailableError
            ):
                raise BrokerError(f"{where}: the server refuses this: {text}.") from None
            raise Away(self._complaint or text) from None

    def close(self) -> None:
        """Close the connection and end its thread."""
        if self._loop.is_closed():
            return
        self.call(self._give_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _says_something(record: logging.LogRecord) -> bool:
    """Whether a line of asyncio is worth a line: each TLS connection of NATS's client makes one.

    The client answers the end of a connection in a way that is right for plain ones only, where
    nothing depends on it.
    """
    return "eof_received() has no effect" not in record.getMessage()


class Reader:
    """A short-lived consumer of a stream that hands out messages when asked for some.

    The client library's own ``fetch`` goes round the event loop several times for each message;
    with this a source reads about twice as many rows a second.

    Attributes
    ----------
    alive : bool
        Whether the server still has the consumer, as far as is known.
    """

    def __init__(self, server: Connection, stream: str, name: str) -> None:
        self.alive = True
        self._server = server
        self._stream = stream
        self._name = name
        self._came: list[Any] = []
        self._wanted = 0
        self._over = asyncio.Event()
        self._inbox = server.client.new_inbox()
        self._subscription: Any = None

    @classmethod
    async def open(cls, server: Connection, stream: str, subject: str | None, after: int) -> Reader:
        """Return a reader of the messages behind a sequence."""
        api = need_package("nats.js.api", "nats")
        consumer = await server.stream.add_consumer(
            stream,
            api.ConsumerConfig(
                deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=after + 1,
                ack_policy=api.AckPolicy.NONE,
                filter_subject=subject,
                inactive_threshold=_IDLE,
                mem_storage=True,
            ),
        )
        reader = cls(server, stream, consumer.name)
        server.on_lost = reader._break_off
        reader._subscription = await server.client.subscribe(
            reader._inbox,
            cb=reader._take,
            pending_bytes_limit=0,  # what was asked for is wanted, however large
        )
        return reader

    async def fetch(self, n: int, wait: float) -> list[Any]:
        """Return up to n messages: what is there now, or else the first that comes in time."""
        if not self._came:
            await self._ask({"batch": min(n, _AT_ONCE), "no_wait": True}, _ANSWER)
        if not self._came and self.alive:
            await self._ask({"batch": 1, "expires": int(wait * 1e9)}, wait + _ANSWER)
        if not self._server.client.is_connected:
            raise need_package("nats.errors", "nats").ConnectionClosedError
        # Late answers to an earlier request may make it more than was asked for.
        found, self._came = self._came[:n], self._came[n:]
        return found

    async def _ask(self, request: dict[str, Any], wait: float) -> None:
        """Send a request and wait until it has been answered in full."""
        self._over.clear()
        self._wanted = request["batch"]
        to = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
        await self._server.client.publish(to, json.dumps(request).encode(), self._inbox)
        try:
            await asyncio.wait_for(self._over.wait(), wait)
        except TimeoutError:  # not even a word that there is nothing
            self.alive = False

    async def _take(self, message: Any) -> None:
        if message.reply:
            self._came.append(message)
            self._wanted -= 1
            if self._wanted <= 0:
                self._over.set()
        else:  # no message of the stream, but a word about the request
            self.alive = self.alive and (message.headers or {}).get("Status") in _ALIVE
            self._over.set()

    def _break_off(self) -> None:
        self.alive = False
        self._over.set()

    async def close(self) -> None:
        """Listen no longer, and have the server forget the consumer if it has it."""
        if not self._server.client.is_connected:
            return
        await self._subscription.unsubscribe()
        if self.alive:
            errors = need_package("nats.js.errors", "nats")
            with suppress(TimeoutError, errors.Error):  # else it is cleared away as inactive
                await self._server.stream.delete_consumer(self._stream, self._name)
