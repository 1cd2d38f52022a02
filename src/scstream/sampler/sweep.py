"""Weights and parameters of a sampled sweep and of a deterministic one, for any family and engine.

The paper's section 2 (restricted Gibbs sweep) and its deterministic last sweep.
"""

from __future__ import annotations

import numpy as np

from scstream import core
from scstream.engines import Key
from scstream.families.contract import Array, Family
from scstream.families.gaps import observed_scores
from scstream.families.left_out import LeftOutScore
from scstream.families.scale_mixture import row_score
from scstream.families.scores import JoinedScore, Labels, Points, Score
from scstream.sampler.cluster_state import ClusterState
from scstream.sampler.clusters import ONE, State
from scstream.sampler.context import Context, Outliers


def restricted_sweep(ctx: Context, state: State, key: Key | None = None) -> State:
    """Draw weights, parameters, labels and sub-labels; no point founds a new cluster.

    The key of the labels is the next one unless it is given.
    """
    k = state.k
    everything, weights = draw_weights(ctx, state)
    score = ctx.family.sampled_score(ctx.rng, everything, weights)
    key = ctx.next_key() if key is None else key
    drawn, tails = score.part(slice(k)), ctx.family.tails
    of_rows: Score = drawn
    if tails is not None and tails.active:
        of_rows = tails.drawn_score(drawn, everything[:k])
    return _swept(ctx, state, of_rows, score.part(slice(k, None)), key)


def draw_weights(ctx: Context, state: State) -> tuple[Array, Array]:
    """Return the statistics (3 k, p) of clusters and sub-clusters, and log weights (3 k,) drawn."""
    k, rng, everything = state.k, ctx.rng, state.everything
    n, weights = np.empty(3 * k + 1), np.empty(3 * k)
    n[:k], n[-1] = state.recent, ctx.alpha
    n[k:-1] = everything[k:, 0] + 0.5 * ctx.alpha
    n = np.maximum(n, 1e-3)
    core.log_weights(n, rng.standard_gamma(n + 1.0), rng.random(len(n)), weights)
    return everything, weights


def predictive_sweep(ctx: Context, state: State, key: Key | None = None) -> State:
    """Draw labels and sub-labels by weight times predictive; the key is the next unless given."""
    return _predictive_pass(ctx, state, ctx.next_key() if key is None else key)


def deterministic_sweep(ctx: Context, state: State) -> State:
    """Give every point the label with the best weight times predictive; its sub-clusters share it.

    A point goes to both by their probabilities, and its entropy is that of these. So the ratio of a
    split compares a cluster with all its divisions, each as probable as it is, and knows no
    chance: it is a lower bound of the evidence for two clusters. The best sub-labels would not do:
    under two parts that are broad and overlap, as a small past leaves them, they cut a cluster
    sharply in two, and with the entropy of the broad parts every cluster of a large batch would be
    split.
    """
    return _predictive_pass(ctx, state, None)


def left_out_sweep(ctx: Context, state: State) -> State:
    """Do the same, but let no point count in the cluster that it is in when it is labelled.

    The engine's labels are those by which the clusters have learned from the batch.
    """
    clusters = _predictive(ctx, state)
    score = ctx.all_components(clusters, state)
    left_out = LeftOutScore(ctx.family, state.totals, state.recent, ctx.alpha, clusters, score)
    now = ctx.engine.sweep(left_out, _part_score(ctx, state), state.k, None)
    return state.having(now=now)


def last_sweep(ctx: Context, state: State) -> State:
    """Take the deterministic sweep that ends a batch; of few rows none counts in its cluster."""
    few = state.count < ONE * left_out_below(ctx, state.k)
    return left_out_sweep(ctx, state) if few else deterministic_sweep(ctx, state)


def left_out_below(ctx: Context, k: int) -> float:
    """Return how many points k clusters must have for each to count in its own at the end.

    It is 0 where the statistics of rows depend on their labels, as those of rows with gaps do:
    what such a row taught its cluster is not known.
    """
    if ctx.engine.has_gaps():
        return 0.0
    return ctx.rules.left_out * k * len(ctx.family.prior)


def _predictive_pass(ctx: Context, state: State, key: Key | None) -> State:
    score = _predictive(ctx, state)
    return _swept(ctx, state, score, _part_score(ctx, state), key)


def _part_score(ctx: Context, state: State) -> Score:
    """Return the predictive score of sub-clusters."""
    parts = state.parts
    log_sub = np.log(parts[..., 0] + 0.5 * ctx.alpha)
    return ctx.family.predictive_score(parts.reshape(2 * state.k, -1), log_sub.ravel())


def _swept(ctx: Context, state: State, score: Score, sub: Score, key: Key | None) -> State:
    return state.having(now=ctx.engine.sweep(ctx.all_components(score, state), sub, state.k, key))


def _predictive(ctx: Context, state: State) -> Score:
    return predictive(ctx.family, state.totals, state.recent, ctx.alpha)


def next_point(
    family: Family, state: ClusterState, alpha: float, outliers: Outliers | None
) -> tuple[Score, float]:
    """Return a score whose total, with the level returned beside it, is the next point's density.

    Its components are the clusters, one yet to be born, and the outliers' if there is one.
    """
    score: Score = with_unborn(family, state.totals, state.recent, alpha)
    if outliers is None:
        return score, 0.0
    return outliers.beside(score, family), float(np.log1p(-outliers.weight))


def with_unborn(family: Family, totals: Array, n: Array, alpha: float) -> JoinedScore:
    """Return the predictive score of clusters (k, p) that have n rows (k,), and of a new one."""
    unborn = np.log(alpha) - np.log(n.sum() + alpha)
    nothing = np.zeros((1, totals.shape[1]))
    return JoinedScore(
        [predictive(family, totals, n, alpha), row_score(family, nothing, np.array([unborn]))]
    )


def predictive(family: Family, totals: Array, n: Array, alpha: float) -> Score:
    """Return the predictive score of clusters (k, p) by weights ``n / (sum of n + alpha)``."""
    n = np.maximum(n, 1e-300)
    return row_score(family, totals, np.log(n) - np.log(n.sum() + alpha))


def best_labels(family: Family, state: State, alpha: float, X: Points) -> Labels:
    """Return the place (n,) of the cluster that each row most probably belongs to."""
    score = predictive(family, state.totals, state.recent, alpha)
    best: Labels = np.argmax(observed_scores(family, score, X), axis=1)
    return best
