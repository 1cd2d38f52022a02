"""What the service shows: a model as it was after its last batch, and the chronicle's feed."""

from __future__ import annotations

import copy
import json
from threading import Lock
from time import monotonic
from typing import Any

from numpy.typing import ArrayLike

from scstream.chronicle import Moment
from scstream.model import ScStream
from scstream.service.answers import for_model
from scstream.service.feed import Feed
from scstream.service.metrics import Metrics


class Served:
    """A model and its chronicle, safe to read while another thread learns.

    Parameters
    ----------
    model : ScStream, optional
        What predictions are made with; without one there are none.
    feed : Feed, optional
        What pages follow.
    """

    def __init__(self, model: ScStream | None = None, feed: Feed | None = None) -> None:
        self.feed = Feed() if feed is None else feed
        self.metrics = Metrics()
        self._own = model
        self._model = None if model is None else copy.copy(model)
        self._lock = Lock()  # one thread observes at a time
        self._last = monotonic()

    @property
    def has_model(self) -> bool:
        """Whether predictions can be made, now or after the first batch."""
        return self._own is not None

    @property
    def model(self) -> ScStream:
        """The model as it was after the last batch; it never changes."""
        if self._model is None:
            raise ValueError("There is no model here.")
        return self._model

    def observe(self, model: ScStream, scores: ArrayLike | None = None, rows: Any = None) -> None:
        """Take note of a model that has just learned a batch."""
        with self._lock:
            moment = self.feed.chronicle.observe(model, scores, rows)
            self._model = copy.copy(model)
            now = monotonic()
            seconds, self._last = now - self._last, now
        self.metrics.learned(moment, seconds)
        self.feed.add(moment)

    def show(self, moment: Moment) -> None:
        """Hand on a moment that the feed's chronicle has taken from elsewhere."""
        now = monotonic()
        seconds, self._last = now - self._last, now
        self.metrics.learned(moment, seconds)
        self.feed.add(moment)

    def learn(self, rows: Any, time: Any = None) -> dict[str, Any]:
        """Learn rows that were sent, and return their labels."""
        model = self._own
        if model is None:
            raise ValueError("There is no model here.")
        X = for_model(rows, model)
        scores = -self.model.score_samples(X) if model.n_batches_ else None
        self._last = monotonic()
        model.partial_fit(X, time=time)
        self.observe(model, scores, X)
        return {"label": model.labels_.tolist(), "n_clusters": model.n_clusters_}

    def whole_text(self) -> str:
        """Return what a page begins with, as JSON."""
        with self._lock:
            found = self.feed.whole()
        return json.dumps(found, separators=(",", ":"))
