"""What is known of each row: how sure its label is, and how unusual it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns, numbers_of
from scstream.families.gaps import observed_scores
from scstream.sampler.scores import Sketch
from scstream.support.arithmetic import numpy_defaults
from scstream.support.blas import single_threaded

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.sampler.learner import Learner

_ROWS = 4096  # looked at at once: their scores fit into the cache

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Assessment:
    """What a model says of some rows.

    Attributes
    ----------
    labels : ndarray (n,)
        The most probable cluster, -1 for outliers: `ScStream.predict`.
    probability : ndarray (n,)
        That of the labels asked for, or else of `labels`: `ScStream.predict_proba`.
    score : ndarray (n,)
        The log density: `ScStream.score_samples`.
    scores : Sketch
        What `anomaly` compares scores with.
    """

    labels: NDArray[np.int64]
    probability: Floats
    score: Floats
    scores: Sketch

    def found(self) -> dict[str, NDArray[Any]]:
        """Return all of it by the names of the fields that sinks write."""
        return {
            "label": self.labels, "probability": self.probability, "score": self.score,
            "anomaly": self.anomaly,
        }  # fmt: skip

    @property
    def anomaly(self) -> Floats:
        """The share of recent rows that were less expected (n,): `ScStream.anomaly`."""
        return self.scores.share_below(self.score)


def learner_of(model: ScStream) -> Learner | None:
    """Return what a model knows, which stays as it is while the model learns on; None at first."""
    return getattr(model, "_learner", None)


@numpy_defaults
def assess(learner: Learner, X: Any, labels: NDArray[np.int64] | None = None) -> Assessment:
    """Return labels, probabilities and scores of rows that a model has accepted, in one pass.

    Parameters
    ----------
    learner : Learner
        See `learner_of`.
    X : ndarray (n, d) or Columns
        Rows that the model took, or would take.
    labels : ndarray (n,), optional
        The labels whose probabilities are asked for; 0 for those that the model does not know.
    """
    family, k = learner.family, learner.state.k
    score, level = learner.next_point()
    ids = np.append(learner.state.ids, -1)
    plain = family.tabular or not isinstance(X, Columns)
    points = family.check(X if plain else numbers_of(X))
    n = points.shape[0]
    place = np.full(n, -1) if labels is None else _places(labels, ids)
    best, probability, density = np.empty(n, np.int64), np.empty(n), np.empty(n)
    with single_threaded():
        for a in range(0, n, _ROWS):
            rows = slice(a, a + _ROWS)
            block = observed_scores(family, score, points[rows])
            best[rows], probability[rows], density[rows] = _found(block, k, place[rows])
    density += family.log_base(points) + level
    return Assessment(ids[best], probability, density, learner.scores)


def _found(
    scores: Floats, k: int, place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return the best label of each row, the probability of the one asked for, and the density.

    Column k of the scores (n, c) is a cluster yet to be born, which is not a label. What follows,
    the outlier component, is: its place is k. The place asked for is -1 for the best one.
    """
    labels = np.delete(scores, k, axis=1)
    best = labels.argmax(axis=1)
    high = labels.max(axis=1)
    known = np.exp(labels - high[:, None]).sum(axis=1)
    density = np.logaddexp(high + np.log(known), scores[:, k])
    at = np.where(place == -1, best, place)
    there = (at >= 0) & (at < labels.shape[1])
    asked = labels[np.arange(len(at)), np.where(there, at, 0)]
    return best, np.where(there, np.exp(asked - high) / known, 0.0), density


def _places(labels: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each label is among the ids, -2 if it is not."""
    order = np.argsort(ids)
    at = order[np.searchsorted(ids, labels, sorter=order).clip(max=len(ids) - 1)]
    return np.where(ids[at] == labels, at, -2)
