"""Rows from a Kafka topic (needs ``scstream[kafka]``)."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from typing import Any

from scstream.sources.access import Access
from scstream.sources.base import Unread
from scstream.sources.kafka_client import KafkaBrokers
from scstream.sources.message_urls import read_url
from scstream.sources.messages import Message, MessageSource
from scstream.sources.options import SourceOptions
from scstream.sources.patience import Away
from scstream.sources.places import unsound, whole
from scstream.support.extras import need_package

_ANSWER = 4.0  # seconds for an answer about offsets
_UNANSWERED: Any = object()
_REFRESH = 30.0  # seconds between looks for partitions that were added


class KafkaSource(MessageSource):
    """Reads a Kafka topic whose messages are one JSON object or array each.

    One model needs the whole stream, so all partitions are assigned to this reader; it takes no
    part in a group's rebalancing. The offsets in the place say where to read on. Those that
    `commit` leaves with the group serve monitoring, and partitions that the place knows nothing
    of: those of a reader whose share this one takes over.

    Parameters
    ----------
    topic : str
    servers : str, default="localhost:9092"
        Addresses of brokers, separated by commas.
    access : Access, optional
        User, password, mechanism and certificates; by default what the environment says.
    group : str, optional
        Under this name `commit` stores offsets on the server; without a place, reading begins
        there.
    partitions : sequence of int, optional
        Those to read. By default all, also those added later.
    config : dict, optional
        Further settings of the client, such as sizes of fetches.
    **options
        As in `MessageSource`: `columns`, `batch_size`, `max_wait`, `max_idle`, `start`, `timed`,
        `on_reject`, `on_gap`, `patience`.

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
        access: Access | None = None,
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(f"kafka:{topic}", servers, **options)
        self._brokers = KafkaBrokers(self.name, servers, access)
        self._kafka = need_package("confluent_kafka", "kafka")
        self.topic = topic
        self.group = group
        self.partitions = partitions
        self._consumer = self._kafka.Consumer(
            {
                **self._brokers.settings(config),
                "group.id": group or "scstream",
                "on_commit": self._take_answer,
                "enable.auto.commit": False,  # offsets are committed once a checkpoint has them
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",  # offsets that are gone are an error of ours
            }
        )
        self._looked = 0.0
        self._known: set[int] = set()
        self._troubles: list[Any] = []  # messages that are errors, and not dealt with yet
        self._answered: Any = None  # what the brokers said to the last commit
        self._outsider = False  # whether others of the group keep our offsets out

    def _begin(self) -> dict[str, Any]:
        existing = self._existing()
        at: dict[str, Any] = dict(self._committed(existing))
        for partition in existing:
            if str(partition) not in at:
                low, high = self._bounds(partition)
                at[str(partition)] = low if self.start == "first" else high
        return at

    def _check_position(self, at: dict[str, Any]) -> None:
        for partition in at:
            if not (partition.isascii() and partition.isdecimal()):
                raise unsound("at", at)
            whole(at, partition)

    def _committed(self, partitions: Sequence[int]) -> dict[str, int]:
        """Return the offsets that the group has, by partition."""
        if self.group is None or not partitions:
            return {}
        parts = [self._part(partition) for partition in partitions]
        with self._brokers.errors(self._consumer):
            found = self._consumer.committed(parts, timeout=_ANSWER)
        return {str(part.partition): part.offset for part in found if part.offset >= 0}

    def _existing(self) -> list[int]:
        """Return the partitions to read."""
        topic = self._brokers.topic(self._consumer, self.topic)
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
        with self._brokers.errors(self._consumer):
            bounds: tuple[int, int] = self._consumer.get_watermark_offsets(
                self._part(partition), timeout=_ANSWER
            )
        return bounds

    def _part(self, partition: int, *offset: int) -> Any:
        return self._kafka.TopicPartition(self.topic, partition, *offset)

    def _turn_to(self, at: dict[str, Any]) -> None:
        existing = self._existing()
        unknown = [partition for partition in existing if str(partition) not in at]
        known = {**self._committed(unknown), **at}
        found = {partition: known.get(str(partition), 0) for partition in existing}
        unread = {int(partition) for partition in at} - set(found)
        if unread:
            raise ValueError(
                f"The place has an offset in partition {min(unread)} of topic {self.topic!r}; "
                f"the partitions to read are {sorted(found)}."
            )
        self._consumer.assign([self._resume(*pair) for pair in found.items()])
        self._troubles, self._brokers.aside = [], []
        self._known = set(found)
        self._looked = clock.monotonic()

    def _resume(self, partition: int, offset: int) -> Any:
        """Return where to read a partition on, after a look at what is still there."""
        low, high = self._bounds(partition)
        if offset > high:
            self._report_gap(
                f"partition {partition} ends at offset {high}, before {offset}, where reading "
                "stood: the topic was created again."
            )
        elif offset < low:
            self._report_gap(
                f"offsets {offset} to {low - 1} of partition {partition} have been deleted "
                "before they were read."
            )
        return self._part(partition, offset if low <= offset <= high else low)

    def _poll(self, n: int, wait: float) -> Sequence[Message]:
        if self._brokers.down:
            self._existing()  # says that they are away, or that they are back
        while self._troubles:
            self._weigh(self._troubles[0].error(), self._troubles[0])
            del self._troubles[0]
        self._look_for_new_partitions()
        found, self._brokers.aside = self._brokers.aside[:n], self._brokers.aside[n:]
        if not found:
            found = self._consumer.consume(n, timeout=wait)
        # Errors wait for the next call: what came with them must not be lost by them.
        self._troubles += [message for message in found if message.error() is not None]
        return [self._message(message) for message in found if message.error() is None]

    def _look_for_new_partitions(self) -> None:
        if clock.monotonic() - self._looked < _REFRESH:
            return
        self._looked = clock.monotonic()
        try:
            new = set(self._existing()) - self._known
        except Away:
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
        elif not self._brokers.passes(error):
            raise self._brokers.meaning(error)

    def _newer(self, at: dict[str, Any]) -> Unread | None:
        """Return the messages behind a position, as far as the last fetches know."""
        left = 0
        for partition, offset in at.items():
            part = self._part(int(partition))
            bounds = self._consumer.get_watermark_offsets(part, cached=True)
            left += max(0, bounds[1] - offset)
        return Unread(left, "messages")

    def _message(self, message: Any) -> Message:
        partition, offset = message.partition(), message.offset()
        return Message(
            value=message.value(),
            key=f"{self.topic}/{partition}/{offset}",
            move={str(partition): offset + 1},
            time=message.timestamp()[1] / 1000.0,
        )

    def _leave(self, at: dict[str, Any]) -> None:
        if self.group is None:
            return
        parts = [self._part(int(partition), offset) for partition, offset in at.items()]
        self._answered = _UNANSWERED
        with self._brokers.errors(self._consumer):
            # Not the client's own way to wait for the answer: it waits forever.
            self._consumer.commit(offsets=parts, asynchronous=True)
        end = clock.monotonic() + _ANSWER
        while self._answered is _UNANSWERED:
            if clock.monotonic() > end:
                raise Away("no answer to a commit")
            self._brokers.hear(self._consumer, 0.05)
        kinds, error = self._kafka.KafkaError, self._answered
        others = (kinds.UNKNOWN_MEMBER_ID, kinds.ILLEGAL_GENERATION, kinds.REBALANCE_IN_PROGRESS)
        if error is not None:
            if error.code() not in others:
                raise self._brokers.meaning(error)
            self._say_that_others_are_in_the_group()

    def _take_answer(self, error: Any, parts: Any) -> None:
        self._answered = error

    def _say_that_others_are_in_the_group(self) -> None:
        """Say once that offsets cannot be left with the group. Nothing is lost by that."""
        if not self._outsider:
            self._outsider = True
            self.patience.notify(
                f"{self.name}: others share group {self.group!r} by rebalancing, so the brokers "
                "take no offsets from this reader. The checkpoint has them; for monitoring give "
                "this reader a group of its own"
            )

    def close(self) -> None:
        """Close the connection; nothing is committed by it."""
        self._consumer.close()


def open_url(url: str, options: SourceOptions) -> KafkaSource:
    """Return the source of ``kafka://broker:9092,other:9092/topic?group=name``."""
    at = read_url(url, "kafka", {"group": str, "partitions": _numbers}, options)
    return KafkaSource(at.stream, servers=at.server, **at.settings)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]
