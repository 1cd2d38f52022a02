"""Rows' labels to a Redis stream (needs ``scstream[redis]``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scstream.sinks.messages import MessageSink
from scstream.sources.access import Access
from scstream.sources.message_urls import parse_url
from scstream.sources.redis_client import RedisClient


class RedisSink(MessageSink):
    """Adds rows' labels to a Redis stream: the key in the field ``key``, the JSON in another.

    Parameters
    ----------
    stream : str
    url : str, default="redis://localhost:6379"
        ``rediss://`` for TLS.
    access : Access, optional
        User, password and certificates; by default what the environment says.
    field : str, default="data"
        The field that holds the JSON.
    max_length : int, optional
        About how many entries the stream keeps; the oldest go first. By default all.
    **options
        As in `MessageSink`: `fields`, `append`, `patience`.
    """

    def __init__(
        self,
        stream: str,
        *,
        url: str = "redis://localhost:6379",
        access: Access | None = None,
        field: str = "data",
        max_length: int | None = None,
        **options: Any,
    ) -> None:
        self._server = RedisClient(url, access)
        super().__init__(f"redis:{stream}", self._server.server, **options)
        self.stream = stream
        self.field = field
        self.max_length = max_length

    def _check(self) -> None:
        with self._server.errors(self.name):
            self._server.client.ping()

    def _send(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        # In one transaction, so that a batch is there as a whole or not at all.
        with (
            self._server.errors(self.name),
            self._server.client.pipeline(transaction=True) as together,
        ):
            for key, value in zip(keys, values, strict=True):
                together.xadd(self.stream, {"key": key, self.field: value}, maxlen=self.max_length)
            together.execute()

    def close(self) -> None:
        """Close the connection."""
        self._server.close()


def open_url(url: str, access: Access | None = None, **options: Any) -> RedisSink:
    """Return the sink of ``redis://server:6379/stream?db=0&max_length=10000``, or ``rediss://``."""
    known = {"db": int, "field": str, "max_length": int}
    at = parse_url(url, "redis", known, access)
    database = at.settings.pop("db", 0)
    server = f"{at.scheme}://{at.server}/{database}"
    return RedisSink(at.stream, url=server, **at.settings, **options)
