"""Files that are only added to, and can be cut back to an earlier length."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from scstream.sources.base import Place


class AddedFile:
    """A file, or standard output for ``-``, written without a buffer of our own."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.length = 0
        self._handle: int | None = None

    @property
    def standard(self) -> bool:
        """Whether it is standard output, which cannot be taken back."""
        return self.path == "-"

    def begin(self, place: Place) -> None:
        """Open the file, made anew or cut to its length at a place."""
        self.length = int(place.get("bytes", 0))
        if self.standard:
            if self.length:
                raise ValueError("Standard output cannot be taken back to a checkpoint.")
            sys.stdout.flush()
            self._handle = sys.stdout.fileno()
            return
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(
            self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666
        )
        size = os.fstat(self._handle).st_size
        if size < self.length:
            raise ValueError(
                f"{self.path} has {size:,} bytes, but the checkpoint knows of {self.length:,}: it "
                "was changed since. Put it back, or begin anew without the checkpoint."
            )
        if stat.S_ISREG(os.fstat(self._handle).st_mode):  # a device has nothing to cut
            os.ftruncate(self._handle, self.length)
            os.lseek(self._handle, self.length, os.SEEK_SET)

    def write(self, data: bytes | memoryview) -> None:
        """Add some bytes, all of them or an error."""
        assert self._handle is not None, "begin comes first"
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            error.filename = self.path  # the system's message does not name it
            raise
        self.length += len(data)

    def sync(self) -> None:
        """Bring the file to the disk."""
        if self._handle is not None and not self.standard:
            os.fsync(self._handle)

    def place(self) -> Place:
        """Return how long the file is."""
        return {"bytes": self.length}

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._handle is not None and not self.standard:
            os.close(self._handle)
        self._handle = None
