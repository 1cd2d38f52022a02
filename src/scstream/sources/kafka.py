"""Rows from a Kafka topic (needs ``scstream[kafka]``)."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from typing import Any

from scstream.sources.message_urls import message_options, read_url
from scstream.sources.messages import Message, MessageSource, need_package
from scstream.sources.options import SourceOptions

_PATIENCE = 10.0  # seconds for an answer about topics and offsets
_REFRESH = 30.0  # seconds between looks for partitions that were added


class KafkaSource(MessageSource):
    """Reads a Kafka topic whose messages are one JSON object or array each.

    One model needs the whole stream, so all partitions are assigned to this reader; it takes no
    part in a group's rebalancing. The offsets in the place say where to read on. Those that
    `commit` leaves with the group serve monitoring, and a start without a place.

    Parameters
    ----------
    topic : str
    servers : str, default="localhost:9092"
        Addresses of brokers, separated by commas.
    group : str, optional
        Under this name `commit` keeps offsets on the server; without a place, reading begins
        there.
    partitions : sequence of int, optional
        Those to read. By default all, also those added later.
    config : dict, optional
        Further settings of the client: security, sizes of fetches.
    **options
        As in `MessageSource`: `columns`, `batch_size`, `max_wait`, `max_idle`, `start`, `timed`,
        `on_reject`, `on_gap`.

    Notes
    -----
    Rows of one partition come in order. How partitions interleave is the network's choice, so
    two runs over a topic with several of them may see the same rows in different batches.
    """

    def __init__(
        self,
        topic: str,
        *,
        servers: str = "localhost:9092",
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(f"kafka:{topic}", **options)
        self._kafka = need_package("confluent_kafka", "kafka")
        self.topic = topic
        self.group = group
        self.partitions = partitions
        self._consumer = self._kafka.Consumer(
            {
                **(config or {}),
                "bootstrap.servers": servers,
                "group.id": group or "scstream",
                "enable.auto.commit": False,  # offsets are committed once a checkpoint has them
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",  # offsets that are gone are an error of ours
            }
        )
        self._looked = 0.0
        self._known: set[int] = set()

    def _begin(self) -> dict[str, Any]:
        at: dict[str, Any] = {}
        for part in self._committed() if self.group else []:
            if part.offset >= 0:
                at[str(part.partition)] = part.offset
        for partition in self._existing():
            if str(partition) not in at:
                low, high = self._bounds(partition)
                at[str(partition)] = low if self.start == "first" else high
        return at

    def _committed(self) -> Sequence[Any]:
        parts = [self._part(partition) for partition in self._existing()]
        found: Sequence[Any] = self._consumer.committed(parts, timeout=_PATIENCE)
        return found

    def _existing(self) -> list[int]:
        """Return the partitions to read."""
        topic = self._consumer.list_topics(self.topic, timeout=_PATIENCE).topics[self.topic]
        if topic.error is not None:
            raise self._kafka.KafkaException(topic.error)
        if self.partitions is None:
            return sorted(topic.partitions)
        missing = set(self.partitions) - set(topic.partitions)
        if missing:
            raise ValueError(
                f"Topic {self.topic!r} has no partition {min(missing)}; it has "
                f"{sorted(topic.partitions)}."
            )
        return sorted(self.partitions)

    def _bounds(self, partition: int) -> tuple[int, int]:
        bounds: tuple[int, int] = self._consumer.get_watermark_offsets(
            self._part(partition), timeout=_PATIENCE
        )
        return bounds

    def _part(self, partition: int, *offset: int) -> Any:
        return self._kafka.TopicPartition(self.topic, partition, *offset)

    def _turn_to(self, at: dict[str, Any]) -> None:
        found = {partition: at.get(str(partition), 0) for partition in self._existing()}
        unread = {int(partition) for partition in at} - set(found)
        if unread:
            raise ValueError(
                f"The place has an offset in partition {min(unread)} of topic {self.topic!r}; "
                f"the partitions to read are {sorted(found)}."
            )
        self._consumer.assign([self._resume(*pair) for pair in found.items()])
        self._known = set(found)
        self._looked = clock.monotonic()

    def _resume(self, partition: int, offset: int) -> Any:
        """Return where to read a partition on, after a look at what is still there."""
        low, high = self._bounds(partition)
        if offset > high:
            self._report_gap(
                f"partition {partition} ends at offset {high}, before {offset}, where reading "
                "stood: the topic was made anew."
            )
        elif offset < low:
            self._report_gap(
                f"offsets {offset} to {low - 1} of partition {partition} have been deleted "
                "before they were read."
            )
        return self._part(partition, offset if low <= offset <= high else low)

    def _poll(self, n: int, wait: float) -> Sequence[Message]:
        self._look_for_new_partitions()
        messages = []
        for message in self._consumer.consume(n, timeout=wait):
            error = message.error()
            if error is not None:
                self._weigh(error, message)
            else:
                messages.append(self._message(message))
        return messages

    def _look_for_new_partitions(self) -> None:
        if clock.monotonic() - self._looked < _REFRESH:
            return
        self._looked = clock.monotonic()
        try:
            new = set(self._existing()) - self._known
        except self._kafka.KafkaException:  # the brokers are away just now
            return
        if new:
            self._consumer.incremental_assign([self._resume(p, 0) for p in sorted(new)])
            self._known |= new

    def _weigh(self, error: Any, message: Any) -> None:
        """Raise what cannot mend itself; the client tries again after the rest."""
        kind = self._kafka.KafkaError
        if error.code() in (kind._AUTO_OFFSET_RESET, kind.OFFSET_OUT_OF_RANGE):
            partition = message.partition()
            self._report_gap(
                f"offset {message.offset()} of partition {partition} was deleted before it was "
                "read."
            )
            first = self._part(partition, self._bounds(partition)[0])
            self._consumer.incremental_unassign([first])  # it has stopped, and takes no seek
            self._consumer.incremental_assign([first])
        elif error.fatal() or not (
            error.retriable() or error.code() in (kind._TRANSPORT, kind._ALL_BROKERS_DOWN)
        ):
            raise self._kafka.KafkaException(error)

    def _message(self, message: Any) -> Message:
        partition, offset = message.partition(), message.offset()
        return Message(
            value=message.value(),
            key=f"{self.topic}/{partition}/{offset}",
            move={str(partition): offset + 1},
            time=message.timestamp()[1] / 1000.0,
        )

    def _commit(self, at: dict[str, Any]) -> None:
        if self.group is not None:
            parts = [self._part(int(partition), offset) for partition, offset in at.items()]
            self._consumer.commit(offsets=parts, asynchronous=False)

    def close(self) -> None:
        """Close the connection; nothing is committed by it."""
        self._consumer.close()


def open_url(url: str, options: SourceOptions) -> KafkaSource:
    """Return the source of ``kafka://broker:9092,other:9092/topic?group=name``."""
    at = read_url(url, {"group": str, "partitions": _numbers})
    return KafkaSource(at.stream, servers=at.server, **{**message_options(options), **at.settings})


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]
