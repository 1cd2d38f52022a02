"""Rows from a Kafka topic (needs ``scstream[kafka]``)."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Mapping, Sequence
from contextlib import suppress
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

    Readers of one group share the topic's partitions as consumers do: when one comes or goes they
    are dealt out anew. A reader without a group reads all of them. The offsets in the place say
    where to read on; a partition that it does not know is read from the offset that the group
    committed.

    Parameters
    ----------
    topic : str
    servers : str, default="localhost:9092"
        Addresses of brokers, separated by commas.
    access : Access, optional
        User, password, mechanism and certificates; by default what the environment says.
    group : str, optional
        The consumer group. `commit` stores offsets under its name.
    config : dict, optional
        Further settings of the client, such as sizes of fetches.
    **options
        As in `MessageSource`: `max_idle`, `start`, `timed`, `on_gap`, `patience`, and the fields of
        `SourceOptions`.

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
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(f"kafka:{topic}", servers, **options)
        self._brokers = KafkaBrokers(self.name, servers, access)
        self._kafka = need_package("confluent_kafka", "kafka")
        self.topic = topic
        self.group = group
        self._consumer = self._kafka.Consumer(
            {
                "session.timeout.ms": 10_000,  # after which others get the share of a dead reader
                "max.poll.interval.ms": 3_600_000,  # a batch may take long to learn
                "topic.metadata.refresh.interval.ms": round(1000 * _REFRESH),
                **self._brokers.settings(config),
                "group.id": group or "scstream",
                "on_commit": self._take_answer,
                "enable.auto.commit": False,  # offsets are committed once a checkpoint has them
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",  # offsets that are gone are an error of ours
            }
        )
        self._subscribed = False
        self._looked = 0.0
        self._share: list[int] | None = None  # the partitions to read; None in a rebalance
        self._next: dict[str, int] | None = None  # their next offsets; None until these are known
        self._read: dict[str, int] = {}  # the next offsets of all that this reader had before
        self._saved: dict[str, int] = {}  # those of a place, until they are taken up
        self._skip = False  # whether to begin behind the messages that are there
        self._troubles: list[Any] = []  # messages that are errors, and not dealt with yet
        self._answered: Any = None  # what the brokers said to the last commit

    def _begin(self) -> dict[str, Any]:
        self._existing()  # says that there is no such topic, or no broker
        return {}

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
        """Return the topic's partitions."""
        return sorted(self._brokers.topic(self._consumer, self.topic).partitions)

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
        unread = {int(partition) for partition in at} - {*existing}
        if unread:
            raise ValueError(
                f"The place has an offset in partition {min(unread)} of topic {self.topic!r}, "
                f"which has the partitions {existing}."
            )
        self._troubles, self._brokers.aside = [], []
        self._saved, self._next, self._skip = dict(at), None, self.start == "new" and not at
        if self.group is None:
            self._share, self._looked = existing, clock.monotonic()
        elif not self._subscribed:
            self._consumer.subscribe([self.topic], on_assign=self._deal, on_revoke=self._withdraw)
            self._subscribed = True
        while self._share is None:
            self._brokers.hear(self._consumer, 0.1)
            self._face_troubles()
        self._take_up()

    def _deal(self, consumer: Any, parts: Sequence[Any]) -> None:
        """Take note of the partitions that this reader gets; `_take_up` finds their offsets."""
        self._share, self._next = sorted(part.partition for part in parts), None
        consumer.assign([])

    def _withdraw(self, consumer: Any, parts: Sequence[Any]) -> None:
        """Take note that partitions are dealt out anew."""
        self._read.update(self._next or {})
        self._share = self._next = None

    def _take_up(self) -> None:
        """Begin to read the partitions of this reader's share where it, or the group, stood."""
        if self._share is None or self._next is not None:
            return
        done = self._committed(self._share)
        found = {}
        for partition in self._share:
            name = str(partition)
            stood = max(done.get(name, -1), self._read.get(name, -1))
            found[name] = self._resume(partition, self._saved.get(name, stood))
        self._saved, self._skip = {}, False
        self._assign(found)
        self.patience.back = clock.monotonic()  # until now there was no silence

    def _assign(self, offsets: dict[str, int]) -> None:
        self._consumer.assign([self._part(int(p), offset) for p, offset in offsets.items()])
        self._next = offsets

    def _resume(self, partition: int, offset: int) -> int:
        """Return where to read a partition on, after a look at what is still there."""
        low, high = self._bounds(partition)
        if offset < 0:
            return high if self._skip else low
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
        return offset if low <= offset <= high else low

    def _poll(self, n: int, wait: float) -> Sequence[Message]:
        self._face_troubles()
        self._look_for_new_partitions()
        self._take_up()
        found, self._brokers.aside = self._brokers.aside[:n], self._brokers.aside[n:]
        if not found:
            found = self._consumer.consume(n, timeout=wait)
        # Errors wait for the next call: what came with them must not be lost by them.
        self._troubles += [message for message in found if message.error() is not None]
        return [self._message(m) for m in found if m.error() is None and self._is_next(m)]

    def _is_next(self, message: Any) -> bool:
        """Whether a message is of this reader's share, and was not read before."""
        name, offset = str(message.partition()), message.offset()
        if self._next is None or offset < self._next.get(name, math.inf):
            return False
        self._next[name] = offset + 1
        return True

    def _position(self, at: dict[str, Any]) -> dict[str, Any]:
        return at if self._next is None else dict(self._next)

    def _face_troubles(self) -> None:
        """Raise what brokers complain of, unless it mends itself."""
        if self._brokers.down:
            self._existing()  # says that they are away, or that they are back
        aside = self._brokers.aside
        self._troubles += [message for message in aside if message.error() is not None]
        self._brokers.aside = [message for message in aside if message.error() is None]
        while self._troubles:
            self._weigh(self._troubles[0].error(), self._troubles[0])
            del self._troubles[0]

    def _look_for_new_partitions(self) -> None:
        """Find partitions that were added; a group's brokers deal them out by themselves."""
        if self.group is not None or clock.monotonic() - self._looked < _REFRESH:
            return
        self._looked = clock.monotonic()
        with suppress(Away):
            existing = self._existing()
            if existing != self._share:
                self._withdraw(self._consumer, ())
                self._share = existing

    def _weigh(self, error: Any, message: Any) -> None:
        """Raise what cannot mend itself; the client tries again after the rest."""
        kind = self._kafka.KafkaError
        if error.code() in (kind._AUTO_OFFSET_RESET, kind.OFFSET_OUT_OF_RANGE):
            partition = message.partition()
            self._report_gap(
                f"offset {message.offset()} of partition {partition} was deleted before it was "
                "read."
            )
            if self._next is not None and str(partition) in self._next:
                self._assign({**self._next, str(partition): self._bounds(partition)[0]})
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
        kinds, end = self._kafka.KafkaError, clock.monotonic() + _ANSWER
        anew = (kinds.UNKNOWN_MEMBER_ID, kinds.ILLEGAL_GENERATION, kinds.REBALANCE_IN_PROGRESS)
        asked = False
        while self.group is not None:
            self._brokers.hear(self._consumer, 0.05)
            self._take_up()
            if asked and self._answered is not _UNANSWERED:
                if self._answered is None:
                    return
                if self._answered.code() not in anew:
                    raise self._brokers.meaning(self._answered)
                asked = False  # in a rebalance brokers take no offsets
            if not asked and self._next is not None:  # what others read is theirs to commit
                parts = [self._part(int(p), offset) for p, offset in at.items() if p in self._next]
                if not parts:
                    return
                asked, self._answered = True, _UNANSWERED
                with self._brokers.errors(self._consumer):
                    # Not the client's own way to wait for the answer: it waits forever.
                    self._consumer.commit(offsets=parts, asynchronous=True)
            if clock.monotonic() > end:
                raise Away("no answer to a commit")

    def _take_answer(self, error: Any, parts: Any) -> None:
        self._answered = error

    def close(self) -> None:
        """Close the connection and leave the group; nothing is committed by it."""
        self._consumer.close()


def open_url(url: str, options: SourceOptions) -> KafkaSource:
    """Return the source of ``kafka://broker:9092,other:9092/topic?group=name``."""
    at = read_url(url, "kafka", {"group": str}, options)
    return KafkaSource(at.stream, servers=at.server, **at.settings)
