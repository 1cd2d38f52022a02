"""What is asked for: a batch as it is learned, how it is learned, and what happened on the way."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.how_many import LEAST
from scstream.families.scores import Labels, Points
from scstream.families.widening import Widening
from scstream.sampler.rules import RULES, Rules
from scstream.sampler.window import Forgetting
from scstream.support.frozen import frozen


@dataclass(frozen=True)
class Plan:
    """How batches are run.

    Attributes
    ----------
    sweeps : int
        Sampled sweeps of a batch after the first.
    max_sweeps : int
        Sampled sweeps of the first batch, at most.
    max_clusters : int or None
        No split makes more clusters than this.
    splits, merges : bool
        Whether such moves are made.
    """

    sweeps: int = 1
    max_sweeps: int = 100
    max_clusters: int | None = None
    splits: bool = True
    merges: bool = True


@dataclass
class Events:
    """What happened to clusters during a batch, by id, in order."""

    splits: list[tuple[int, int]] = field(default_factory=list)
    merges: list[tuple[int, int]] = field(default_factory=list)
    returns: list[int] = field(default_factory=list)
    given_up: list[int] = field(default_factory=list)
    moves: list[tuple[int, int]] = field(default_factory=list)


Progress = Callable[[int, int, float], None]


@frozen
class Batch:
    """A checked batch: rows, their weights and the time; labels if the user gives a start.

    Rows that are elsewhere have their weights with them, all positive.
    """

    X: Points
    weight: Array
    time: float
    labels: Labels | None = None
    even: bool = False  # whether it is known that each row counts one
    widened: tuple[Widening, ...] = ()  # columns that are taken for something wider from now on
    here: NDArray[Any] | None = None  # the rows where they came from, if that is this machine
    whole: bool = False  # whether these are all rows of a data set, so that none will follow
    alike: float = 1.0  # what each row counts of its weight, as it resembles the one before

    def rows(self, chosen: NDArray[np.bool_]) -> Batch:
        """Return the chosen rows (n,) of the batch."""
        labels = self.labels
        if labels is not None:
            labels = np.unique(labels[chosen], return_inverse=True)[1]
        return Batch(
            self.X[chosen],
            self.weight[chosen],
            self.time,
            labels,
            widened=self.widened,
            whole=self.whole,
        )

    def fetched(self) -> Batch:
        """Return the batch with its rows here."""
        X, weight = self.X.fetch()
        return replace(self, X=X, weight=weight)


@frozen
class Recipe:
    """What the user asked for: all that shapes the learning besides the data.

    Where the half-life is left open (``auto``) it follows the spacing of batches, and is longer for
    batches of a few rows.
    """

    family: Family
    alpha: float
    forgetting: Forgetting
    plan: Plan
    outlier_weight: float | Literal["auto"]
    progress: Progress | None
    auto: bool = False
    rules: Rules = RULES

    def for_batch(self, n: float, gap: float, spacing: float) -> Recipe:
        """Return what that means for a batch of n points, so long after the last one.

        ``spacing`` is usual between batches. A few rows are forgotten as slowly as a usual batch.
        """
        usual = self.forgetting.half_life
        if not self.auto or usual is None:
            return self
        few = self.rules.usual_rows / n if n else 1.0
        half_life = max(usual * spacing * max(1.0, few), gap / self.rules.pause)
        if half_life == usual:
            return self
        return replace(self, forgetting=replace(self.forgetting, half_life=half_life))

    def open_family(self) -> Family:
        """Return the family to be prepared by rows, some of which may be noise.

        Beside noise it describes them by few directions: in many, small clusters look like noise.
        """
        if self.outlier_weight != "auto":
            return self.family
        new = copy(self.family)
        new.most_directions = LEAST
        return new

    def new_spacing(self, before: float, gap: float, gaps: int) -> float:
        """Return the usual spacing of batches after one more gap, the so manieth; 0 is unknown."""
        if before in (0.0, gap):
            return gap
        jump = self.rules.spacing_jump
        likely = min(max(gap, before / jump), before * jump)
        return before + (likely - before) / min(gaps, self.rules.spacing_memory)

    def settled_rows(self, d: int) -> int:
        """Return how many rows of d columns set clusters and prior for good.

        A kernel tells batches apart that a start would join. Without new clusters, or with
        outliers from the first batch on, that batch sets them.
        """
        least = self.family.enough_rows(d)
        by_batches = self.forgetting.kernel is not None or self.outlier_weight not in (0, "auto")
        free = self.plan.splits and self.plan.merges and not by_batches
        return max(self.rules.warmup_rows, least) if free else least

    def alone_rows(self, d: int) -> int:
        """Return how many rows of a single batch do."""
        return min(self.settled_rows(d), max(self.rules.enough_alone, self.family.enough_rows(d)))
