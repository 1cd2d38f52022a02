"""Contestants of scikit-learn."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, Birch, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Numbering, Prototypes
from benchmarks.contestants.scales import dense, neighbourhood

if TYPE_CHECKING:
    import optuna

SMALLEST_VARIANCE = 1e-6  # of a constant column


class _Birch:
    """BIRCH told K.

    The clusters of its leaves are found anew after each batch, with memory and time quadratic
    in the number of leaves. So when there are too many the tree is built anew from its leaves
    with a larger threshold, as in BIRCH's paper; scikit-learn lets the tree grow for ever.
    """

    MAX_LEAVES = 4000
    GROWTH = 1.5

    def __init__(self, n_clusters: int, threshold: float, branching_factor: int) -> None:
        self._tree = Birch(
            n_clusters=n_clusters,
            threshold=threshold,
            branching_factor=branching_factor,
            compute_labels=False,
        )
        self._prototypes = Prototypes()

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._prototypes.predict(X)

    def partial_fit(self, X: Any) -> None:
        with threadpool_limits(1):  # its many small matrix products are slower on more threads
            self._grow(X)
        self._prototypes.update(self._tree.subcluster_centers_, self._tree.subcluster_labels_)

    def _grow(self, X: Any) -> None:
        tree = self._tree
        n_clusters = tree.n_clusters
        tree.set_params(n_clusters=None)  # no clustering of the leaves while there may be too many
        tree.partial_fit(X)
        while len(tree.subcluster_centers_) > self.MAX_LEAVES:
            tree.set_params(threshold=self.GROWTH * tree.threshold)
            tree.fit(tree.subcluster_centers_)
        tree.set_params(n_clusters=n_clusters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer leaves than clusters
            tree.partial_fit()


class _UnitRows:
    """A model that sees rows scaled to length 1."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._model.predict(normalize(X))

    def partial_fit(self, X: Any) -> None:
        self._model.partial_fit(normalize(X))


class _RefittedMixture:
    """Variational Dirichlet process mixture of Gaussians, fitted to each batch alone.

    Its components are numbered by their match with those of the batch before. The prior of
    their covariances is a multiple of the batch's own variances. It runs on one thread: on
    two busy cores, scikit-learn's many small matrix products took ten times as long on two.
    """

    ROWS_PER_COMPONENT = 5

    def __init__(
        self,
        max_components: int,
        covariance_type: str,
        relative_covariance: float,
        **settings: Any,
    ) -> None:
        self._max_components = max_components
        self._covariance_type = covariance_type
        self._relative_covariance = relative_covariance
        self._settings = settings
        self._numbering = Numbering()
        self._mixture: BayesianGaussianMixture
        self._ids: NDArray[np.int64]

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._ids[self._mixture.predict(dense(X))]

    def partial_fit(self, X: Any) -> None:
        X = dense(X)
        limit = max(1, len(X) // self.ROWS_PER_COMPONENT)
        self._mixture = BayesianGaussianMixture(
            n_components=min(self._max_components, limit),
            weight_concentration_prior_type="dirichlet_process",
            covariance_type=self._covariance_type,
            covariance_prior=self._covariance_prior(X),
            **self._settings,
        )
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # stopped, or few distinct rows
            self._mixture.fit(X)
        self._ids = self._numbering.update(self._mixture.means_)

    def _covariance_prior(self, X: NDArray[np.float64]) -> Any:
        """Return the prior in the shape that scikit-learn wants for the type of covariance."""
        variances = self._relative_covariance * np.maximum(X.var(axis=0), SMALLEST_VARIANCE)
        shapes = {"full": np.diag, "diag": np.asarray, "spherical": np.mean}
        return shapes[self._covariance_type](variances)


class _RefittedHDBSCAN:
    """HDBSCAN of each batch alone; a row is labelled by the nearest row of the batch before.

    Its clusters are numbered by their match with those of the batch before. Noise is a cluster
    of its own, or left out, so that every row goes to the nearest row that is in a cluster.
    """

    def __init__(self, noise: str, **settings: Any) -> None:
        self._noise = noise
        self._settings = settings
        self._prototypes = Prototypes()

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._prototypes.predict(dense(X))

    def partial_fit(self, X: Any) -> None:
        X = dense(X)
        labels = HDBSCAN(copy=True, **self._settings).fit(X).labels_
        shown = labels >= 0 if self._noise == "nearest" else np.ones(len(X), dtype=bool)
        self._prototypes.update(X[shown], labels[shown])


def _hdbscan(
    task: Task, seed: int, min_cluster_size: int = 5, noise: str = "nearest"
) -> _RefittedHDBSCAN:
    return _RefittedHDBSCAN(noise, min_cluster_size=min_cluster_size)


def _hdbscan_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "min_cluster_size": trial.suggest_int("min_cluster_size", 3, 100, log=True),
        "noise": trial.suggest_categorical("noise", ["nearest", "cluster"]),
    }


def _birch(
    task: Task, seed: int, relative_threshold: float = 0.5, branching_factor: int = 50
) -> _Birch:
    threshold = relative_threshold * neighbourhood(task.first)
    return _Birch(task.n_clusters, threshold, branching_factor)


def _birch_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "relative_threshold": trial.suggest_float("relative_threshold", 0.2, 2.0, log=True),
        "branching_factor": trial.suggest_int("branching_factor", 10, 100),
    }


def _mini_batch(
    task: Task, seed: int, init: str = "k-means++", reassignment_ratio: float = 0.01
) -> MiniBatchKMeans:
    return MiniBatchKMeans(
        n_clusters=min(task.n_clusters, task.first.shape[0]),
        init=init,
        n_init=1,  # partial_fit starts once, whatever is asked for
        compute_labels=False,
        reassignment_ratio=reassignment_ratio,
        random_state=seed,
    )


def _mini_batch_unit(task: Task, seed: int, **settings: Any) -> _UnitRows:
    return _UnitRows(_mini_batch(task, seed, **settings))


def _mini_batch_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "init": trial.suggest_categorical("init", ["k-means++", "random"]),
        "reassignment_ratio": trial.suggest_float("reassignment_ratio", 1e-4, 0.5, log=True),
    }


def _mixture(
    task: Task,
    seed: int,
    max_components: int = 100,
    covariance_type: str | None = None,
    relative_covariance: float = 0.1,
    weight_concentration_prior: float | None = None,
    mean_precision_prior: float = 0.01,
) -> _RefittedMixture:
    if covariance_type is None:
        covariance_type = "full" if task.n_features <= 20 else "diag"
    return _RefittedMixture(
        max_components,
        covariance_type,
        relative_covariance,
        weight_concentration_prior=weight_concentration_prior,
        mean_precision_prior=mean_precision_prior,
        random_state=seed,
    )


def _mixture_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    types = ["full", "diag", "spherical"] if task.n_features <= 100 else ["diag", "spherical"]
    return {
        "max_components": trial.suggest_int("max_components", 10, 200, log=True),
        "covariance_type": trial.suggest_categorical("covariance_type", types),
        "relative_covariance": trial.suggest_float("relative_covariance", 1e-3, 1.0, log=True),
        "weight_concentration_prior": trial.suggest_float(
            "weight_concentration_prior", 1e-4, 1e3, log=True
        ),
        "mean_precision_prior": trial.suggest_float("mean_precision_prior", 1e-3, 1.0, log=True),
    }


CONTESTANTS = (
    Contestant(
        name="BIRCH",
        make=_birch,
        space=_birch_space,
        told_k=True,
        kinds=("real", "counts"),
        random=False,
    ),
    Contestant(
        name="Mini-Batch K-Means",
        make=_mini_batch,
        space=_mini_batch_space,
        told_k=True,
        kinds=("real", "counts"),
    ),
    Contestant(
        name="Mini-Batch K-Means, unit rows",
        make=_mini_batch_unit,
        space=_mini_batch_space,
        told_k=True,
        kinds=("counts",),
    ),
    Contestant(
        name="Bayesian GMM, refitted",
        make=_mixture,
        space=_mixture_space,
    ),
    Contestant(
        name="HDBSCAN, refitted",
        make=_hdbscan,
        space=_hdbscan_space,
        random=False,
    ),
)
