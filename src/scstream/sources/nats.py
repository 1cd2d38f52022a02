"""Rows from a NATS JetStream stream (needs ``scstream[nats]``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

from scstream.sources.access import Access
from scstream.sources.base import Unread
from scstream.sources.message_urls import read_url, yes_or_no
from scstream.sources.messages import Message, MessageSource
from scstream.sources.nats_client import Connection, Reader
from scstream.sources.options import SourceOptions
from scstream.sources.patience import Away, BrokerError
from scstream.sources.places import whole
from scstream.support.extras import need_package


class NatsSource(MessageSource):
    """Reads a JetStream stream whose messages are one JSON object or array each.

    Messages are read by their sequence in the stream, through a short-lived consumer that starts
    behind the place; nothing has to be acknowledged, and nothing is delivered out of order. The
    stream must keep its messages (retention by limits, the default): work queues and interest
    delete what a checkpoint may still need.

    Parameters
    ----------
    stream : str
    servers : str or list of str, default="nats://localhost:4222"
        ``tls://`` for TLS.
    access : Access, optional
        User, password or token, and certificates; by default what the environment says.
    subject : str, optional
        Read only the messages of this subject; it may hold wildcards.
    durable : str, optional
        A durable consumer in which `commit` keeps the sequence from which to read on, so that the
        server's tools show how far behind the model is. Without a place, reading begins there.
    trim : bool, default=False
        Whether `commit` deletes what lies before the place. Only where nobody else reads the
        stream.
    config : dict, optional
        Further settings of the connection.
    **options
        As in `MessageSource`: `columns`, `batch_size`, `max_wait`, `max_idle`, `start`, `timed`,
        `on_reject`, `on_gap`, `patience`.
    """

    def __init__(
        self,
        stream: str,
        *,
        servers: str | list[str] = "nats://localhost:4222",
        access: Access | None = None,
        subject: str | None = None,
        durable: str | None = None,
        trim: bool = False,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._server = Connection(f"nats:{stream}", servers, access, config)
        super().__init__(f"nats:{stream}", self._server.server, **options)
        self.stream = stream
        self.subject = subject
        self.durable = durable
        self.trim = trim
        self._api = need_package("nats.js.api", "nats")
        self._errors = need_package("nats.js.errors", "nats")
        self._reader: Reader | None = None
        self._delivered = 0  # messages that it has handed out
        self._sequence = 0
        self._pending: int | None = None  # messages behind the last that came
        try:
            self.patience.keep_trying(self._enter)
        except BaseException:
            self._server.close()
            raise

    def _enter(self) -> None:
        self._server.connect()
        kept = self._info().config.retention
        if kept != "limits":
            raise ValueError(
                f"Stream {self.stream!r} keeps messages by {kept!r}, so that they vanish before a "
                "checkpoint has them; a source needs one with retention 'limits'."
            )

    def _reconnect(self) -> None:
        self._reader = None
        self._enter()

    def _info(self) -> Any:
        with self._missing():
            return self._server.call(self._server.stream.stream_info(self.stream))

    @contextmanager
    def _missing(self) -> Iterator[None]:
        try:
            yield
        except self._errors.NotFoundError:
            raise BrokerError(
                f"There is no stream {self.stream!r} at {self._server.server}. Check its name, or "
                "make it: streams of JetStream must exist before messages are sent."
            ) from None

    def _begin(self) -> dict[str, Any]:
        committed = self._committed()
        if committed is not None:
            return {"sequence": committed}
        state = self._info().state
        # With nothing stored the first sequence is 0, or one behind what was deleted.
        first = max(state.first_seq - 1, 0)
        return {"sequence": first if self.start == "first" else state.last_seq}

    def _check_position(self, at: dict[str, Any]) -> None:
        whole(at, "sequence")

    def _committed(self) -> int | None:
        if self.durable is None:
            return None
        stream = self._server.stream
        try:
            consumer = self._server.call(stream.consumer_info(self.stream, self.durable))
        except self._errors.NotFoundError:
            return None
        return int(consumer.config.opt_start_seq or 1) - 1

    def _turn_to(self, at: dict[str, Any]) -> None:
        self._drop()
        self._sequence = at["sequence"]
        last = self._info().state.last_seq
        if last < self._sequence:
            self._report_gap(
                f"the stream ends at {last}, before {self._sequence}, where reading stood: it "
                "was created again."
            )
            self._sequence = 0

    def _poll(self, n: int, wait: float) -> Sequence[Message]:
        with self._missing():
            found = self._server.call(self._fetch(n, wait))
        messages = [self._message(message) for message in self._in_order(found)]
        if messages:
            sequences = [message.move["sequence"] for message in messages]
            self._check_gaps(sequences)
            self._sequence = sequences[-1]
            self._pending = found[len(messages) - 1].metadata.num_pending
        return messages

    async def _fetch(self, n: int, wait: float) -> list[Any]:
        if self._reader is not None and not self._reader.alive:
            await self._reader.close()  # it went with a server that was started again
            self._reader = None
        if self._reader is None:
            self._delivered = 0
            self._reader = await Reader.open(
                self._server, self.stream, self.subject, self._sequence
            )
        return await self._reader.fetch(n, wait)

    def _in_order(self, found: list[Any]) -> list[Any]:
        """Return the messages up to the first that was lost on the way; it is asked for again."""
        for i, message in enumerate(found):
            if message.metadata.sequence.consumer != self._delivered + 1:
                self._drop()
                return found[:i]
            self._delivered += 1
        return found

    def _check_gaps(self, sequences: list[int]) -> None:
        """Report sequences that the stream's limits removed before they were read."""
        gaps = [a for a, b in pairwise([self._sequence, *sequences]) if b > a + 1]
        if not gaps:
            return
        first = self._info().state.first_seq  # other gaps are other subjects, or single deletions
        lost = [a for a in gaps if first > a + 1]
        if lost:
            self._report_gap(
                f"messages behind {lost[0]} have been deleted before they were read; the stream "
                f"now begins at {first}."
            )

    def _newer(self, at: dict[str, Any]) -> Unread | None:
        """Return the messages behind the last that was read, as the server said with it."""
        return None if self._pending is None else Unread(self._pending, "messages")

    def _message(self, message: Any) -> Message:
        sequence = message.metadata.sequence.stream
        return Message(
            value=message.data,
            key=f"{self.stream}/{sequence}",
            move={"sequence": sequence},
            time=message.metadata.timestamp.timestamp(),
        )

    def _drop(self) -> None:
        """Let go of the reader; the next poll opens one behind the sequence."""
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(Away, BrokerError):  # the server clears it away when it is idle
                self._server.call(reader.close())

    def _leave(self, at: dict[str, Any]) -> None:
        with self._missing():
            if self.durable is not None:
                self._server.call(self._mark(at["sequence"]))

    def _trim(self, at: dict[str, Any]) -> None:
        with self._missing():
            if self.trim and at["sequence"]:
                trimmed = self._server.stream.purge_stream(self.stream, seq=at["sequence"] + 1)
                self._server.call(trimmed)

    async def _mark(self, sequence: int) -> None:
        """Make the durable consumer anew: where it starts cannot be changed."""
        with suppress(self._errors.NotFoundError):
            await self._server.stream.delete_consumer(self.stream, self.durable)
        await self._server.stream.add_consumer(
            self.stream,
            self._api.ConsumerConfig(
                durable_name=self.durable,
                deliver_policy=self._api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=sequence + 1,
                ack_policy=self._api.AckPolicy.NONE,
                filter_subject=self.subject,
            ),
        )

    def close(self) -> None:
        """Close the connection."""
        self._drop()
        self._server.close()


def open_url(url: str, options: SourceOptions) -> NatsSource:
    """Return the source of ``nats://server:4222/stream?durable=name``, or ``tls://``."""
    known: dict[str, Callable[[str], Any]] = {"subject": str, "durable": str, "trim": yes_or_no}
    at = read_url(url, "nats", known, options)
    servers = [f"{at.scheme}://{server}" for server in at.server.split(",")]
    return NatsSource(at.stream, servers=servers, **at.settings)
