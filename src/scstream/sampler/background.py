"""The background: rows that no cluster explains, and clusters whose rows it explains better.

Its density is that of one cluster of all rows that are remembered, its weight is learned. There is
none until a batch shows noise, nor when what it held is forgotten. Two moves go with it. Clusters
are given up where that makes clusters, background and labels more probable; and the rows of a batch
that the background would take are searched for clusters first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from scstream.engines import Engine
from scstream.families.contract import Array, Family
from scstream.families.gaps import filled_rows, observed_scores
from scstream.families.scores import LinearScore, Points, to_dense
from scstream.sampler.clusters import ONE, State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.initialise import merged_start, sums_of_clusters
from scstream.sampler.log_marginals import log_marginals
from scstream.sampler.recipe import Plan
from scstream.sampler.rows import some_rows
from scstream.sampler.rules import Rules
from scstream.sampler.split_merge import drop_forgotten, reluctance
from scstream.sampler.sweep import deterministic_sweep, predictive


def background_of(before: Outliers, steps: Context, X: Points, kept: float) -> Outliers:
    """Return the background during a batch, which the engine has loaded from rows X (n, d).

    ``kept`` is the share of the past that is left.
    """
    family, rules = steps.family, steps.rules
    rows = everything(steps.engine, family, rules)
    wide = _stretched(family, X, rows[0, 0], rules) if X.shape[0] else rows
    return before.during(rows, wide, kept, family.enough_rows(X.shape[1]), rules)


def _stretched(family: Family, X: Points, count: float, rules: Rules) -> Array:
    """Return the statistics (1, p) of rows stretched about their middle, if these count so much."""
    some = some_rows(X, rules.seed_rows)
    centre = np.nanmean(some, axis=0)
    some = filled_rows(family, centre + rules.background_stretch * (some - centre))
    out: Array = to_dense(family.statistics(some)).sum(axis=0)[None] * (count / len(some))
    return out


def tells_noise(family: Family) -> bool:
    """Whether a learned background can be distinguished from clusters of a family.

    Counts have none that is wide, and in many columns small clusters look like noise.
    """
    return family.real and not family.points_for_a_shape()


def arising(
    steps: Context, state: State, X: Points, suspicion: float = 0.0
) -> tuple[Outliers | None, float]:
    """Return a background if a batch of rows X that was learned without shows noise; or None.

    Noise makes clusters. So if some were born in the batch, and in some batches anyway, it is asked
    how much more probable the clusters would be with a background that takes what some of them
    hold. To these nats the ``suspicion`` of earlier batches is added: a few rows show nothing, one
    such row in every batch does. Also returns the suspicion after the batch.
    """
    born = (state.present & (state.lived == 0)).any()
    looks = steps.batch % steps.rules.background_looks == 0 and state.present.any()
    if state.k < 2 or not (born or looks) or not tells_noise(steps.family):
        return None, suspicion
    rows = state.current.sum(axis=0)[None]
    outliers = _empty(steps, rows, X, float(state.past[..., 0].sum()))
    _, gain = worth_keeping(steps, outliers, state, 0.0 * rows)
    suspicion += gain
    return (outliers, 0.0) if suspicion > steps.rules.background_begins else (None, suspicion)


def arisen(steps: Context, X: Points, before: Outliers | None) -> Outliers | None:
    """Return a background for a first batch, or more of one, some rows of which have shown noise.

    What arose ``before``, among fewer rows, says how large its share is.
    """
    if before is None:
        return None
    rows = everything(steps.engine, steps.family, steps.rules)
    return replace(_empty(steps, rows, X, 0.0), weight=before.weight)


def _empty(steps: Context, rows: Array, X: Points, past: float) -> Outliers:
    """Return a background that holds nothing, beside rows X with such statistics (1, p).

    ``past`` is how many points there are from before.
    """
    family, rules = steps.family, steps.rules
    wide = _stretched(family, X, rows[0, 0], rules)
    empty = Outliers.beginning(wide, past)
    return empty.during(rows, wide, 1.0, family.enough_rows(X.shape[1]), rules)


def left_after(ctx: Context, state: State) -> Outliers | None:
    """Return the background after a batch; one that holds less than a row is none any more."""
    if ctx.outliers is None:
        return None
    outliers = ctx.outliers.beside_clusters(state)
    return None if outliers.held is not None and outliers.held[0, 0] < ONE else outliers


def everything(engine: Engine, family: Family, rules: Rules) -> Array:
    """Return the statistics (1, p) of the whole loaded batch."""
    if engine.has_gaps():
        engine.start(np.zeros(engine.n_rows, dtype=np.int64))
        return sums_of_clusters(family, engine, 1, rules.complete_rounds)
    p = len(family.prior)
    whole = engine.sweep(LinearScore(np.zeros((1, p))), LinearScore(np.zeros((2, p))), 1, None)
    out: Array = whole.current.sum(axis=1)
    return out


def learned(ctx: Context) -> Outliers | None:
    """Return the background if its weight is learned, None if there is none or it is fixed."""
    outliers = ctx.outliers
    return None if outliers is None or outliers.held is None else outliers


def log_background(ctx: Context, family: Family, state: State) -> float:
    """Return the log-probability of the rows of the background, and that they are in it.

    This is what `log_posterior` of the clusters lacks; 0 if no background is learned.
    """
    outliers = learned(ctx)
    if outliers is None:
        return 0.0
    rows = outliers.beside_clusters(state).held
    assert rows is not None
    own, everyone = rows[0, 0], outliers.sums[0, 0]
    return float(_log_density(family, outliers, rows)[0] + betaln(1 + own, 1 + everyone - own))


def _log_density(family: Family, outliers: Outliers, rows: Array) -> Array:
    """Return the log density (...) of rows with such statistics (..., p) in the background."""
    nothing = outliers.shape(np.zeros_like(rows))
    return family.log_marginal(outliers.shape(rows)) - family.log_marginal(nothing)


def give_up(steps: Context, state: State) -> tuple[State, list[int]]:
    """Give up the clusters whose rows are more probable in the background; returns their ids.

    One cluster stays. The rows are labelled anew: another cluster may want them.
    """
    outliers = learned(steps)
    if outliers is None or state.k < 2:
        return state, []
    held = outliers.beside_clusters(state).held
    assert held is not None
    kept, _ = worth_keeping(steps, outliers, state, held)
    kept[np.argmax(state.totals[:, 0])] |= not kept.any()
    if kept.all():
        return state, []
    gone = state.ids[~kept].tolist()
    state = deterministic_sweep(steps, state.select(np.flatnonzero(kept)))
    return drop_forgotten(steps, state), gone


def worth_keeping(
    ctx: Context, outliers: Outliers, state: State, held: Array, elsewhere: float = 0.0
) -> tuple[NDArray[np.bool_], float]:
    """Return which clusters (k,) are more probable than their rows in the background.

    Also returns how many nats it gains to give up the others.

    Noise makes many small clusters, none of which would go alone while the background is thought
    to be next to empty. So clusters are lined up by what each row gains, and of all beginnings of
    that line the most probable one goes. ``held`` (1, p) is what the background holds now,
    and clusters that are not listed have so many points.
    """
    n, family, everyone = state.totals[:, 0], ctx.family, outliers.sums[0, 0]
    lose = log_marginals(ctx, state).whole + np.log(ctx.alpha) + gammaln(n)
    lose += reluctance(ctx, state.lived) - ctx.rules.background_margin
    which = np.flatnonzero(state.present)
    there = _log_density(family, outliers, held + state.totals[which])
    each = (there - _log_density(family, outliers, held) - lose[which]) / n[which]
    order = which[np.argsort(-each, kind="stable")]
    moved = held + np.concatenate([np.zeros_like(held), np.cumsum(state.totals[order], axis=0)])
    taken = moved[:, 0] - held[0, 0]
    # clusters that change have forgotten more than the background has: shares are as if it had, too
    ours = n.sum() + elsewhere
    own = held[0, 0] * ours / max(everyone - held[0, 0], ours) + taken
    total = _log_density(family, outliers, moved) + _log_shares(own, ours - taken, ctx.alpha)
    total[1:] -= np.cumsum(lose[order])
    if elsewhere == 0.0:
        total[1:][own[1:] > ctx.rules.background_most * (own + ours - taken)[1:]] = -np.inf
    kept = np.ones(state.k, dtype=bool)
    kept[order[: int(np.argmax(total))]] = False
    return kept, float(total.max() - total[0])


def _log_shares(own: Array | float, rest: Array | float, alpha: float) -> Array:
    """Return the log-probability that so many points are in the background, and so many not."""
    left = np.maximum(rest, 0.0)
    out: Array = betaln(1.0 + own, 1.0 + left) - gammaln(alpha + left)
    return out


def found_in_background(steps: Context, plan: Plan, state: State, time: float) -> State:
    """Return the clusters, with more where rows that the background would take are clusters.

    These rows are searched if they are more than usual, and in some batches anyway: a small cluster
    is born among as many rows of noise as there always are.
    """
    outliers, rules = learned(steps), steps.rules
    if outliers is None or not (plan.splits and plan.merges):
        return state
    room = state.k if plan.max_clusters is None else plan.max_clusters - state.k
    X = steps.engine.sample(steps.rng, rules.seed_rows)
    clusters = predictive(steps.family, state.totals, state.recent, steps.alpha)
    score = steps.all_components(clusters, state)
    usual = outliers.weight * X.shape[0]
    X = X[np.argmax(observed_scores(steps.family, score, X), axis=1) == state.k]
    if X.shape[0] < 2 * rules.points_a_group or room < 1:
        return state
    more = X.shape[0] > usual + rules.background_more * np.sqrt(usual)
    if not more and steps.batch % rules.background_seldom:
        return state
    few_groups = replace(rules, seeds=rules.few_seeds)
    theirs = steps.beside(X, np.ones(X.shape[0]), rules=few_groups)
    found = merged_start(theirs, plan, state.window.forgetting, adapt=False)
    assert outliers.held is not None
    kept, _ = worth_keeping(theirs, outliers, found, outliers.held, state.totals[:, 0].sum())
    steps.go_on_from(theirs)
    which = np.flatnonzero(kept)
    which = np.sort(which[np.argsort(-found.totals[which, 0], kind="stable")[: max(room, 0)]])
    return state.found(found.totals[which], time) if len(which) else state
