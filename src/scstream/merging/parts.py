"""What a model knows, at the time and in the frame of those that it is merged with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Sums
from scstream.families.contract import Array, Family
from scstream.sampler.clusters import State
from scstream.sampler.dormant import Dormant
from scstream.sampler.learner import Learner, recounted
from scstream.support.frozen import changed

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """A model to be merged: what it learned, and its latest batch, (k, 2, p) of its clusters."""

    learner: Learner
    latest: Array


def begun(learner: Learner) -> float:
    """Return when a model began, as far as it knows: when the first of its clusters was born."""
    return float(min(learner.state.born.min(), learner.dormant.born.min(initial=np.inf)))


@dataclass(frozen=True)
class Part:
    """A source at a common time and in a common frame.

    Attributes
    ----------
    learner : Learner
        As it was, but for what its rows count.
    left : float
        The share of what it remembered that is left.
    state : State
        Its k clusters. Its latest batch is the present, if no other model has a later one.
    shown : ndarray (k,)
        The latest rows that each got, see `Learner.latest`.
    most : ndarray (k,)
        The most points that each counted.
    dormant : Dormant
    """

    learner: Learner
    left: float
    state: State
    shown: Array
    most: Array
    dormant: Dormant

    def divided(self, which: Ints) -> tuple[Part, Ints]:
        """Return it with some clusters split, and where sub-clusters (k, 2) went."""
        state, moved = self.state.split(which, self.learner.time)
        row = np.append(np.arange(self.state.k), which)
        share = state.totals[:, 0] / np.maximum(self.state.totals[row, 0], 1e-300)
        return replace(self, state=state, shown=share * self.shown[row], most=self.most[row]), moved


def part_of(source: Source, base: Learner, time: float) -> Part:
    """Return a source at a later time, in the frame of a base and with rows that count as there."""
    own, latest = source.learner, source.latest
    if own.alike.weight != base.alike.weight:
        times = base.alike.weight / own.alike.weight
        own, latest = recounted(own, times), times * latest
    state = own.state.advance(time).having(lived=own.state.lived)
    left = state.share_left_of(own.state)
    state = state.carried(lambda sums: reframed(sums, own.family, base.family))
    if own.time == time and state.window.forgetting.kernel is None:
        here = reframed(latest, own.family, base.family)
        now = replace(Sums.nothing(*here.shape[::2]), current=here)
        earlier = np.maximum(state.recent - here[:, :, 0].sum(axis=1), 0.0)
        past, entropy = state.past - here, state.past_entropy
        state = state.with_past(past, entropy, now=now, earlier=earlier)
    dormant = changed(own.dormant, sums=reframed(own.dormant.sums, own.family, base.family))
    return Part(own, left, state, own.latest[:-1], own.dormant.most, dormant)


def share_of(learner: Learner, share: float) -> Learner:
    """Return a model to which its rows count a share of what they did.

    Of dormant clusters a merge takes the heaviest part, and so of the most that clusters counted:
    these stay whole.
    """
    new, scores, outliers = recounted(learner, share), learner.scores, learner.outliers
    if outliers is not None and outliers.held is None:
        outliers = outliers.carried(lambda sums: share * sums)
    else:
        outliers = new.outliers
    return changed(
        new,
        outliers=outliers,
        dormant=learner.dormant,
        scores=replace(scores.faded(share), seen=share * scores.seen),
        suspicion=share * learner.suspicion,
    )


def reframed(sums: Array, before: Family, now: Family) -> Array:
    """Return statistics (..., p) of one family as another sums them up, or raise `ValueError`."""
    if before is now:
        return sums
    flat = now.reframed(np.ascontiguousarray(sums.reshape(-1, sums.shape[-1])), before)
    if flat is None:
        raise ValueError(
            f"Models of the family {now.name!r} cannot be merged that do not sum up rows alike: "
            f"{now.difference(before)}."
        )
    out: Array = flat.reshape(*sums.shape[:-1], flat.shape[-1])
    return out
