"""What settings are judged by: predictions of the first batches of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from scstream.datasets import Batch
from scstream.evaluate import prequential
from scstream.families import BY_NAME, Family
from scstream.families.contract import Array
from scstream.model import ScStream

_DEFENCE = 0.01  # weight of the reference in the density that is scored


@dataclass(frozen=True)
class Rows:
    """A batch as it was given; labels and time may be missing."""

    X: Any
    y: Any
    time: float | None


def take(batches: Iterable[Any], n: int) -> list[Rows]:
    """Return the first n batches, or raise `ValueError` if nothing can be learned from them."""
    rows = [_unpack(item, i) for i, item in enumerate(islice(batches, n))]
    if len(rows) < 2:
        raise ValueError(f"Tuning needs at least 2 batches; got {len(rows)}.")
    if len({batch.y is None for batch in rows}) > 1:
        raise ValueError("Some batches have labels and some do not: give them for all or none.")
    return rows


def _unpack(item: Any, position: int) -> Rows:
    """Return the points, labels and time of whatever stands for a batch."""
    if isinstance(item, Batch):
        return Rows(item.X, item.y, item.time)
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"Batch {position} has {len(parts)} parts; it is X, (X, y) or (X, y, time)."
        )
    X, y, time = (*parts, None, None)[:3]
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"Batch {position} must have rows and columns; its shape is {X.shape}.")
    return Rows(X, None if y is None else np.asarray(y), time)


def step_between(rows: Sequence[Rows]) -> float:
    """Return the mean time from one batch to the next."""
    first, last = rows[0].time, rows[-1].time
    if first is None or last is None or not last > first:
        return 1.0
    return (last - first) / (len(rows) - 1)


def score_labels(model: ScStream, rows: Sequence[Rows]) -> float:
    """Return the mean ARI of predictions made before learning."""
    stream = [(batch.X, batch.y, batch.time) for batch in rows]
    return prequential(model, stream).mean()["ari"]


def score_density(reference: Sequence[Array], model: ScStream, rows: Sequence[Rows]) -> float:
    """Return the mean over batches of the log density before learning, kept from falling."""
    means = []
    for batch, wide in zip(rows, reference, strict=True):
        if model.n_batches_:
            density = model.score_samples(batch.X)
            both = np.logaddexp(np.log1p(-_DEFENCE) + density, np.log(_DEFENCE) + wide)
            means.append(both.mean())
        model.partial_fit(batch.X, time=batch.time)
    return float(np.mean(means))


def reference_of(family: Family, rows: Sequence[Rows]) -> list[Array]:
    """Return log densities of all rows under what a family expects before it knows clusters."""
    fresh = BY_NAME[family.name]() if family.name in BY_NAME else family

    tables = [b.X if sparse.issparse(b.X) or fresh.tabular else np.asarray(b.X) for b in rows]
    met = fresh.meet(tables[0], None)
    wide = met.prepare(met.check(tables[0]))
    nothing = np.zeros((1, len(wide.prior)))
    return [wide.log_predictive(met.check(table), nothing)[:, 0] for table in tables]
