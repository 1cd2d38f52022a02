"""Moments and events of a run in bounded memory, and what can be read from them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.chronicle.moment import Floats, Moment
from scstream.chronicle.outline import QUANTILES, Outline, Totals

_EVENTS = 500  # that are stored of the first, and as many of the latest


class BoundedMoments:
    """Moments, thinned out evenly where there are too many; the first and the latest events."""

    def __init__(self, limit: int) -> None:
        if limit < 4:
            raise ValueError(f"limit must be at least 4 moments; got {limit}")
        self.limit = limit
        self.totals = Totals()
        self._moments: list[Moment] = []
        self._stride = 1
        self._n_noted = 0  # moments, those thinned out included
        self._first_events: list[dict[str, Any]] = []
        self._last_events: deque[dict[str, Any]] = deque(maxlen=_EVENTS)

    def _add(self, moment: Moment, passed: Sequence[Outline] = ()) -> Moment:
        """Keep a moment as the last, with batches that have none of their own; return both as one.

        The one before goes, unless its turn had come. If there is one too many, every second one
        is left out; the last stays.
        """
        for batch in (*passed, moment.outline):
            self._count(batch)
        moment = moment.after(passed)
        if len(self._moments) > 1 and (self._n_noted - 1) % self._stride:
            self._moments.pop()
        self._moments.append(moment)
        self._n_noted += 1
        if len(self._moments) > self.limit:
            self._stride *= 2
            last = self._moments.pop()
            self._moments = [*self._moments[::2], last]
        return moment

    def _count(self, moment: Outline) -> None:
        """Count a batch and keep its events, whether or not the moment itself is kept."""
        self.totals.add(moment)
        room = _EVENTS - len(self._first_events)
        self._first_events += moment.events[:room]
        self._last_events += moment.events[room:]

    def __len__(self) -> int:
        return len(self._moments)

    def __iter__(self) -> Iterator[Moment]:
        return iter(self._moments)

    def __getitem__(self, position: int) -> Moment:
        return self._moments[position]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The stored events, oldest first."""
        return [*self._first_events, *self._last_events]

    @property
    def n_events_left_out(self) -> int:
        """How many events were not stored."""
        return sum(self.totals.events.values()) - len(self.events)

    @property
    def times(self) -> Floats:
        """The times of the moments, (n,)."""
        return np.array([moment.time for moment in self])

    @property
    def n_clusters(self) -> NDArray[np.int64]:
        """The number of clusters at each moment, (n,)."""
        return np.array([moment.n_clusters for moment in self], dtype=np.int64)

    def weights(self) -> list[dict[int, float]]:
        """Return the weight of each cluster at each moment, by its id."""
        return [
            dict(zip(moment.ids.tolist(), moment.weights.tolist(), strict=True)) for moment in self
        ]

    def paths(self) -> dict[int, Floats]:
        """Return where each cluster was drawn at each moment (m, 2), by its id."""
        paths: dict[int, list[Floats]] = {}
        for moment in self:
            if moment.places is not None:
                for cluster_id, place in zip(moment.ids.tolist(), moment.places, strict=True):
                    paths.setdefault(cluster_id, []).append(place)
        return {cluster_id: np.array(path) for cluster_id, path in paths.items()}

    def score_quantiles(self) -> dict[float, Floats]:
        """Return each quantile of the scores over time (n,); NaN where there is none.

        Without any scores the answer is empty.
        """
        if all(moment.score is None for moment in self):
            return {}
        none = (math.nan,) * len(QUANTILES)
        rows = np.array([none if m.score is None else m.score.quantiles for m in self])
        return dict(zip(QUANTILES, rows.T, strict=True))
