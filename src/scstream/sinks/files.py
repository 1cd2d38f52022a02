"""Files that are only added to, and can be cut back to an earlier length."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

from scstream.sinks.base import Output, count_of
from scstream.sources.base import Place
from scstream.support.paths import check_file, identity, is_special, look

_TAIL = 1024  # last bytes that are looked at again when a run resumes


class AddedFile(Output):
    """An output that is one file, or standard output for ``-``, without a buffer of our own.

    Parameters
    ----------
    path : str or Path
    overwrite : bool, default=False
        Whether an existing file may be replaced. Otherwise it is refused, unless it is empty.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.path = str(path)
        self.overwrite = overwrite
        self.length = 0
        self._absolute = os.path.abspath(self.path)
        self._tail = b""
        self._handle: int | None = None
        self.regular = False  # not a device or a pipe; known once it is open

    @property
    def standard(self) -> bool:
        """Whether it is standard output, which cannot be taken back."""
        return self.path == "-"

    def check(self, place: Place) -> None:
        """Make sure that the file can be begun at a place; change nothing."""
        length = count_of(place, "bytes")
        if self.standard and sys.stdout is None:
            raise ValueError("Standard output is closed. Name a file to write to.")
        found = None if self.standard else look(self._absolute)
        if length and (self.standard or (found is not None and _flows(found))):
            what = "Standard output" if self.standard else f"{self.path}, a pipe,"
            raise ValueError(f"{what} cannot be taken back to a checkpoint.")
        if self.standard or (found is not None and is_special(found)):
            return
        if not length:
            own = found is not None and place.get("file") == identity(found)
            check_file(self.path, overwrite=self.overwrite or own or "bytes" in place)
        elif found is None:
            raise self._changed(f"is gone, but the checkpoint knows of {length:,} bytes of it")
        elif found.st_size < length:
            raise self._changed(
                f"has {found.st_size:,} bytes, but the checkpoint knows of {length:,}"
            )
        elif place.get("tail", "") not in ("", _digest(self._read_tail(length))):
            raise self._changed("does not match the checkpoint")

    def _changed(self, how: str) -> ValueError:
        return ValueError(
            f"{self.path} {how}: it was changed since. Put it back, or start over: remove the "
            "checkpoints and name another output."
        )

    def _read_tail(self, length: int) -> bytes:
        with open(self._absolute, "rb") as file:
            file.seek(max(0, length - _TAIL))
            return file.read(min(length, _TAIL))

    def truncate(self, place: Place) -> None:
        """Open the file, created again or truncated to its length at a place."""
        self.check(place)
        self.length = count_of(place, "bytes")
        if self.standard:
            sys.stdout.flush()
            self._handle = sys.stdout.fileno()
            return
        Path(self._absolute).parent.mkdir(parents=True, exist_ok=True)
        found = look(self._absolute)
        # A pipe that were opened for reading too would never break when its reader leaves.
        way = os.O_WRONLY if found is not None and is_special(found) else os.O_RDWR
        flags = way | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._handle = os.open(self._absolute, flags, 0o666)
        self.regular = stat.S_ISREG(os.fstat(self._handle).st_mode)
        if self.regular:  # a device has nothing to cut
            self._tail = self._read_tail(self.length)
            os.ftruncate(self._handle, self.length)
            os.lseek(self._handle, self.length, os.SEEK_SET)

    def add(self, data: bytes | memoryview) -> None:
        """Add some bytes, all of them or an error."""
        assert self._handle is not None, "truncate comes first"
        self.verify()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            error.filename = self.path  # the system's message does not name it
            raise
        self.length += len(data)
        self._tail = (self._tail + bytes(data[-_TAIL:]))[-_TAIL:]

    def verify(self) -> None:
        """Raise `ValueError` if the file was removed, replaced or changed since the last write."""
        if self._handle is None or not self.regular:
            return
        mine, there = os.fstat(self._handle), look(self._absolute)
        if there is None or identity(there) != identity(mine):
            raise ValueError(f"{self.path} was removed or replaced while it was being written.")
        if mine.st_size != self.length:
            raise ValueError(
                f"{self.path} has {mine.st_size:,} bytes where {self.length:,} were written: "
                "something else changed it."
            )

    def sync(self) -> None:
        """Bring the file to the disk."""
        if self._handle is not None and not self.standard:
            self.verify()
            if self.regular:
                os.fsync(self._handle)

    def place(self) -> Place:
        """Return how long the file is, and a digest of its last bytes."""
        place: Place = {"bytes": self.length}
        return place | {"tail": _digest(self._tail)} if self.regular else place

    def identity(self) -> Place:
        """Return what identifies the open file among others of its name."""
        if self._handle is None or not self.regular:
            return {}
        return {"file": identity(os.fstat(self._handle))}

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._handle is not None and not self.standard:
            os.close(self._handle)
        self._handle = None


def _flows(found: os.stat_result) -> bool:
    return stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
