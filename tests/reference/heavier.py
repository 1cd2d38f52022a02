"""Tails that come in mid-stream, which look like clusters about those that had none."""

import copy
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from reference.clusters import ONE

SHOWN = 4096  # rows by which tails are judged, at most


def with_tails(model, batch, clusters, past, time, some):
    """Return a batch and its clusters with heavy tails, if these describe some rows as well.

    Fewer clusters may do so by a nat less for each number that describes one of the others.
    """
    family, events, X = model.family, model.events, batch.X
    if family.has_heavy_tails() or family.given is not None:
        return batch, clusters

    def run(family):
        new = model.batch(family, X, batch.weight, copy.deepcopy(model.rng))
        new.outliers = batch.outliers
        return new, model.run_later(new, copy.deepcopy(past), time)

    _, heavy = run(replace(family, df=2.0))
    shown = family.shown(X[some], heavy.totals(), 100.0)
    if shown.has_heavy_tails():
        more = log_density(shown, heavy, X[some]) - log_density(family, clusters, X[some])
        if more * len(X) > -family.size() * (clusters.k - heavy.k) * len(some):
            return run(shown)
    model.events = events
    return batch, clusters


def log_density(family, clusters, X):
    """Return the log density of rows under all clusters, in the family's frame."""
    T, totals = family.statistics(X), clusters.totals()
    totals = totals[totals[:, 0] >= ONE]
    share = np.log(totals[:, 0] / totals[:, 0].sum())
    each = [w + family.log_predictive(T, s) for w, s in zip(share, totals, strict=True)]
    return logsumexp(each, axis=0).sum()
