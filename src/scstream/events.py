"""What happens to clusters, as a stream of records: births, deaths, splits, merges, drift ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from scstream.families.contract import Array, Family
from scstream.families.typical import deviations
from scstream.families.widening import CLOCK, MODEL, Widening
from scstream.groups.lasting import Lasting
from scstream.records import BatchRecord
from scstream.sampler.clusters import Ints
from scstream.sampler.learner import Learner
from scstream.support.frozen import frozen

KINDS = (
    "split",
    "merge",
    "birth",
    "return",
    "death",
    "drift",
    "widen",
    "clock",
    "restart",
    "group-split",
    "group-merge",
)
_WIDE = 4096  # statistics beyond which what drift needs is not kept from batch to batch
_MOST_COLUMNS = 100  # beyond which there is no velocity by column


@dataclass(frozen=True)
class Event:
    """Something that happened to a cluster in a batch, or to a column.

    Every new id has a birth, every id that disappears a death, and every id that comes back a
    return, so these three alone show which clusters exist. Splits and merges show where the new
    ones came from and where the old ones went.

    Attributes
    ----------
    kind : str
        "split", "merge", "birth", "return", "death" or "drift" of a cluster; "widen" of a column;
        "clock" of the column of times; "restart" of the model; "group-split" or "group-merge",
        whose ids are those of groups.
    batch : int
        The batch's number, from 0.
    time : float
        Its time.
    cluster : int or None
        The cluster's id: the one that split, that survived a merge, that was born, came
        back, died or moved. None where it is about a column. The group's id where the kind says
        so: the one whose larger part keeps the id, or that survived.
    other : int or None
        A split's new part, the cluster or group that a merge ended; where a birth comes from a
        split, the cluster that split, and where a death comes from a merge, the one that survived.
    speed : float or None
        Of a drift: how far the cluster's location moved since the batch before, for each unit
        of time, in the cluster's own standard deviations.
    velocity : dict or None
        The same by column, in the units of the data; None where a family's location is not a point
        of the data (shares of categories, directions), or there are more than 100 columns.
    column : str or None
        Of a widening: the column that ``family="auto"`` takes for something wider from this batch
        on, since it holds what the family before cannot take. Of a clock: the column of the times.
    was, now : str or None
        What the column was taken for, and is now: names of families, or numbers of categories;
        steps of time, where a clock went back for good. Of a restart, ``now`` says what the model
        has since: a fresh start, or a prior that suits the batch.

    Notes
    -----
    The location is a cluster's mean, rate or probabilities (see ``cluster.parameters``). A length
    in standard deviations is a Mahalanobis distance: for independent columns, the root of the sum
    of squared differences over variances. For shares of categories it is the root of the sum of
    squared differences over the shares, for directions the chord times the root of the
    concentration. The blocks of a `Product` add up as independent columns do. Clusters with
    more than 4,096 statistics, such as those of a large dictionary, have no drift events.
    """

    kind: str
    batch: int
    time: float
    cluster: int | None
    other: int | None = None
    speed: float | None = None
    velocity: dict[Any, float] | None = None
    column: str | None = None
    was: str | None = None
    now: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain JSON, without entries that are None."""
        out = {name: value for name, value in vars(self).items() if value is not None}
        if self.velocity is not None:
            out["velocity"] = {str(name): value for name, value in self.velocity.items()}
        return out


@frozen
class Sight:
    """Where the clusters were after a batch: all that drift is computed from.

    It refers to arrays that were there anyway, and computes nothing.
    """

    family: Family
    ids: Ints
    past: Array
    current: Array
    time: float

    @staticmethod
    def of(learner: Learner | None) -> Sight | None:
        """Return what there is to see; None before the first batch, and of wide clusters."""
        if learner is None or learner.state.past.shape[-1] > _WIDE:
            return None
        state = learner.state
        return Sight(learner.family, state.ids, state.past, state.now.current, learner.time)

    def posterior(self, chosen: Ints) -> Array:
        """Return the posteriors (m, p) of some clusters, by their places."""
        totals: Array = (self.past[chosen] + self.current[chosen]).sum(axis=1)
        return self.family.prior + totals


def events_of(
    record: BatchRecord, before: Sight | None, after: Sight | None, columns: Sequence[Any]
) -> list[Event]:
    """Return what happened in a batch."""
    parent = {new: old for old, new in record.splits}
    survivor = {gone: kept for kept, gone in record.merges}
    found = [
        *(("split", a, b) for a, b in record.splits),
        *(("merge", a, b) for a, b in record.merges),
        *(("birth", a, parent.get(a)) for a in record.births),
        *(("return", a, None) for a in record.returns),
        *(("death", a, survivor.get(a)) for a in record.deaths),
    ]
    at = record.batch, record.time
    out = [_change(w, *at) for w in record.widened]
    out += [Event(kind, *at, a, b) for kind, a, b in found]
    if before is not None and after is not None and after.time > before.time:
        out += _drifts(record, before, after, columns)
    return out


def _change(change: Widening, batch: int, time: float) -> Event:
    """Return what happened to a column, to the clock or to the model."""
    if change.was == MODEL:
        return Event("restart", batch, time, None, now=change.now)
    kind = "clock" if change.was == CLOCK else "widen"
    return Event(kind, batch, time, None, None, None, None, *astuple(change))


def happened(record: BatchRecord) -> bool:
    """Return whether there are events of a batch other than drift."""
    some = record.births or record.deaths or record.splits or record.merges
    return bool(some or record.returns or record.widened)


def group_events(record: BatchRecord, groups: Lasting | None) -> list[Event]:
    """Return what happened to groups, if they were formed after the batch."""
    if groups is None:
        return []
    found = [
        *(("group-split", a, b) for a, b in groups.splits),
        *(("group-merge", a, b) for a, b in groups.merges),
    ]
    return [Event(kind, record.batch, record.time, a, b) for kind, a, b in found]


def _drifts(
    record: BatchRecord, before: Sight, after: Sight, columns: Sequence[Any]
) -> Iterator[Event]:
    ids, speed, steps = _moved(before, after, len(columns))
    span = after.time - before.time
    for m, cluster in enumerate(ids.tolist()):
        velocity = _velocity(steps, m, span, columns)
        pace = float(speed[m]) if np.isfinite(speed[m]) else None
        if pace is not None or velocity is not None:
            yield Event("drift", record.batch, record.time, cluster, None, pace, velocity)


def speeds_of(before: Sight | None, after: Sight | None, d: int) -> dict[int, float]:
    """Return the speeds that drift events of d columns tell, by the clusters' ids."""
    if before is None or after is None or after.time <= before.time:
        return {}
    ids, speed, _ = _moved(before, after, d)
    known = np.isfinite(speed)
    return dict(zip(ids[known].tolist(), speed[known].tolist(), strict=True))


def _moved(before: Sight, after: Sight, d: int) -> tuple[Ints, Array, list[_Step]]:
    """Return ids of m clusters that can have moved, as they are listed, speeds (m,), and steps."""
    _, i, j = np.intersect1d(before.ids, after.ids, assume_unique=True, return_indices=True)
    order = np.argsort(j)
    i, j = i[order], j[order]
    was, now = before.posterior(i), after.posterior(j)
    steps = list(_steps(before.family, was, after.family, now, d)) if len(j) else []
    if not steps:
        return after.ids[:0], np.empty(0), []
    squares = [step.square for step in steps if step.square is not None]
    speed = np.full(len(j), np.nan)
    if len(squares) == len(steps):
        speed = np.sqrt(np.sum(squares, axis=0)) / (after.time - before.time)
    return after.ids[j], speed, steps


@dataclass(frozen=True)
class _Step:
    """By how much m clusters moved in some columns."""

    square: Array | None  # (m,): the squared length in standard deviations
    by_column: Array | None  # (m, d): in units of the data
    places: Sequence[int]  # (d,): the columns


def _steps(was: Family, before: Array, family: Family, after: Array, d: int) -> Iterator[_Step]:
    """Return how far clusters moved, block by block, from their posteriors (m, p) each."""
    for one, two in zip(was.independent_blocks(d), family.independent_blocks(d), strict=True):
        old = one.family.describe(one.posterior(before))
        new = two.family.describe(two.posterior(after))
        key = next((k for k in ("mean", "rate", "probability", "probabilities") if k in new), None)
        if key is None or key not in old or old[key].shape != new[key].shape:
            continue
        shift = new[key] - old[key]
        is_point = key != "probabilities" and "concentration" not in new
        in_data = is_point and shift.shape[1] == len(two.columns)
        yield _Step(_square(shift, key, new), shift if in_data else None, two.columns)


def _square(shift: Array, key: str, at: dict[str, Array]) -> Array | None:
    """Return squared lengths (m,) of shifts (m, d) in the spreads of the clusters."""
    here = at[key]
    if "covariance" in at:
        turned = np.linalg.solve(at["covariance"], shift[..., None])[..., 0]
        out: Array = np.maximum((shift * turned).sum(axis=1), 0.0)
        return out
    if "concentration" in at:
        variance = 1.0 / at["concentration"][:, None]
    elif (spread := deviations(at)) is not None:
        variance = spread**2
    elif key == "mean":  # of a family that does not describe its spread
        return None
    else:
        variance = here * (1.0 - here) if key == "probability" else here
    out = (shift**2 / np.maximum(variance, 1e-300)).sum(axis=1)
    return out


def _velocity(
    steps: Sequence[_Step], m: int, span: float, columns: Sequence[Any]
) -> dict[Any, float] | None:
    """Return one cluster's velocity by column, None if there is none."""
    if len(columns) > _MOST_COLUMNS:
        return None
    out = {
        columns[place]: float(value / span)
        for step in steps
        if step.by_column is not None
        for place, value in zip(step.places, step.by_column[m], strict=True)
    }
    return out if out and all(map(np.isfinite, out.values())) else None
