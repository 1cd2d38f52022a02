"""Rows' labels to a Redis stream (needs ``scstream[redis]``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scstream.sinks.messages import MessageSink
from scstream.sources.messages import need_package


class RedisSink(MessageSink):
    """Adds rows' labels to a Redis stream: the key in the field ``key``, the JSON in another.

    Parameters
    ----------
    stream : str
    url : str, default="redis://localhost:6379"
    field : str, default="data"
        The field that holds the JSON.
    max_length : int, optional
        About how many entries the stream keeps; the oldest go first. By default all.
    **options
        As in `MessageSink`: `fields`, `append`.
    """

    def __init__(
        self,
        stream: str,
        *,
        url: str = "redis://localhost:6379",
        field: str = "data",
        max_length: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.stream = stream
        self.field = field
        self.max_length = max_length
        self._client = need_package("redis", "redis").Redis.from_url(url)

    def _send(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        # In one transaction, so that a batch is there as a whole or not at all.
        with self._client.pipeline(transaction=True) as together:
            for key, value in zip(keys, values, strict=True):
                together.xadd(self.stream, {"key": key, self.field: value}, maxlen=self.max_length)
            together.execute()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
