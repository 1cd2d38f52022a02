"""Messages of a broker as a source: JSON, one row each, in batches by rows and by wait."""

from __future__ import annotations

import math
import time as clock
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from scstream.sources.base import Batch, MalformedRow, Place, Unread
from scstream.sources.chunks import Chunk
from scstream.sources.json_rows import JsonRows, row_of
from scstream.sources.options import SourceOptions
from scstream.sources.patience import PATIENCE, Away, BrokerAwayError, BrokerError, Patience
from scstream.sources.places import unsound
from scstream.sources.records import TextRecords
from scstream.sources.rows import LOOK_ROWS
from scstream.support.messages import advise

_COMMIT = 10.0  # seconds for which a commit is tried
_SLICE = 0.5  # seconds that one call to a server may wait, so that Ctrl-C is heard


class LostMessagesError(ValueError):
    """The server no longer has messages that were never read."""


@dataclass(frozen=True)
class Message:
    """What a broker delivered.

    Attributes
    ----------
    value : bytes or None
    key : str
        A name that no other message has: the topic or stream and the place in it.
    move : dict
        What changes in the reader's position once this message has been read.
    time : float
        When the server took it, in seconds since 1970.
    """

    value: bytes | None
    key: str
    move: Mapping[str, Any]
    time: float


class MessageSource(JsonRows):
    """Reads JSON messages, one a row; what the sources of all brokers share.

    Parameters
    ----------
    name : str
        What is read, such as ``kafka:orders``; saved in the place.
    server : str
        Its address, for messages; never with a password.
    options : SourceOptions, optional
        What sources of all kinds share.
    max_idle : float, optional
        Seconds without a message after which the stream counts as ended. By default never.
    start : {"first", "new"}, default="first"
        Where to begin without a place: at the first message that is stored, or after the last.
    timed : bool, default=False
        Whether the server's times are the clock, not a field of the messages.
    on_gap : {"raise", "warn"}, default="raise"
        What to do if the server has deleted messages that were not yet read:
        `LostMessagesError`, or a warning.
    patience : float, default=300
        Seconds for which a server that goes away is waited for. One that is not there at the
        start is waited for eight seconds at most.
    **more
        Fields of `SourceOptions`, in place of those of ``options``.
    """

    unit = "message"

    def __init__(
        self,
        name: str,
        server: str,
        options: SourceOptions | None = None,
        *,
        max_idle: float | None = None,
        start: Literal["first", "new"] = "first",
        timed: bool = False,
        on_gap: Literal["raise", "warn"] = "raise",
        patience: float = PATIENCE,
        **more: Any,
    ) -> None:
        options = replace(options or SourceOptions(), **more)
        if max_idle is not None and not max_idle > 0:
            raise ValueError(f"max_idle is {max_idle!r}; it must be a number of seconds over 0.")
        if start not in ("first", "new"):
            raise ValueError(f"start is {start!r}; it must be 'first' or 'new'.")
        if on_gap not in ("raise", "warn"):
            raise ValueError(f"on_gap is {on_gap!r}; it must be 'raise' or 'warn'.")
        super().__init__(name, replace(options, time_column="none") if timed else options)
        self.max_idle = max_idle
        self.start = start
        self.timed = timed
        self.on_gap = on_gap
        self.patience = Patience(name, server, patience)
        self._at: dict[str, Any] | None = None  # behind the last batch; None until it is known
        self._ahead: deque[tuple[int, Message]] = deque()  # behind it, by their numbers
        self._count = 0  # messages that were read

    # -- what a broker's source adds --------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> dict[str, Any]:
        """Return the position to start from when there is no place."""

    @abstractmethod
    def _turn_to(self, at: dict[str, Any]) -> None:
        """Make the next message the one behind a position."""

    @abstractmethod
    def _poll(self, n: int, wait: float) -> Sequence[Message]:
        """Return the next messages, n at most, waiting some seconds for the first at most."""

    @abstractmethod
    def _leave(self, at: dict[str, Any]) -> None:
        """Leave a position with the server, for readers that begin without a place."""

    def _trim(self, at: dict[str, Any]) -> None:
        """Delete what comes before a position, if that was asked for."""
        return

    def _position(self, at: dict[str, Any]) -> dict[str, Any]:
        """Return where the reader stands after a poll; by default what the messages' moves say."""
        return at

    def _check_position(self, at: dict[str, Any]) -> None:
        """Raise `ValueError` if no reader of this kind could have made a position."""
        return

    def _newer(self, at: dict[str, Any]) -> Unread | None:
        """Return how much the server has behind a position, None if it does not say."""
        return None

    def _reconnect(self) -> None:
        """Make a new connection in place of a broken one, if the client does not by itself."""
        return

    # -- the contract of a source -----------------------------------------------------------------

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        self._check_place(place)
        super().seek(place)
        self._at = dict(place["at"])

    def _chunks(self) -> Iterator[Chunk | None]:
        if self._at is None:
            self._at = self.patience.keep_trying(self._begin, self._reconnect)
        at = self._at
        # An earlier loop may have been left in the middle of a batch.
        self._ahead.clear()
        self._count = self._place.get("row", 0)
        self.patience.keep_trying(lambda: self._turn_to(at), self._reconnect)
        waiting: list[Message] = []  # for a look
        heard = first = clock.monotonic()
        size, idle = self.options.batch_size, self.max_idle or math.inf
        while (left := heard + idle - clock.monotonic()) > 0:
            n = size - (self._waiting() + len(waiting)) % size
            call = partial(self._poll, n, min(left, self.options.wait or _SLICE, _SLICE))
            new = self.patience.keep_trying(call, self._reconnect)
            # A server that was away was not silent.
            heard = clock.monotonic() if new else max(heard, self.patience.back)
            first = first if waiting else heard
            waiting += new
            enough = self._found or len(waiting) >= min(size, LOOK_ROWS) or self._waited(first)
            chunk = self._parsed(waiting) if enough and self._has_row(waiting) else None
            waiting = waiting if chunk is None else []
            if not waiting and not self._ahead:
                self._at = self._position(self._at)
            given = clock.monotonic()
            yield chunk
            heard += clock.monotonic() - given  # while a batch is learned there is no silence
        if self._has_row(waiting):
            yield self._parsed(waiting)

    def _has_row(self, messages: list[Message]) -> bool:
        """Whether a message is a row; raise for one that is none, unless it may be left out."""
        if not messages or self._found is not None:
            return bool(messages)
        wrongs = [_row_of(message)[1] for message in messages]
        if None in wrongs:
            return True
        if self.options.on_error == "stop" or len(messages) >= LOOK_ROWS:
            raise MalformedRow(f"{self.name}, message {messages[0].key}: {wrongs[0]}.")
        return False

    def _parsed(self, messages: list[Message]) -> Chunk:
        """Return messages as rows."""
        read = [(message, *_row_of(message)) for message in messages]
        if self._found is None:
            self._look_at([row for _, row, wrong in read if wrong is None])
            if self.timed:
                self._found = replace(self.schema, dates="s")
        numbers = np.arange(self._count + 1, self._count + len(read) + 1)
        self._count += len(read)
        self._ahead.extend(zip(numbers.tolist(), messages, strict=True))
        values = [message.value or b"" for message in messages]
        ends = np.cumsum([len(value) + 1 for value in values]) - 1
        bounds = np.column_stack([ends - [len(value) for value in values], ends])
        data = b"\n".join(values)
        chunk = self._chunk(
            [row for _, row, _ in read],
            np.column_stack([numbers, numbers]),
            numbers,
            numbers,
            TextRecords("jsonl", self.schema.names, data, bounds),
            {i: wrong for i, (_, _, wrong) in enumerate(read) if wrong is not None},
        )
        bad = {i: f"{messages[i].key}: {wrong}" for i, wrong in chunk.bad.items()}
        times = np.array([message.time for message in messages]) if self.timed else chunk.time
        return replace(chunk, bad=bad, time=times)

    def _given(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            keys = {}
            while self._ahead and self._ahead[0][0] <= batch.place["row"]:
                number, message = self._ahead.popleft()
                keys[number] = message.key
                self._at = {**(self._at or {}), **message.move}
            if not self._ahead:
                self._at = self._position(self._at or {})
            place = {**batch.place, "source": self.name, "at": self._at}
            self._place = place
            numbers = [] if batch.numbers is None else batch.numbers.tolist()
            yield replace(batch, place=place, keys=[keys[number] for number in numbers])

    def _end(self) -> Place:
        return {"offset": self._count, "line": self._count, "row": self._count}

    def unread(self, place: Place) -> Unread | None:
        """Return how much the server has behind a place; a server that is away is not asked."""
        if self.patience.away:
            return None
        with suppress(Away, BrokerError):
            return self._newer(place["at"])
        return None

    def commit(self, place: Place) -> None:
        """Tell the server that a checkpoint holds everything up to this place.

        A server that is away is not waited for long: nothing depends on it, and the next commit
        says more.
        """
        self._tell(place, self._leave, self._trim)

    def hand_over(self, place: Place) -> None:
        """Leave the place of a run that ends with the server, if it is there; delete nothing."""
        if not self.patience.away:
            self._tell(place, self._leave)

    def _tell(self, place: Place, *calls: Callable[[dict[str, Any]], None]) -> None:
        self._check_place(place)
        at = dict(place["at"])
        with suppress(BrokerAwayError):
            for call in calls:
                self.patience.keep_trying(partial(call, at), self._reconnect, _COMMIT)

    def _check_place(self, place: Any) -> None:
        if not isinstance(place, dict) or not {"source", "at"} <= set(place):
            raise ValueError(f"{place!r} is not a place of a broker's source.")
        if place["source"] != self.name:
            raise ValueError(f"The place is one of {place['source']!r}, this is {self.name!r}.")
        if not isinstance(place["at"], dict):
            raise unsound("at", place["at"])
        self._check_position(place["at"])

    def _report_gap(self, complaint: str) -> None:
        """Say that messages are gone which were never read."""
        if self.on_gap == "raise":
            raise LostMessagesError(
                f"{self.name}: {complaint} Let the server keep messages longer, or pass "
                "on_gap='warn' to continue with those that are left."
            )
        advise(f"{self.name}: {complaint}", RuntimeWarning)


def _row_of(message: Message) -> tuple[Any, str | None]:
    """Return the row in a message, or an empty one and what is wrong with it."""
    return ({}, "it has no value") if message.value is None else row_of(message.value)
