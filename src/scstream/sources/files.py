"""Several text files, one after the other, as one stream of bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from scstream.sources.base import Place
from scstream.sources.places import unsound
from scstream.sources.readers import Reader


class FilesReader(Reader):
    """Reads files to their ends. Offsets go on from the end of the file before.

    Parameters
    ----------
    paths : list of str
    open_one : callable (path) -> Reader
    """

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
        number, base = (seen.get("number", 0), seen["base"]) if seen else self._file_of(offset)
        if type(number) is not int or number < 0:
            raise unsound("number", number)
        if number >= len(self.paths):
            raise ValueError(
                f"The checkpoint is in file {number + 1} of a stream that has {len(self.paths)} "
                "files now. Name all files again, in the same order; new ones come last."
            )
        self._turn_to(number)
        self._reader.trail = self.trail
        mine: Place = {"base": base, "digest": seen["digest"]} if seen else {"base": base}
        self._reader.seek(offset, mine)
        if self.trail is not None:
            self.trail.number(number)
        self.base, self._at = base, offset

    def _file_of(self, offset: int) -> tuple[int, int]:
        """Return the file that an offset is in, and where that begins."""
        base = 0
        for number in range(len(self.paths)):
            self._turn_to(number)
            length = self._reader.length()
            if length is None:
                length = sum(len(data or b"") for data in iter(self._reader.read, b""))
            if offset <= base + length:
                return number, base
            base += length
        raise ValueError(f"The files end {offset - base:,} bytes before the place.")

    def read(self) -> bytes | None:
        """Return the next bytes, those of the next file where one ends."""
        self._reader.trail = self.trail
        while True:
            data = self._reader.read()
            if data or data is None or self._number + 1 == len(self.paths):
                self._at += len(data or b"")
                return data
            self._turn_to(self._number + 1)
            self._reader.trail = self.trail
            self.files += 1
            self.base = self._at
            if self.trail is not None:
                self.trail.begin_file(self.base)

    @property
    def ends(self) -> bool:
        """Whether what is there now is all."""
        return True

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
