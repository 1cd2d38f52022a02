"""Where bytes come from: a file, a file that grows, standard input."""

from __future__ import annotations

import os
import select
import sys
import time
from abc import ABC, abstractmethod
from typing import BinaryIO

from scstream.sources.options import SourceOptions

BLOCK = 1 << 20
_PAUSE = 0.1  # seconds between looks at a file that grows


class Reader(ABC):
    """A stream of bytes that can be begun anywhere."""

    @abstractmethod
    def seek(self, offset: int) -> None:
        """Begin behind so many bytes."""

    @abstractmethod
    def read(self) -> bytes | None:
        """Return the next bytes, none at the end, None if there is nothing more just now."""

    def close(self) -> None:
        """Let go of the file."""
        return


class FileReader(Reader):
    """Reads a file; at its end it waits for more if it is to follow."""

    def __init__(self, path: str, follow: bool) -> None:
        self.path = path
        self.follow = follow
        self._file: BinaryIO = open(path, "rb", buffering=0)  # noqa: SIM115  # see close

    def seek(self, offset: int) -> None:
        """Begin behind so many bytes."""
        size = self._file.seek(0, 2)
        if offset > size:
            raise ValueError(
                f"{self.path} has {size:,} bytes, but {offset:,} were read before: it is not the "
                "file that the checkpoint was made with, or it was cut."
            )
        self._file.seek(offset)

    def read(self) -> bytes | None:
        """Return the next bytes."""
        data = self._file.read(BLOCK)
        if data or not self.follow:
            return data
        at = self._file.tell()
        size = self._file.seek(0, 2)
        self._file.seek(at)
        if size < at:
            raise ValueError(
                f"{self.path} was cut from {at:,} to {size:,} bytes while it was followed. "
                "A file that is followed may only grow."
            )
        time.sleep(_PAUSE)
        return None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class InputReader(Reader):
    """Reads standard input."""

    def __init__(self, live: bool, wait: float | None) -> None:
        self.live = live
        self.wait = wait
        self._handle = sys.stdin.fileno()

    def seek(self, offset: int) -> None:
        """Skip so many bytes, which were read before, unless the input goes on by itself."""
        while offset and not self.live:
            data = os.read(self._handle, min(offset, BLOCK))
            if not data:
                raise ValueError(
                    f"Standard input ended {offset:,} bytes before the place of the checkpoint. "
                    "After a resume it must come again from its beginning, or be live."
                )
            offset -= len(data)

    def read(self) -> bytes | None:
        """Return what has come, at least a byte unless it is the end."""
        if self.wait is not None and not select.select([self._handle], [], [], _PAUSE)[0]:
            return None
        return os.read(self._handle, BLOCK)


def open_reader(spec: str, options: SourceOptions) -> Reader:
    """Return the reader of a file, or of standard input for ``-``."""
    if spec != "-":
        return FileReader(spec, options.follow)
    if options.follow:
        raise ValueError("Standard input is read until it ends; it cannot be followed.")
    return InputReader(options.live, options.wait)
