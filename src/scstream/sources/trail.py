"""What a stream of bytes looked like up to a place, so that a resume knows it again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from scstream.sources.base import Place
from scstream.support.paths import Identity

HEAD = 1024  # bytes at the beginning of a file that are looked at
TAIL = 4096  # bytes before a place that are looked at


@dataclass
class _File:
    """A file of the stream: where it begins, its first bytes, and those read since a place."""

    base: int
    head: bytes = b""
    start: int = 0  # where `recent` begins
    recent: bytearray = field(default_factory=bytearray)
    identity: Identity | None = None
    number: int = 0  # among files that are read one after the other


class Trail:
    """Remembers the first bytes of each file, and those since the last place."""

    def __init__(self) -> None:
        self._files = [_File(0)]

    def add(self, data: bytes, identity: Identity | None = None) -> None:
        """Take note of bytes that were read, and of the file they were in."""
        file = self._files[-1]
        file.identity = identity
        if len(file.head) < HEAD:
            file.head += data[: HEAD - len(file.head)]
        file.recent += data

    def begin_file(self, base: int) -> None:
        """Take note that another file begins."""
        self._files.append(_File(base, start=base, number=self._files[-1].number + 1))

    def number(self, number: int) -> None:
        """Take note of which file of several is read."""
        self._files[-1].number = number

    def resume(
        self, base: int, head: bytes, offset: int, tail: bytes, identity: Identity | None = None
    ) -> None:
        """Continue from a place in the file that begins at ``base``."""
        self._files = [_File(base, head, offset - len(tail), bytearray(tail), identity)]

    def forget(self, offset: int) -> None:
        """Keep only what a place from here on needs."""
        while len(self._files) > 1 and self._files[1].base < offset:
            del self._files[0]
        file = self._files[0]
        drop = offset - TAIL - file.start
        if drop > 0:
            del file.recent[:drop]
            file.start += drop

    def mark(self, offset: int) -> Place:
        """Return the file that a place is in, by its base, and a digest of what comes before it.

        The end of a file and the beginning of the next are one place: it counts as the end.
        """
        file = ([f for f in self._files if f.base < offset] or self._files)[-1]  # some are empty
        at = offset - file.base
        tail = file.recent[max(0, offset - TAIL - file.start) : max(0, offset - file.start)]
        mark: Place = {"base": file.base, "digest": digest_of(file.head[:at], bytes(tail))}
        mark |= {"number": file.number} if file.number else {}
        return mark if file.identity is None else {**mark, "file": file.identity}


def digest_of(head: bytes, tail: bytes) -> str:
    """Return a digest of the first bytes of a file and of the last ones before a place."""
    return hashlib.sha256(b"%d:" % len(head) + head + tail).hexdigest()[:32]
