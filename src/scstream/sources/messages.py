"""Messages of a broker as a source: batches by rows and by wait, what is rejected, gaps."""

from __future__ import annotations

import math
import time as clock
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from scstream.families.widening import CLOCK, Widening
from scstream.sources.base import SKIP, Batch, MalformedRow, Place, Reject, Source, Unread
from scstream.sources.batch_times import Pace
from scstream.sources.message_rows import Kind, MessageTable, Name
from scstream.sources.patience import PATIENCE, Away, BrokerAwayError, BrokerError, Patience
from scstream.sources.places import check_clock, unsound, whole
from scstream.support.advice import advised
from scstream.support.messages import advise, warn
from scstream.support.times import as_length

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


@dataclass(frozen=True)
class RejectedMessage(Reject):
    """A message that is not a row.

    Attributes
    ----------
    key : str
        The topic or stream and the message's offset, id or sequence in it.
    """

    key: str


@dataclass(frozen=True)
class MessageBatch(Batch):
    """A batch of messages.

    Attributes
    ----------
    keys : sequence of str
        The name of each row's message. It is the same whenever the message is read, so that
        a receiver can detect a repeated result.
    """

    keys: Sequence[str] = ()


class MessageSource(Source):
    """Reads JSON messages, one a row; what the sources of all brokers share.

    Parameters
    ----------
    name : str
        What is read, such as ``kafka:orders``; saved in the place.
    server : str
        Its address, for messages; never with a password.
    columns : sequence or dict, optional
        The fields to take, or a dict of fields and their kinds: "number", "truth" or "text"
        (None to learn it from the first messages). By default all fields of the first message,
        and every message must have exactly these.
    batch_size : int, default=1000
        Rows of a batch.
    max_wait : float, optional
        Seconds after its first row at which a batch is delivered as it is. By default a batch
        waits until it is full.
    max_idle : float, optional
        Seconds without a message after which the stream counts as ended. By default never.
    start : {"first", "new"}, default="first"
        Where to begin without a place: at the first message that is stored, or after the last.
    timed : bool, default=False
        Whether a batch's time is the server's time of its last row, in seconds. It makes the
        model's half-life count in seconds.
    numeric : bool, default=False
        Whether all columns hold numbers: text in the first message is malformed then, and true
        and false are 1 and 0.
    complete : bool, default=False
        Whether a row must have a value in every column: null is malformed then.
    on_reject : {"raise", "keep"} or callable, default="raise"
        What happens to a message that is not a row: `MalformedRow` is raised, or a
        `RejectedMessage` is added to the batch's `rejects`, or the callable gets it at once.
    on_gap : {"raise", "warn"}, default="raise"
        What to do if the server has deleted messages that were not yet read:
        `LostMessagesError`, or a warning.
    patience : float, default=300
        Seconds for which a server that goes away is waited for. One that is not there at the
        start is waited for eight seconds at most.
    """

    def __init__(
        self,
        name: str,
        server: str,
        *,
        columns: Sequence[Name] | Mapping[Name, Kind | None] | None = None,
        batch_size: int = 1000,
        max_wait: float | None = None,
        max_idle: float | None = None,
        start: Literal["first", "new"] = "first",
        timed: bool = False,
        numeric: bool = False,
        complete: bool = False,
        on_reject: Literal["raise", "keep"] | Callable[[RejectedMessage], Any] = "raise",
        on_gap: Literal["raise", "warn"] = "raise",
        patience: float = PATIENCE,
    ) -> None:
        if batch_size != int(batch_size) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; it must be a whole number, 1 or more.")
        for what, seconds in (("max_wait", max_wait), ("max_idle", max_idle)):
            if seconds is not None and not seconds > 0:
                raise ValueError(f"{what} is {seconds!r}; it must be a number of seconds over 0.")
        if start not in ("first", "new"):
            raise ValueError(f"start is {start!r}; it must be 'first' or 'new'.")
        if not callable(on_reject) and on_reject not in ("raise", "keep"):
            raise ValueError(
                f"on_reject is {on_reject!r}; it must be 'raise', 'keep' or a function."
            )
        if on_gap not in ("raise", "warn"):
            raise ValueError(f"on_gap is {on_gap!r}; it must be 'raise' or 'warn'.")
        self.name = name
        self.batch_size = int(batch_size)
        self.max_wait = max_wait
        self.max_idle = max_idle
        self.start = start
        self.timed = timed
        self.on_reject = on_reject
        self.on_gap = on_gap
        self.patience = Patience(name, server, patience)
        self._table = MessageTable(columns, numeric=numeric, complete=complete)
        self._at: dict[str, Any] | None = None  # the position; None until it is known
        self._count = 0  # messages before it
        self._pace = Pace()

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
        """Leave a position with the server, for those who begin without a place."""

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

    def __iter__(self) -> Iterator[MessageBatch]:
        if self._at is None:
            self._at = self.patience.keep_trying(self._begin, self._reconnect)
        at = self._at
        # An earlier loop may have been left in the middle of a batch.
        self.patience.keep_trying(lambda: self._turn_to(at), self._reconnect)
        while True:
            gathered = self._gather()
            if not gathered.rows and not gathered.rejects:
                return
            yield self._batch(gathered)

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        self._check_place(place)
        self._table = self._table.resumed(place["columns"])
        self._at = dict(place["at"])
        self._count = place["messages"]
        self._pace = Pace.of(place)

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

    def require(self, complete: Sequence[bool]) -> None:
        """Refuse rows with null in these columns (d,)."""
        self._table.complete = list(complete)

    def _check_place(self, place: Any) -> None:
        if not isinstance(place, dict) or not {"source", "at", "columns", "messages"} <= set(place):
            raise ValueError(f"{place!r} is not a place of a broker's source.")
        if place["source"] != self.name:
            raise ValueError(f"The place is one of {place['source']!r}, this is {self.name!r}.")
        whole(place, "messages")
        check_clock(place)
        if not isinstance(place["at"], dict):
            raise unsound("at", place["at"])
        self._check_position(place["at"])

    # -- batches ----------------------------------------------------------------------------------

    def _gather(self) -> _Gathered:
        """Read messages until they are enough for a batch, or the wait or the stream is over."""
        assert self._at is not None
        got = _Gathered(dict(self._at), self._count)
        heard, first = clock.monotonic(), math.inf
        while len(got.rows) < self.batch_size:
            now = clock.monotonic()
            left = min(_end(first, self.max_wait) - now, _end(heard, self.max_idle) - now)
            if left <= 0:
                break
            n, wait = self.batch_size - len(got.rows), min(left, _SLICE)
            messages = self.patience.keep_trying(partial(self._poll, n, wait), self._reconnect)
            for message in messages:
                self._take(message, got)
            got.at = self._position(got.at)
            heard = max(heard, self.patience.back)  # a server that was away was not silent
            if messages:
                heard = clock.monotonic()
            if got.rows:
                first = min(first, heard)
        self._at, self._count = got.at, got.count
        return got

    def _take(self, message: Message, got: _Gathered) -> None:
        """Add a message to what was gathered, as a row or as a reject."""
        try:
            record, row = self._table.read(message.value)
        except MalformedRow as error:
            self._reject(message, str(error), got)
        else:
            got.records.append(record)
            got.rows.append(row)
            got.keys.append(message.key)
            got.numbers.append(got.count + 1)
            got.time = message.time
        got.at.update(message.move)
        got.count += 1

    def _reject(self, message: Message, reason: str, got: _Gathered) -> None:
        reason = f"message {message.key}: {reason}"
        if self.on_reject == "raise":
            raise advised(
                MalformedRow(f"{reason} Fix the sender, or set such messages aside."), SKIP
            )
        text = (message.value or b"").decode(errors="backslashreplace")
        number = got.count + 1
        reject = RejectedMessage(number, number, reason, text, message.key)
        if callable(self.on_reject):
            self.on_reject(reject)
        else:
            got.rejects.append(reject)

    def _batch(self, got: _Gathered) -> MessageBatch:
        X = self._table.columns(got.rows)
        place: Place = {
            "source": self.name,
            "at": dict(got.at),
            "columns": self._table.to_json(),
            "messages": got.count,
        }
        when = lost = None
        if self.timed and got.rows:
            # Two batches may carry the same stamp, and clocks of servers go back.
            step = self._pace.step
            when = self._pace.go_on(got.time, np.full(len(got.rows), got.time))
            if self._pace.step is not None and step is None:
                lost = Widening("time", CLOCK, f"steps of {as_length(self._pace.step)}")
                warn(f"{self.name}: the server's times have gone back. {lost}.")
        place |= self._pace.kept()
        return MessageBatch(
            X=X,
            place=place,
            time=when,
            rows=got.records,
            numbers=np.array(got.numbers, dtype=np.int64),
            rejects=got.rejects,
            where=f"messages {got.keys[0]} to {got.keys[-1]}" if got.keys else self.name,
            clock=lost,
            keys=got.keys,
        )

    def _report_gap(self, complaint: str) -> None:
        """Say that messages are gone which were never read."""
        if self.on_gap == "raise":
            raise LostMessagesError(
                f"{self.name}: {complaint} Let the server keep messages longer, or pass "
                "on_gap='warn' to continue with those that are left."
            )
        advise(f"{self.name}: {complaint}", RuntimeWarning)


@dataclass
class _Gathered:
    """What has been read towards the next batch."""

    at: dict[str, Any]
    count: int
    records: list[dict[str, Any]] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    rejects: list[RejectedMessage] = field(default_factory=list)
    time: float = -math.inf


def _end(since: float, patience: float | None) -> float:
    return math.inf if patience is None else since + patience
