"""Pairs of clusters with heavy tails, taken together: their rows with weights by both.

A row's weight depends on its cluster. What two clusters are together is another matter: a piece of
a tail looks like a cluster by its own centre and scale, and like a tail by those of both. So the
weights of the rows of a pair that may merge are found anew, by a centre and a scale that are sought
for the pair. See `scstream.families.scale_mixture`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scstream.families.contract import Array
from scstream.families.scale_mixture import LocationScale
from scstream.sampler.clusters import Ints, State
from scstream.sampler.context import Context
from scstream.sampler.ratios import log_hastings_split


@dataclass(frozen=True)
class Joint:
    """Pairs of clusters with weights by both: the present (m, 2, p), and the past.

    Of the past, which is sums alone, the distances from the centre are multiplied by roots (m, 2).
    """

    places: LocationScale
    present: Array
    roots: Array

    def whole(self, past: Array) -> Array:
        """Return the statistics (m, p) of both, given their past (m, 2, p) weighted elsewhere."""
        out: Array = (self.present + self.places.scaled(past, self.roots)).sum(axis=1)
        return out


def joint(ctx: Context, state: State, pairs: Ints) -> Joint:
    """Seek the places of pairs (m, 2), by sums first and then by the rows of the batch."""
    past, both = state.past.sum(axis=1)[pairs], by_sums(ctx, state, pairs)
    for _ in range(ctx.rules.weight_rounds):
        places = _places(ctx, both)
        new = Joint(places, ctx.engine.joined(pairs, places), places.roots_of_sums(past))
        both = new.whole(past)
    return new


def by_sums(ctx: Context, state: State, pairs: Ints) -> Array:
    """Return the statistics (m, p) of pairs with weights by both, as far as sums tell them."""
    sides = state.totals[pairs]
    both: Array = sides.sum(axis=1)
    for _ in range(ctx.rules.weight_rounds):
        places = _places(ctx, both)
        both = places.scaled(sides, places.roots_of_sums(sides)).sum(axis=1)
    return both


def _places(ctx: Context, s: Array) -> LocationScale:
    assert ctx.family.tails is not None
    return ctx.family.tails.location_scale(s)


def jointly_weighted_marginals(ctx: Context, state: State, pairs: Ints, whole: Array) -> Array:
    """Return the log marginals (m,) of pairs of clusters, whose own are ``whole`` (k,), together.

    Where sums leave no hope that they are one cluster, their rows are not looked at.
    """
    out = ctx.family.log_marginal(by_sums(ctx, state, pairs))
    entropy = state.past_entropy[*pairs.T] + state.now.entropy[*pairs.T]
    lost = log_hastings_split(
        ctx, state.totals[pairs, :1], entropy, whole[pairs], out, least=0.0
    )  # fmt: skip
    near = lost < ctx.rules.weight_hopeless * state.totals[pairs, 0].sum(axis=1)
    if near.any():
        past = state.past.sum(axis=1)[pairs[near]]
        out[near] = ctx.family.log_marginal(joint(ctx, state, pairs[near]).whole(past))
    return out


def with_joint_weights(pairs: Joint, after: State, at: Ints) -> State:
    """Return clusters after a merge, m of which have the weights by both of a pair.

    A pair's first became the first sub-cluster of the cluster in the place ``at`` (m,).
    """
    current, sums = after.now.current.copy(), after.window.sums.copy()
    current[at] = pairs.present
    sums[:, at] = pairs.places.scaled(sums[:, at], pairs.roots)
    window = replace(after.window, sums=sums)
    past, _ = window.past()
    now = replace(after.now, current=current)
    return after.having(now=now, window=window, past=past, known=None)
