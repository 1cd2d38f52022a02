"""Where bytes come from: standard input, files that are compressed or not in UTF-8, several files.

Offsets count the bytes of the whole stream. Where a followed file is rotated, those of the next
file go on from the end of the one before.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import queue
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from scstream.sources.base import Place
from scstream.sources.guess.encoding import damaged, open_packed
from scstream.sources.places import unsound
from scstream.support.advice import Advice, advised
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


BLOCK = 1 << 20
PAUSE = 0.1  # seconds between looks for more


class Reader(ABC):
    """A stream of bytes that can be begun anywhere.

    Attributes
    ----------
    files : int
        How many files were begun. If a `read` raises it, the bytes are the first of a new file.
    base : int
        Where the present file begins in the stream.
    name : str or None
        The present file, where there are several.
    trail : Trail or None
        Remembers what the stream looked like; only where places are saved.
    """

    name: str | None = None
    ends = False  # whether what is there now is all
    identity: Identity | None = None  # of the present file

    def __init__(self) -> None:
        self.files = 1
        self.base = 0
        self.trail: Trail | None = None
        self._left = b""  # that was read, and is not yet given

    @abstractmethod
    def _next(self) -> bytes | None:
        """Return the next bytes, none at the end, None if there is nothing more just now."""

    @abstractmethod
    def _other(self, what: str) -> ValueError:
        """Return the error of a stream that is not the one that a place is in."""

    def read(self) -> bytes | None:
        """Return the next bytes, none at the end, None if there is nothing more just now."""
        data, self._left = self._left or self._next(), b""
        if data and self.trail is not None:
            self.trail.add(data, self.identity)
        return data

    def seek(self, offset: int, seen: Place | None) -> None:
        """Begin after this many bytes, which must look as they did when `Trail.mark` saw them."""
        base = seen["base"] if seen else 0
        trail, left = self.trail or Trail(), offset - base
        if base:
            trail.begin_file(base)
        while left:
            data = self._next()
            if not data:
                raise self._other(f"ended {left:,} bytes before the place of the checkpoint")
            self._left, data = data[left:], data[:left]
            left -= len(data)
            trail.add(data)
            trail.forget(offset - left)
        if seen and trail.mark(offset)["digest"] != seen["digest"]:
            raise self._other("does not match what was read before")

    def length(self) -> int | None:
        """Return how many bytes the stream has so far, None where that is unknown."""
        return None

    def close(self) -> None:
        """Close the file."""
        return


class InputReader(Reader):
    """Reads standard input."""

    def __init__(self, live: bool, wait: float | None) -> None:
        super().__init__()
        self.live = live
        self.wait = wait
        if sys.stdin is None:
            raise ValueError("Standard input is closed. Name a file to read.")
        self._handle = sys.stdin.fileno()
        self._blocks: queue.Queue[bytes | OSError] | None = None  # read ahead, by a thread

    def seek(self, offset: int, seen: Place | None) -> None:
        """Skip what was read before, unless the input continues by itself."""
        if self.live:
            self.trail = None  # it does not begin where the stream began
        else:
            super().seek(offset, seen)

    def _other(self, what: str) -> ValueError:
        said = f"Standard input {what}. After a resume it must come again from its beginning."
        return advised(ValueError(said), Advice("live", True, "if it goes on by itself"))

    def _next(self) -> bytes | None:
        return os.read(self._handle, BLOCK) if self.wait is None else self._next_block()

    def _next_block(self) -> bytes | None:
        """Return what a thread has read, None if nothing came for a moment.

        Windows can only wait for sockets, so this does not ask the system whether bytes are there.
        """
        if self._blocks is None:
            self._blocks = queue.Queue(maxsize=1)
            threading.Thread(
                target=_read_ahead, args=(self._handle, self._blocks), daemon=True
            ).start()
        try:
            data = self._blocks.get(timeout=PAUSE)
        except queue.Empty:
            return None
        if isinstance(data, OSError):
            raise data
        if not data:
            self._blocks.put(data)  # the end stays the end
        return data


def _read_ahead(handle: int, blocks: queue.Queue[bytes | OSError]) -> None:
    """Pass on blocks of standard input, and an empty one where it ends."""
    try:
        while data := os.read(handle, BLOCK):
            blocks.put(data)
    except OSError as error:
        blocks.put(error)
    else:
        blocks.put(b"")


class DecodedReader(Reader):
    """Reads a file's text as UTF-8. Offsets count the bytes of that text.

    A resume unpacks the file from its beginning and skips what was read before.
    """

    def __init__(
        self, path: str, compression: str | None, encoding: str, raw: BinaryIO | None = None
    ) -> None:
        super().__init__()
        self.path = path
        self.encoding = encoding
        self._file: BinaryIO = open_packed(path, compression, raw)
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ended = False

    def _other(self, what: str) -> ValueError:
        return ValueError(
            f"{self.path} {what}: it is not the file that the checkpoint was made with. Put it "
            "back, or start over with another folder for checkpoints and new outputs."
        )

    def _next(self) -> bytes:
        """Return the next bytes of text as UTF-8."""
        while not self._ended:
            with damaged(self.path):
                raw = self._file.read(BLOCK)
            self._ended = not raw
            try:
                text = self._decoder.decode(raw, final=self._ended)
            except UnicodeDecodeError as error:
                raise advised(
                    ValueError(
                        f"{self.path} is not {self.encoding}: {error.reason}. Name its encoding, "
                        "such as utf-8, latin-1 or utf-16."
                    ),
                    Advice("encoding"),
                ) from None
            data = text.encode("utf-8", "surrogatepass")
            if data:
                return data
        return b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class FilesReader(Reader):
    """Reads files to their ends. Offsets go on from the end of the file before."""

    ends = True

    def __init__(self, paths: list[str], open_one: Callable[[str], Reader]) -> None:
        super().__init__()
        self.paths = paths
        self._open_one = open_one
        self._number = 0
        self._at = 0  # in the stream
        self._reader = open_one(paths[0])
        self.name = Path(paths[0]).name

    def _turn_to(self, number: int) -> None:
        self._reader.close()
        self._number = number
        self._reader = self._open_one(self.paths[number])
        self.name = Path(self.paths[number]).name

    def seek(self, offset: int, seen: Place | None) -> None:
        """Begin after this many bytes of all files."""
        if seen is None:
            super().seek(offset, None)
            return
        number, base = seen.get("number", 0), seen["base"]
        if type(number) is not int or number < 0:
            raise unsound("number", number)
        if number >= len(self.paths):
            raise ValueError(
                f"The checkpoint is in file {number + 1} of a stream that has {len(self.paths)} "
                "files now. Name all files again, in the same order; new ones come last."
            )
        self._turn_to(number)
        self._reader.trail = self.trail
        self._reader.seek(offset, {"base": base, "digest": seen["digest"]})
        self._reader.trail = None  # what is read is noted here
        if self.trail is not None:
            self.trail.number(number)
        self.base, self._at = base, offset

    def _other(self, what: str) -> ValueError:
        return ValueError(f"{self.name} {what}.")

    def _next(self) -> bytes | None:
        """Return the next bytes, those of the next file where one ends."""
        while not (data := self._reader.read()) and self._number + 1 < len(self.paths):
            self._turn_to(self._number + 1)
            self.files += 1
            self.base = self._at
            if self.trail is not None:
                self.trail.begin_file(self.base)
        self._at += len(data or b"")
        return data

    def length(self) -> int | None:
        """Return how many bytes there are, None where files are packed."""
        return self._length

    @cached_property
    def _length(self) -> int | None:
        total = 0
        for path in self.paths:
            reader = self._open_one(path)
            length = reader.length()
            reader.close()
            if length is None:
                return None
            total += length
        return total

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
