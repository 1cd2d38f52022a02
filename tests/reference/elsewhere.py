"""Batches with which a model begins anew: after a pause elsewhere, far away, or in other units."""

import copy
from math import lgamma, log

import numpy as np

from reference.background import log_level
from reference.clusters import ONE
from reference.moves import log_posterior
from reference.sweeps import predictive_scores, with_outliers

SHARE = 0.5  # of a batch's rows that no cluster expects
ROWS = 100  # by which that is judged where clusters were born
BEYOND = 2.0**20  # scales from the frame's centre where sums of squares hold no variance
UNITS = 0.3  # nats a row by which a batch must be more probable as the first of another stream,
CLUSTERS = 0.1  # and its clusters then better than those that it has become


def is_elsewhere(model, X, time):
    """Whether a batch comes, after a pause, where no cluster expects most of its rows."""
    if model.clusters is None or model.half_life != "auto" or model.kernel is not None:
        return False
    is_usual = 0.0 < time - model.time <= model.spacing  # which is no pause
    if is_usual or len(X) < model.unprepared.enough_rows(X.shape[1]):
        return False
    usual = model.forgetting_of(len(X), 0.0, model.spacing)
    if model.spacing > 0.0 and model.clusters.count_at(time, usual) >= ONE:
        return False
    past = copy.deepcopy(model.clusters)
    past.advance(time, model.forgetting)
    return share_of_nobody(model, X, past) > SHARE


def is_beyond(model, X):
    """Whether rows are so far from where a family computes that floats do not hold their shape."""
    if not model.family.real or len(X) < model.unprepared.enough_rows(X.shape[1]):
        return False
    shift, scale = model.family.column_frame
    return (np.abs(X - shift) > BEYOND * scale).any(axis=1).all()


def share_of_nobody(model, X, past):
    """Return the share of rows that are more probable in a new cluster than anywhere else."""
    batch = model.batch(model.family, X, np.ones(len(X)), model.rng)
    unborn = log(model.alpha / (past.totals()[:, 0].sum() + model.alpha))
    new = unborn + model.family.log_predictive(batch.seen, 0.0 * past.totals()[0])
    scores = with_outliers(batch, [*predictive_scores(batch, past)[0], new], past)
    return np.mean(np.argmax(scores, axis=0) == past.k)


def is_suspected(model, batch, past, clusters, some):
    """Whether a batch in which clusters were born may have come in other units.

    Most of some rows are where no cluster expects them, or what is expected of clusters does not
    suit those that the batch has become.
    """
    n, family = len(batch.X), model.family
    free = model.plan.splits and model.plan.merges and model.forgetting.adaptive
    if not (free and family.real and model.outliers is None):
        return False
    if n < model.unprepared.enough_rows(batch.X.shape[1]):
        return False
    if share_of_nobody(model, batch.X[some], past) > SHARE:
        return True
    present = present_sums(clusters)
    levels = [sum(f.log_marginal(s) for s in present) for f in (family.adapt(present), family)]
    return levels[0] - levels[1] > UNITS * n + by_chance(family, n)


def begins_anew(model, batch, clusters):
    """Whether a batch that was learned had better be the first of another stream.

    It is much more probable as that, and its clusters then are better than those that it has
    become, even under a prior that suits these.
    """
    n = len(batch.X)
    level = log_evidence(batch, clusters)
    trial = copy.deepcopy(model)
    trial.outlier_weight = 0.0
    nobody = np.zeros(0, dtype=int)
    family = trial.unprepared.prepare(batch.X)
    anew, found = trial.begun(family, batch.X, batch.weight, None, nobody)
    chance = by_chance(anew.family, n)
    if log_evidence(anew, found) - level <= UNITS * n + chance:
        return False
    present = [anew.family.reframed(s, batch.family) for s in present_sums(clusters)]
    priors = anew.family, anew.family.adapt(np.array(present))
    as_good = max(log_posterior(prior, batch.alpha, np.array(present)) for prior in priors)
    return log_level(anew, anew.family, found) - as_good > CLUSTERS * n + chance


def present_sums(clusters):
    """Return the statistics of the batch's rows, for each cluster that has some."""
    here = [c for c in range(clusters.k) if clusters.is_present(c)]
    return clusters.sums.sum(axis=1)[here]


def by_chance(family, n):
    """Return what the numbers of a prior gain, about, where they are set from n rows."""
    return 0.5 * family.size() * log(n)


def log_evidence(batch, clusters):
    """Return the log-probability of a batch and of its labels, given what is left of the past.

    The labels are those of a batch by itself: new places are as likely as old ones.
    """
    family, past = batch.family, clusters.past().sum(axis=1)
    out = 0.0
    for c in range(clusters.k):
        if clusters.is_present(c):
            present = clusters.sums[c].sum(axis=0)
            out += family.log_marginal(past[c] + present) - family.log_marginal(past[c])
            out += log(batch.alpha) + lgamma(present[0]) + present[0] * family.log_base(batch.X)
    return out
