"""A moment of a run: the clusters after a batch, and sums over all moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle.lines import (
    Floats,
    read_event,
    read_ids,
    read_optional,
    read_table,
    to_line,
    to_short,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)  # of the anomaly score, kept of each batch


@dataclass(frozen=True)
class Score:
    """The anomaly scores of a batch (minus the log predictive density of each row).

    Attributes
    ----------
    mean : float
    quantiles : tuple of float
        As many as `QUANTILES`.
    """

    mean: float
    quantiles: tuple[float, ...]

    @classmethod
    def of(cls, scores: ArrayLike) -> Score | None:
        """Return what there is to say of the scores of some rows; None if no score is finite."""
        values = np.asarray(scores, dtype=float).ravel()
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        quantiles = np.quantile(values, QUANTILES)
        return cls(float(values.mean()), tuple(quantiles.tolist()))


@dataclass(frozen=True)
class Moment:
    """The clusters after a batch, k of them.

    Attributes
    ----------
    batch : int
        The number of the batch, from 0.
    time : float
    n_points : int
        Rows of the batch.
    ids : ndarray (k,)
    weights, counts, born : ndarray (k,)
        As in `scstream.Cluster`.
    means : ndarray (k, d) or None
        Locations: means, rates or probabilities, one for each column that has one. None where
        there are more than 32 columns.
    places : ndarray (k, 2) or None
        The locations as they are drawn, in the chronicle's projection.
    spreads : ndarray (k, 3) or None
        The covariances as they are drawn: variance, covariance, variance. None where the family
        knows none.
    speeds : ndarray (k,) or None
        How fast each cluster moves, in its own standard deviations for each unit of time; NaN
        for those just born, None where nothing moved yet.
    score : Score or None
        The anomaly scores of the batch, if they were given.
    groups : ndarray (k,) or None
        The group of each cluster, if the model forms groups after every batch.
    events : tuple of dict
        Births, deaths, splits and merges, as `Event.to_dict` says them.
    """

    batch: int
    time: float
    n_points: int
    ids: NDArray[np.int64]
    weights: Floats
    counts: Floats
    born: Floats
    means: Floats | None = None
    places: Floats | None = None
    spreads: Floats | None = None
    speeds: Floats | None = None
    score: Score | None = None
    events: tuple[dict[str, Any], ...] = ()
    groups: NDArray[np.int64] | None = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.ids)

    def to_line(self) -> str:
        """Return the moment as one line of JSON, its end included."""
        saved: dict[str, Any] = {
            "batch": self.batch,
            "time": self.time,
            "n_points": self.n_points,
            "ids": self.ids.tolist(),
        }
        for name in ("weights", "counts", "born", "means", "places", "spreads", "speeds"):
            values = getattr(self, name)
            if values is not None:
                saved[name] = to_short(values)
        if self.score is not None:
            saved["score"] = to_short([self.score.mean, *self.score.quantiles])
        if self.groups is not None:
            saved["groups"] = self.groups.tolist()
        if self.events:
            saved["events"] = list(self.events)
        return to_line(saved)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Moment:
        """Return the moment that a line holds."""
        ids = np.array(saved["ids"], dtype=np.int64).reshape(-1)
        k = len(ids)
        score = saved.get("score")
        if score is not None:
            mean, *quantiles = (float(value) for value in score)
            if len(quantiles) != len(QUANTILES):
                raise ValueError(f"{len(quantiles)} quantiles in place of {len(QUANTILES)}")
            score = Score(mean, tuple(quantiles))
        return cls(
            batch=int(saved["batch"]),
            time=float(saved["time"]),
            n_points=int(saved["n_points"]),
            ids=ids,
            weights=read_table(saved["weights"], k),
            counts=read_table(saved["counts"], k),
            born=read_table(saved["born"], k),
            means=read_optional(saved.get("means"), k),
            places=read_optional(saved.get("places"), k, 2),
            spreads=read_optional(saved.get("spreads"), k, 3),
            speeds=None if saved.get("speeds") is None else read_table(saved["speeds"], k),
            score=score,
            events=tuple(read_event(event) for event in saved.get("events", ())),
            groups=read_ids(saved.get("groups"), k),
        )


@dataclass
class Totals:
    """Sums over all batches, those that were thinned out included."""

    n_batches: int = 0
    n_points: int = 0
    most_clusters: int = 0
    fewest_clusters: int = 0
    events: dict[str, int] = field(default_factory=dict)
    highest_score: float | None = None
    highest_at: float | None = None  # the time of the batch that held it

    def add(self, moment: Moment) -> None:
        """Count a moment."""
        k = moment.n_clusters
        self.most_clusters = max(self.most_clusters, k)
        self.fewest_clusters = k if self.n_batches == 0 else min(self.fewest_clusters, k)
        self.n_batches += 1
        self.n_points += moment.n_points
        for event in moment.events:
            kind = str(event.get("kind", "event"))
            self.events[kind] = self.events.get(kind, 0) + 1
        if moment.score is not None:
            highest = moment.score.quantiles[-1]
            if self.highest_score is None or highest > self.highest_score:
                self.highest_score, self.highest_at = highest, moment.time
