"""What a model knows, at the time and in the frame of those that it is merged with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.sampler.dormant import Dormant
from scstream.sampler.learner import Learner, recounted
from scstream.support.frozen import changed

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """A model to be merged: what it learned, and its latest batch, (k, 2, p) of its clusters."""

    learner: Learner
    latest: Array

    @property
    def begun(self) -> float:
        """When it began, as far as it knows: when the first of its clusters was born."""
        own = self.learner
        return float(min(own.state.born.min(), own.dormant.born.min(initial=np.inf)))


@dataclass(frozen=True)
class Part:
    """A source at a common time and in a common frame, with its k clusters.

    Attributes
    ----------
    learner : Learner
        As it was, but for what its rows count.
    left : float
        The share of what it remembered that is left.
    ids, born, lived : ndarray (k,)
    sums, latest : ndarray (k, 2, p)
        Statistics of sub-clusters, and those of the last batch among them.
    entropy : ndarray (k, k)
    recent, shown : ndarray (k,)
        Points and latest rows that each got, see `ClusterState.recent` and `Learner.latest`.
    unlabelled : float
        The latest rows that none got.
    dormant : Dormant
    """

    learner: Learner
    left: float
    ids: Ints
    born: Array
    lived: Ints
    sums: Array
    latest: Array
    entropy: Array
    recent: Array
    shown: Array
    unlabelled: float
    dormant: Dormant

    def forgetting(self, share: Array, fresh: Array) -> Part:
        """Return it with a share (k,) of each cluster left, but for what is fresh (k, 2, p)."""
        sums = share[:, None, None] * (self.sums - fresh) + fresh
        left = sums[:, :, 0].sum(axis=1) / np.maximum(self.sums[:, :, 0].sum(axis=1), 1e-300)
        return replace(self, sums=sums, entropy=np.minimum.outer(left, left) * self.entropy)


def part_of(source: Source, base: Learner, time: float) -> Part:
    """Return a source at a later time, in the frame of a base and with rows that count as there."""
    own, latest = source.learner, source.latest
    if own.alike.weight != base.alike.weight:
        times = base.alike.weight / own.alike.weight
        own, latest = recounted(own, times), times * latest
    state = own.state.advance(time)
    left = state.share_left_of(own.state)
    dormant = changed(own.dormant, sums=reframed(own.dormant.sums, own.family, base.family))
    return Part(
        learner=own,
        left=left,
        ids=state.ids,
        born=state.born,
        lived=own.state.lived,
        sums=reframed(state.past, own.family, base.family),
        latest=reframed(left * latest, own.family, base.family),
        entropy=state.past_entropy,
        recent=state.recent,
        shown=own.latest[:-1],
        unlabelled=float(own.latest[-1]),
        dormant=dormant,
    )


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
