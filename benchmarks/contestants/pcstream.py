"""pcStream: contexts as the principal components of their last points.

Mirsky, Shapira, Rokach and Elovici, "pcStream: A Stream Clustering Algorithm for Dynamically
Detecting and Managing Temporal Contexts", PAKDD 2015. The method is made for contexts that last
a while: a new one is born of consecutive points that fit none, so clusters whose points come
mixed are hard for it.

Choices: the distance divides by the standard deviations along the components, as a Mahalanobis
distance does (the authors' programs multiply); when there are too many contexts, the one left
alone for longest is merged into the one with the nearest mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.contestants.base import Contestant, Task

if TYPE_CHECKING:
    import optuna

_Floats = NDArray[np.float64]

_BLOCK = 64  # rows whose distances to a context are computed at once
_SMALLEST_VARIANCE = 1e-6  # against the mean variance of a column of the first batch


class _Context:
    """The points that a context remembers, and what follows from them.

    Attributes
    ----------
    id, last_used, n_new : int
        Its label, the time of the last point that fitted it, and how many points it was given
        since its components were found.
    points : ndarray (n, d)
        What it remembers, oldest first.
    mean : ndarray (d,)
    whiten : ndarray (d, r)
        Takes a centred point to its coordinates along the principal components, in standard
        deviations.
    ahead : ndarray (b,)
        Distances of the points of the block that is being learned.
    """

    def __init__(self, id: int, points: _Floats, time: int) -> None:
        self.id = id
        self.points = points
        self.last_used = time
        self.n_new = 0

    def find_components(self, variance_share: float, smallest_variance: float) -> None:
        """Find the mean and the fewest components that hold a share of the variance."""
        self.mean = self.points.mean(axis=0)
        variances, axes = _principal_components(self.points - self.mean)
        held = np.cumsum(variances)
        n_kept = 1 + int(np.searchsorted(held[:-1], variance_share * held[-1]))
        deviations = np.sqrt(np.maximum(variances[:n_kept], smallest_variance))
        self.whiten = axes[:, :n_kept] / deviations
        self.n_new = 0

    def distance(self, X: _Floats) -> _Floats:
        """Return the distances (n,) of points (n, d), within the principal subspace."""
        return np.linalg.norm((X - self.mean) @ self.whiten, axis=1)


class PcStream:
    """The method, which learns point by point: a batch is only how points arrive.

    Parameters
    ----------
    phi : float
        A point farther than this from every context, in standard deviations, is a drifter.
    t_min : int
        So many drifters in a row are a new context. Fewer belong to the current one.
    memory : int
        How many points a context remembers.
    variance_share : float
        Share of a context's variance that its principal components must hold.
    max_contexts : int
        Where there are so many, two are merged before another is born.
    refresh : int
        Components are found anew after so many new points of a context; 1 in the authors' programs.
    """

    def __init__(
        self,
        phi: float = 3.0,
        t_min: int = 20,
        memory: int = 100,
        variance_share: float = 0.95,
        max_contexts: int = 100,
        refresh: int = 1,
    ) -> None:
        for name, value in (("t_min", t_min), ("memory", memory), ("max_contexts", max_contexts)):
            if value < 2:
                raise ValueError(f"{name} must be at least 2, got {value!r}")
        self.phi = phi
        self.t_min = t_min
        self.memory = memory
        self.variance_share = variance_share
        self.max_contexts = max_contexts
        self.refresh = refresh
        self._contexts: list[_Context] = []
        self._drifters: list[_Floats] = []
        self._smallest_variance = 0.0
        self._time = 0
        self._n_born = 0

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return len(self._contexts)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the ids (n,) of the contexts nearest to rows (n, d); 0 if there is none yet."""
        X = np.asarray(X, dtype=np.float64)
        if not self._contexts:
            return np.zeros(len(X), dtype=np.int64)
        ids = np.array([context.id for context in self._contexts])
        distances = np.stack([context.distance(X) for context in self._contexts], axis=1)
        return ids[distances.argmin(axis=1)]

    def partial_fit(self, X: ArrayLike) -> PcStream:
        """Learn rows (n, d) in their order."""
        X = np.asarray(X, dtype=np.float64)
        if self._time == 0:
            self._smallest_variance = _SMALLEST_VARIANCE * (X.var(axis=0).mean() or 1.0)
        for start in range(0, len(X), _BLOCK):
            self._learn_block(X[start : start + _BLOCK])
        return self

    def _learn_block(self, X: _Floats) -> None:
        """Learn points (b, d), renewing the distances of contexts that change."""
        for context in self._contexts:
            context.ahead = context.distance(X)
        for row, point in enumerate(X):
            self._time += 1
            distances = np.array([context.ahead[row] for context in self._contexts])
            for context in self._learn(point, distances):
                if context.n_new >= self.refresh:
                    context.find_components(self.variance_share, self._smallest_variance)
                    context.ahead = context.distance(X)

    def _learn(self, point: _Floats, distances: _Floats) -> set[_Context]:
        """Learn a point (d,) at distances (k,) of the contexts; return those that changed."""
        if distances.size == 0 or distances.min() > self.phi:
            self._drifters.append(point)
            return self._give_birth() if len(self._drifters) == self.t_min else set()
        nearest = self._contexts[distances.argmin()]
        changed = {nearest}
        if self._drifters:
            current = max(self._contexts, key=lambda context: context.last_used)
            changed.add(current)
            self._remember(current, self._drifters)
            self._drifters = []
        self._remember(nearest, [point])
        nearest.last_used = self._time
        return changed

    def _give_birth(self) -> set[_Context]:
        """Make a context of the drifters; return it, and the one that was merged for it."""
        changed = {self._merge()} if len(self._contexts) == self.max_contexts else set()
        born = _Context(self._n_born, np.array(self._drifters[-self.memory :]), self._time)
        born.n_new = self.refresh  # it has no components yet
        self._contexts.append(born)
        self._n_born += 1
        self._drifters = []
        return changed | {born}

    def _merge(self) -> _Context:
        """Merge the context left alone for longest into its neighbour, and return that."""
        oldest = min(self._contexts, key=lambda context: context.last_used)
        self._contexts.remove(oldest)
        means = np.array([context.mean for context in self._contexts])
        into = self._contexts[np.linalg.norm(means - oldest.mean, axis=1).argmin()]
        points = np.concatenate([oldest.points, into.points])
        ages = np.concatenate([np.arange(len(c.points))[::-1] for c in (oldest, into)])
        into.points = points[np.argsort(-ages, kind="stable")][-self.memory :]
        into.n_new = self.refresh
        return into

    def _remember(self, context: _Context, points: list[_Floats]) -> None:
        """Give points to a context, which forgets its oldest ones."""
        context.points = np.concatenate([context.points, points])[-self.memory :]
        context.n_new += len(points)


def _principal_components(centred: _Floats) -> tuple[_Floats, _Floats]:
    """Return variances (r,), falling, and axes (d, r) of centred points (n, d)."""
    n, d = centred.shape
    if n > d:
        variances, axes = np.linalg.eigh(centred.T @ centred / (n - 1))
        return np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    squares, mixes = np.linalg.eigh(centred @ centred.T)
    squares, mixes = squares[:0:-1], mixes[:, :0:-1]  # centred points have at most rank n - 1
    lengths = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    return np.maximum(squares, 0.0) / (n - 1), centred.T @ mixes / lengths


def _make(
    task: Task,
    seed: int,
    phi: float = 1.0,
    t_min: int = 4,
    memory: int = 100,
    variance_share: float = 0.95,
) -> PcStream:
    """Make one that, for the sake of time, refreshes components after some points of a context."""
    return PcStream(phi, t_min, memory, variance_share, refresh=max(5, task.n_features // 10))


def _space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "phi": trial.suggest_float("phi", 0.3, 10.0, log=True),
        "t_min": trial.suggest_int("t_min", 2, 20, log=True),
        "memory": trial.suggest_int("memory", 20, 200, log=True),
        "variance_share": trial.suggest_float("variance_share", 0.7, 1.0),
    }


CONTESTANTS = (Contestant("pcStream", _make, _space, random=False),)
