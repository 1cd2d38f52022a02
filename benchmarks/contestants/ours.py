"""ScStream itself: untuned or tuned, with groups, with the paper's prior, each batch alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Numbering
from scstream import Gaussian, Multinomial, ScStream

if TYPE_CHECKING:
    import optuna

FAMILIES = {"real": "gaussian", "counts": "multinomial"}


class FittedAnew:
    """The sampler without the stream: each batch is clustered alone.

    The clusters are numbered by their match with those of the batch before.
    """

    def __init__(self, model: ScStream) -> None:
        self._model = model
        self._numbering = Numbering()
        self._ids: NDArray[np.int64]

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._ids[self._model.predict(X)]

    def partial_fit(self, X: Any) -> None:
        self._model.fit(X)
        centre = "mean" if self._model.family == "gaussian" else "probabilities"
        clusters = sorted(self._model.clusters_, key=lambda cluster: cluster.id)
        self._ids = self._numbering.update([c.parameters[centre] for c in clusters])


class Groups:
    """ScStream that gives rows the groups of their clusters, see docs/groups.md."""

    def __init__(self, model: ScStream) -> None:
        self._model = model

    def predict(self, X: Any) -> NDArray[np.int64]:
        labels: NDArray[np.int64] = self._model.predict_group(X)
        return labels

    def partial_fit(self, X: Any) -> None:
        self._model.partial_fit(X)


def _tunable(task: Task, seed: int, **settings: Any) -> ScStream:
    family: Any = FAMILIES[task.kind]
    if "concentration" in settings:
        family = Multinomial(settings.pop("concentration"))
    elif "cov_scale" in settings:
        variances = np.var(np.asarray(task.first, dtype=np.float64), axis=0)
        variances[variances == 0.0] = 1.0
        cov = settings.pop("cov_scale") * variances
        strengths = {name: settings.pop(name) for name in ("cov_strength", "mean_strength")}
        family = Gaussian(cov=cov, **strengths)
    return ScStream(family, random_state=seed, n_jobs=1, **settings)


def _space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    def between(name: str, low: float, high: float) -> float:
        return trial.suggest_float(name, low, high, log=True)

    settings = {"alpha": between("alpha", 1e-2, 1e3), "half_life": between("half_life", 0.5, 50.0)}
    if trial.suggest_categorical("prior", ["adapted", "given"]) == "adapted":
        return settings
    if task.kind == "counts":
        return {**settings, "concentration": between("concentration", 0.1, 10.0)}
    excess = between("cov_excess", 0.5, 100.0)
    return {
        **settings,
        "cov_scale": between("cov_scale", 0.005, 1.5),
        "cov_strength": (1.0 + excess) * np.shape(task.first)[1],
        "mean_strength": between("mean_strength", 0.05, 2.0),
    }


def _as_in_the_paper(task: Task, seed: int) -> ScStream:
    stated = task.paper
    if not stated:
        raise ValueError("the paper states no settings for this data set")
    if task.kind == "counts":
        family: Any = Multinomial(stated["concentration"])
    else:
        unit = 1.0 if stated["standard"] else task.first.var(axis=0)
        family = Gaussian(
            mean=np.zeros(task.n_features) if stated["standard"] else task.first.mean(axis=0),
            mean_strength=stated["kappa"],
            cov=stated["psi"] * unit,
            cov_strength=stated["nu"],
        )
    return ScStream(
        family,
        alpha=stated["alpha"],
        half_life=1.0 / stated["lambda"],
        random_state=seed,
        n_jobs=1,
    )


def _groups(task: Task, seed: int) -> Groups:
    return Groups(ScStream(FAMILIES[task.kind], random_state=seed, n_jobs=1, group_level=0.3))


def _anew(task: Task, seed: int) -> FittedAnew:
    return FittedAnew(ScStream(FAMILIES[task.kind], random_state=seed, n_jobs=1))


_KINDS = ("real", "counts")

CONTESTANTS = (
    Contestant("ScStream", _tunable, _space, kinds=_KINDS),
    Contestant("ScStream, groups", _groups, kinds=("real",)),
    Contestant("ScStream, paper's prior", _as_in_the_paper, kinds=_KINDS),
    Contestant("DPMM sampler, each batch alone", _anew, kinds=_KINDS),
)
