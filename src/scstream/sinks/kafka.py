"""Rows' labels to a Kafka topic (needs ``scstream[kafka]``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scstream.sinks.messages import MessageSink
from scstream.sources.messages import need_package


class KafkaSink(MessageSink):
    """Sends rows' labels to a Kafka topic, each under its key.

    A topic with compaction keeps one message of a key, and so each row once.

    Parameters
    ----------
    topic : str
    servers : str, default="localhost:9092"
        Addresses of brokers, separated by commas.
    config : dict, optional
        Further settings of the client.
    **options
        As in `MessageSink`: `fields`, `append`.
    """

    def __init__(
        self,
        topic: str,
        *,
        servers: str = "localhost:9092",
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._kafka = need_package("confluent_kafka", "kafka")
        self.topic = topic
        self._failed: Any = None
        self._producer = self._kafka.Producer(
            {**(config or {}), "bootstrap.servers": servers, "enable.idempotence": True}
        )

    def _send(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        for key, value in zip(keys, values, strict=True):
            while True:
                try:
                    self._producer.produce(self.topic, value, key, on_delivery=self._delivered)
                except BufferError:  # the client's queue is full
                    self._producer.poll(0.1)
                    self._check()
                else:
                    break
        self._producer.poll(0)
        self._check()

    def _delivered(self, error: Any, message: Any) -> None:
        self._failed = self._failed or error

    def _check(self) -> None:
        if self._failed is not None:
            raise self._kafka.KafkaException(self._failed)

    def sync(self) -> None:
        """Wait until the brokers have all that was sent."""
        while self._producer.flush(1.0):
            self._check()
        self._check()

    def close(self) -> None:
        """Wait until the brokers have all that was sent."""
        self.sync()
