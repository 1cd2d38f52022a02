"""The steps of a batch by name.

`scstream.sampler.generic` takes them for every family and engine: it is the text to read. The
compiled steps of `scstream.sampler.gaussian` do the same to Gaussian clusters of few columns, and
to their rows where these are few. `scstream.sampler.choose` chooses, once a batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.sampler.clusters import ONE, Ints, State
from scstream.sampler.context import Context
from scstream.sampler.merged_frames import Together, together
from scstream.sampler.recipe import Plan

Forget = Callable[[State], State]  # what lets clusters forget a part of their past


class Divided(NamedTuple):
    """The clusters after a division was tried, and what was tried: sums (k, 2, p), doubts (k,).

    Also whether the present of some may have to be set apart, and whether some division may be
    clear, see `scstream.sampler.subclusters.is_clear`.
    """

    state: State
    current: Array
    doubt: Array
    apart: bool
    clear: bool = True


NOTHING, DIVIDED, SWEPT, SETTLED = range(4)  # how far the steps of a batch have got


class Ahead(NamedTuple):
    """How far the usual steps of a later batch were taken at once, up to something unusual.

    Attributes
    ----------
    state : State
        The clusters as far as that.
    done : int
        ``NOTHING``; ``DIVIDED``: up to a division of which more may follow, or something moves
        then; ``SWEPT``: up to the last sweep; ``SETTLED``: nothing moves after it.
    divided : Divided or None
        That division.
    """

    state: State
    done: int = NOTHING
    divided: Divided | None = None


class Steps(Context, ABC):
    """The steps that touch every point, or cost a matrix for every cluster, and their context.

    What else happens to clusters is arithmetic on a few numbers, in one place for all.
    """

    @abstractmethod
    def restricted_sweep(self, state: State) -> State:
        """Draw weights and parameters, then every point's label and sub-label."""

    @abstractmethod
    def predictive_sweep(self, state: State) -> State:
        """Draw labels and sub-labels by weight times predictive."""

    @abstractmethod
    def deterministic_sweep(self, state: State) -> State:
        """Give every point its best label by weight times predictive, and both sub-clusters."""

    @abstractmethod
    def left_out_sweep(self, state: State) -> State:
        """Do the same, but let no point count in the cluster that it is in when it is labelled."""

    def last_sweep(self, state: State) -> State:
        """Take the sweep that ends a batch: a deterministic one, unless a rule says otherwise."""
        if not self.rules.deterministic_end:
            return self.restricted_sweep(state)
        few = state.count < ONE * self.left_out_below(state.k)
        return self.left_out_sweep(state) if few else self.deterministic_sweep(state)

    def left_out_below(self, k: int) -> float:
        """Return how many points k clusters must have for each to count in its own at the end.

        It is 0 where the statistics of rows depend on their labels, as those of rows with gaps do:
        what such a row taught its cluster is not known.
        """
        if self.engine.has_gaps():
            return 0.0
        return self.rules.left_out * k * len(self.family.prior)

    def take_usual_steps(self, state: State, plan: Plan, *, few: bool) -> Ahead:
        """Take the steps of a later batch at once, as far as nothing unusual happens.

        They are those of `scstream.sampler.batch.later_batch` in their order. Who has nothing to
        gain by that takes none. ``few`` says that the predictives draw the labels.
        """
        return Ahead(state)

    @abstractmethod
    def forget(self, state: State) -> State:
        """Keep the share of each cluster's past that best predicts its present."""

    @abstractmethod
    def divide(
        self, state: State, chosen: NDArray[np.bool_], *, keep_better: bool,
        forget: Forget | None = None,
    ) -> Divided:  # fmt: skip
        """Try a new division of the chosen clusters, let them forget if asked to, and judge it."""

    @abstractmethod
    def judge_division(
        self, state: State, chosen: NDArray[np.bool_], current: Array, doubt: Array, *,
        keep_better: bool,
    ) -> tuple[State, bool]:  # fmt: skip
        """Give the chosen clusters the division that was tried, or only where it is better.

        Also returns whether some cluster's present may have to be set apart from its past.
        """

    @abstractmethod
    def merge_ratios(
        self, state: State, neighbours: int, born_from: int
    ) -> tuple[Ints, Array, Array]:
        """Return pairs (m, 2) that may merge, log ratios (m,), log marginals of both together."""

    def together(self, state: State, pairs: Ints) -> Together:
        """Return pairs (m, 2) of clusters of heavy tails in frames of both."""
        return together(self, state, pairs)

    @abstractmethod
    def may_move(self, state: State, log_u: Array, *, greedy: bool) -> bool:
        """Whether some cluster may be split, merged or dropped; false only if none is.

        The logs of the uniforms that decide are for k splits, and then for merges, see
        `scstream.sampler.split_merge.decisions`.
        """
