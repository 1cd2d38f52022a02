"""How well a clustering agrees with the truth, computed from their contingency table.

All scores are 1 for a perfect agreement and do not depend on the labels' values. Labels are
any integers; -1 is a cluster like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Contingency", "adjusted_rand_index", "normalized_mutual_info", "pairwise_f", "purity"]

_Ints = NDArray[np.int64]
_NO_CELLS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Contingency:
    """How many points have each pair of a true and a predicted label.

    Only the ``m`` pairs that occur are held. Tables add up: the table of a whole stream is
    the sum of its batches' tables, and takes no more room for a longer stream as long as no
    new pairs occur.

    Parameters
    ----------
    true, pred : ndarray of shape (m,)
        Labels of each pair; no pair occurs twice.
    count : ndarray of shape (m,)
        Points with this pair of labels.

    Examples
    --------
    >>> from scstream.metrics import Contingency
    >>> table = Contingency.from_labels([0, 0, 1, 1], [5, 5, 5, -1])
    >>> table.n_points, table.n_true, table.n_pred, table.purity
    (4, 2, 2, 0.75)
    >>> (table + table).n_points
    8
    """

    true: _Ints = field(default_factory=_NO_CELLS.copy)
    pred: _Ints = field(default_factory=_NO_CELLS.copy)
    count: _Ints = field(default_factory=_NO_CELLS.copy)

    @classmethod
    def from_labels(cls, y_true: ArrayLike, y_pred: ArrayLike) -> Contingency:
        """Count the pairs of labels of n points, two arrays of shape (n,)."""
        true, pred = _check_labels("y_true", y_true), _check_labels("y_pred", y_pred)
        if true.size != pred.size:
            raise ValueError(
                f"y_true and y_pred must have one label for each point, "
                f"got {true.size} and {pred.size} labels"
            )
        return _tally(true, pred, np.ones(true.size, dtype=np.int64))

    def __add__(self, other: Contingency) -> Contingency:
        """Count the points of both tables together."""
        return _tally(
            np.concatenate([self.true, other.true]),
            np.concatenate([self.pred, other.pred]),
            np.concatenate([self.count, other.count]),
        )

    def only_true(self, classes: ArrayLike) -> Contingency:
        """Keep the points whose true label is among ``classes``."""
        kept = np.isin(self.true, _check_labels("classes", classes))
        return Contingency(self.true[kept], self.pred[kept], self.count[kept])

    def joined(self) -> Contingency:
        """Join clusters that are parts of one class: each is taken for its commonest true label.

        Among labels that are equally common in a cluster, the smallest is taken.
        """
        first = np.lexsort((self.true, -self.count, self.pred))  # the commonest of each cluster
        clusters, start = np.unique(self.pred[first], return_index=True)
        as_class = self.true[first[start]]
        return _tally(self.true, as_class[np.searchsorted(clusters, self.pred)], self.count)

    @property
    def n_points(self) -> int:
        """How many points were counted."""
        return int(self.count.sum())

    @property
    def n_true(self) -> int:
        """How many different true labels there are."""
        return np.unique(self.true).size

    @property
    def n_pred(self) -> int:
        """How many different predicted labels there are."""
        return np.unique(self.pred).size

    @property
    def ari(self) -> float:
        """Adjusted Rand index: 0 in expectation for random labels, can be negative."""
        both, only_pred, only_true, neither = self._pairs()
        if only_pred == only_true == 0:
            return 1.0
        # Python's integers: products of pair counts overflow 64 bits from some 10^5 points.
        excess = 2 * (both * neither - only_true * only_pred)
        possible = (both + only_true) * (only_true + neither)
        possible += (both + only_pred) * (only_pred + neither)
        return excess / possible

    @property
    def nmi(self) -> float:
        """Mutual information over the mean of the two entropies."""
        n_true, n_pred = self.n_true, self.n_pred
        if n_true == n_pred == 1 or self.n_points == 0:
            return 1.0
        if n_true == 1 or n_pred == 1:
            return 0.0
        entropy_true = _entropy(_sum_by(self.true, self.count)[1])
        entropy_pred = _entropy(_sum_by(self.pred, self.count)[1])
        shared = entropy_true + entropy_pred - _entropy(self.count)
        # Rounding may leave independent or equal labellings a little outside of [0, 1].
        return min(max(2.0 * shared / (entropy_true + entropy_pred), 0.0), 1.0)

    @property
    def purity(self) -> float:
        """Share of the points whose true label is the commonest in their cluster."""
        if self.n_points == 0:
            return 1.0
        clusters, position = np.unique(self.pred, return_inverse=True)
        largest = np.zeros(clusters.size, dtype=np.int64)
        np.maximum.at(largest, position, self.count)
        return int(largest.sum()) / self.n_points

    @property
    def f(self) -> float:
        """F1 score of the pairs of points that are put together.

        1 where neither labelling puts two points together.
        """
        both, only_pred, only_true, _ = self._pairs()
        if only_pred == only_true == 0:
            return 1.0
        return 2 * both / (2 * both + only_pred + only_true)

    def _pairs(self) -> tuple[int, int, int, int]:
        """Ordered pairs of points together in both, in pred only, in true only, in neither."""
        n = self.n_points
        both = _sum_of_squares(self.count) - n
        in_true = _sum_of_squares(_sum_by(self.true, self.count)[1]) - n
        in_pred = _sum_of_squares(_sum_by(self.pred, self.count)[1]) - n
        neither = n * (n - 1) - in_true - in_pred + both
        return both, in_pred - both, in_true - both, neither


def adjusted_rand_index(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Agreement of two labellings over pairs of points, corrected for chance.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    float
        At most 1; 0 in expectation for random labels.

    Examples
    --------
    >>> from scstream.metrics import adjusted_rand_index
    >>> adjusted_rand_index([0, 0, 1, 1], [7, 7, -1, -1])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    return Contingency.from_labels(y_true, y_pred).ari


def normalized_mutual_info(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mutual information of two labellings over the mean of their entropies.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from scstream.metrics import normalized_mutual_info
    >>> normalized_mutual_info([0, 0, 1, 1], [0, 0, 0, 0])
    0.0
    """
    return Contingency.from_labels(y_true, y_pred).nmi


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of the points whose true label is the commonest in their predicted cluster.

    Grows with the number of clusters: compare it only between clusterings of similar size.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from scstream.metrics import purity
    >>> purity([0, 0, 1, 1], [3, 3, 3, 4])
    0.75
    """
    return Contingency.from_labels(y_true, y_pred).purity


def pairwise_f(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """F1 score over pairs of points, joined correctly or wrongly or wrongly separated.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n,)

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from scstream.metrics import pairwise_f
    >>> pairwise_f([0, 0, 1, 1], [3, 3, 3, 4])
    0.4
    """
    return Contingency.from_labels(y_true, y_pred).f


def _check_labels(name: str, labels: ArrayLike) -> _Ints:
    """Return ``labels`` as integers of shape (n,), or raise ValueError."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {array.shape}")
    if array.dtype.kind in "iub" or array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.array_equal(array, np.rint(array)):
        return array.astype(np.int64)
    raise ValueError(
        f"{name} must hold integers, got values of type {array.dtype}; "
        "number other labels first, with np.unique(labels, return_inverse=True)[1]"
    )


def _tally(true: _Ints, pred: _Ints, count: _Ints) -> Contingency:
    """Add up the counts of equal pairs of labels, three arrays of shape (n,)."""
    true_ids, true_code = _number(true)
    pred_ids, pred_code = _number(pred)
    cells, total = _sum_by(true_code * pred_ids.size + pred_code, count)
    true_cell, pred_cell = np.divmod(cells, max(pred_ids.size, 1))
    return Contingency(true_ids[true_cell], pred_ids[pred_cell], total)


def _number(labels: _Ints) -> tuple[_Ints, _Ints]:
    """Give labels numbers from 0: the label of each number, and the number of each point.

    Labels that lie close together are numbered by their distance to the least one, which
    takes no sorting; then some numbers may belong to no point.
    """
    least, most = (int(labels.min()), int(labels.max())) if labels.size else (0, -1)
    if most - least < max(4 * labels.size, 1024):
        return np.arange(least, most + 1), labels - least
    ids, code = np.unique(labels, return_inverse=True)
    return ids, code


def _sum_by(labels: _Ints, count: _Ints) -> tuple[_Ints, _Ints]:
    """Sum the counts of each label, two arrays of shape (n,); labels without any are left out."""
    ids, code = _number(labels)
    total = np.zeros(ids.size, dtype=np.int64)
    np.add.at(total, code, count)
    occurs = total > 0
    return ids[occurs], total[occurs]


def _entropy(count: _Ints) -> float:
    """Entropy, in nats, of a distribution given by positive counts."""
    share = count / count.sum()
    return float(-(share * np.log(share)).sum())


def _sum_of_squares(count: _Ints) -> int:
    """Sum of squares, exact up to 3 * 10^9 points."""
    return int((count * count).sum())
