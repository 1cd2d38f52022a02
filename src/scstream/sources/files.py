"""A file that is read from any place, and may be followed while it grows and is rotated."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from pathlib import Path
from typing import BinaryIO

from scstream.sources.base import Place
from scstream.sources.readers import BLOCK, HEAD, PAUSE, TAIL, Reader, digest_of
from scstream.support.messages import warn
from scstream.support.paths import Identity, identity, look


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
        found = os.fstat(self._file.fileno())
        self.identity: Identity = identity(found)
        self._regular = stat.S_ISREG(found.st_mode)  # no pipe
        self.ends = self._regular and not follow
        self._at = 0  # in the present file
        self._last = b""  # the bytes before `_at`

    def seek(self, offset: int, seen: Place | None) -> None:
        """Begin after this many bytes."""
        base = seen["base"] if seen else 0
        at = offset - base
        mine = seen.get("file") if seen and self.follow else None
        if mine is not None and mine != self.identity:  # others may look like it
            renamed = open_renamed(self.path, mine)
            if renamed is not None:
                self._use(renamed)
        if self._size() < at:
            raise self._other(f"has {self._size():,} bytes, but {at:,} were read before")
        self._file.seek(0)
        head = self._file.read(min(HEAD, at))
        self._file.seek(max(0, at - TAIL))
        self._last = self._file.read(min(TAIL, at))
        if seen and digest_of(head, self._last) != seen["digest"]:
            raise self._other("does not match what was read before")
        self.base, self._at = base, at
        if self.trail is not None:
            self.trail.resume(base, head, offset, self._last, self.identity)

    def _other(self, what: str) -> ValueError:
        return ValueError(
            f"{self.path} {what}: it is not the file that the checkpoint was made with, or it was "
            "cut. Put it back, or start over with another folder for checkpoints and new outputs."
        )

    def _next(self) -> bytes | None:
        data = self._file.read(BLOCK)
        if self.follow and self._regular and self._was_cut(data):
            warn(
                f"{self.path!r} was cut while it was followed. Going on with its new beginning; "
                "what was added before the cut and not yet read is lost."
            )
            return self._begin(open(self.path, "rb", buffering=0))  # see close
        if self.follow and not data and self._regular and self._is_replaced():
            data = self._file.read(BLOCK)  # what came before it was replaced
            if not data:
                file = open_next(self.path, self.identity)
                return None if file is None else self._begin(file)
        if self.follow and not data:
            time.sleep(PAUSE)
            return None
        return self._noted(data)

    def _noted(self, data: bytes) -> bytes:
        self._at += len(data)
        self._last = (self._last + data[-TAIL:])[-TAIL:]
        return data

    def _was_cut(self, data: bytes) -> bool:
        """Whether the file no longer holds what was read before ``data``."""
        if self._size() < self._at + len(data):
            return True
        if not data:
            return False
        self._file.seek(self._at - len(self._last))
        before = self._file.read(len(self._last))
        self._file.seek(self._at + len(data))
        return before != self._last

    def _is_replaced(self) -> bool:
        """Whether another file has the path now, and its writer has begun to use it."""
        found = look(self.path)
        return found is not None and found.st_size > 0 and identity(found) != self.identity

    def _use(self, file: BinaryIO) -> None:
        """Read from another file."""
        self._file.close()
        self._file = file
        self.identity = identity(os.fstat(file.fileno()))

    def _begin(self, file: BinaryIO) -> bytes | None:
        """Go on with another file; return what it holds: it may be cut before the next read."""
        self._use(file)
        self.files += 1
        self.base += self._at
        self._at, self._last = 0, b""
        if self.trail is not None:
            self.trail.begin_file(self.base)
        return self._noted(self._file.read(BLOCK)) or None

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def length(self) -> int | None:
        """Return how many bytes the file and those rotated after it have so far."""
        if not self._regular:
            return None
        later = bytes_after(self.path, self.identity) if self.follow else 0
        return self.base + self._size() + later

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_PAUSE = 0.01  # seconds before another look at files that are being renamed
_LOOKS = 100  # at most: others may make and remove files of such names all the time
_NUMBERED = re.compile(r"\.(\d{1,5})", re.ASCII)  # log.csv.1 is newer than log.csv.2

Files = list[tuple[str, Identity]]


def rotated_files(path: str) -> list[str]:
    """Return the files beside a file that have its name and a number, the earliest first."""
    own = Path(path)
    found = []
    for name in os.listdir(own.parent):
        match = _NUMBERED.fullmatch(name[len(own.name) :]) if name.startswith(own.name) else None
        if match is not None:
            found.append((int(match[1]), path + match[0]))
    return [name for _, name in sorted(found, reverse=True)]


def open_renamed(path: str, mine: Identity) -> BinaryIO | None:
    """Open the file of this identity under its present name; None if there is none.

    If files were renamed during the search, it begins again: one may have been missed.
    """
    for _ in range(_LOOKS):
        before = _here(path)
        for name, one in before[:-1]:
            file = _open(name, mine) if one == mine else None
            if file is not None:
                return file
        if _here(path) == before:
            break
        time.sleep(_PAUSE)
    return None


def open_next(path: str, mine: Identity) -> BinaryIO | None:
    """Open the file that was begun after a rotated one: the next by name, or the present one.

    Names that change in between, as by another rotation, are looked at again; None if they do
    not come to rest.
    """
    for _ in range(_LOOKS):
        here = _here(path)
        for name, one in _after(here, mine)[:1]:
            file = _open(name, one)
            if file is None:
                break
            # A file that is being renamed may be missed in one look, but not in two between which
            # the old one kept its name. Where nothing has such a name they must be at rest.
            now = _here(path)
            kept = [pair for pair in here if pair[1] == mine]
            if now == here or (kept and kept[0] in now and _after(now, mine)[:1] == [(name, one)]):
                return file
            file.close()
        time.sleep(_PAUSE)
    return None


def bytes_after(path: str, mine: Identity) -> int:
    """Return the bytes of the files that were begun after one that may have been rotated."""
    total = 0
    for name, _ in _after(_here(path), mine):
        with contextlib.suppress(OSError):  # renamed meanwhile
            total += os.path.getsize(name)
    return total


def _here(path: str) -> Files:
    """Return which file has which name just now, the earliest first."""
    found = []
    for name in [*rotated_files(path), path]:
        with contextlib.suppress(OSError):
            found.append((name, identity(os.stat(name))))
    return found


def _after(here: Files, mine: Identity) -> Files:
    """Return the files that were begun after one, or the latest if that has no name any more."""
    at = [i for i, (_, one) in enumerate(here) if one == mine]
    return here[at[0] + 1 :] if at else here[-1:]


def _open(name: str, mine: Identity) -> BinaryIO | None:
    """Open the file of a name if it still is the one that is meant."""
    with contextlib.suppress(OSError):  # renamed meanwhile, or not ours to read
        file = open(name, "rb", buffering=0)  # noqa: SIM115  # the caller closes it
        if identity(os.fstat(file.fileno())) == mine:
            return file
        file.close()
    return None
