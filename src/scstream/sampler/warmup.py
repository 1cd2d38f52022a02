"""Batches as they are learned, and the first rows of a stream, which are kept for a while."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from scstream.engines import RemoteRows
from scstream.engines.tensors import to_host
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.scores import Labels, Points, stack
from scstream.sampler.batch import Plan, Progress
from scstream.sampler.clusters import Ints
from scstream.sampler.forgetting import USUAL_ROWS, Forgetting
from scstream.support.frozen import frozen

_SETTLED_ROWS = 1000  # from as many on clusters and prior are those of a good start
_ALONE_ROWS = 500  # of a single batch, that are one too: why wait for the next one?
_TOLD = 5.0, 0.3  # nats by which labels tell a batch from those before it, and for each row


@frozen
class Batch:
    """A checked batch: rows, their weights and the time; labels if the user gives a start.

    Rows that are elsewhere have their weights with them, all positive.
    """

    X: Points
    weight: Array
    time: float
    labels: Labels | None = None
    even: bool = False  # whether it is known that each row counts one

    def rows(self, chosen: NDArray[np.bool_]) -> Batch:
        """Return the chosen rows (n,) of the batch."""
        labels = self.labels
        if labels is not None:
            labels = np.unique(labels[chosen], return_inverse=True)[1]
        return Batch(self.X[chosen], self.weight[chosen], self.time, labels)

    def fetched(self) -> Batch:
        """Return the batch with its rows here."""
        X, weight = self.X.fetch()
        return replace(self, X=X, weight=weight)


@frozen
class Early:
    """A batch that is kept while the model has seen too few rows to trust its prior."""

    batch: Batch
    ids: Labels


@frozen
class Recipe:
    """What the user asked for: all that shapes the learning besides the data.

    Where the half-life is left open (``auto``) it is longer for batches of a few rows.
    """

    family: Family
    alpha: float
    forgetting: Forgetting
    plan: Plan
    outlier_weight: float
    progress: Progress | None
    auto: bool = False

    def for_rows(self, n: int) -> Recipe:
        """Return what that means for a batch of n rows."""
        if not self.auto or n >= USUAL_ROWS:
            return self
        return replace(self, forgetting=self.forgetting.of_rows(n))

    def settled_rows(self, d: int) -> int:
        """Return how many rows of d columns set clusters and prior for good.

        A kernel tells batches apart that a start would join, and one who wants no new clusters,
        or outliers from the first batch on, has them by that batch.
        """
        least = self.family.enough_rows(d)
        by_batches = self.forgetting.kernel is not None or self.outlier_weight > 0
        free = self.plan.splits and self.plan.merges and not by_batches
        return max(_SETTLED_ROWS, least) if free else least

    def alone_rows(self, d: int) -> int:
        """Return how many rows of a single batch do."""
        return min(self.settled_rows(d), max(_ALONE_ROWS, self.family.enough_rows(d)))


def is_due(early: tuple[Early, ...], batch: Batch, recipe: Recipe) -> bool:
    """Whether a start is to be made anew from the first rows and those of a batch.

    So it is with each batch until the rows can set a prior, and then whenever they have become
    twice as many, until there are enough of them: what a few rows are taken for is hard to mend
    later, when batches are as small.
    """
    n, d = batch.X.shape
    left, _ = remembered(early, batch.time, recipe.forgetting)
    before = sum(len(e.ids) for e in left)
    after, settled = before + int(n), recipe.settled_rows(d)
    if before == 0 or after < recipe.family.enough_rows(d):
        return True
    return before < settled and (after >= settled or after.bit_length() > before.bit_length())


def came_apart(known: Labels, rows: Ints) -> bool:
    """Whether the labels of the last batch tell it from the rows before it.

    ``known`` are the labels of those, and ``rows`` (k,) counts all rows of each cluster. In places
    that stay the shares of clusters are about the same; where all clusters moved on, the new
    places are clusters of their own, and a row tells a bit or more of when it came.
    """
    before = np.bincount(known[known >= 0], minlength=len(rows))
    new = rows - before
    told = _log_shares(new) + _log_shares(before) - _log_shares(rows)
    return bool(told > _TOLD[0] + _TOLD[1] * new.sum())


def _log_shares(n: Ints) -> float:
    """Return the log-probability of labels with such counts (k,) if all shares are as likely."""
    return float(gammaln(len(n)) - gammaln(len(n) + n.sum()) + gammaln(1.0 + n).sum())


def remembered(
    early: tuple[Early, ...], time: float, forgetting: Forgetting
) -> tuple[list[Early], list[float]]:
    """Return the early batches that still count at a later time, and what each counts."""
    ages = [_age_weight(forgetting, time - e.batch.time) for e in early]
    left = [(e, age) for e, age in zip(early, ages, strict=True) if age > forgetting.epsilon]
    return [e for e, _ in left], [age for _, age in left]


def keep(batches: list[Batch], ids: Labels) -> tuple[Early, ...]:
    """Return copies of the batches, which the caller may overwrite, with their labels."""
    ends = np.cumsum([b.X.shape[0] for b in batches])[:-1]
    return tuple(
        Early(_copied(b), own) for b, own in zip(batches, np.split(ids, ends), strict=True)
    )


def _copied(batch: Batch) -> Batch:
    """Return a batch of its own, in double precision."""
    X = batch.X.astype(np.float64, copy=True)
    return replace(batch, X=X, weight=batch.weight.copy(), labels=None, even=False)


def _age_weight(forgetting: Forgetting, age: float) -> float:
    if forgetting.kernel is None or age == 0:
        return forgetting.decay(age)
    return float(forgetting.weights(np.array([age]))[0])


def joined(batches: list[Batch], ages: list[float]) -> tuple[Points, Array]:
    """Return the rows of all batches and what they count; only the last may be elsewhere."""
    *before, last = batches
    weights = [b.weight * age for b, age in zip(batches, ages, strict=True)]
    if not isinstance(last.X, RemoteRows):
        return stack([b.X for b in batches]), np.concatenate(weights)
    if not before:
        return last.X, last.weight
    return last.X.after(stack([b.X for b in before]), np.concatenate(weights[:-1])), last.weight


def kept_with(
    early: tuple[Early, ...], batch: Batch, labels: Any, recipe: Recipe
) -> tuple[Early, ...]:
    """Return the first rows and those of a batch; none if they are enough or become fewer."""
    n, d = batch.X.shape
    left, _ = remembered(early, batch.time, recipe.forgetting)
    known = sum(len(e.ids) for e in left) + n
    if len(left) < len(early) or known >= recipe.settled_rows(d):
        return ()
    return (*early, Early(_copied(batch), to_host(labels))) if n else early
