"""A run's page: it follows the run as one of its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scstream.sinks.base import Floats, Recorder
from scstream.sources.base import Batch, Place

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.service.served import Served


class PageRecorder(Recorder):
    """Shows each batch of a run on the page.

    Parameters
    ----------
    served : Served
        What the page shows.
    """

    needs = frozenset({"score"})

    def __init__(self, served: Served) -> None:
        self._served = served

    def truncate(self, place: Place) -> None:
        """Continue from a place: the page shows what comes from now on."""
        return

    def place(self) -> Place:
        """Return nothing: a page holds nothing that a checkpoint could take back."""
        return {}

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Show the model after a batch."""
        self._served.observe(model, None if score is None else -score, batch.X)
