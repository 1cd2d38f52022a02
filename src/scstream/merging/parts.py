"""What a model knows, at the time and in the frame of those that it is merged with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.sampler.clusters import ONE
from scstream.sampler.dormant import Dormant
from scstream.sampler.learner import Learner, recounted
from scstream.sampler.recipe import Events
from scstream.sampler.rules import Rules
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
    """A source at a common time and in a common frame: k clusters that are not forgotten.

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

    def keeping(self, kept: NDArray[np.bool_]) -> Part:
        """Return it with some clusters (k,)."""
        names = "ids", "born", "lived", "sums", "latest", "recent", "shown"
        some = {name: getattr(self, name)[kept] for name in names}
        return replace(self, entropy=self.entropy[np.ix_(kept, kept)], **some)


def part_of(source: Source, base: Learner, time: float, rules: Rules) -> Part:
    """Return a source at a later time, in the frame of a base and with rows that count as there."""
    own, latest = source.learner, source.latest
    if own.alike.weight != base.alike.weight:
        times = base.alike.weight / own.alike.weight
        own, latest = recounted(own, times), times * latest
    state = own.state.advance(time)
    left = state.share_left_of(own.state)
    kept = (state.totals[:, 0] >= ONE) & (state.recent >= ONE)
    asleep = own.dormant.after(own.state, own.state.select(np.flatnonzero(kept)), Events(), rules)
    dormant = changed(asleep, sums=reframed(asleep.sums, own.family, base.family))
    part = Part(
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
    return part.keeping(kept)


def reframed(sums: Array, before: Family, now: Family) -> Array:
    """Return statistics (..., p) of one family as another sums them up, or raise `ValueError`."""
    if before is now:
        return sums
    flat = now.reframed(np.ascontiguousarray(sums.reshape(-1, sums.shape[-1])), before)
    if flat is None:
        raise ValueError(
            f"Models of the family {now.name!r} cannot be merged that do not sum up rows alike: "
            "their columns, categories or directions differ."
        )
    out: Array = flat.reshape(*sums.shape[:-1], flat.shape[-1])
    return out
