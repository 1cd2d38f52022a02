"""The course of a stream of clusters, whatever they are made of: sizes, lives, weights, chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scstream.datasets._checks import check_choice, check_count, check_real, seed_of
from scstream.datasets.base import Floats, Ints, Mixture, Stream, generator
from scstream.datasets.drift import DRIFTS, WEIGHTS, draw_itinerary, draw_weights, n_anchors


@dataclass(eq=False)
class Course:
    """What the parameters that all streams have come to, checked."""

    n_batches: int
    batch_size: int
    n_clusters: int
    drift: Any
    births: float
    weights: Any
    random_state: Any
    place: np.random.Generator = field(init=False)  # where clusters start
    move: np.random.Generator = field(init=False)  # where they go

    def __post_init__(self) -> None:
        for name in ("n_batches", "batch_size", "n_clusters"):
            setattr(self, name, check_count(name, getattr(self, name)))
        check_choice("drift", self.drift, DRIFTS)
        check_choice("weights", self.weights, WEIGHTS)
        births = check_real("births", self.births, most=1.0)
        self._seed = seed_of(self.random_state)
        self.place, self.move, life = (generator(self._seed, 0, part) for part in range(3))
        self._weights = draw_weights(self.weights, self.n_clusters, self.place)
        self._itinerary = draw_itinerary(self.drift, self.n_batches, self.n_clusters, births, life)

    @property
    def n_steps(self) -> int:
        """How many further places a cluster goes to."""
        return n_anchors(self.drift) - 1

    def stream(self, made: Callable[[Floats, Ints, Floats], Mixture], n_features: int) -> Stream:
        """Return the stream of mixtures that are made of a batch's components.

        These are their weights (c,), clusters (c,), and shares of the places (c, n_steps + 1).
        """
        return Stream(
            lambda index: made(*self._itinerary.components(index, self._weights)),
            range(self.n_batches),
            batch_size=self.batch_size,
            n_features=n_features,
            seed=self._seed,
        )
