"""What is known of a batch in short, and sums over all batches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from scstream.events import events_of, group_events, happened

if TYPE_CHECKING:
    from scstream.groups.lasting import Lasting
    from scstream.model import ScStream
    from scstream.records import BatchRecord

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95)  # of the scores, kept of each batch


@dataclass(frozen=True)
class Score:
    """The scores of a batch: the log predictive density of each row, low where it is unusual.

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
        return cls(float(values.mean()), tuple(np.quantile(values, QUANTILES).tolist()))


@dataclass(frozen=True)
class Outline:
    """What sums over all batches need of one.

    Attributes
    ----------
    n_points, n_clusters : int
    time : float
    lowest : float or None
        The lowest score.
    events : tuple of dict
    n_batches : int
        How many batches it is of.
    """

    n_points: int
    n_clusters: int
    time: float
    lowest: float | None
    events: tuple[dict[str, Any], ...]
    n_batches: int = 1

    @classmethod
    def of(cls, model: ScStream, scores: ArrayLike | None) -> Outline:
        """Return that of the last batch of a model, without a look at its clusters."""
        grouping = model.__dict__.get("_grouping")  # as a rule no groups were formed
        groups = grouping.changes(model._level) if grouping and grouping.formed else None
        record, lowest = model._history[-1], None  # `history_` is a copy
        if scores is not None:
            values = np.asarray(scores, dtype=float)
            least = float(values.min(initial=math.inf, where=np.isfinite(values)))
            lowest = least if math.isfinite(least) else None
        k = int(model._learner.labelling.sum())
        return cls(record.n_points, k, record.time, lowest, events_in(record, groups))

    def and_then(self, later: Outline) -> Outline:
        """Return that of two batches as if they were one."""
        lows = [one.lowest for one in (self, later) if one.lowest is not None]
        return Outline(
            self.n_points + later.n_points,
            later.n_clusters,
            later.time,
            min(lows, default=None),
            (*self.events, *later.events),
            self.n_batches + later.n_batches,
        )


def events_in(record: BatchRecord, groups: Lasting | None) -> tuple[dict[str, Any], ...]:
    """Return what happened to clusters and groups, as plain values; their drift aside."""
    if groups is None and not happened(record):
        return ()
    found = events_of(record, None, None, ()) + group_events(record, groups)
    return tuple(event.to_dict() for event in found)


@dataclass
class Totals:
    """Sums over all batches, those that were thinned out included."""

    n_batches: int = 0
    n_points: int = 0
    most_clusters: int = 0
    fewest_clusters: int = 0
    events: dict[str, int] = field(default_factory=dict)
    lowest_score: float | None = None
    lowest_at: float | None = None  # the time of the batch that held it

    def add(self, batch: Outline) -> None:
        """Count a batch."""
        k = batch.n_clusters
        self.most_clusters = max(self.most_clusters, k)
        self.fewest_clusters = k if self.n_batches == 0 else min(self.fewest_clusters, k)
        self.n_batches += batch.n_batches
        self.n_points += batch.n_points
        for event in batch.events:
            self.events[event["kind"]] = self.events.get(event["kind"], 0) + 1
        known = math.inf if self.lowest_score is None else self.lowest_score
        if batch.lowest is not None and batch.lowest < known:
            self.lowest_score, self.lowest_at = batch.lowest, batch.time
