"""Contestants of river, fed row by row.

Labels are those of ``predict_one``, for all rows of a batch at once: each is that of the nearest
centre, so river's loop over rows in plain Python would only cost time. Clusters that are found
anew for each request are taken at the end of a batch and numbered by their match with those of
the batch before.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Prototypes
from benchmarks.contestants.scales import dense, neighbourhood, spread

if TYPE_CHECKING:
    import optuna

_Rows = NDArray[np.float64]


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

    def _summary(self, d: int) -> tuple[_Rows, list[int] | None]:
        """Return the points (m, d) that stand for clusters, and the cluster of each."""
        raise NotImplementedError


class _CluStream(_River):
    """A row belongs to the macro-cluster of its nearest micro-cluster."""

    def _summary(self, d: int) -> tuple[_Rows, list[int] | None]:
        centres = [micro.center for micro in self.clusterer.micro_clusters.values()]
        return _as_rows(centres, d), [self.clusterer.predict_one(centre) for centre in centres]


class _DBSTREAM(_River):
    """A row belongs to the macro-cluster with the nearest centre."""

    def _summary(self, d: int) -> tuple[_Rows, list[int] | None]:
        return _as_rows(self.clusterer.centers.values(), d), None


class _DenStream(_River):
    """A row belongs to the macro-cluster with the nearest centre.

    A request finds the macro-clusters by adding up micro-clusters in place, which changes what
    was learned, and does so again for every row. So they are found once, from a copy.
    """

    def _summary(self, d: int) -> tuple[_Rows, list[int] | None]:
        scratch = copy.copy(self.clusterer)
        scratch.p_micro_clusters = copy.deepcopy(self.clusterer.p_micro_clusters)
        scratch.predict_one(dict.fromkeys(range(d), 0.0))  # finds the macro-clusters
        return _as_rows(scratch.centers.values(), d), None


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
    halflife: float = 0.5,
    relative_sigma: float = 1.0,
) -> _CluStream:
    """CluStream told K; its macro-clusters are renewed at the end of each batch.

    river measures a micro-cluster by the mean deviation of a column, a row by its distance,
    which is about sqrt(d) times as long: the factor between them makes up for it.
    """
    from river import cluster

    mean, deviation = spread(task.first)
    return _CluStream(
        cluster.CluStream(
            n_macro_clusters=task.n_clusters,
            max_micro_clusters=max_micro_clusters or _micro_clusters(task),
            micro_cluster_r_factor=relative_radius * math.sqrt(task.n_features),
            time_window=round(window * task.batch_size),
            time_gap=task.batch_size,
            seed=seed,
            halflife=halflife,
            mu=mean,
            sigma=relative_sigma * deviation,
        )
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
        "halflife": trial.suggest_float("halflife", 0.01, 1.0, log=True),
        "relative_sigma": trial.suggest_float("relative_sigma", 0.01, 3.0, log=True),
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


def _denstream(
    task: Task,
    seed: int,
    relative_epsilon: float = 2.0,
    decaying_factor: float = 0.25,
    beta: float = 0.75,
    mu: float = 2.0,
) -> _DenStream:
    """DenStream, started by the first batch; its unit of time is a tenth of a batch."""
    from river import cluster

    return _DenStream(
        cluster.DenStream(
            decaying_factor=decaying_factor,
            beta=beta,
            mu=mu,
            epsilon=relative_epsilon * neighbourhood(dense(task.first)),
            n_samples_init=task.first.shape[0],
            stream_speed=max(1, task.batch_size // 10),
        )
    )


def _denstream_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "relative_epsilon": trial.suggest_float("relative_epsilon", 0.5, 5.0, log=True),
        "decaying_factor": trial.suggest_float("decaying_factor", 0.01, 1.0, log=True),
        "beta": trial.suggest_float("beta", 0.4, 1.0),
        "mu": trial.suggest_float("mu", 3.0, 20.0, log=True),  # beta * mu must be over 1
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
        name="CluStream (river)",
        make=_clustream,
        space=_clustream_space,
        told_k=True,
        needs=("river",),
    ),
    Contestant(
        name="DBSTREAM",
        make=_dbstream,
        space=_dbstream_space,
        needs=("river",),
        random=False,
    ),
    Contestant(
        name="DenStream",
        make=_denstream,
        space=_denstream_space,
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
