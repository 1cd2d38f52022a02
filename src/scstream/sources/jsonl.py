"""JSON lines: an object or an array a line."""

from __future__ import annotations

import numpy as np

from scstream.sources.base import MalformedRow
from scstream.sources.chunks import Chunk, Ints
from scstream.sources.guess.head import refuse_other
from scstream.sources.json_rows import JsonRows, row_of
from scstream.sources.records import TextRecords
from scstream.sources.rows import LOOK_ROWS
from scstream.sources.text import TextSource


class JsonSource(TextSource, JsonRows):
    """Reads JSON lines."""

    heads = 0

    def _begin(self, text: bytes, final: bool) -> int | None:
        """Find out from the first rows what the columns are and what each one holds."""
        rows, error = [], None
        if not self._enough(text, final):
            return None
        refuse_other(text, self.name)
        for a, b, _, line in _lines(text, final)[:LOOK_ROWS].tolist():
            row, wrong = row_of(text[a:b])
            if wrong is None:
                rows.append(row)
            elif error is None and text[a:b].strip():
                error = MalformedRow(f"{self.name}, line {self._lines + line + 1}: {wrong}.")
        if not rows:
            if final and error is not None:
                raise error
            return None
        self._look_at(rows)
        return 0

    def _parse(self, text: bytes, final: bool) -> tuple[Chunk | None, int]:
        lines = _lines(text, final)
        taken = int(lines[-1, 2]) if len(lines) else 0
        full = np.array([bool(text[a:b].strip()) for a, b in lines[:, :2].tolist()], dtype=bool)
        lines = lines[full]
        if not len(lines):
            return None, taken
        read = [row_of(text[a:b]) for a, b in lines[:, :2].tolist()]
        chunk = self._chunk(
            [row for row, _ in read],
            lines[:, 2:] + np.array([self._offset, self._lines + 1]),
            lines[:, 3] + (self._lines + 1),
            np.arange(self._rows + 1, self._rows + len(lines) + 1),
            self._records_of(text, lines[:, :2]),
            {i: wrong for i, (_, wrong) in enumerate(read) if wrong is not None},
        )
        return chunk, taken

    def _records_of(self, text: bytes, bounds: Ints) -> TextRecords:
        return TextRecords("jsonl", self.schema.names, text, bounds)


def _lines(text: bytes, final: bool) -> Ints:
    """Return beginning, end, beginning of the next, and number from 0 of each whole line."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    after = ends + 1
    if final and (not len(after) or after[-1] < len(text)) and text:
        ends, after = np.append(ends, len(text)), np.append(after, len(text))
    begins = np.append(0, after[:-1]) if len(after) else after
    return np.column_stack([begins, ends, after, np.arange(len(ends))])
