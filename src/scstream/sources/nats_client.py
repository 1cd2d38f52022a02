"""A NATS connection for code that does not await, and reading from a JetStream consumer."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

from scstream.sources.messages import need_package

_AT_ONCE = 500  # messages asked for in one request
_ANSWER = 10.0  # seconds within which a server that is there says a word about a request
_PATIENCE = 30.0  # seconds for answers of other kinds
_IDLE = 300.0  # seconds after which the server may clear away a reader that has died
_ALIVE = ("404", "408")  # nothing there, and nothing came in time: the consumer is well


class Connection:
    """A connection that lives in a thread of its own.

    There it answers the server's pings while a model is busy.

    Parameters
    ----------
    servers : str or list of str
    config : dict, optional
        Further settings of the connection.

    Attributes
    ----------
    client : nats.aio.client.Client
    stream : nats.js.JetStreamContext
    """

    def __init__(self, servers: str | list[str], config: Mapping[str, Any] | None = None) -> None:
        nats = need_package("nats", "nats")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self.client: Any = self.call(nats.connect(servers, **(config or {})))
        except BaseException:
            self._stop()
            raise
        self.stream: Any = self.client.jetstream(timeout=_PATIENCE)

    def call(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Return what an asynchronous call returns."""
        waiting = asyncio.run_coroutine_threadsafe(what, self._loop)
        try:
            return waiting.result()
        except BaseException:  # such as Ctrl-C: let it not go on unheard
            waiting.cancel()
            raise

    def close(self) -> None:
        """Close the connection and end its thread."""
        if self._loop.is_closed():
            return
        self.call(self.client.close())
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


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

    async def close(self) -> None:
        """Listen no longer, and have the server forget the consumer if it has it."""
        await self._subscription.unsubscribe()
        if self.alive:
            errors = need_package("nats.js.errors", "nats")
            with suppress(TimeoutError, errors.Error):  # else it is cleared away as inactive
                await self._server.stream.delete_consumer(self._stream, self._name)
