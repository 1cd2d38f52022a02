"""Rows that resemble the row before, as readings of a sensor do: they count less.

A mixture takes rows for independent. Rows that follow each other slowly gather in one place of
their cluster, then in another, and each of these places looks like a cluster. Independent rows that
say the same are fewer by ``(1 - r) / (1 + r)``, r being the correlation of a row's deviation from
the centre of its cluster with that of the cluster's next row.

Where clusters that are two are taken for one, or move within a batch, such deviations are alike,
too, though rows are independent. But then the next row of the cluster is as far away as one some
rows later. Rows that follow slowly go farther and farther. Neighbours in an image or a file are
alike, too, since they are of one kind. But kinds come again: rows count less only if that predicts
later rows better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from scstream.engines.tensors import to_host
from scstream.families.contract import Array
from scstream.families.scores import Labels
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen

_MOST = 40_000  # numbers, the first of a batch, that are looked at: more would say the same
_SORTED = 0.95  # a share of steps in one direction from which a column is a trend, or was sorted
_LATER = 8  # rows from a row to a later one of its cluster, which is farther away than the next
_MEMORY = 400  # rows that earlier looks count as, at most, beside those of a further one
_CHANGE = 1.25  # by how many times a weight must change, to be taken


class Likeness(NamedTuple):
    """How much rows (n, d) resemble the one before, in their clusters.

    Attributes
    ----------
    correlation : float
        Of deviations with those of the cluster's next row, the middle one of all columns.
    farther : float
        The share of rows from which a later one of the cluster is farther away than the next.
    """

    correlation: float
    farther: float


@frozen
class Alike:
    """What is known of how much the rows of a stream resemble the row before.

    Attributes
    ----------
    weight : float
        What a row counts.
    likeness : Likeness
        An average of looks at some batches.
    looked : int
        Rows that it is known from.
    seen : int
        Rows of the batches that were looked at.
    usual : float
        Rows of the batch that a row came in, on average.
    rows, labels : ndarray (m, d), (m,)
        Rows of small batches, which are looked at together.
    """

    weight: float = 1.0
    likeness: Likeness = Likeness(0.0, 0.5)
    looked: int = 0
    seen: int = 0
    usual: float = 0.0
    rows: Array = field(default_factory=lambda: np.empty((0, 0)))
    labels: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def counted(self, batch: Batch) -> Batch:
        """Return a batch whose rows count as much as they say."""
        return replace(batch, weight=self.weight * batch.weight, even=False, alike=self.weight)

    def after(
        self, batch: Batch, labels: Any, rules: Rules, better: Callable[[float, Array], bool]
    ) -> Alike:
        """Return what is known after a look at a batch, which has labels (n,).

        Rows count less only if it is ``better`` that these rows (m, d) do.
        """
        X = batch.X if isinstance(batch.X, np.ndarray) else batch.here
        some = max(_MOST // batch.X.shape[1], rules.alike_rows)
        if X is None or not np.isfinite(X[:some]).all():
            return self
        n = X.shape[0]
        seen = self.seen + n
        usual = self.usual + (n - self.usual) * n / max(seen, 1)
        rows, own = self._joined(X[:some], to_host(labels[:some]))
        if len(rows) < rules.alike_rows:
            return replace(
                self, seen=seen, usual=usual, rows=np.array(rows, np.float64), labels=own
            )
        new, before = likeness(rows, own), min(self.looked, _MEMORY)
        share = len(rows) / (before + len(rows))
        known = Likeness(*(a + share * (b - a) for a, b in zip(self.likeness, new, strict=True)))
        weight = _weight(known, usual, rules)
        if 1.0 / _CHANGE < weight / self.weight < _CHANGE:
            weight = self.weight
        if weight < 1.0 == self.weight and not better(weight, rows):
            weight = 1.0
        return Alike(weight, known, self.looked + len(rows), seen, usual)

    def _joined(self, X: Array, labels: Array) -> tuple[Array, Labels]:
        """Return rows and labels behind those of the batches before.

        What is one cluster in each batch may move between them: so it has another label in each.
        """
        own = np.unique(labels, return_inverse=True)[1]
        if self.rows.shape[1] != X.shape[1]:
            return X, own
        after = self.labels.max(initial=-1) + 1
        return np.concatenate([self.rows, X]), np.concatenate([self.labels, after + own])


def _weight(known: Likeness, usual: float, rules: Rules) -> float:
    """Return what a row counts, in batches of so many rows.

    However alike rows are, those of a batch count as many points as it takes to show clusters, but
    no more than so much a row.
    """
    r, farther = known
    if r < rules.alike or farther < rules.alike_farther:
        return 1.0
    return max((1.0 - r) / (1.0 + r), min(rules.alike_points / usual, rules.alike_least))


def likeness(X: Array, labels: Labels) -> Likeness:
    """Return how much rows (n, d) resemble the one before in their clusters; not at all if unknown.

    Columns that only rise or fall, such as times, are left out, and what of the others goes with
    them: rows may have been sorted by such a column.
    """
    nothing = Likeness(0.0, 0.5)
    order = np.argsort(labels, kind="stable")
    z, R = labels[order], _deviations(X[order], labels[order])
    same = z[1:] == z[:-1]
    rest = _without_trends(R, np.sign(np.diff(R, axis=0)[same]))
    later = z[_LATER:] == z[:-_LATER]
    if rest.shape[1] == 0 or not later.any():
        return nothing
    rest = rest / np.maximum(np.abs(rest).max(axis=0), 1e-300)
    square = (rest**2).sum(axis=0)
    lag = (rest[1:] * rest[:-1])[same].sum(axis=0) / square
    scaled = rest / np.sqrt(square)
    begin = scaled[:-_LATER][later]
    near = ((scaled[1 : 1 - _LATER][later] - begin) ** 2).sum(axis=1)
    far = ((scaled[_LATER:][later] - begin) ** 2).sum(axis=1)
    return Likeness(float(np.median(lag)), float(0.5 + 0.5 * np.sign(far - near).mean()))


def _deviations(X: Array, z: Labels) -> Array:
    """Return the deviations of rows (n, d) from the centres of their clusters, which follow on."""
    starts = np.flatnonzero(np.concatenate([[True], z[1:] != z[:-1]]))
    count = np.diff(np.append(starts, len(z)))
    return X - np.repeat(np.add.reduceat(X, starts) / count[:, None], count, axis=0)


def _without_trends(R: Array, step: Array) -> Array:
    """Return the columns of deviations R (n, d) that rise and fall, without what goes with others.

    ``step`` (m, d) are the directions from each row to the cluster's next one.
    """
    moving = np.abs(step).sum(axis=0)
    trend = np.abs(step.sum(axis=0)) > (2.0 * _SORTED - 1.0) * np.maximum(moving, 1.0)
    rest = R[:, ~trend & (moving > 0)]
    if trend.any():
        guide = R[:, trend] / np.maximum(np.abs(R[:, trend]).max(axis=0), 1e-300)
        rest = rest - guide @ np.linalg.lstsq(guide, rest, rcond=None)[0]
    return rest
