"""The contract of an engine: where a batch's points live and who passes over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.base import Array, Family
from scstream.families.scores import Labels, Points, Score


@dataclass(frozen=True)
class Key:
    """What a random choice about a row is keyed by, together with the row itself."""

    seed: int
    batch: int
    sweep: int


@dataclass(frozen=True)
class Sums:
    """What a sweep returns about its k clusters.

    Attributes
    ----------
    current : ndarray (k, 2, p)
        Weighted sums of the points' statistics by label and sub-label.
    rows : ndarray (k, 2)
        Numbers of points by label and sub-label, whatever their weights.
    rivals : ndarray (k, k)
        How many points of each cluster have each other cluster as second choice.
    doubt : ndarray (k, k)
        Minus the log-probability of the labels: off the diagonal, summed over the points of
        either cluster whose second choice is the other; on it, that of the sub-labels.
    """

    current: Array
    rows: NDArray[np.int64]
    rivals: NDArray[np.int64]
    doubt: Array


class Engine(ABC):
    """Holds one batch and its labels. The sampler above never sees a point.

    Labels are positions of clusters, 0 to k - 1, and -1 for points that no cluster takes.
    """

    @abstractmethod
    def load(self, family: Family, X: Points, weight: Array) -> None:
        """Take a batch and its row weights (n,); every label is -1 until a sweep."""

    @abstractmethod
    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point by ``score`` and, within its cluster, by its pair of ``sub``.

        With a key labels are drawn, without one they are the best. ``score`` may have a
        component more than the k clusters: the points it takes get the label -1.
        """

    @abstractmethod
    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Try the better sub-label of ``sub`` for every point of the chosen clusters.

        Returns the sums (k, 2, p) that would result and the doubts (k,), zero for clusters not
        chosen. The points keep their sub-labels until `adopt`.
        """

    @abstractmethod
    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters; returns rows (k, 2)."""

    @abstractmethod
    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label by the tables (k, 2) each."""

    @abstractmethod
    def start(self, labels: Labels) -> None:
        """Set the labels; every sub-label becomes 0."""

    @abstractmethod
    def members(self, k: int, key: Key) -> Array:
        """Return the statistics (k, p) of one random point of each cluster, 0 if it has none."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return at most ``size`` rows of the batch, drawn without replacement."""

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """The labels (n,)."""

    @property
    @abstractmethod
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""

    @abstractmethod
    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], Any]
    ) -> NDArray[Any]:
        """Apply ``what`` to the scores of other rows, block by block, and join the results."""
