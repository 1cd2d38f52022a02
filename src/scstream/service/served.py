"""What the service shows: a model as it was after its last batch, and the chronicle's feed."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import reduce
from threading import Event, Lock, Thread
from time import monotonic, thread_time
from time import time as now
from typing import Any

from numpy.typing import ArrayLike

from scstream.chronicle import Moment, Outline
from scstream.model import ScStream
from scstream.service.answers import for_model
from scstream.service.feed import Feed
from scstream.service.metrics import Metrics
from scstream.support.times import as_date, is_moment, moment

PAUSE = 0.4  # seconds from one moment to the next while a page is open: clusters glide as long
_ALONE = 1.0  # the same while none is: one that is opened later can look back
_SHARE = 0.01  # of the time, for showing: the more there is to show, the longer the pauses
_MOST_WAITING = 1000  # batches that wait to be shown; more are taken together

# Of a batch's rows: numbers, or a way to get them from the model if the batch is shown.
Scores = ArrayLike | Callable[[ScStream], ArrayLike] | None

_LATEST = 2.0**52  # of times that are numbers: each whole one has many later ones
_AHEAD = 10 * 366 * 86400.0  # seconds from now to the latest date

_LOG = logging.getLogger("scstream.service")


def check_time(time: Any, model: ScStream) -> None:
    """Raise `ValueError` for a time that leaves no room for later ones."""
    dates = is_moment(time) or (model.n_batches_ > 0 and model.dates_)
    at = moment(time) if is_moment(time) else time
    latest = now() + _AHEAD if dates else _LATEST
    if isinstance(at, int | float) and not -_LATEST <= at <= latest:
        most = as_date(latest)[:10] if dates else f"{latest:.1e}"
        raise ValueError(f"The time is too far ahead for later ones to follow: at most {most}.")


def _as_it_is(model: ScStream) -> ScStream:
    """Return a copy that stays as it is while the model learns on; its history is one batch."""
    found = object.__new__(type(model))  # `copy` would make it ready to be saved
    found.__dict__ = known = model.__dict__.copy()
    if "_history" in known:
        known["_history"] = deque((known["_history"][-1],))
    return found


class Served:
    """A model and its chronicle, safe to read while another thread learns.

    The thread that learns only leaves its batches here. Another one shows the latest of them a
    few times a second. So what a page costs does not depend on how fast batches come.

    Parameters
    ----------
    model : ScStream, optional
        What predictions are made with; without one there are none.
    feed : Feed, optional
        What pages follow.
    pause : float
        Seconds from one moment to the next, at least. With 0 every batch is shown, by the thread
        that learns.
    """

    def __init__(
        self, model: ScStream | None = None, feed: Feed | None = None, pause: float = PAUSE
    ) -> None:
        self.feed = Feed() if feed is None else feed
        self.metrics = Metrics()
        self._own = model
        self._model = None if model is None else _as_it_is(model)
        self._pause = pause
        self._began = monotonic()  # the batch that is being learned
        self._lock = Lock()  # for what the thread that learns leaves: it never waits for long
        self._last: tuple[ScStream, Scores, Any] | None = None  # model, scores, rows: shown next
        self._waiting: list[Outline] = []  # batches since the last moment
        self._left = Event()  # set while there is something to show
        self._showing = Lock()  # for the chronicle
        self._shower: Thread | None = None
        self._ended = Event()

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

    # -- the thread that learns -----------------------------------------------------------------

    def observe(self, model: ScStream, scores: Scores = None, rows: Any = None) -> None:
        """Take note of a model that has just learned a batch.

        Scores and rows are looked at later: they must not be changed.
        """
        found, outline = _as_it_is(model), Outline.of(model, None if callable(scores) else scores)
        self._count(outline)
        with self._lock:
            self._model = found
            self._last = found, scores, rows
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting = [reduce(Outline.and_then, self._waiting)]
            self._waiting.append(outline)
        if self._pause == 0.0:
            self._show()
        elif not self._left.is_set():
            self._left.set()
            if self._shower is None:
                self._shower = Thread(target=self._show_on, name="scstream-page", daemon=True)
                self._shower.start()

    def _count(self, outline: Outline) -> None:
        now = monotonic()
        seconds, self._began = now - self._began, now
        self.metrics.learned(outline, seconds)

    def learn(self, rows: Any, time: Any = None) -> dict[str, Any]:
        """Learn rows that were sent, and return their labels."""
        model = self._own
        if model is None:
            raise ValueError("No model is available.")
        check_time(time, model)
        X = for_model(rows, model)
        scores = self.model.score_samples(X) if model.n_batches_ else None
        self._began = monotonic()
        before = model.__dict__.get("_learner")
        try:
            model.partial_fit(X, time=time)
            self.observe(model, scores, X)
        except BaseException:
            if model.__dict__.get("_learner") is not before:
                self._model = _as_it_is(model)  # what was learned is what predicts
            raise
        return {"label": model.labels_.tolist(), "n_clusters": model.n_clusters_}

    # -- the thread that shows ------------------------------------------------------------------

    def _show_on(self) -> None:
        """Show the latest batch, and again after a pause, until the end."""
        while self._left.wait() and not self._ended.is_set():
            begun = thread_time()
            try:
                self._show()
            except Exception:  # a run does not end because of its page
                _LOG.exception("The page cannot show a batch.")
            pause = self._pause if self.feed.n_pages else max(self._pause, _ALONE)
            self._ended.wait(max(pause, (thread_time() - begun) / _SHARE))

    def _show(self) -> None:
        """Show the latest batch, unless that was done already."""
        with self._showing:
            with self._lock:
                self._left.clear()
                last, self._last = self._last, None
                waiting, self._waiting = self._waiting, []
            if last is not None:
                model, scores, rows = last
                scores = scores(model) if callable(scores) else scores
                self._hand_on(self.feed.chronicle.observe(model, scores, rows, waiting[:-1]))

    def show(self, moment: Moment) -> None:
        """Hand on a moment that the feed's chronicle has taken from elsewhere."""
        self._count(moment.outline)
        self._hand_on(moment)

    def _hand_on(self, moment: Moment) -> None:
        self.feed.add(moment)
        self.metrics.scored(moment.score)

    # -- requests -------------------------------------------------------------------------------

    def whole_text(self) -> str:
        """Return what a page begins with, as JSON."""
        self._show()
        with self._showing:
            name, whole = self.feed.whole()
        return whole.text(next=name)

    def metrics_text(self) -> bytes:
        """Return the figures of the run as Prometheus reads them."""
        return self.metrics.text(self.feed.n_pages)

    def close(self) -> None:
        """Show the last batch, and let every page go."""
        self._show()
        self._ended.set()
        self._left.set()
        self.feed.end()
