"""Journals of a run: events, the chronicle and rejected rows, each a file of JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scstream.sinks.base import Floats, Recorder
from scstream.sinks.files import AddedFile
from scstream.sources.base import Batch, Place
from scstream.support.times import as_date

if TYPE_CHECKING:
    from scstream.events import Event
    from scstream.model import ScStream


class Journal(AddedFile):
    """A file of lines that is added to with every batch."""

    def _add(self, text: str) -> None:
        if text:
            self.add(text.encode())


class EventJournal(Journal, Recorder):
    """Writes what happened to the clusters, see `scstream.events.Event`."""

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Write the events of a batch."""
        self._add("".join(json.dumps(_said(event, model)) + "\n" for event in model.events_))


def _said(event: Event, model: ScStream) -> dict[str, Any]:
    """Return an event as plain JSON, with its date where times are dates."""
    said = event.to_dict()
    return said | {"date": as_date(event.time)} if model.dates_ else said


class RejectJournal(Journal):
    """Writes the rows that were left out, where they were and why."""

    def note(self, batch: Batch) -> None:
        """Write the rows that were left out, whether or not any was learned."""
        self._add(
            "".join(
                json.dumps(
                    {"line": r.line, "row": r.row, "reason": r.reason, "text": r.text}
                    | ({"file": r.file} if r.file else {})
                )
                + "\n"
                for r in batch.rejects
            )
        )


class ChronicleJournal(Journal, Recorder):
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
        known = self.regular and self.length
        self._chronicle = self._kind.read(self.path) if known else self._kind()

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Write a batch's moment."""
        moment = self._chronicle.observe(model, score, batch.X)
        self._add(self._chronicle.text(moment))
