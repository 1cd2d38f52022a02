"""The warm-up: the first rows of a stream are kept, and clustered again as they become more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from scstream.engines import RemoteRows
from scstream.engines.tensors import to_host
from scstream.families.contract import Array
from scstream.families.scores import Labels, Points, stack
from scstream.sampler.clusters import Ints
from scstream.sampler.recipe import Batch, Recipe
from scstream.sampler.rules import Rules
from scstream.sampler.window import Forgetting
from scstream.support.frozen import frozen


@frozen
class KeptBatch:
    """A batch that is kept while the model has seen too few rows to trust its prior."""

    batch: Batch
    ids: Labels

    def recounted(self, times: float) -> KeptBatch:
        """Return it with rows that count so many times as much."""
        return replace(self, batch=replace(self.batch, weight=times * self.batch.weight))


def is_due(kept: tuple[KeptBatch, ...], batch: Batch, recipe: Recipe) -> bool:
    """Whether a start is to be made anew from the first rows and those of a batch.

    So it is with each batch until the rows can set a prior, and then whenever they have become
    twice as many, until there are enough of them: what a few rows are taken for is hard to mend
    later, when batches are as small.
    """
    n, d = batch.X.shape
    left, _ = remembered(kept, batch.time, recipe.forgetting)
    before = sum(len(e.ids) for e in left)
    after, settled = before + int(n), recipe.settled_rows(d)
    if before == 0 or after < recipe.family.enough_rows(d):
        return True
    return before < settled and (after >= settled or after.bit_length() > before.bit_length())


def is_over(n: int, batch: Batch, recipe: Recipe, *, again: bool) -> bool:
    """Whether a start from n rows, the last of them those of a batch, is one for good.

    ``again`` is whether it found the clusters that were known before. It would find them the next
    time too. What comes later need not wait for such a start, unless batches are small.
    """
    rows, d = batch.X.shape
    enough = recipe.alone_rows(d)
    found_again = again and n >= enough and 2 * rows >= enough
    return bool(n >= recipe.settled_rows(d) or rows >= enough or found_again)


def moved_on(known: Labels, rows: Ints, rules: Rules) -> bool:
    """Whether labels distinguish the last batch from the rows before it.

    ``known`` are the labels of those, and ``rows`` (k,) counts all rows of each cluster. In places
    that stay the shares of clusters are about the same; where all clusters moved on, the new
    places are clusters of their own, and a row says a bit or more about when it came.
    """
    before = np.bincount(known[known >= 0], minlength=len(rows))
    new = rows - before
    gain = _log_shares(new) + _log_shares(before) - _log_shares(rows)
    return bool(gain > rules.moved_on + rules.moved_on_a_row * new.sum())


def same_clusters(before: Labels, now: Labels, k: int, rules: Rules) -> bool:
    """Whether rows have the same clusters as before, under whatever names, without others.

    ``now`` are labels of the same rows among k clusters.
    """
    old, new = (np.unique(labels, return_inverse=True)[1] for labels in (before, now))
    shared = np.zeros((old.max() + 1, new.max() + 1))
    np.add.at(shared, (old, new), 1.0)
    least = rules.same_rows * len(before)
    as_many = shared.shape[0] == shared.shape[1] == k
    return bool(as_many and min(shared.max(axis=0).sum(), shared.max(axis=1).sum()) >= least)


def _log_shares(n: Ints) -> float:
    """Return the log-probability of labels with such counts (k,) if all shares are as likely."""
    return float(gammaln(len(n)) - gammaln(len(n) + n.sum()) + gammaln(1.0 + n).sum())


def remembered(
    kept: tuple[KeptBatch, ...], time: float, forgetting: Forgetting
) -> tuple[list[KeptBatch], list[float]]:
    """Return the kept batches that still count at a later time, and what each counts."""
    ages = [_age_weight(forgetting, time - e.batch.time) for e in kept]
    left = [(e, age) for e, age in zip(kept, ages, strict=True) if age > forgetting.epsilon]
    return [e for e, _ in left], [age for _, age in left]


def keep(batches: list[Batch], ids: Labels) -> tuple[KeptBatch, ...]:
    """Return copies of the batches, which the caller may overwrite, with their labels."""
    ends = np.cumsum([b.X.shape[0] for b in batches])[:-1]
    return tuple(
        KeptBatch(_copied(b), own) for b, own in zip(batches, np.split(ids, ends), strict=True)
    )


def _copied(batch: Batch) -> Batch:
    """Return a batch of its own, in double precision."""
    X = batch.X.astype(np.float64, copy=True)
    return Batch(X, batch.weight.copy(), batch.time, alike=batch.alike, here=batch.here)


def _age_weight(forgetting: Forgetting, age: float) -> float:
    if forgetting.kernel is None or age == 0:
        return forgetting.decay(age)
    return float(forgetting.weights(np.array([age]))[0])


def joined(batches: list[Batch], ages: list[float]) -> tuple[Points, Array]:
    """Return the rows of all batches and what they count; only the last may be elsewhere.

    Nothing has been forgotten of the last. If it is the only one nothing is copied.
    """
    *before, last = batches
    if not before:
        return last.X, last.weight
    weights = [b.weight * age for b, age in zip(batches, ages, strict=True)]
    if not isinstance(last.X, RemoteRows):
        return stack([b.X for b in batches]), np.concatenate(weights)
    return last.X.after(stack([b.X for b in before]), np.concatenate(weights[:-1])), last.weight


def kept_with(
    kept: tuple[KeptBatch, ...], batch: Batch, labels: Any, recipe: Recipe
) -> tuple[KeptBatch, ...]:
    """Return the first rows and those of a batch; none if they are enough or become fewer."""
    n, d = batch.X.shape
    left, _ = remembered(kept, batch.time, recipe.forgetting)
    known = sum(len(e.ids) for e in left) + n
    if len(left) < len(kept) or known >= recipe.settled_rows(d):
        return ()
    return (*kept, KeptBatch(_copied(batch), to_host(labels))) if n else kept
