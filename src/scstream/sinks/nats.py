"""Rows' labels to a NATS JetStream stream (needs ``scstream[nats]``)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from scstream.sinks.messages import MessageSink
from scstream.sources.nats_client import Connection

_AT_ONCE = 500  # messages on the way to the server


class NatsSink(MessageSink):
    """Publishes rows' labels on a subject that a JetStream stream keeps.

    The key goes along as the message's id: within the stream's window for duplicates (two
    minutes by default) the server itself drops a row that is sent again.

    Parameters
    ----------
    subject : str
    servers : str or list of str, default="nats://localhost:4222"
    config : dict, optional
        Further settings of the connection.
    **options
        As in `MessageSink`: `fields`, `append`.
    """

    def __init__(
        self,
        subject: str,
        *,
        servers: str | list[str] = "nats://localhost:4222",
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.subject = subject
        self._server = Connection(servers, config)

    def _send(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        self._server.call(self._publish(keys, values))

    async def _publish(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        """Publish messages and wait for the server's word that it has them."""
        publish = self._server.stream.publish
        pairs = list(zip(keys, values, strict=True))
        for start in range(0, len(pairs), _AT_ONCE):
            await asyncio.gather(
                *(
                    publish(self.subject, value, headers={"Nats-Msg-Id": key})
                    for key, value in pairs[start : start + _AT_ONCE]
                )
            )

    def close(self) -> None:
        """Close the connection."""
        self._server.close()
