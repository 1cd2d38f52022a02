"""The course of a stream of clusters: when each is there, where on its way, and how heavy.

A cluster's way is given by *anchors*, the parameters it has at a few places. The kind of
drift says with which weights the anchors count at a given batch, and whether those weights
interpolate the parameters or are the probabilities with which a point comes from one anchor
or another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from scstream.datasets._checks import check_choice, check_count, check_real, seed_of
from scstream.datasets.base import Floats, Ints, Mixture, Stream, generator

Drift = Literal["none", "incremental", "gradual", "sudden", "recurring"]
Weights = Literal["uniform", "dirichlet"]

_ANCHORS = {"none": 1, "incremental": 2, "gradual": 2, "sudden": 4, "recurring": 1}
_RAMP = 0.3  # gradual: share of the stream that a cluster's transition takes
_CYCLES = 3  # recurring: how often a cluster comes and goes
_PRESENT = 0.6  # recurring: share of a cycle during which the cluster is there
_SHORTEST_LIFE = 0.2  # births: share of the stream that a passing cluster lives at least


@dataclass(eq=False)
class Course:
    """The parameters that all streams have, checked, and what chance made of them.

    Attributes
    ----------
    place, move : Generator
        Where clusters start, and where they go.
    birth, death : ndarray of shape (k,)
        Times between which each cluster exists, as a share of the stream.
    phase : ndarray of shape (k,)
        Gradual: when the transition starts. Recurring: where in its cycle the cluster is at
        the start. In [0, 1).
    """

    n_batches: int
    batch_size: int
    n_clusters: int
    drift: Any
    births: float
    weights: Any
    random_state: Any
    place: np.random.Generator = field(init=False)
    move: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        for name in ("n_batches", "batch_size", "n_clusters"):
            setattr(self, name, check_count(name, getattr(self, name)))
        check_choice("drift", self.drift, get_args(Drift))
        check_choice("weights", self.weights, get_args(Weights))
        check_real("births", self.births, most=1.0)
        self._seed = seed_of(self.random_state)
        self.place, self.move, life = (generator(self._seed, 0, part) for part in range(3))
        even = np.full(self.n_clusters, 1.0 / self.n_clusters)
        uniform = self.weights == "uniform"
        self._weights = even if uniform else self.place.dirichlet(np.ones(self.n_clusters))
        self._draw_lives(life)

    def _draw_lives(self, rng: np.random.Generator) -> None:
        """Draw when each cluster lives and moves.

        Of the share ``births`` of the clusters that are not there the whole time, each third
        (in expectation) is born during the stream and stays, is there from the start and dies,
        or does both. The first cluster always stays, so that no batch is without clusters.
        """
        k = self.n_clusters
        self.birth, self.death = np.zeros(k), np.full(k, np.inf)
        born = rng.uniform(0.0, 1.0 - 2.0 * _SHORTEST_LIFE, k)
        fate = rng.integers(3, size=k)
        start = np.where(fate == 1, 0.0, born)
        dies = rng.uniform(start + _SHORTEST_LIFE, 1.0)
        passing = 1 + rng.permutation(k - 1)[: round(self.births * k)]
        self.birth[passing] = start[passing]
        self.death[passing] = np.where(fate == 0, np.inf, dies)[passing]
        self.phase = rng.uniform(size=k)

    @property
    def n_steps(self) -> int:
        """How many further places a cluster goes to."""
        return _ANCHORS[self.drift] - 1

    def stream(self, made: Callable[[Floats, Ints, Floats], Mixture], n_features: int) -> Stream:
        """Return the stream of mixtures that are made of a batch's components.

        These are their weights (c,), clusters (c,), and shares of the places (c, n_steps + 1).
        """
        return Stream(
            lambda index: made(*self.components(index)),
            range(self.n_batches),
            batch_size=self.batch_size,
            n_features=n_features,
            seed=self._seed,
        )

    def components(self, index: int) -> tuple[Floats, Ints, Floats]:
        """Return weights, clusters, and shares of the anchors of a batch's components."""
        clusters = np.flatnonzero(self._alive(index))
        share = self._weights[clusters] / self._weights[clusters].sum()
        coefficients = self._anchor_weights(index)[clusters]
        if self.drift != "gradual":
            return share, clusters, coefficients
        owner, anchor = np.nonzero(coefficients)  # points come from one anchor or another
        split = share[owner] * coefficients[owner, anchor]
        return split, clusters[owner], np.eye(coefficients.shape[1])[anchor]

    def _alive(self, index: int) -> NDArray[np.bool_]:
        """Which clusters give points to batch ``index``, shape (k,); the first always does."""
        now = self._progress(index)
        alive = (self.birth <= now) & (now < self.death)
        if self.drift == "recurring":
            alive &= (_CYCLES * now + self.phase) % 1.0 < _PRESENT
            alive[0] = True
        return alive

    def _anchor_weights(self, index: int) -> Floats:
        """Weights of the anchors of each cluster at batch ``index``, shape (k, a)."""
        anchors, k = _ANCHORS[self.drift], self.n_clusters
        if self.drift == "sudden":
            return np.tile(np.eye(anchors)[index * anchors // self.n_batches], (k, 1))
        if anchors == 1:
            return np.ones((k, 1))
        moved = np.full(k, self._progress(index))
        if self.drift == "gradual":
            moved = np.clip((moved - self.phase * (1.0 - _RAMP)) / _RAMP, 0.0, 1.0)
        return np.column_stack([1.0 - moved, moved])

    def _progress(self, index: int) -> float:
        """Share of the stream that has passed, 0 at the first batch and 1 at the last."""
        return index / max(self.n_batches - 1, 1)
