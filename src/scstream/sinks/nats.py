"""Rows' labels to a NATS JetStream stream (needs ``scstream[nats]``)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from scstream.sinks.messages import MessageSink
from scstream.sources.access import Access
from scstream.sources.nats_client import Connection
from scstream.sources.patience import BrokerError
from scstream.support.extras import need_package

_AT_ONCE = 500  # messages on the way to the server


class NatsSink(MessageSink):
    """Publishes rows' labels on a subject that a JetStream stream keeps.

    The key goes along as the message's id: within the stream's window for duplicates (two
    minutes by default) the server itself drops a row that is sent again.

    Parameters
    ----------
    subject : str
    servers : str or list of str, default="nats://localhost:4222"
        ``tls://`` for TLS.
    access : Access, optional
        User, password or token, and certificates; by default what the environment says.
    config : dict, optional
        Further settings of the connection.
    **options
        As in `MessageSink`: `fields`, `append`, `patience`.
    """

    def __init__(
        self,
        subject: str,
        *,
        servers: str | list[str] = "nats://localhost:4222",
        access: Access | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._server = Connection(f"nats:{subject}", servers, access, config)
        super().__init__(f"nats:{subject}", self._server.server, **options)
        self.subject = subject
        self._api = need_package("nats.js.errors", "nats")
        try:
            self.patience.keep_trying(self._server.connect)
        except BaseException:
            self._server.close()
            raise

    def _check(self) -> None:
        try:
            self._server.call(self._server.stream.find_stream_name_by_subject(self.subject))
        except self._api.NotFoundError:
            raise BrokerError(
                f"No stream at {self._server.server} keeps the subject {self.subject!r}. Make one "
                "that does."
            ) from None

    def _reconnect(self) -> None:
        self._server.connect()

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
