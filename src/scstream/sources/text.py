"""Text files: CSV, TSV and JSON lines, from a file, a file that grows or standard input."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

import numpy as np

from scstream.sources.base import MalformedRow, Place, Source, Unread
from scstream.sources.chunks import Chunk, Ints
from scstream.sources.guess.encoding import LOOK
from scstream.sources.listing import Listing
from scstream.sources.opening import open_reader
from scstream.sources.options import SourceOptions
from scstream.sources.places import seen_before
from scstream.sources.readers import Trail
from scstream.sources.records import TextRecords
from scstream.sources.rows import LOOK_ROWS, RowSource

_MOST = 1 << 26  # bytes of one record
_BOM = b"\xef\xbb\xbf"
_END = re.compile(  # of a file: a mark (Ctrl-Z) of old systems; a rule, or how many rows there are
    rb"(?:\x1a|(?:^|(?<=\n))(?:\+[-+]+\+|\(\d{1,12} rows?\)))[\r\n\x00]*\Z"
)
_LONGEST_END = 2000  # bytes


class TextSource(RowSource):
    """Reads text in blocks and returns the rows of each."""

    heads = 1  # lines that may name the columns

    def __init__(self, files: Listing, options: SourceOptions) -> None:
        name = "standard input" if files.paths == ["-"] else Path(files.paths[0]).name
        super().__init__(name, options)
        self._reader = open_reader(files, options)
        self._heard = monotonic()  # when bytes came last
        self._hurry = False  # whether a look must do with the rows that there are
        self._offset = self._lines = self._rows = 0  # bytes, line ends and rows that were passed

    @abstractmethod
    def _begin(self, text: bytes, final: bool) -> int | None:
        """Find out what the columns are; return how many bytes name them, None to read more."""

    @abstractmethod
    def _parse(self, text: bytes, final: bool) -> tuple[Chunk | None, int]:
        """Return the rows of a block, and the bytes that they took."""

    @abstractmethod
    def _records_of(self, text: bytes, bounds: Ints) -> TextRecords:
        """Return the rows as they came, from where they begin and end (n, 2)."""

    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended."""
        super().seek(place)
        seen = seen_before(place)
        self._reader.seek(place["offset"], seen)
        self.name = self._reader.name or self.name
        self._offset, self._lines, self._rows = place["offset"], place["line"], place["row"]

    def keep_marks(self) -> None:
        """Remember what the stream looked like before the last place."""
        self._reader.trail = Trail()

    def mark(self, place: Place) -> Place:
        """Return a place with a digest of what comes before it."""
        trail = self._reader.trail
        return place if trail is None else {**place, "seen": trail.mark(place["offset"])}

    def share_before(self, place: Place) -> float | None:
        """Return the share of the bytes before a place; None if the text has no known end."""
        length = self._reader.length() if self._reader.ends else None
        return place["offset"] / length if length else None

    def unread(self, place: Place) -> Unread | None:
        """Return how many bytes lie behind a place."""
        length = self._reader.length()
        return None if length is None else Unread(max(0, length - place["offset"]), "bytes")

    def _passed(self, place: Place) -> None:
        if self._reader.trail is not None:
            self._reader.trail.forget(place["offset"])

    def _chunks(self) -> Iterator[Chunk | None]:
        text = b""
        files = self._reader.files
        again = False  # whether the columns' names may come again: the file is not the first
        while True:
            new = self._reader.read()
            if self._reader.files > files:
                files = self._reader.files
                yield from self._end_file(text)
                self.name = self._reader.name or self.name
                text, again = b"", self._found is not None
            if new is None:
                yield None
                self._hurry = self._found is None and bool(text) and self._has_waited()
                if not self._hurry:
                    continue
            else:
                self._heard = monotonic()
            text = self._without_mark(text + (new or b""))
            final = new == b""
            if again:
                named = self._named_again(text, final)
                if named is None:
                    continue
                again = False
                text = self._pass(text, named)
            if self._found is None:
                named = self._begin(_before_end_mark(text), final)
                if named is None:
                    if final or len(text) > _MOST:
                        self._refuse_start(text)
                        return
                    continue
                text = self._pass(text, named)
            text = yield from self._read(text, final)
            if final:
                self._refuse_nothing()
                return

    def _has_waited(self) -> bool:
        """Whether a look at the first rows should not wait for more of them."""
        return self.options.period is not None or self._waited(self._heard)

    def _enough(self, text: bytes, final: bool) -> bool:
        """Whether there are enough rows for a look at them."""
        wanted = min(self.options.batch_size, LOOK_ROWS)
        lines = text.count(b"\n") - self.heads
        return final or self._hurry or len(text) > LOOK or lines >= wanted

    def _refuse_nothing(self) -> None:
        """Raise an error for a file whose columns have names, but no rows."""
        if self._rows == 0:
            raise ValueError(f"{self.name} has a header but no rows.")

    def _end_file(self, text: bytes) -> Iterator[Chunk]:
        """Give what is left of a file that is followed by another."""
        if self._found is None:  # a short file, whose rows were too few for a look
            named = self._begin(_before_end_mark(text), True)
            if named is not None:
                text = self._pass(text, named)
        if self._found is not None:
            yield from self._read(text, True)
        self._offset, self._lines = self._reader.base, 0

    def _named_again(self, text: bytes, final: bool) -> int | None:
        """Return how many bytes of a further file name the columns again, None to read more."""
        return 0

    def _refuse_start(self, text: bytes) -> None:
        """Raise an error unless there is nothing at all."""
        if text.strip():
            reason = "a quote that is opened is not closed"
            if len(text) > _MOST:
                reason = f"no row that can be read within {_MOST:,} bytes"
            raise MalformedRow(f"{self.name}, line {self._lines + 1}: {reason}.")
        raise ValueError(f"{self.name} is empty.")

    def _without_mark(self, text: bytes) -> bytes:
        marked = self._offset == self._reader.base and text.startswith(_BOM)
        return self._pass(text, len(_BOM)) if marked else text

    def _read(self, text: bytes, final: bool) -> Generator[Chunk, None, bytes]:
        """Give the rows of a block; return what is left of it."""
        whole, text = text, _before_end_mark(text)
        mark = b"" if final else whole[len(text) :]
        chunk, taken = self._parse(text, final)
        text = self._pass(text, taken)
        if chunk is not None:
            self._rows += len(chunk)
            yield replace(chunk, name=self._reader.name or "")
        if final and text:
            text = yield from self._cut(text, "a quote that is opened is not closed", final)
        elif len(text) > _MOST:
            text = yield from self._cut(text, f"the row is longer than {_MOST:,} bytes", final)
        return text + mark

    def _cut(self, text: bytes, reason: str, final: bool) -> Generator[Chunk, None, bytes]:
        """Give the first line of what cannot be read as a row that cannot; read on behind it."""
        line = text.find(b"\n") + 1 or len(text)
        kinds = [np.full(1, None if k == "text" else np.nan) for k in self.schema.kinds]
        records = self._records_of(text, np.array([[0, len(text[:line].rstrip(b"\r\n"))]]))
        time = None if self.schema.time is None else np.zeros(1)
        number = np.array([self._lines + 1])
        text = self._pass(text, line)
        self._rows += 1
        after, row = np.array([[self._offset, self._lines]]), np.array([self._rows])
        bad = {0: reason}
        yield Chunk(kinds, after, number, row, records, time, bad, self._reader.name or "")
        return (yield from self._read(text, final)) if text else text

    def _pass(self, text: bytes, taken: int) -> bytes:
        self._offset += taken
        self._lines += text.count(b"\n", 0, taken)
        return text[taken:]

    def _end(self) -> Place:
        return {"offset": self._offset, "line": self._lines, "row": self._rows}

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


def _before_end_mark(text: bytes) -> bytes:
    """Return a text without what old systems and databases put at the end of a file."""
    end = _END.search(text, max(0, len(text) - _LONGEST_END))
    return text if end is None else text[: end.start()]


def open_text(files: Listing, kind: str, options: SourceOptions) -> Source:
    """Return the source of a text file."""
    from scstream.sources.json_rows import JsonSource
    from scstream.sources.separated import SeparatedSource

    if kind == "jsonl":
        return JsonSource(files, options)
    if kind == "tsv" and options.separator is None:
        options = replace(options, separator="\t")
    return SeparatedSource(files, options)
