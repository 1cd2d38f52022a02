"""Rows that come again: several passes over one data set, and copies within a batch.

The model takes rows for independent. Those of a data set that is passed over again and again would
count again and again, and clusters would be split by what is chance: after five passes over 178
rows of thirteen columns there were 102 clusters for 3. So rows that come again count so much less
that all that is remembered counts as many rows as the data set has.

Rows that are equal by chance, such as counts and flags, are told by their batch: where most rows of
a batch were seen before by chance, many of them are equal to each other.

Copies of rows in one batch, as of a bootstrap sample or of texts made from templates, say nothing
new either: ten clusters in two columns, each row drawn three times, were found as 24. They are left
out, and labelled as rows without weight are. A copy is recognised by its numbers: if chance made
rows equal, their numbers would come in other rows, too.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules
from scstream.sampler.window import Forgetting
from scstream.support.frozen import frozen

Hashes = NDArray[np.uint64]
Ints = NDArray[np.int64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ROWS = 64  # of a batch that are remembered, some more or less
_FEW = 4096  # rows up to which they are chosen by what they are: then their order does not matter
_COLUMNS = 16  # that are looked at, some more or less
_LEAST = 1e-3  # what a row counts at least: without weight nothing would be learned from it
_BITS = 2**16 - 1  # of hashes, by which most that were not seen are told
_COPIES = 10.0  # times that rows come on average, at most: more often they are the values there are
_COPIED = (
    0.05  # of the distinct rows that have copies, at least: one row alone may be a usual state
)
_OWN = 0.9  # of the numbers of a column that are in one row alone, but for its copies
_CHANCE = 0.3  # of the equal rows there would be at least, were it chance that rows came again


@frozen
class Repeats:
    """Rows seen in the last batches, each by a hash, and how many batches were looked at.

    Attributes
    ----------
    hashes : ndarray (m,)
        Of rows, those of the latest batch last.
    batches : ndarray (m,)
        The number of each row's batch.
    number : int
        Of the latest batch.
    time : float
        Of the latest batch.
    watched : int
        Batches since the last one whose rows came again.
    told : bool
        Whether rows of the latest batch came again.
    """

    hashes: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    batches: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    number: int = 0
    time: float = 0.0
    watched: int = 0
    told: bool = False

    def with_batch(
        self, batch: Batch, forgetting: Forgetting, rules: Rules
    ) -> tuple[Batch, Repeats]:
        """Return a batch whose rows count no more than they should, and what was seen then.

        The caller looks at the first batches of a stream only, unless rows come again: a data set
        that takes more is forgotten when it begins again.
        """
        if not _are_here(batch.X):
            return batch, self
        hashes, number, time = _hashes(batch.X), self.number + 1, batch.time
        ago = self._batches_ago(hashes, rules) if forgetting.kernel is None else None
        if ago is None and self.watched + 1 >= rules.watched_batches:
            return batch, Repeats(number=number, time=time, watched=rules.watched_batches)
        late = int(self.batches.searchsorted(number - rules.watched_batches, side="right"))
        seen = np.concatenate([self.hashes[late:], hashes])
        when = np.concatenate([self.batches[late:], np.full(len(hashes), number)])
        if ago is None:
            return batch, Repeats(seen, when, number, time, self.watched + 1)
        lost = 1.0 - forgetting.decay(time - self.time)
        share = min(max(ago * lost, _LEAST), 1.0)  # of a batch; so all that is left counts ago ones
        new = Repeats(seen, when, number, time, 0, told=True)
        return replace(batch, weight=share * batch.weight, even=False), new

    def _batches_ago(self, hashes: Hashes, rules: Rules) -> float | None:
        """Return how many batches ago most of these rows were last seen; None if they were not."""
        m, before = len(hashes), len(self.hashes)
        if m < rules.least_repeated or before == 0:
            return None
        distinct = _distinct(hashes)
        if self._known_at_most(distinct) < rules.repeated_share * len(distinct):
            return None
        seen, latest = np.unique(self.hashes[::-1], return_index=True)
        at = np.minimum(np.searchsorted(seen, distinct), len(seen) - 1)
        known = seen[at] == distinct
        share, equal = np.count_nonzero(known) / len(distinct), 1.0 - len(distinct) / m
        if share < rules.repeated_share or equal * before > _CHANCE * share * m:
            return None
        return float(self.number + 1 - np.median(self.batches[::-1][latest[at[known]]]))

    def _known_at_most(self, hashes: Hashes) -> int:
        """Return how many of these may have been seen: those whose middle bits were."""
        met = np.zeros(_BITS + 1, dtype=bool)
        met[_middle(self.hashes)] = True
        return int(np.count_nonzero(met[_middle(hashes)]))


def without_copies(batch: Batch) -> Batch:
    """Return a batch whose rows have no weight where they are copies of others; itself if none are.

    In each of two columns or more nearly every number must be that of one row and its copies.
    """
    X, n = batch.X, batch.X.shape[0]
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.shape[1] < 2:
        return batch
    some = X[:: n // _FEW + 1]
    if not (_any_equal(some[:, 0]) and _any_equal(_sums(some))):
        return batch
    _, first, at, times = np.unique(
        _sums(X), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    distinct = len(first)
    if distinct * _COPIES < n or np.count_nonzero(times > 1) < _COPIED * distinct:
        return batch
    own = np.sort([len(np.unique(column)) for column in _some_columns(X)[first].T])
    if own[-2] < _OWN * distinct or not np.array_equal(X[first[at]], X, equal_nan=True):
        return batch
    weight = np.zeros(n)
    weight[first] = batch.weight[first]
    return replace(batch, weight=weight, even=False)


def _middle(hashes: Hashes) -> Ints:
    """Return some bits of hashes that are unlike in most of them."""
    return (hashes >> np.uint64(24)).astype(np.int64) & _BITS


def _distinct(hashes: Hashes) -> Hashes:
    """Return hashes in order, each once."""
    ordered = np.sort(hashes)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _are_here(X: Points) -> bool:
    """Whether rows are dense, of this machine and of numbers with fractions."""
    return isinstance(X, np.ndarray) and X.dtype == np.float64


@lru_cache(maxsize=8)
def _unlike(d: int) -> Array:
    """Return factors (d,) of which no two sums of a few rounded numbers are alike."""
    return np.random.default_rng(0).uniform(1.0, 2.0, d)


def _hashes(X: Array) -> Hashes:
    """Return hashes of some rows (n, d): the same rows wherever they stand, if there are few."""
    n, places = len(X), slice(None)
    if n > _FEW:
        places = slice(None, None, n // _ROWS)
    sums = _sums(X[places])
    with np.errstate(over="ignore"):
        mixed: Hashes = sums.view(np.uint64) * _ODD
    shift = max(len(mixed) // _ROWS, 1).bit_length() - 1
    return mixed if shift == 0 else mixed[mixed >> np.uint64(64 - shift) == 0]


def _sums(X: Array) -> Array:
    """Return sums (n,) of the numbers of rows, which are equal if rows are, and hardly else."""
    some = _some_columns(X)
    out: Array = np.add.reduce(some * _unlike(some.shape[1]), axis=1)
    return out


def _any_equal(values: Array) -> bool:
    """Whether any two of some numbers are equal."""
    ordered = np.sort(values)
    return bool(np.equal(ordered[1:], ordered[:-1]).any())


def _some_columns(X: Array) -> Array:
    return X[:, :: max(X.shape[1] // _COLUMNS, 1)]
