"""What several sections time: models that have begun, their updates, and bare products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.speed.timing import cycled
from scstream import Rules, ScStream

ALL_NEW = Rules(watched_batches=0)  # for batches that come again: their rows count as new ones


def started(stream: Any, family: Any = "gaussian", **options: Any) -> ScStream:
    """Return a model that learned a first batch in its true clusters, so that it has as many."""
    model = ScStream(
        family, random_state=0, max_sweeps=3, splits=False, merges=False, half_life=None,
        rules=ALL_NEW, **options,
    )  # fmt: skip
    first = stream[0]
    model.partial_fit(first.X, labels=first.y)
    return model.set_params(splits=True, merges=True)


def updates(model: ScStream, batches: Sequence[Any]) -> Callable[[int], None]:
    batch = cycled(batches)

    def run(turn: int) -> None:
        model.partial_fit(batch(turn))

    return run


def product(T: np.ndarray, eta: np.ndarray, turn: int) -> None:
    T @ eta.T
