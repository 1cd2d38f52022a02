"""When clusters are there and where on their way they are: the kinds of drift.

A cluster's way is given by *anchors*, the parameters it has at a few places. The kind of
drift says with which weights the anchors count at a given batch, and whether those weights
interpolate the parameters or are the probabilities with which a point comes from one anchor
or another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from scstream.datasets.base import Floats, Ints

Drift = Literal["none", "incremental", "gradual", "sudden", "recurring"]
Weights = Literal["uniform", "dirichlet"]

DRIFTS: tuple[str, ...] = get_args(Drift)
WEIGHTS: tuple[str, ...] = get_args(Weights)

_ANCHORS = {"none": 1, "incremental": 2, "gradual": 2, "sudden": 4, "recurring": 1}

_RAMP = 0.3  # gradual: share of the stream that a cluster's transition takes
_CYCLES = 3  # recurring: how often a cluster comes and goes
_PRESENT = 0.6  # recurring: share of a cycle during which the cluster is there
_SHORTEST_LIFE = 0.2  # births: share of the stream that a passing cluster lives at least


@dataclass(frozen=True, eq=False)
class Itinerary:
    """Presence and progress of ``k`` clusters over a stream.

    Parameters
    ----------
    drift : str
        Kind of drift.
    n_batches : int
        Length of the stream.
    birth, death : ndarray of shape (k,)
        Times between which each cluster exists, as a share of the stream.
    phase : ndarray of shape (k,)
        Gradual: when the transition starts. Recurring: where in its cycle the cluster is at
        the start. In [0, 1).
    """

    drift: Drift
    n_batches: int
    birth: Floats
    death: Floats
    phase: Floats

    @property
    def mixes(self) -> bool:
        """Whether points come from one anchor or another, rather than from in between."""
        return self.drift == "gradual"

    def alive(self, index: int) -> NDArray[np.bool_]:
        """Which clusters give points to batch ``index``, shape (k,); the first always does."""
        now = self._progress(index)
        alive = (self.birth <= now) & (now < self.death)
        if self.drift == "recurring":
            alive &= (_CYCLES * now + self.phase) % 1.0 < _PRESENT
            alive[0] = True
        return alive

    def anchor_weights(self, index: int) -> Floats:
        """Weights of the anchors of each cluster at batch ``index``, shape (k, a)."""
        anchors, n_clusters = n_anchors(self.drift), self.birth.size
        if self.drift == "sudden":
            row = np.eye(anchors)[index * anchors // self.n_batches]
            return np.tile(row, (n_clusters, 1))
        if anchors == 1:
            return np.ones((n_clusters, 1))
        moved = np.full(n_clusters, self._progress(index))
        if self.drift == "gradual":
            start = self.phase * (1.0 - _RAMP)
            moved = np.clip((moved - start) / _RAMP, 0.0, 1.0)
        return np.column_stack([1.0 - moved, moved])

    def components(self, index: int, weights: Floats) -> tuple[Floats, Ints, Floats]:
        """Return the mixture's components at batch ``index``.

        Parameters
        ----------
        index : int
        weights : ndarray of shape (k,)
            Weights of the clusters, were all of them alive.

        Returns
        -------
        component_weights : ndarray of shape (c,)
            They sum to one.
        clusters : ndarray of shape (c,)
            The cluster of each component.
        coefficients : ndarray of shape (c, a)
            Each component's parameters as a combination of its cluster's anchors.
        """
        clusters = np.flatnonzero(self.alive(index))
        share = weights[clusters] / weights[clusters].sum()
        coefficients = self.anchor_weights(index)[clusters]
        if not self.mixes:
            return share, clusters, coefficients
        owner, anchor = np.nonzero(coefficients)
        split = share[owner] * coefficients[owner, anchor]
        return split, clusters[owner], np.eye(coefficients.shape[1])[anchor]

    def _progress(self, index: int) -> float:
        """Share of the stream that has passed, 0 at the first batch and 1 at the last."""
        return index / max(self.n_batches - 1, 1)


def n_anchors(drift: Drift) -> int:
    """How many anchors a cluster's way has under a kind of drift."""
    return _ANCHORS[drift]


def draw_itinerary(
    drift: Drift, n_batches: int, n_clusters: int, births: float, rng: np.random.Generator
) -> Itinerary:
    """Draw when each cluster lives and moves.

    Of the share ``births`` of the clusters that are not there the whole time, each third
    (in expectation) is born during the stream and stays, is there from the start and dies,
    or does both. The first cluster always stays, so that no batch is without clusters.
    """
    birth, death = np.zeros(n_clusters), np.full(n_clusters, np.inf)
    born = rng.uniform(0.0, 1.0 - 2.0 * _SHORTEST_LIFE, n_clusters)
    fate = rng.integers(3, size=n_clusters)
    start = np.where(fate == 1, 0.0, born)
    dies = rng.uniform(start + _SHORTEST_LIFE, 1.0)
    passing = 1 + rng.permutation(n_clusters - 1)[: round(births * n_clusters)]
    birth[passing] = start[passing]
    death[passing] = np.where(fate == 0, np.inf, dies)[passing]
    return Itinerary(drift, n_batches, birth, death, rng.uniform(size=n_clusters))


def draw_weights(kind: Weights, n_clusters: int, rng: np.random.Generator) -> Floats:
    """Draw the clusters' weights, shape (k,): all equal, or uniform on the simplex."""
    if kind == "uniform":
        return np.full(n_clusters, 1.0 / n_clusters)
    return rng.dirichlet(np.ones(n_clusters))
