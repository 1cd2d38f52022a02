"""What the service shows: a model as it was after its last batch, and the chronicle's feed."""

from __future__ import annotations

import copy
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from scstream.chronicle import Moment, Outline
from scstream.model import ScStream
from scstream.service.answers import for_model
from scstream.service.budget import SHARE, Budget
from scstream.service.feed import Feed
from scstream.service.metrics import Metrics

_SETTLED = 0.25  # seconds without a batch after which the last one is shown in any case


class _Learned(NamedTuple):
    """A batch that was learned and not shown yet."""

    model: ScStream
    scores: ArrayLike | None
    rows: Any
    outline: Outline
    when: float


def _as_it_is(model: ScStream) -> ScStream:
    """Return a copy that stays as it is while the model learns on."""
    found = object.__new__(type(model))  # `copy` would make it ready to be saved
    found.__dict__.update(model.__dict__)
    if model.n_batches_:
        found._history = copy.copy(model._history)  # the only part that is changed in place
    return found


class Served:
    """A model and its chronicle, safe to read while another thread learns.

    Showing a batch may take a small share of the run's time. Where batches come faster than that,
    several are shown as one moment; their rows and events are counted all the same.

    Parameters
    ----------
    model : ScStream, optional
        What predictions are made with; without one there are none.
    feed : Feed, optional
        What pages follow.
    share : float
        Of the run's time; with 1 every batch is shown.
    """

    def __init__(
        self, model: ScStream | None = None, feed: Feed | None = None, share: float = SHARE
    ) -> None:
        self.feed = Feed() if feed is None else feed
        self.metrics = Metrics()
        self._own = model
        self._model = None if model is None else _as_it_is(model)
        self._lock = Lock()  # one thread observes at a time
        self._last = monotonic()
        self._budget = Budget(share)
        self._held: _Learned | None = None  # the last batch, if there was no time to show it
        self._holds = Event()
        self._shower: Thread | None = None
        self._ended = False

    @property
    def has_model(self) -> bool:
        """Whether predictions can be made, now or after the first batch."""
        return self._own is not None

    @property
    def model(self) -> ScStream:
        """The model as it was after the last batch; it never changes."""
        if self._model is None:
            raise ValueError("No model is available.")
        return self._model

    def observe(self, model: ScStream, scores: ArrayLike | None = None, rows: Any = None) -> None:
        """Take note of a model that has just learned a batch."""
        now = monotonic()
        batch = _Learned(_as_it_is(model), scores, rows, Outline.of(model, scores), now)
        with self._lock:
            self._model = batch.model
            seconds, self._last = now - self._last, now
            held, self._held = self._held, None
            if held is not None:
                self.feed.chronicle.count(held.outline)
            if self._budget.left:
                self._show(batch)
            else:
                self._hold(batch)
        self.metrics.learned(batch.outline, seconds)

    def _show(self, batch: _Learned) -> None:
        with self._budget:
            moment = self.feed.chronicle.observe(batch.model, batch.scores, batch.rows)
            self.feed.add(moment)
        self.metrics.scored(moment.score)

    def _hold(self, batch: _Learned) -> None:
        """Keep a batch until the next one comes, or until none has come for a while."""
        self._held = batch
        self._holds.set()
        if self._shower is None:
            self._shower = Thread(target=self._show_the_last, name="scstream-page", daemon=True)
            self._shower.start()

    def _show_the_last(self) -> None:
        while self._holds.wait() and not self._ended:
            with self._lock:
                held = self._held
                wait = 0.0 if held is None else held.when + _SETTLED - monotonic()
                if wait <= 0.0:
                    self._show_held()
            sleep(max(wait, 0.0))

    def _show_held(self) -> None:
        held, self._held = self._held, None
        self._holds.clear()
        if held is not None:
            self._show(held)

    def show(self, moment: Moment) -> None:
        """Hand on a moment that the feed's chronicle has taken from elsewhere."""
        now = monotonic()
        seconds, self._last = now - self._last, now
        self.metrics.learned(moment.outline, seconds)
        self.metrics.scored(moment.score)
        self.feed.add(moment)

    def close(self) -> None:
        """Let every page go."""
        self._ended = True
        self._holds.set()
        self.feed.end()

    def learn(self, rows: Any, time: Any = None) -> dict[str, Any]:
        """Learn rows that were sent, and return their labels."""
        model = self._own
        if model is None:
            raise ValueError("No model is available.")
        X = for_model(rows, model)
        scores = -self.model.score_samples(X) if model.n_batches_ else None
        self._last = monotonic()
        model.partial_fit(X, time=time)
        self.observe(model, scores, X)
        return {"label": model.labels_.tolist(), "n_clusters": model.n_clusters_}

    def whole_text(self) -> str:
        """Return what a page begins with, as JSON."""
        with self._lock:
            self._show_held()
            name, whole = self.feed.whole()
        return whole.text(next=name)
