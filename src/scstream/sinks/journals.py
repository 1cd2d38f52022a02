"""Journals of a run: events, the chronicle and rejected rows, each a file of JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from scstream.sinks.base import Floats, Recorder
from scstream.sinks.files import AddedFile
from scstream.sources.base import Batch, Place

if TYPE_CHECKING:
    from scstream.model import ScStream


class Journal(Recorder):
    """A file of lines that is added to with every batch.

    Parameters
    ----------
    path : str or Path
    overwrite : bool, default=False
        Whether a file that is there may be replaced.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self._file = AddedFile(path, overwrite=overwrite)

    def check(self, place: Place) -> None:
        """Make sure that the file can be begun at a place."""
        self._file.check(place)

    def truncate(self, place: Place) -> None:
        """Go back to a place."""
        self._file.begin(place)

    def place(self) -> Place:
        """Return the file's length."""
        return self._file.place()

    def identity(self) -> Place:
        """Return what tells the file from another of its name."""
        return self._file.identity()

    def verify(self) -> None:
        """Make sure that the file is as it was left."""
        self._file.verify()

    def sync(self) -> None:
        """Bring the file to the disk."""
        self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _add(self, text: str) -> None:
        if text:
            self._file.write(text.encode())


class EventJournal(Journal):
    """Writes what happened to the clusters, see `scstream.events.Event`."""

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Write the events of a batch."""
        self._add("".join(json.dumps(event.to_dict()) + "\n" for event in model.events_))


class RejectJournal(Journal):
    """Writes the rows that were left out, where they were and why."""

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Write the rows that were left out before the end of a batch."""
        self.note(batch)

    def note(self, batch: Batch) -> None:
        """Write the rows that were left out, whether or not any was learned."""
        self._add(
            "".join(
                json.dumps({"line": r.line, "row": r.row, "reason": r.reason, "text": r.text})
                + "\n"
                for r in batch.rejects
            )
        )


class ChronicleJournal(Journal):
    """Writes what the clusters were after each batch, for `scstream report`."""

    needs = frozenset({"score"})

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        from scstream.chronicle import Chronicle

        super().__init__(path, overwrite=overwrite)
        self._kind = Chronicle
        self._chronicle = Chronicle()

    def truncate(self, place: Place) -> None:
        """Go back to a place, and know again what was written until then."""
        super().truncate(place)
        known = self._file.regular and self._file.length
        self._chronicle = self._kind.read(self._file.path) if known else self._kind()

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Write a batch's moment."""
        moment = self._chronicle.observe(model, score, batch.X)
        self._add(self._chronicle.text(moment))
