"""A run as its page sees it."""

from __future__ import annotations

from dataclasses import dataclass

from scstream.chronicle import Chronicle
from scstream.plot.colors import PALETTE, ClusterColors
from scstream.plot.time import most_important


@dataclass(frozen=True)
class Run:
    """What all pictures of a page share."""

    chronicle: Chronicle
    weights: list[dict[int, float]]
    important: list[int]
    colors: ClusterColors

    @classmethod
    def of(cls, chronicle: Chronicle) -> Run:
        """Return the run of a chronicle, its largest clusters in colours of their own."""
        weights = chronicle.weights()
        important = most_important(weights, len(PALETTE))
        colors = ClusterColors.of_few(important, others=(i for w in weights for i in w))
        return cls(chronicle, weights, important, colors)
