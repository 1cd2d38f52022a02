"""Where a first batch starts: many groups merged down, or given labels; and a prior on trial."""

import copy
from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np

from reference.clusters import Clusters, heavier
from reference.groups import enough_groups, in_deviations_within, over_cluster, telling_columns
from reference.moves import drop_forgotten, log_posterior, propose_merges, restart_subclusters
from reference.sweeps import Batch, deterministic_sweep, predictive_scores, tame, tames


class Start(NamedTuple):
    """Clusters to start from, their log posterior, and that plus the doubt about labels."""

    level: float
    evidence: float
    clusters: Clusters
    family: object
    z: np.ndarray


def start_from_labels(batch, labels):
    """Return the clusters that the user gives; the prior follows them at once."""
    names = sorted(set(labels.tolist()))
    batch.z = np.array([names.index(label) for label in labels])
    totals = sums_by_label(batch, len(names))
    for _ in range(5 if tames(batch.family) else 0):
        tame(batch, [batch.family.frame(s) for s in totals], batch.z)
        totals = sums_by_label(batch, len(names))
    batch.family = batch.family.adapt(totals)
    clusters = Clusters.of(totals, 0.0, 0)
    restart_subclusters(batch, clusters, list(range(clusters.k)), keep_better=False)
    return clusters


def sums_by_label(batch, k):
    return np.array([batch.weight[batch.z == c] @ batch.T[batch.z == c] for c in range(k)])


def start_over_clustered(batch, plan):
    """Deliberately many clusters, merged while that is better; the prior follows them.

    Should most points be left in clusters of fewer points than it takes to tell a shape, all is
    done again under a prior that takes clusters for alike.
    """
    clusters = most_probable_start(batch, plan)
    n, enough = clusters.totals()[:, 0], batch.family.points_for_a_shape()
    if heavier(2.0 * n[heavier(enough, n)].sum(), n.sum()):
        alike = batch.family.alike()
        if alike is not batch.family:
            batch.family = alike
            clusters = most_probable_start(batch, plan)
    restart_subclusters(batch, clusters, list(range(clusters.k)), keep_better=False)
    return clusters


def with_prior_on_trial(batch, plan):
    """Take the prior that rows suggest if the clusters that groups merge to under it bear it out.

    If they suggest none, take the weaker prior under which clusters predict best. Nothing is drawn
    for it: the batch is left as it was but for its family.
    """
    if not (plan.merges and hasattr(batch.family, "suggested")):
        return
    trial = batch.family.suggested()
    if trial is None:
        batch.family = predicting_best([batch.family, *batch.family.weaker(batch.X)], batch, plan)
        return
    tried, _ = tried_with(trial, batch, slice(None), plan)
    if trial.is_borne_out(tried.X, tried.z):
        batch.family = trial


def predicting_best(families, batch, plan):
    """Return the family whose clusters of every other row predict the rows between best.

    Who is better than the first must be so by five standard errors, and who comes behind one that
    is worse than the one before it is not tried.
    """
    if len(families) == 1 or len(batch.X) < 100:
        return families[0]
    levels = []
    for family in families:
        _, clusters = tried_with(family, batch, slice(None, None, 2), plan)
        T, totals = family.statistics(batch.X[1::2]), clusters.totals()
        whole = totals[:, 0].sum() + batch.alpha
        scores = [np.log(s[0] / whole) + family.log_predictive(T, s) for s in totals]
        unborn = np.log(batch.alpha / whole) + family.log_predictive(T, 0.0 * totals[0])
        levels.append(np.logaddexp.reduce([*scores, unborn]))
        if len(levels) > 1 and levels[-1].mean() < levels[-2].mean():
            break
    best = int(np.argmax([level.mean() for level in levels]))
    gain = levels[best] - levels[0]
    return families[best if gain.mean() > 5.0 * gain.std() / np.sqrt(len(gain)) else 0]


def tried_with(family, batch, rows, plan):
    """Return some rows as a batch of another family, and the clusters that groups merge to."""
    tried = Batch(
        family, batch.X[rows], batch.weight[rows], alpha=batch.alpha,
        rng=copy.deepcopy(batch.rng), seed=batch.seed, number=batch.number,
    )  # fmt: skip
    return tried, most_probable_start(tried, plan, adapt=False)


def start_that_stays(batch, plan):
    """Return a start from 30 groups at most, under a prior that stays."""
    return most_probable_start(batch, plan, most=30, adapt=False)


def most_probable_start(batch, plan, most=200, *, adapt=True):
    """Return the best of some starts: small groups, or 30 by the columns that tell most.

    Each once more with a prior that is held wide, if the family has such.
    """
    family, size = batch.family, max(1, min(len(batch.X) // 4, most))
    few = adapt and size == 200 and not getattr(family, "sparse", False)
    starts = [enough_groups(batch, size) if few else over_cluster(batch, size)]
    if family.real and size > 30:
        E = family.embed(batch.X)
        weight = telling_columns(E)
        if weight is not None:
            starts.append(over_cluster(batch, 30, E * weight))
    best = None
    held = family.held(True) if adapt else family
    for prior, groups in product([family] if held is family else [family, held], starts):
        batch.family = prior.adapt(groups) if adapt else prior
        best = merged_down(batch, plan, Clusters.of(groups, 0.0, 0), best, adapt=adapt)
    batch.family, batch.z = best.family.held(False), best.z
    batch.sub = np.zeros(len(batch.X), dtype=int)
    return best.clusters


def turn(batch, plan, clusters):
    """Start again from groups in the deviations within the clusters, if that is more probable.

    And again from what these merge down to, while it is so by a nat. Returns whether it was.
    """
    family, size = batch.family, max(1, min(len(batch.X) // 4, 200))
    if not family.real or size <= 30:
        return False
    E = family.embed(batch.X)
    turned = in_deviations_within(E, best_labels(batch, clusters))
    if turned is None:
        return False
    as_found = copy.deepcopy(clusters), family, batch.z.copy()
    sharp = copy.deepcopy(clusters)
    deterministic_sweep(batch, sharp)
    found = log_posterior(family, batch.alpha, sharp.totals())
    best = Start(found, -inf, *as_found)
    for _ in range(8):
        groups = over_cluster(batch, min(size, 30 + 4 * best.clusters.k), turned)
        batch.family, before = family.adapt(groups), best.level
        best = merged_down(batch, plan, Clusters.of(groups, 0.0, 0), best, adapt=True)
        batch.family = best.family
        turned = in_deviations_within(E, best_labels(batch, best.clusters))
        if turned is None or best.level < before + 1.0:
            break
    batch.z, batch.sub = best.z, np.zeros(len(batch.X), dtype=int)
    vars(clusters).update(vars(best.clusters))
    restart_subclusters(batch, clusters, list(range(clusters.k)), keep_better=False)
    return best.level > found


def best_labels(batch, clusters):
    """Return the clusters that rows are most probable in, numbered without gaps."""
    z = np.argmax(predictive_scores(batch, clusters)[0], axis=0)
    used = sorted(set(z.tolist()))
    return np.array([used.index(c) for c in z])


def merged_down(batch, plan, clusters, best, *, adapt):
    """Merge groups while that is better; returns the most probable step on the way, or before.

    In one column groups may be slices of a cluster, no two of which merge. So then they are merged
    all the same, a quarter at a time, and steps are judged with the doubt about labels.
    """
    forced = False
    if best is None:
        best = Start(-inf, -inf, copy.deepcopy(clusters), batch.family, batch.z.copy())
    while True:
        deterministic_sweep(batch, clusters)
        drop_forgotten(batch, clusters)
        if adapt:
            batch.family = batch.family.adapt(clusters.totals())
        excess = 0 if plan.max_clusters is None else max(clusters.k - plan.max_clusters, 0)
        level = -inf
        if excess == 0:
            level = log_posterior(batch.family, batch.alpha, clusters.totals())
        evidence = level + np.triu(clusters.doubt, 1).sum()
        if evidence >= best.evidence if forced else level >= best.level:
            best = Start(level, evidence, copy.deepcopy(clusters), batch.family, batch.z.copy())
        if not plan.merges:
            return best
        merged = propose_merges(batch, clusters, neighbours=6, greedy=True, must_go=excess)
        if not merged and batch.X.shape[1] == 1:
            forced, quarter = True, -(-clusters.k // 4)
            merged = propose_merges(batch, clusters, neighbours=6, greedy=True, must_go=quarter)
        if not merged:
            return best
