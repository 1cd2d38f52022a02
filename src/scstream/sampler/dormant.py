"""Clusters that were forgotten and may come back: a birth that fits one is a return.

A cluster without rows for some half-lives is dropped. What it was like is remembered here, as
its statistics, for a bounded number of clusters: should one be born that is like it, it gets the id
and the shape of the old one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scstream.families.contract import Array, Family
from scstream.sampler.clusters import ONE, Ints, State
from scstream.sampler.context import Context
from scstream.sampler.recipe import Events
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen


@frozen
class Dormant:
    """The clusters that were forgotten, the latest last.

    Attributes
    ----------
    ids : ndarray (m,)
    born : ndarray (m,)
        Their times of birth.
    sums : ndarray (m, p)
        Their statistics, as when they counted most.
    awake : ndarray (k,)
        The ids of the clusters that are there.
    most : ndarray (k,)
        How many points each of these counted at most.
    """

    ids: Ints
    born: Array
    sums: Array
    awake: Ints
    most: Array

    @staticmethod
    def none(state: State) -> Dormant:
        """Return the memory of a model that has just begun."""
        none = np.zeros(0, dtype=np.int64)
        p = state.past.shape[2]
        return Dormant(none, np.zeros(0), np.zeros((0, p)), state.ids, state.totals[:, 0].copy())

    def after(self, before: State, now: State, events: Events, rules: Rules) -> Dormant:
        """Return the memory after a batch, in which the clusters ``before`` became those of now.

        Those that were merged into others live on in them, and one that was given up is no cluster.
        """
        if now.ids is before.ids or np.array_equal(now.ids, self.awake):
            most = np.maximum(self.most, now.totals[:, 0])
            return Dormant(self.ids, self.born, self.sums, now.ids, most)
        n = now.totals[:, 0]
        known = dict(zip(self.awake.tolist(), self.most.tolist(), strict=True))
        most = np.maximum([known.get(i, 0.0) for i in now.ids.tolist()], n)
        awake = set(now.ids.tolist())
        merged = {b for _, b in events.merges}.union(events.given_up)
        least = ONE * rules.dormant_points
        asleep = [
            r
            for r, i in enumerate(before.ids.tolist())
            if i not in awake and i not in merged and known.get(i, 0.0) >= least
        ]
        still = np.array([i not in awake for i in self.ids.tolist()], dtype=bool)
        ids = np.concatenate([self.ids[still], before.ids[asleep]])
        born = np.concatenate([self.born[still], before.born[asleep]])
        was = before.totals[asleep]
        scale = [known[i] for i in before.ids[asleep].tolist()]
        was = was * (np.array(scale) / np.maximum(was[:, 0], 1e-300))[:, None]
        sums = np.concatenate([self.sums[still], was])
        first = max(len(ids) - rules.dormant, 0)
        return Dormant(ids[first:], born[first:], sums[first:], now.ids, most)

    def all_asleep(self, before: State, rules: Rules) -> Dormant:
        """Return the memory with all clusters asleep, as of a model that begins anew."""
        return self.after(before, before.select(np.zeros(0, dtype=np.int64)), Events(), rules)

    def reframed(self, before: Family, now: Family) -> Dormant:
        """Return the memory of clusters of one family in the terms of another.

        If that cannot be, none is remembered.
        """
        sums = now.reframed(self.sums, before)
        if sums is None:
            p = len(now.prior)
            return replace(self, ids=self.ids[:0], born=self.born[:0], sums=np.zeros((0, p)))
        return replace(self, sums=sums)

    def beside(self, state: State) -> Dormant:
        """Return the memory of those that are not among the clusters, which have just begun."""
        still = ~np.isin(self.ids, state.ids)
        n = state.totals[:, 0].copy()
        return Dormant(self.ids[still], self.born[still], self.sums[still], state.ids, n)

    def reunite(self, ctx: Context, state: State) -> tuple[State, list[int]]:
        """Return the clusters with their old ids and shapes where some have come back; and which.

        One that was born lately is a return if its points are more probable as further ones of an
        old cluster than as those of a new one, by a margin, and the two are each other's best
        match. Several that come back at once may need some batches until they are apart: one that
        could be several of the old ones waits as long as it may.
        """
        within = ctx.rules.return_within
        if min(state.lived.tolist(), default=within) >= within or len(self.ids) == 0:
            return state, []
        if self.sums.shape[1] != state.past.shape[2]:
            return state, []
        new = np.flatnonzero(state.lived < within)
        gain, like = self.gains(ctx, state.totals[new])
        best, mine = np.argmax(gain, axis=1), np.argmax(gain, axis=0)
        margin = ctx.rules.return_margin + np.log(len(self.ids))
        several = (gain > margin).sum(axis=1) > 1
        waits = several & (state.lived[new] < ctx.rules.return_within - 1)
        rows = [
            i for i, j in enumerate(best) if mine[j] == i and gain[i, j] > margin and not waits[i]
        ]
        if not rows:
            return state, []
        back, place = best[rows], new[rows]
        ids, born = state.ids.copy(), state.born.copy()
        ids[place], born[place] = self.ids[back], self.born[back]
        lived = state.lived.copy()
        lived[place] = ctx.rules.return_within  # it is no newcomer
        state = state.having(ids=ids, born=born, lived=lived)
        # with a kernel each past batch has its record; and a model that begins has no past
        if state.window.forgetting.kernel is None and len(state.window.times):
            past = state.past.copy()
            own = np.minimum(1.0, state.totals[place, 0] / like[back, 0])[:, None]
            past[place] += 0.5 * (own * like[back])[:, None, :]
            state = state.with_past(past, state.past_entropy)
        return state, self.ids[back].tolist()

    def gains(self, ctx: Context, clusters: Array) -> tuple[Array, Array]:
        """Return by how many nats clusters (b, p) are more probable as old ones (b, m) than new.

        Also returns what is expected of those that come back (m, p): they may have changed, so not
        all that was known of them counts.
        """
        family, n = ctx.family, np.maximum(self.sums[:, 0], 1e-300)
        like = self.sums * np.minimum(1.0, ctx.rules.return_points / n)[:, None]
        both = clusters[:, None, :] + like
        gain = family.log_marginal(both) - family.log_marginal(like)
        return gain - family.log_marginal(clusters)[:, None], like
