"""Rows from a Redis stream (needs ``scstream[redis]``; Valkey speaks the same protocol)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from scstream.sources.access import Access
from scstream.sources.base import Unread
from scstream.sources.message_urls import read_url, yes_or_no
from scstream.sources.messages import Message, MessageSource
from scstream.sources.options import SourceOptions
from scstream.sources.patience import BrokerError
from scstream.sources.places import unsound
from scstream.sources.redis_client import RedisClient

_CLOCK = 10**12  # an id that begins with less is a number, no time: milliseconds since 1970
_ID = re.compile(r"\d{1,20}-\d{1,20}", re.ASCII)


class RedisSource(MessageSource):
    """Reads a Redis stream whose entries carry one JSON object or array each.

    Entries are read by their id, not through a consumer group: nothing is left pending on the
    server when a reader dies, and reading continues after the id in the place.

    Parameters
    ----------
    stream : str
    url : str, default="redis://localhost:6379"
        As redis-py takes it, with the database; ``rediss://`` for TLS.
    access : Access, optional
        User, password and certificates; by default what the environment says.
    field : str, default="data"
        The field of an entry that holds the JSON.
    group : str, optional
        A consumer group in which `commit` keeps the id of the last entry that is done with.
        Without a place, reading begins behind it.
    trim : bool, default=False
        Whether `commit` deletes the entries before the committed one. Only where no one else
        reads the stream.
    **options
        As in `MessageSource`: `max_idle`, `start`, `timed`, `on_gap`, `patience`, and the fields of
        `SourceOptions`.
    """

    def __init__(
        self,
        stream: str,
        *,
        url: str = "redis://localhost:6379",
        access: Access | None = None,
        field: str = "data",
        group: str | None = None,
        trim: bool = False,
        **options: Any,
    ) -> None:
        self._server = RedisClient(url, access)
        super().__init__(f"redis:{stream}", self._server.server, **options)
        self.stream = stream
        self.field = field
        self.group = group
        self.trim = trim
        self._client = self._server.client
        self._id = "0-0"
        self._anchored = False  # whether the entry at the id was there when it was read

    def _begin(self) -> dict[str, Any]:
        with self._server.errors(self.name):
            self._check_stream()
            committed = self._committed()
            if committed is not None:
                return {"id": committed}
            if self.start == "first":
                return {"id": "0-0"}
            last = self._client.xinfo_stream(self.stream)["last-generated-id"].decode()
        return {"id": last, "anchored": False}

    def _check_position(self, at: dict[str, Any]) -> None:
        entry, anchored = at.get("id"), at.get("anchored", False)
        if not isinstance(entry, str) or _ID.fullmatch(entry) is None or type(anchored) is not bool:
            raise unsound("at", at)

    def _check_stream(self) -> None:
        if not self._client.exists(self.stream):
            raise BrokerError(
                f"There is no stream {self.stream!r} at {self._server.server}. Check its name and "
                "the database (db); the first entry that is sent makes it."
            )

    def _committed(self) -> str | None:
        if self.group is None:
            return None
        for group in self._client.xinfo_groups(self.stream):
            if group["name"].decode() == self.group:
                last: str = group["last-delivered-id"].decode()
                return last
        return None

    def _turn_to(self, at: dict[str, Any]) -> None:
        with self._server.errors(self.name):
            self._check_stream()
        self._id = at["id"]
        self._anchored = at.get("anchored", self._id != "0-0")

    def _poll(self, n: int, wait: float) -> Sequence[Message]:
        # In one transaction: if the last entry that was read is still there, nothing behind it
        # has been trimmed away, for trimming takes the oldest first.
        with self._server.errors(self.name):
            with self._client.pipeline(transaction=True) as both:
                both.xrange(self.stream, self._id, self._id)
                both.xrange(self.stream, f"({self._id}", "+", count=n)
                anchor, entries = both.execute()
            if not entries:
                milliseconds = max(1, round(wait * 1000))
                self._client.xread({self.stream: self._id}, count=1, block=milliseconds)
                return []
        if self._anchored and not anchor:
            self._report_gap(
                f"entries behind {self._id}, the last that was read, have been trimmed away "
                "or the stream was made anew; some may be lost."
            )
        messages = [self._message(entry_id.decode(), fields) for entry_id, fields in entries]
        self._id, self._anchored = messages[-1].move["id"], True
        return messages

    def _message(self, entry_id: str, fields: dict[bytes, bytes]) -> Message:
        return Message(
            value=fields.get(self.field.encode()),
            key=f"{self.stream}/{entry_id}",
            move={"id": entry_id, "anchored": True},
            time=int(entry_id.partition("-")[0]) / 1000.0,
        )

    def _newer(self, at: dict[str, Any]) -> Unread | None:
        """Return the seconds from a position to the newest entry: ids begin with the clock.

        None where senders number the entries themselves.
        """
        with self._server.errors(self.name):
            last = self._client.xinfo_stream(self.stream)["last-generated-id"].decode()
        now, then = (int(entry.partition("-")[0]) for entry in (last, at["id"]))
        if min(now, then) < _CLOCK:
            return None
        return Unread(max(0, now - then) / 1000.0, "seconds")

    def _leave(self, at: dict[str, Any]) -> None:
        with self._server.errors(self.name):
            if self.group is not None:
                self._mark(at["id"])

    def _trim(self, at: dict[str, Any]) -> None:
        with self._server.errors(self.name):
            if self.trim:  # up to the last one read, which shows that nothing was trimmed
                self._client.xtrim(self.stream, minid=at["id"], approximate=False)

    def _mark(self, entry_id: str) -> None:
        known = [group["name"].decode() for group in self._client.xinfo_groups(self.stream)]
        if self.group in known:
            self._client.xgroup_setid(self.stream, self.group, entry_id)
        else:
            self._client.xgroup_create(self.stream, self.group, id=entry_id)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()


def open_url(url: str, options: SourceOptions) -> RedisSource:
    """Return the source of ``redis://server:6379/stream?db=0&group=name``, or ``rediss://``."""
    known: dict[str, Callable[[str], Any]] = {
        "db": int,
        "field": str,
        "group": str,
        "trim": yes_or_no,
    }
    at = read_url(url, "redis", known, options)
    database = at.settings.pop("db", 0)
    return RedisSource(at.stream, url=f"{at.scheme}://{at.server}/{database}", **at.settings)
