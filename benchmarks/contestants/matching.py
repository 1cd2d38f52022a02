"""Labels that last: clusters found anew after each batch keep their numbers where they can."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin

NOWHERE = -1  # the label of every row while a method has no cluster at all


class Numbering:
    """Numbers for clusters, by the best one-to-one match with the centres of the last batch.

    A cluster without a partner gets a number that was never used before.
    """

    def __init__(self) -> None:
        self._centres: NDArray[np.float64] | None = None
        self._ids = np.empty(0, dtype=np.int64)
        self._next = 0

    def update(self, centres: ArrayLike) -> NDArray[np.int64]:
        """Return the numbers (k,) of clusters with these centres (k, d)."""
        centres = np.asarray(centres, dtype=np.float64)
        ids = np.full(len(centres), -1, dtype=np.int64)
        if self._centres is not None and len(self._centres) and len(centres):
            rows, columns = linear_sum_assignment(pairwise_distances(self._centres, centres))
            ids[columns] = self._ids[rows]
        new = np.flatnonzero(ids < 0)
        ids[new] = np.arange(self._next, self._next + new.size)
        self._next += new.size
        self._centres, self._ids = centres, ids
        return ids


def weighted_k_means(centres: ArrayLike, weights: ArrayLike, n_clusters: int) -> NDArray[Any]:
    """Return the macro-clusters (m,) of micro-clusters, by the best of five runs of k-means."""
    centres = np.asarray(centres, dtype=np.float64)
    k = min(n_clusters, len(np.unique(centres, axis=0)))
    with warnings.catch_warnings(action="ignore"):  # micro-clusters almost on top of another
        k_means = KMeans(k, n_init=5, random_state=0).fit(centres, sample_weight=weights)
    return np.asarray(k_means.labels_)


class Prototypes:
    """Points that stand for clusters: a row belongs to the cluster of the nearest one.

    Several points may stand for one cluster, as the micro-clusters of a macro-cluster do.
    """

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._points: NDArray[np.float64] = np.empty((0, 0))
        self._ids = np.empty(0, dtype=np.int64)

    def update(self, points: ArrayLike, labels: ArrayLike | None = None) -> None:
        """Replace all points (m, d) and their clusters (m,); by default each is a cluster."""
        points = np.asarray(points, dtype=np.float64)
        labels = np.arange(len(points)) if labels is None else np.asarray(labels)
        if not len(points):
            self._points, self._ids = points, np.empty(0, dtype=np.int64)
            return
        _, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        sums = np.zeros((sizes.size, points.shape[1]))
        np.add.at(sums, cluster, points)
        self._points = points
        self._ids = self._numbering.update(sums / sizes[:, None])[cluster]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the numbers (n,) of the clusters that the rows (n, d) belong to."""
        if not len(self._points):
            return np.full(X.shape[0], NOWHERE, dtype=np.int64)
        return self._ids[pairwise_distances_argmin(X, self._points)]
