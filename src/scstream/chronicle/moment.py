"""A moment of a run: the clusters after a batch, and sums over all moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle.lines import (
    Floats,
    read_event,
    read_ids,
    read_optional,
    read_table,
    read_words,
    to_line,
    to_short,
)
from scstream.chronicle.rows import KeptRow, SampledRows
from scstream.events import events_of, group_events, happened

if TYPE_CHECKING:
    from scstream.groups.lasting import Lasting
    from scstream.model import ScStream
    from scstream.records import BatchRecord

_TABLES = ("weights", "counts", "means", "deviations", "places", "spreads", "speeds")
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
        return cls(float(values.mean()), _quantiles(values))


def _quantiles(values: Floats) -> tuple[float, ...]:
    """Return `QUANTILES` of some values as `numpy.quantile` does, in a tenth of its time."""
    at = np.array(QUANTILES) * (len(values) - 1)
    low = at.astype(int)
    high = np.minimum(low + 1, len(values) - 1)
    ordered = np.partition(values, np.unique([low, high]))
    found = ordered[low] + (at - low) * (ordered[high] - ordered[low])
    return tuple(found.tolist())


@dataclass(frozen=True)
class Outline:
    """What sums over all batches need of one.

    Attributes
    ----------
    n_points, n_clusters : int
    time : float
    highest : float or None
        The highest anomaly score.
    events : tuple of dict
    n_batches : int
        How many batches it is of.
    """

    n_points: int
    n_clusters: int
    time: float
    highest: float | None
    events: tuple[dict[str, Any], ...]
    n_batches: int = 1

    def and_then(self, later: Outline) -> Outline:
        """Return that of two batches as if they were one."""
        highs = [one.highest for one in (self, later) if one.highest is not None]
        return Outline(
            self.n_points + later.n_points,
            later.n_clusters,
            later.time,
            max(highs, default=None),
            (*self.events, *later.events),
            self.n_batches + later.n_batches,
        )


class Learned(NamedTuple):
    """A batch that a model has learned, from which its outline can be made later."""

    record: BatchRecord
    groups: Lasting | None
    scores: ArrayLike | None

    @classmethod
    def of(cls, model: ScStream, scores: ArrayLike | None) -> Learned:
        """Return the last batch of a model, without a look at its clusters."""
        grouping = model.__dict__.get("_grouping")  # as a rule nobody formed groups
        groups = grouping.changes(model._level) if grouping and grouping.formed else None
        return cls(model._history[-1], groups, scores)  # `history_` is a copy

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return what happened to clusters and groups, as plain values; their drift aside."""
        if self.groups is None and not happened(self.record):
            return ()
        found = events_of(self.record, None, None, ()) + group_events(self.record, self.groups)
        return tuple(event.to_dict() for event in found)

    def outline(self) -> Outline:
        """Return what sums over all batches need of it."""
        highest = None
        if self.scores is not None:
            values = np.asarray(self.scores, dtype=float)
            top = float(values.max(initial=-math.inf))
            if not math.isfinite(top):
                top = float(values.max(initial=-math.inf, where=np.isfinite(values)))
            highest = top if math.isfinite(top) else None
        record = self.record
        return Outline(record.n_points, record.n_clusters, record.time, highest, self.events())


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
    deviations : ndarray (k, d) or None
        Standard deviations of the same columns, where the family knows them.
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
    rows : SampledRows or None
        Some rows of the batch as they are drawn, if the rows were given.
    unusual : tuple of KeptRow
        The rows that were least expected, if rows and scores were given.
    examples : tuple of KeptRow
        Some other rows of the batch, if the rows were given.
    groups : ndarray (k,) or None
        The group of each cluster, if the model forms groups after every batch.
    events : tuple of dict
        Births, deaths, splits and merges, as `Event.to_dict` says them.
    words : tuple of dict, k of them or none
        For each cluster, by column of words, its likeliest categories and their shares.
    n_batches : int
        How many batches the rows and events are of: more than one where batches come faster than
        they are shown.
    """

    batch: int
    time: float
    n_points: int
    ids: NDArray[np.int64]
    weights: Floats
    counts: Floats
    born: Floats
    means: Floats | None = None
    deviations: Floats | None = None
    places: Floats | None = None
    spreads: Floats | None = None
    speeds: Floats | None = None
    score: Score | None = None
    rows: SampledRows | None = None
    unusual: tuple[KeptRow, ...] = ()
    examples: tuple[KeptRow, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    words: tuple[dict[str, dict[str, float]], ...] = ()
    groups: NDArray[np.int64] | None = None
    n_batches: int = 1

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.ids)

    @property
    def outline(self) -> Outline:
        """What sums over all batches need of it."""
        highest = None if self.score is None else self.score.quantiles[-1]
        sums = self.n_points, self.n_clusters, self.time, highest, self.events
        return Outline(*sums, self.n_batches)

    def after(self, passed: Outline | None) -> Moment:
        """Return the moment as one of several batches, this one the last of them."""
        if passed is None:
            return self
        score = self.score
        if score is not None and passed.highest is not None:
            *rest, top = score.quantiles
            score = Score(score.mean, (*rest, max(top, passed.highest)))
        return replace(
            self,
            n_points=self.n_points + passed.n_points,
            score=score,
            events=(*passed.events, *self.events),
            n_batches=self.n_batches + passed.n_batches,
        )

    @cached_property
    def text(self) -> str:
        """The moment as JSON, which is made once: every page gets the same."""
        return self.to_line().rstrip("\n")

    def to_line(self) -> str:
        """Return the moment as one line of JSON, its end included."""
        saved: dict[str, Any] = {
            "batch": self.batch,
            "time": self.time,
            "n_points": self.n_points,
        }
        if self.n_batches != 1:
            saved["n_batches"] = self.n_batches
        saved["ids"] = self.ids.tolist()
        for name in _TABLES:
            values = getattr(self, name)
            if values is not None:
                saved[name] = to_short(values)
        saved["born"] = self.born.tolist()  # times, of which dates need every digit
        if self.score is not None:
            saved["score"] = to_short([self.score.mean, *self.score.quantiles])
        if self.rows is not None:
            saved["rows"] = self.rows.to_dict()
        if self.unusual:
            saved["unusual"] = [row.to_dict() for row in self.unusual]
        if self.examples:
            saved["examples"] = [row.to_dict() for row in self.examples]
        if self.groups is not None:
            saved["groups"] = self.groups.tolist()
        if self.events:
            saved["events"] = list(self.events)
        if any(self.words):
            saved["words"] = list(self.words)
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
            deviations=read_optional(saved.get("deviations"), k),
            places=read_optional(saved.get("places"), k, 2),
            spreads=read_optional(saved.get("spreads"), k, 3),
            speeds=None if saved.get("speeds") is None else read_table(saved["speeds"], k),
            score=score,
            rows=None if saved.get("rows") is None else SampledRows.from_dict(saved["rows"]),
            unusual=tuple(KeptRow.from_dict(row) for row in saved.get("unusual", ())),
            examples=tuple(KeptRow.from_dict(row) for row in saved.get("examples", ())),
            events=tuple(read_event(event) for event in saved.get("events", ())),
            words=read_words(saved.get("words", ()), k),
            groups=read_ids(saved.get("groups"), k),
            n_batches=int(saved.get("n_batches", 1)),
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

    def add(self, moment: Outline) -> None:
        """Count a moment."""
        k = moment.n_clusters
        self.most_clusters = max(self.most_clusters, k)
        self.fewest_clusters = k if self.n_batches == 0 else min(self.fewest_clusters, k)
        self.n_batches += moment.n_batches
        self.n_points += moment.n_points
        for event in moment.events:
            kind = str(event.get("kind", "event"))
            self.events[kind] = self.events.get(kind, 0) + 1
        known = -math.inf if self.highest_score is None else self.highest_score
        if moment.highest is not None and moment.highest > known:
            self.highest_score, self.highest_at = moment.highest, moment.time
