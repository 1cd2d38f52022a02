"""Where bytes come from: a file, a file that grows and is rotated, standard input.

Offsets count the bytes of the whole stream. Where a followed file is rotated, those of the next
file go on from the end of the one before.
"""

from __future__ import annotations

import os
import queue
import stat
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import BinaryIO

from scstream.sources.base import Place
from scstream.sources.rotation import bytes_after, open_next, open_renamed
from scstream.sources.trail import HEAD, TAIL, Trail, digest_of
from scstream.support.advice import Advice, advised
from scstream.support.messages import warn
from scstream.support.paths import Identity, identity, look

BLOCK = 1 << 20
_PAUSE = 0.1  # seconds between looks at a file that grows


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

    def __init__(self) -> None:
        self.files = 1
        self.base = 0
        self.trail: Trail | None = None

    @abstractmethod
    def seek(self, offset: int, seen: Place | None) -> None:
        """Begin after this many bytes, which must look as they did when `Trail.mark` saw them."""

    @abstractmethod
    def read(self) -> bytes | None:
        """Return the next bytes, none at the end, None if there is nothing more just now."""

    @property
    def ends(self) -> bool:
        """Whether what is there now is all."""
        return False

    def length(self) -> int | None:
        """Return how many bytes the stream has so far, None where that is unknown."""
        return None

    def close(self) -> None:
        """Close the file."""
        return


class FileReader(Reader):
    """Reads a file; at its end it waits for more if it is to follow.

    A followed file may be rotated: if it is renamed and created again, the old one is read to its
    end first. If it is cut, reading goes on with its new beginning.
    """

    def __init__(self, path: str, follow: bool) -> None:
        super().__init__()
        self.path = path
        self.follow = follow
        self._file: BinaryIO = open(path, "rb", buffering=0)  # noqa: SIM115  # see close
        self._regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)  # no pipe
        self._identity = _identity(self._file)
        self._at = 0  # in the present file
        self._head = b""
        self._last = b""  # the bytes before `_at`

    def seek(self, offset: int, seen: Place | None) -> None:
        """Begin after this many bytes."""
        base, digest = (seen["base"], seen.get("digest")) if seen else (0, None)
        at = offset - base
        mine = seen.get("file") if seen and self.follow else None
        if mine is not None and mine != self._identity:  # others may look like it
            renamed = open_renamed(self.path, mine)
            if renamed is not None:
                self._use(renamed)
        self._check_holds(at, digest)
        self.base = base
        self._head, self._last = _head_and_tail(self._file, at)
        self._go(at)
        if self.trail is not None:
            self.trail.resume(base, self._head, offset, self._last, self._identity)

    @property
    def ends(self) -> bool:
        """Whether what is there now is all: not so for a pipe, or a file that grows."""
        return self._regular and not self.follow

    def _check_holds(self, at: int, digest: str | None) -> None:
        """Raise `ValueError` unless the file begins with what was read before."""
        size = _size(self._file)
        if size < at:
            what = f"has {size:,} bytes, but {at:,} were read before"
        elif digest is not None and digest_of(*_head_and_tail(self._file, at)) != digest:
            what = "does not match what was read before"
        else:
            return
        raise ValueError(
            f"{self.path} {what}: it is not the file that the checkpoint was made with, or it was "
            "cut. Put it back, or start over with another folder for checkpoints and new outputs."
        )

    def _use(self, file: BinaryIO) -> None:
        """Read from another file."""
        self._file.close()
        self._file = file
        self._identity = _identity(file)

    def _go(self, at: int) -> None:
        self._at = at
        self._file.seek(at)

    def read(self) -> bytes | None:
        """Return the next bytes."""
        data = self._file.read(BLOCK)
        if not self.follow:
            return self._noted(data)
        if self._regular and self._was_cut(data):
            self._leave_cut()
            return self._first()
        if not data and self._regular and self._is_replaced():
            data = self._file.read(BLOCK)  # what came before it was replaced
            if not data:
                file = open_next(self.path, self._identity)
                if file is None:
                    return None
                self._begin(file)
                return self._first()
        if data:
            return self._noted(data)
        time.sleep(_PAUSE)
        return None

    def _first(self) -> bytes | None:
        """Return what a file just begun holds: it may be cut before the next read."""
        return self._noted(self._file.read(BLOCK)) or None

    def _noted(self, data: bytes) -> bytes:
        self._at += len(data)
        if len(self._head) < HEAD:
            self._head += data[: HEAD - len(self._head)]
        self._last = (self._last + data[-TAIL:])[-TAIL:]
        if self.trail is not None:
            self.trail.add(data, self._identity)
        return data

    def _was_cut(self, data: bytes) -> bool:
        """Whether the file no longer holds what was read before ``data``."""
        if _size(self._file) < self._at + len(data):
            return True
        if not data:
            return False
        self._file.seek(self._at - len(self._last))
        before = self._file.read(len(self._last))
        self._file.seek(self._at + len(data))
        return before != self._last

    def _leave_cut(self) -> None:
        """Go on with what a file that was cut holds now."""
        warn(
            f"{self.path!r} was cut while it was followed. Going on with its new beginning; what "
            "was added before the cut and not yet read is lost."
        )
        self._begin(open(self.path, "rb", buffering=0))  # noqa: SIM115  # see close

    def _is_replaced(self) -> bool:
        """Whether another file has the path now, and its writer has begun to use it."""
        found = look(self.path)
        return found is not None and found.st_size > 0 and identity(found) != self._identity

    def _begin(self, file: BinaryIO) -> None:
        """Go on with another file."""
        self._use(file)
        self.files += 1
        self.base += self._at
        self._at = 0
        self._head = self._last = b""
        if self.trail is not None:
            self.trail.begin_file(self.base)

    def length(self) -> int | None:
        """Return how many bytes the file and those rotated after it have so far."""
        if not self._regular:
            return None
        later = bytes_after(self.path, self._identity) if self.follow else 0
        return self.base + _size(self._file) + later

    def close(self) -> None:
        """Close the file."""
        self._file.close()


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
        """Skip this many bytes, which were read before, unless the input continues by itself."""
        if self.live:
            self.trail = None  # it does not begin where the stream began
            return
        trail, left = self.trail or Trail(), offset
        while left:
            data = os.read(self._handle, min(left, BLOCK))
            if not data:
                raise ValueError(
                    f"Standard input ended {left:,} bytes before the place of the checkpoint. "
                    "After a resume it must come again from its beginning, or be live."
                )
            left -= len(data)
            trail.add(data)
            trail.forget(offset - left)
        if seen and trail.mark(offset) != seen:
            raise advised(
                ValueError(
                    f"The first {offset:,} bytes of standard input are not those that were read "
                    "before the checkpoint. It must come again as it was."
                ),
                Advice("live", True, "if it goes on by itself"),
            )

    def read(self) -> bytes | None:
        """Return what has come, at least a byte unless it is the end."""
        data = os.read(self._handle, BLOCK) if self.wait is None else self._next_block()
        if data is None:
            return None
        if self.trail is not None:
            self.trail.add(data)
        return data

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
            data = self._blocks.get(timeout=_PAUSE)
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


def _identity(file: BinaryIO) -> Identity:
    return identity(os.fstat(file.fileno()))


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _head_and_tail(file: BinaryIO, at: int) -> tuple[bytes, bytes]:
    """Return the first bytes of a file, and the last ones before a place."""
    file.seek(0)
    head = file.read(min(HEAD, at))
    file.seek(max(0, at - TAIL))
    return head, file.read(min(TAIL, at))
