"""Rows' labels to a Kafka topic (needs ``scstream[kafka]``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scstream.sinks.messages import MessageSink
from scstream.sources.access import Access
from scstream.sources.kafka_client import KafkaBrokers
from scstream.sources.message_urls import parse_url
from scstream.sources.patience import BrokerError
from scstream.support.extras import need_package


class KafkaSink(MessageSink):
    """Sends rows' labels to a Kafka topic, each under its key.

    A topic with compaction stores one message per key, and so each row once.

    Parameters
    ----------
    topic : str
    servers : str, default="localhost:9092"
        Addresses of brokers, separated by commas.
    access : Access, optional
        User, password, mechanism and certificates; by default what the environment says.
    config : dict, optional
        Further settings of the client.
    **options
        As in `MessageSink`: `fields`, `append`, `patience`.
    """

    def __init__(
        self,
        topic: str,
        *,
        servers: str = "localhost:9092",
        access: Access | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(f"kafka:{topic}", servers, **options)
        self._brokers = KafkaBrokers(self.name, servers, access)
        self._kafka = need_package("confluent_kafka", "kafka")
        self.topic = topic
        self._failed: Any = None
        self._told = False  # whether a notice was given that the brokers are away
        self._producer = self._kafka.Producer(
            {
                # The client itself sends again, without doubling, for as long as we are patient.
                "message.timeout.ms": max(1000, round(self.patience.limit * 1000)),
                **self._brokers.settings(config),
                "enable.idempotence": True,
            }
        )

    def _check(self) -> None:
        self._brokers.topic(self._producer, self.topic)

    def _send(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        for key, value in zip(keys, values, strict=True):
            while True:
                try:
                    self._producer.produce(self.topic, value, key, on_delivery=self._delivered)
                except BufferError:  # the client's queue is full
                    self._producer.poll(0.1)
                    self._report()
                else:
                    break
        self._producer.poll(0)
        self._report()

    def _delivered(self, error: Any, message: Any) -> None:
        self._failed = self._failed or error
        if error is None:
            self._told = self._brokers.down = False

    def _report(self) -> None:
        """Raise what could not be delivered, and give notice of brokers that are away."""
        if self._failed is not None:
            failed = self._brokers.meaning(self._failed)
            raise BrokerError(f"{self.name}: rows could not be delivered: {failed}")
        if self._brokers.down and not self._told:
            self._told = True
            self.patience.tell("no broker answers")

    def sync(self) -> None:
        """Wait until the brokers have all that was sent."""
        while self._producer.flush(1.0):
            self._report()
        self._report()

    def close(self) -> None:
        """Wait until the brokers have all that was sent."""
        self.sync()


def open_url(url: str, access: Access | None = None, **options: Any) -> KafkaSink:
    """Return the sink of ``kafka://broker:9092,other:9092/topic``."""
    at = parse_url(url, "kafka", {}, access)
    return KafkaSink(at.stream, servers=at.server, **at.settings, **options)
