"""What a synthetic stream is made of: a true mixture, batches drawn from it, the stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BATCH_KEY = 1  # spawn key of the batches' generators; the truth's own start with 0


@dataclass(frozen=True, eq=False)
class Mixture(ABC):
    """The true mixture at one moment: ``c`` components that belong to clusters.

    A cluster has one component, or two while it moves gradually from an old place to a
    new one and its points come from either.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Probability of each component; they sum to one.
    clusters : ndarray of shape (c,)
        Id of the cluster that each component belongs to.
    """

    weights: Floats
    clusters: Ints

    @abstractmethod
    def draw(self, components: Ints, rng: np.random.Generator) -> Any:
        """Draw one point from each of the given components, shape (n,) -> (n, d)."""

    @abstractmethod
    def log_density(self, X: Any) -> Floats:
        """Log density of points of shape (n, d) under each component, shape (n, c)."""

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Any, Ints]:
        """Draw ``n`` points, shape (n, d), and their clusters' ids, shape (n,)."""
        components = rng.choice(self.weights.size, size=n, p=self.weights)
        return self.draw(components, rng), self.clusters[components]

    def classify(self, X: Any) -> Ints:
        """Most probable cluster of each point, given the true parameters.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            Cluster ids.
        """
        with np.errstate(divide="ignore"):  # a component of weight 0 is simply never chosen
            log_joint = self.log_density(X) + np.log(self.weights)
        ids, owner = np.unique(self.clusters, return_inverse=True)
        log_cluster = np.full((log_joint.shape[0], ids.size), -np.inf)
        for component, cluster in enumerate(owner):
            column = log_cluster[:, cluster]
            np.logaddexp(column, log_joint[:, component], out=column)
        labels: Ints = ids[np.argmax(log_cluster, axis=1)]
        return labels


@dataclass(frozen=True, eq=False)
class Batch:
    """Points that arrive together, with the truth about them.

    Parameters
    ----------
    X : array of shape (n, d)
        The points; a CSR array for sparse counts.
    y : ndarray of shape (n,)
        Id of the cluster that each point was drawn from. Ids persist over the stream.
    time : float
        When the batch arrives.
    truth : Mixture
        The mixture that the batch was drawn from.
    """

    X: Any
    y: Ints
    time: float
    truth: Mixture = field(repr=False)

    @cached_property
    def oracle(self) -> Ints:
        """Labels given by the true mixture, shape (n,).

        The most probable cluster of each point: no clustering can be expected to do
        better, since clusters overlap. Computed when first asked for.
        """
        return self.truth.classify(self.X)


class Stream:
    """A sequence of batches, each drawn when it is asked for.

    ``stream[b]`` is batch ``b``, the same one every time; a slice is a shorter stream of
    the same batches; a stream can be iterated over any number of times.

    Parameters
    ----------
    truth_at : callable
        Gives the true :class:`Mixture` of the batch of a given index.
    indices : range
        The batches' indices, which are also their times.
    batch_size, n_features : int
        Shape of each batch.
    seed : int
        Seeds the draws of a batch, together with its index.
    """

    def __init__(
        self,
        truth_at: Callable[[int], Mixture],
        indices: range,
        *,
        batch_size: int,
        n_features: int,
        seed: int,
    ) -> None:
        self.batch_size = batch_size
        self.n_features = n_features
        self._truth_at = truth_at
        self._indices = indices
        self._seed = seed

    def __len__(self) -> int:
        """How many batches there are."""
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Batch: ...
    @overload
    def __getitem__(self, index: slice) -> Stream: ...
    def __getitem__(self, index: int | slice) -> Batch | Stream:
        """One batch, or a stream of some of the batches."""
        if isinstance(index, slice):
            return Stream(
                self._truth_at,
                self._indices[index],
                batch_size=self.batch_size,
                n_features=self.n_features,
                seed=self._seed,
            )
        try:
            return self._draw(self._indices[index])
        except IndexError:
            raise IndexError(f"batch {index} asked of a stream of {len(self)} batches") from None

    def __iter__(self) -> Iterator[Batch]:
        """Draw the batches one after the other."""
        return map(self._draw, self._indices)

    def __repr__(self) -> str:
        """Size of the stream in words."""
        size = f"{len(self)} batches of {self.batch_size} points, {self.n_features} features"
        return f"Stream({size})"

    def _draw(self, index: int) -> Batch:
        truth = self._truth_at(index)
        X, y = truth.sample(self.batch_size, generator(self._seed, _BATCH_KEY, index))
        return Batch(X, y, float(index), truth)


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return the random generator of a seed and a key, independent of all other keys'."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
