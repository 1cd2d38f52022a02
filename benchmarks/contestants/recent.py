"""Recent contestants: MCMSTStream, from its authors' package, and EMCStream, from its paper."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Numbering, Prototypes
from benchmarks.contestants.scales import dense

if TYPE_CHECKING:
    import optuna

_Rows = NDArray[np.float64]


class _UnitBox:
    """Scales columns to [0, 1] over the first batch, for methods whose settings expect that."""

    def __init__(self, first: Any) -> None:
        first = dense(first)
        self._low = first.min(axis=0)
        width = np.ptp(first, axis=0)
        self._width = np.where(width > 0.0, width, 1.0)

    def __call__(self, X: Any) -> _Rows:
        return (dense(X) - self._low) / self._width


class _MCMSTStream:
    """MCMSTStream; a row belongs to the macro-cluster of its nearest micro-cluster.

    Rows that lie in no micro-cluster, and micro-clusters in no macro-cluster, are noise there;
    here they go to the nearest macro-cluster, which suits data without noise better.
    """

    def __init__(self, box: _UnitBox, own: Any) -> None:
        self._box = box
        self._own = own
        self._prototypes = Prototypes()

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._prototypes.predict(self._box(X))

    def partial_fit(self, X: Any) -> None:
        self._own.partial_fit(self._box(X))
        micro = [cluster for cluster in self._own.micro_clusters if cluster["macro_id"] > 0]
        centres = np.reshape([cluster["center"] for cluster in micro], (-1, X.shape[1]))
        self._prototypes.update(centres, [cluster["macro_id"] for cluster in micro])


class _EMCStream:
    """EMCStream told K: Zubaroglu and Atalay, Pattern Analysis and Applications 2022.

    Rows are embedded by UMAP and clustered there by k-means. New rows go through the embedding
    that was learned; it is learned anew when k-means on a fresh embedding of the latest rows
    disagrees with k-means on the old one. The authors' package runs on a whole file at once, so
    the method was written anew. Theirs lowers its threshold of agreement from 1 in steps; here it
    is a setting. Clusters are numbered by their match in the original columns.
    """

    def __init__(self, box: _UnitBox, n_clusters: int, agreement: float, seed: int) -> None:
        self._box = box
        self._n_clusters = n_clusters
        self._agreement = agreement
        self._seed = seed
        self._numbering = Numbering()
        self._umap: Any = None
        self._k_means: KMeans
        self._ids: NDArray[np.int64]

    def predict(self, X: Any) -> NDArray[np.int64]:
        with warnings.catch_warnings(action="ignore"):
            embedded = self._umap.transform(self._box(X))
        return self._ids[self._k_means.predict(embedded)]

    def partial_fit(self, X: Any) -> None:
        with warnings.catch_warnings(action="ignore"):  # few rows, few threads, no TensorFlow
            self._learn(self._box(X))

    def _learn(self, rows: _Rows) -> None:
        from umap import UMAP

        fresh = UMAP(random_state=self._seed, n_neighbors=min(15, len(rows) - 1))
        again = self._cluster(fresh.fit_transform(rows))
        if self._umap is not None:
            old = self._cluster(self._umap.transform(rows))
            if adjusted_rand_score(old.labels_, again.labels_) >= self._agreement:
                self._take(self._umap, old, rows)
                return
        self._take(fresh, again, rows)

    def _cluster(self, embedded: _Rows) -> KMeans:
        return KMeans(self._n_clusters, n_init=3, random_state=self._seed).fit(embedded)

    def _take(self, embedding: Any, k_means: KMeans, rows: _Rows) -> None:
        self._umap, self._k_means = embedding, k_means
        labels = range(k_means.n_clusters)
        present = [label for label in labels if (k_means.labels_ == label).any()]
        centres = [rows[k_means.labels_ == label].mean(axis=0) for label in present]
        self._ids = np.zeros(k_means.n_clusters, dtype=np.int64)
        self._ids[present] = self._numbering.update(centres)


def _mcmst(
    task: Task,
    seed: int,
    window: float = 0.2,
    radius: float = 0.05,
    rows: int = 2,
    micro_clusters: int = 2,
) -> _MCMSTStream:
    """MCMSTStream, ``window`` in batches; the package's radius, .1, finds one cluster of four."""
    from mcmststream import MCMSTStream

    own = MCMSTStream(
        W=max(2, round(window * task.batch_size)), n_micro=micro_clusters, N=rows, r=radius
    )
    return _MCMSTStream(_UnitBox(task.first), own)


def _mcmst_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "window": trial.suggest_float("window", 0.1, 1.0, log=True),
        "radius": trial.suggest_float("radius", 0.005, 0.5, log=True),
        "rows": trial.suggest_int("rows", 2, 15, log=True),
        "micro_clusters": trial.suggest_int("micro_clusters", 2, 25, log=True),
    }


def _emc(task: Task, seed: int, agreement: float = 0.9) -> _EMCStream:
    n_clusters = min(task.n_clusters, task.first.shape[0])
    return _EMCStream(_UnitBox(task.first), n_clusters, agreement, seed)


def _emc_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {"agreement": trial.suggest_float("agreement", 0.5, 1.0)}


CONTESTANTS = (
    Contestant("MCMSTStream", _mcmst, _mcmst_space, needs=("mcmststream",), random=False),
    Contestant("EMCStream", _emc, _emc_space, told_k=True, needs=("umap",)),
)
