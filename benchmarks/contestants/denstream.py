"""DenStream, as in its paper: Cao, Ester, Qian and Zhou, SDM 2006.

river's class of this name was written anew here. Up to 0.26.1 its radius shrinks to 0 away from the
origin (issue 2004, mended by 2005), its clusters end after one hop (2006), a micro-cluster that
is promoted may take the place of another, and weights decay only as long as no row comes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Prototypes
from benchmarks.contestants.scales import dense, neighbourhood

if TYPE_CHECKING:
    import optuna

_Rows = NDArray[np.float64]

_FIRST_ROWS = 1000  # of the first batch, clustered by DBSCAN's rule to begin with


class DenStream:
    """The method; a row is labelled by its nearest potential micro-cluster.

    Parameters
    ----------
    epsilon : float
        The largest radius of a micro-cluster.
    mu, beta : float
        The weight of a core micro-cluster, and the share of it that a potential one needs.
    decay : float
        A weight is multiplied by ``2 ** -decay`` in a unit of time.
    unit : int
        Rows in a unit of time.
    """

    def __init__(self, epsilon: float, mu: float, beta: float, decay: float, unit: int) -> None:
        if beta * mu <= 1.0:
            raise ValueError(f"beta * mu must be over 1, got {beta * mu:g}")
        self.epsilon = epsilon
        self.mu = mu
        self.least = beta * mu
        self.rate = decay / unit
        # A potential micro-cluster that gets no row is down to an outlier after this time.
        self.period = max(1, math.ceil(math.log2(self.least / (self.least - 1.0)) / self.rate))
        self._now = 0
        self._prototypes = Prototypes()
        self._table: _Rows | None = None  # a line each: weight, squares, time, birth, sums
        self._potential = np.empty(0, dtype=bool)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the clusters (n,) of rows (n, d)."""
        return self._prototypes.predict(dense(X))

    def partial_fit(self, X: Any) -> None:
        """Learn rows (n, d) one by one, then cluster the micro-clusters."""
        X = dense(X)
        if self._table is None:
            self._table = np.empty((0, 4 + X.shape[1]))
            X = self._begin(X)
        for row in X:
            self._now += 1
            self._learn(row)
            if self._now % self.period == 0:
                self._prune()
        self._cluster()

    def _begin(self, X: _Rows) -> _Rows:
        """Make micro-clusters of dense neighbourhoods of the first rows; return the other rows."""
        first = X[:_FIRST_ROWS]
        near = pairwise_distances(first) < self.epsilon
        free = np.ones(len(first), dtype=bool)
        for row in range(len(first)):
            members = near[row] & free
            if free[row] and members.sum() >= self.least:
                self._add(first[members], potential=True)
                free &= ~members
        return np.concatenate([first[free], X[_FIRST_ROWS:]])

    def _add(self, rows: _Rows, *, potential: bool = False) -> None:
        line = [len(rows), (rows**2).sum(), self._now, self._now, *rows.sum(axis=0)]
        self._table = np.vstack([self._table, line])
        self._potential = np.append(self._potential, potential)

    def _learn(self, x: _Rows) -> None:
        """Add a row (d,) to the nearest micro-cluster that takes it, potential ones first."""
        away = ((self._table[:, 4:] / self._table[:, :1] - x) ** 2).sum(axis=1)
        for kind in (self._potential, ~self._potential):
            lines = np.flatnonzero(kind)
            if not lines.size:
                continue
            line = self._table[lines[away[lines].argmin()]]
            faded = line.copy()
            faded[[0, 1]] *= 2.0 ** (-self.rate * (self._now - line[2]))
            faded[4:] *= 2.0 ** (-self.rate * (self._now - line[2]))
            faded[0] += 1.0
            faded[1] += x @ x
            faded[4:] += x
            if _radius(faded[None])[0] <= self.epsilon:
                faded[2] = self._now
                line[:] = faded
                self._potential[lines[away[lines].argmin()]] |= faded[0] > self.least
                return
        self._add(x[None])

    def _weights(self) -> _Rows:
        return self._table[:, 0] * 2.0 ** (-self.rate * (self._now - self._table[:, 2]))

    def _prune(self) -> None:
        """Forget potential micro-clusters that became outliers, and outliers that do not grow."""
        age = self._now - self._table[:, 3]
        grown = 2.0 ** (-self.rate * (age + self.period)) - 1.0
        least = np.where(
            self._potential, self.least, grown / (2.0 ** (-self.rate * self.period) - 1.0)
        )
        stay = self._weights() >= least
        self._table, self._potential = self._table[stay], self._potential[stay]

    def _cluster(self) -> None:
        """Join core micro-clusters within twice the radius; others go with the nearest core."""
        lines = self._table[self._potential]
        core = self._weights()[self._potential] >= self.mu
        lines = lines[core] if core.any() else lines
        if not len(lines):
            return  # all were forgotten: the clusters of before remain
        centres = lines[:, 4:] / lines[:, :1]
        near = pairwise_distances(centres) <= 2.0 * self.epsilon
        self._prototypes.update(centres, connected_components(near)[1])


def _radius(lines: _Rows) -> _Rows:
    """Return the root mean squared distances (m,) of micro-clusters' rows from their centres."""
    weight, squares, sums = lines[:, 0], lines[:, 1], lines[:, 4:]
    return np.sqrt(np.maximum(squares / weight - ((sums / weight[:, None]) ** 2).sum(axis=1), 0.0))


def _make(
    task: Task,
    seed: int,
    relative_epsilon: float = 0.6,
    decay: float = 0.25,
    beta: float = 0.75,
    mu: float = 4.0,
) -> DenStream:
    """Make one whose unit of time is a tenth of a batch."""
    epsilon = relative_epsilon * neighbourhood(dense(task.first))
    return DenStream(epsilon, mu, beta, decay, max(1, task.batch_size // 10))


def _space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "relative_epsilon": trial.suggest_float("relative_epsilon", 0.3, 3.0, log=True),
        "decay": trial.suggest_float("decay", 0.01, 1.0, log=True),
        "beta": trial.suggest_float("beta", 0.4, 1.0),
        "mu": trial.suggest_float("mu", 3.0, 20.0, log=True),  # beta * mu must be over 1
    }


CONTESTANTS = (Contestant("DenStream", _make, _space, random=False),)
