"""Clusters of heavy tails taken together: their rows, tamed in the frame of both.

Each cluster tames its rows in a frame of its own. What two of them are together is another matter:
a piece of a tail looks like a cluster in its own frame, and like a tail in that of both.
So the rows of a pair that may merge are tamed once more, in a frame that is sought for the pair.
See `scstream.families.taming`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scstream.families.contract import Array
from scstream.families.taming import Frames
from scstream.sampler.clusters import Ints, State
from scstream.sampler.context import Context
from scstream.sampler.ratios import log_hastings_split


@dataclass(frozen=True)
class Together:
    """Pairs of clusters in the frames of both: the present (m, 2, p), and the past.

    Of the past, which is sums alone, the distances from the centre are multiplied ``by`` (m, 2).
    """

    frames: Frames
    present: Array
    by: Array

    def whole(self, past: Array) -> Array:
        """Return the statistics (m, p) of both, given their past (m, 2, p) elsewhere."""
        out: Array = (self.present + self.frames.moved(past, self.by)).sum(axis=1)
        return out


def together(ctx: Context, state: State, pairs: Ints) -> Together:
    """Seek the frames of pairs (m, 2), by sums first and then by the rows of the batch."""
    past, both = state.past.sum(axis=1)[pairs], by_sums(ctx, state, pairs)
    for _ in range(ctx.rules.frame_rounds):
        frames = ctx.family.frames(both)
        new = Together(frames, ctx.engine.joined(pairs, frames), frames.of_sums(past))
        both = new.whole(past)
    return new


def by_sums(ctx: Context, state: State, pairs: Ints) -> Array:
    """Return the statistics (m, p) of pairs in the frame of both, as far as sums tell them."""
    sides = state.totals[pairs]
    both: Array = sides.sum(axis=1)
    for _ in range(ctx.rules.frame_rounds):
        frames = ctx.family.frames(both)
        both = frames.moved(sides, frames.of_sums(sides)).sum(axis=1)
    return both


def joined_in_frames(ctx: Context, state: State, pairs: Ints, whole: Array) -> Array:
    """Return the log marginals (m,) of pairs of clusters, whose own are ``whole`` (k,), together.

    Where sums leave no hope that they are one cluster, their rows are not looked at.
    """
    out = ctx.family.log_marginal(by_sums(ctx, state, pairs))
    entropy = state.past_entropy[*pairs.T] + state.now.entropy[*pairs.T]
    lost = log_hastings_split(
        ctx, state.totals[pairs, :1], entropy, whole[pairs], out, least=0.0
    )  # fmt: skip
    near = lost < ctx.rules.frame_hopeless * state.totals[pairs, 0].sum(axis=1)
    if near.any():
        past = state.past.sum(axis=1)[pairs[near]]
        out[near] = ctx.family.log_marginal(together(ctx, state, pairs[near]).whole(past))
    return out


def in_merged_frames(pairs: Together, after: State, at: Ints) -> State:
    """Return clusters after a merge, with what came of m pairs in the frames of these.

    A pair's first became the first sub-cluster of the cluster in the place ``at`` (m,).
    """
    current, sums = after.now.current.copy(), after.window.sums.copy()
    current[at] = pairs.present
    sums[:, at] = pairs.frames.moved(sums[:, at], pairs.by)
    window = replace(after.window, sums=sums)
    past, _ = window.past()
    now = replace(after.now, current=current)
    return after.having(now=now, window=window, past=past, known=None)
