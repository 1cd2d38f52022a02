"""Adaptive forgetting: how much of each cluster's past predicts its present best."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from scstream import core
from scstream.families.contract import Array, Family
from scstream.sampler.clusters import LogMarginals, State
from scstream.sampler.context import Context


def forget(ctx: Context, state: State) -> State:
    """Return the clusters with the share of each one's past that best predicts its present."""
    family, past = ctx.family, state.window.whole()
    if needs_completing(ctx):
        return state.forget(shares_worth_keeping(ctx, past, completed_by_present(ctx, state)))
    if ctx.few_gaussians is not None:
        return state.forget(shares_worth_keeping(ctx, past, state.current))
    whole, alone = family.log_marginal(state.totals), family.log_marginal(past)
    unknown = np.full((state.k, 2), np.nan)
    state.recall(LogMarginals(family, unknown, whole, past=alone))
    share = shares_worth_keeping(ctx, past, state.current, whole - alone)
    return state.forget(share)


def needs_completing(ctx: Context) -> bool:
    """Whether the sums of the present hold entries that were not observed."""
    return not ctx.family.weighs_rows and ctx.engine.has_gaps()


def completed_by_present(ctx: Context, state: State) -> Array:
    """Return the clusters' points in this batch (k, p), their gaps filled by these alone.

    The sweep before filled them by what was known before the batch. Such entries agree with the
    past, however far a cluster moved: they would say that nothing of it is to be forgotten. Filled
    by the present they agree with that, so a row counts only by what is observed of it.
    """
    k, engine = state.k, ctx.engine
    current: Array = state.current
    rest = current - engine.gap_sums(k)
    for _ in range(ctx.rules.complete_rounds):
        score = ctx.family.predictive_score(current, np.zeros(k))
        current = rest + engine.gap_sums(k, score)
    return current


def shares_worth_keeping(
    ctx: Context, past: Array, current: Array, whole: Array | None = None
) -> NDArray[np.float64]:
    """Return for each cluster the share (k,) of its past that best predicts its present.

    A cluster that moved, or changed its shape, is described better by less of its past. The
    evidence of its present points given a share r of the past ``P`` is
    ``log_marginal(r P + C) - log_marginal(r P)``; the past is kept whole unless less of it wins
    clearly. Where half of it is no better than the whole, less is not tried. So the half-life is
    an upper bound, and fast clusters forget faster. Where the present looks like a new cluster
    rather than the old one changed, or a split would keep it apart from all of the past and it is
    not `near`, nothing is forgotten: a split will distinguish the two. One that keeps the least of
    the shares moved far. It keeps even less if that is better: of many points the rest would stay
    behind as a cluster.

    Parameters
    ----------
    past, current : ndarray (k, p)
    whole : ndarray (k,), optional
        The evidence given all of the past, if it is known.
    """
    family, shares, prior = ctx.family, _as_array(ctx.rules.keep_shares), ctx.few_gaussians
    share = np.ones(len(past))
    if len(shares) == 1:
        return share
    if prior is not None and core.keep_shares(past, current, prior, shares, _limits(ctx), share):
        return share
    share = np.ones(len(past))
    if whole is None:
        whole = _evidence(family, past, current)
    second = _evidence(family, shares[1] * past, current)
    which = np.flatnonzero((second > whole) & (current[:, 0] > 0))
    if len(which) == 0:
        return share
    past, current, whole = past[which], current[which], whole[which]
    less = _evidence(family, shares[2:, None, None] * past, current)
    evidence = np.vstack([whole + ctx.rules.forget_reluctance, second[which], less])
    best = np.argmax(evidence, axis=0)
    n, m = np.maximum(past[:, 0], 1e-12), current[:, 0]
    level = np.log(ctx.alpha) + gammaln(m) + gammaln(n) - gammaln(n + m)
    new = level + family.log_marginal(current)
    same = (new < evidence.max(axis=0)) & ((new < whole) | near(ctx, past, current))
    share[which] = np.where(same, shares[best], 1.0)
    moved = same & (share[which] <= shares[-1]) & (shares[-1] * n >= ctx.rules.min_residual_points)
    share[which[moved]] = _less(ctx, past[moved], current[moved], evidence[-1, moved])
    return share


@lru_cache
def _as_array(shares: tuple[float, ...]) -> Array:
    return np.array(shares)


def _limits(ctx: Context) -> tuple[float, ...]:
    """Return by how much keeping less must win, and how much less than usual it may be."""
    rules = ctx.rules
    less = ctx.alpha, rules.forget_reluctance, rules.min_residual_points, rules.keep_points
    return *less, points_of_a_place(ctx), rules.move_margin


def _less(ctx: Context, past: Array, current: Array, evidence: Array) -> Array:
    """Return the least share (k,) or less: halved while that is better and leaves enough points."""
    share = np.full(len(past), ctx.rules.keep_shares[-1])
    left = np.arange(len(past))
    while len(left):
        left = left[0.5 * share[left] * past[left, 0] >= ctx.rules.keep_points]
        halved = 0.5 * share[left]
        less = _evidence(ctx.family, halved[:, None] * past[left], current[left])
        better = less > evidence[left]
        left, halved = left[better], halved[better]
        share[left], evidence[left] = halved, less[better]
    return share


def near(ctx: Context, past: Array, current: Array) -> NDArray[np.bool_]:
    """Whether points (k, p) are where clusters with such a past (k, p) may have moved to.

    Farther away they are another cluster's: what a place that was left says of them, little as it
    counts, makes them clearly less probable than they are by themselves.
    """
    share = np.minimum(1.0, points_of_a_place(ctx) / np.maximum(past[:, :1], 1e-12))
    return further(ctx.family, share * past, current) > -ctx.rules.move_margin


def points_of_a_place(ctx: Context) -> float:
    """Return how many points a place counts that was left.

    The mean of a cluster that left a place of ``n`` points is expected within ``1 / n`` of its
    variance in each of d columns: moves of a squared length of ``d / n``. How far clusters move has
    nothing to do with how many columns they have, so n grows with these. With a fixed n moves in
    many columns would be longer than ways between clusters, and nothing would be far.
    """
    return ctx.rules.move_points * max(len(ctx.family.frame[0]), 2)


def further(family: Family, past: Array, current: Array) -> Array:
    """Return by how many nats points (k, p) are more probable as further ones of a past (k, p)."""
    return _evidence(family, past, current) - family.log_marginal(current)


def _evidence(family: Family, past: Array, current: Array) -> Array:
    """Return the evidence (..., k) of the present given what is left of the past (..., k, p)."""
    return family.log_marginal(past + current) - family.log_marginal(past)
