"""Contestants of river, fed row by row.

Rows of a batch are labelled at once, by the nearest centre: river's loop over rows in plain Python
would only cost time. Clusters are found at the end of a batch and numbered by their match with
those of the batch before. What differs from river's own labels stands with each contestant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Prototypes, weighted_k_means
from benchmarks.contestants.scales import dense, neighbourhood, spread

if TYPE_CHECKING:
    import optuna

_Rows = NDArray[np.float64]

_NEVER = 10**12  # rows between two clusterings by river itself


class _River:
    """A clusterer of river whose clusters are found anew after each batch."""

    def __init__(self, clusterer: Any) -> None:
        self.clusterer = clusterer
        self._prototypes = Prototypes()

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._prototypes.predict(X)

    def partial_fit(self, X: Any) -> None:
        for row in dense(X):
            self.clusterer.learn_one(_as_dict(row))
        self._prototypes.update(*self._summary(X.shape[1]))

    def _summary(self, d: int) -> tuple[_Rows, NDArray[Any] | None]:
        """Return the points (m, d) that stand for clusters, and the cluster of each."""
        raise NotImplementedError


class _CluStream(_River):
    """A row belongs to the macro-cluster of its nearest micro-cluster.

    Macro-clusters are found as in CluStream's paper, by k-means on weighted micro-clusters.
    river's own step learns the micro-clusters one by one and unweighted, and up to 0.26.1 it
    assigns them by other centres than it predicts by (its pull request 1634).
    """

    def __init__(self, clusterer: Any, n_clusters: int) -> None:
        super().__init__(clusterer)
        self._n_clusters = n_clusters

    def _summary(self, d: int) -> tuple[_Rows, NDArray[Any] | None]:
        micro = self.clusterer.micro_clusters.values()
        centres = _as_rows((cluster.center for cluster in micro), d)
        weights = [cluster.weight for cluster in micro]
        return centres, weighted_k_means(centres, weights, self._n_clusters)


class _DBSTREAM(_River):
    """A row belongs to the cluster of its nearest micro-cluster.

    river answers with the nearest mean of a cluster, whatever the cluster's shape, and follows
    shared density from earlier to later micro-clusters alone. Here clusters are what shared
    density connects, as in DBSTREAM's paper.
    """

    def _summary(self, d: int) -> tuple[_Rows, NDArray[Any] | None]:
        own = self.clusterer
        now = own._time_stamp
        weights = {
            key: micro.weight * 2 ** (-own.fading_factor * (now - micro.last_update))
            for key, micro in own.micro_clusters.items()
        }
        strong = [key for key, weight in weights.items() if weight >= own.minimum_weight]
        place = {key: i for i, key in enumerate(strong)}
        joined = np.zeros((len(strong), len(strong)), dtype=bool)
        for i, shared in own.s.items():
            for j, density in shared.items():
                if i in place and j in place:
                    faded = density * 2 ** (-own.fading_factor * (now - own.s_t[i][j]))
                    share = faded / (weights[i] + weights[j]) * 2
                    joined[place[i], place[j]] = share > own.intersection_factor
        centres = _as_rows((own.micro_clusters[key].center for key in strong), d)
        return centres, connected_components(joined)[1] if strong else None


class _STREAMKMeans:
    """A row belongs to the nearest centre; centres move but are never replaced."""

    def __init__(self, clusterer: Any) -> None:
        self.clusterer = clusterer
        self._centres: _Rows

    def predict(self, X: Any) -> NDArray[np.int64]:
        return pairwise_distances_argmin(X, self._centres).astype(np.int64)

    def partial_fit(self, X: Any) -> None:
        for row in dense(X):
            self.clusterer.learn_one(_as_dict(row))
        self._centres = _as_rows(self.clusterer.centers.values(), X.shape[1])


def _as_dict(row: _Rows) -> dict[int, float]:
    return dict(enumerate(row.tolist()))


def _as_rows(points: Any, d: int) -> _Rows:
    """Return river's points as rows (m, d)."""
    rows = [[point[column] for column in range(d)] for point in points]
    return np.array(rows, dtype=np.float64).reshape(-1, d)


def _clustream(
    task: Task,
    seed: int,
    max_micro_clusters: int | None = None,
    relative_radius: float = 2.0,
    window: float = 1.0,
) -> _CluStream:
    """CluStream told K; its macro-clusters are renewed at the end of each batch.

    river measures a micro-cluster by the mean deviation of a column, a row by its distance,
    which is about sqrt(d) times as long: the factor between them makes up for it.
    """
    from river import cluster

    return _CluStream(
        cluster.CluStream(
            n_macro_clusters=task.n_clusters,
            max_micro_clusters=max_micro_clusters or _micro_clusters(task),
            micro_cluster_r_factor=relative_radius * math.sqrt(task.n_features),
            time_window=round(window * task.batch_size),
            time_gap=_NEVER,
        ),
        task.n_clusters,
    )


def _micro_clusters(task: Task) -> int:
    """More than there are clusters, but fewer than rows in a batch."""
    return max(2, min(max(100, 2 * task.n_clusters), task.batch_size // 2))


def _clustream_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    usual = _micro_clusters(task)
    return {
        "max_micro_clusters": trial.suggest_int("max_micro_clusters", max(2, usual // 2), usual),
        "relative_radius": trial.suggest_float("relative_radius", 0.5, 4.0, log=True),
        "window": trial.suggest_float("window", 0.5, 10.0, log=True),
    }


def _dbstream(
    task: Task,
    seed: int,
    relative_radius: float = 1.5,
    fading: float = 1.0,
    cleanups: int = 10,
    intersection_factor: float = 0.1,
    minimum_weight: float = 3.0,
) -> _DBSTREAM:
    """DBSTREAM; ``fading`` is in halvings of weight, ``cleanups`` in times, both a batch."""
    from river import cluster

    return _DBSTREAM(
        cluster.DBSTREAM(
            clustering_threshold=relative_radius * neighbourhood(dense(task.first)),
            fading_factor=fading / task.batch_size,
            cleanup_interval=max(1, task.batch_size // cleanups),
            intersection_factor=intersection_factor,
            minimum_weight=minimum_weight,
        )
    )


def _dbstream_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "relative_radius": trial.suggest_float("relative_radius", 0.5, 4.0, log=True),
        "fading": trial.suggest_float("fading", 0.1, 10.0, log=True),
        "intersection_factor": trial.suggest_float("intersection_factor", 0.03, 0.5, log=True),
        "minimum_weight": trial.suggest_float("minimum_weight", 1.0, 10.0, log=True),
    }


def _streamkmeans(
    task: Task,
    seed: int,
    chunk_size: int | None = None,
    halflife: float = 0.5,
    relative_sigma: float = 1.0,
) -> _STREAMKMeans:
    """STREAMKMeans told K; a batch holds at least one of its chunks."""
    from river import cluster

    mean, deviation = spread(task.first)
    return _STREAMKMeans(
        cluster.STREAMKMeans(
            chunk_size=chunk_size or min(max(100, 5 * task.n_clusters), task.first.shape[0]),
            n_clusters=task.n_clusters,
            halflife=halflife,
            mu=mean,
            sigma=relative_sigma * deviation,
            seed=seed,
        )
    )


def _streamkmeans_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    rows = task.first.shape[0]
    return {
        "chunk_size": trial.suggest_int("chunk_size", min(20, rows), rows, log=True),
        "halflife": trial.suggest_float("halflife", 0.01, 1.0, log=True),
        "relative_sigma": trial.suggest_float("relative_sigma", 0.01, 3.0, log=True),
    }


CONTESTANTS = (
    Contestant(
        name="CluStream",
        make=_clustream,
        space=_clustream_space,
        told_k=True,
        needs=("river",),
        random=False,
    ),
    Contestant(
        name="DBSTREAM",
        make=_dbstream,
        space=_dbstream_space,
        needs=("river",),
        random=False,
    ),
    Contestant(
        name="STREAMKMeans",
        make=_streamkmeans,
        space=_streamkmeans_space,
        told_k=True,
        needs=("river",),
    ),
)
