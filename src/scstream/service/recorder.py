"""A run's page: it follows the run as one of its outputs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scstream.pipeline.assess import assess, learner_of
from scstream.sinks.base import Floats, Recorder
from scstream.sources.base import Batch, Place

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.sampler.learner import Learner
    from scstream.service.served import Scores, Served


class PageRecorder(Recorder):
    """Shows each batch of a run on the page.

    Where another output needs scores, the page takes them. Otherwise only those batches are
    scored that are shown: to score all of them could take a fifth of the run's time.

    Parameters
    ----------
    served : Served
        What the page shows.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._before: Learner | None = None  # what the model knew before the batch

    def truncate(self, place: Place) -> None:
        """Continue from a place: the page shows what comes from now on."""
        return

    def place(self) -> Place:
        """Return nothing: a page holds nothing that a checkpoint could take back."""
        return {}

    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Show the model after a batch."""
        before, self._before = self._before, learner_of(model)
        scores: Scores = score
        if score is None and before is not None:
            scores = partial(_scores, before, batch.X)
        self._served.observe(model, scores, batch.X)


def _scores(before: Learner, X: Any, model: ScStream) -> Floats:
    """Return the scores of a batch's rows by what was known before it."""
    return assess(model._fitted_to(before, X), X).score
