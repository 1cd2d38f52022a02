"""Which clusters of few rows are found again by some of them: others are parts of a whole.

Of few rows a Dirichlet process mixture takes skewed, heavy-tailed or bent clusters apart, each time
elsewhere. So a first batch of few rows is learned some times more, each time without a part of
them, and that part is labelled by what the others say. Two clusters whose rows are then labelled
much the same are one (the prediction strength of Tibshirani and Walther, 2005, by cluster).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.scores import Labels, Points
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.recipe import Recipe
from scstream.sampler.rows import some_weighted_rows
from scstream.sampler.split_merge import drop_forgotten, merged
from scstream.sampler.sweep import best_labels, last_sweep

Fit = Callable[[Family, Points, Array], tuple[Context, State]]  # a first batch of some rows


def stable(
    steps: Context, state: State, X: Points, weight: Array, recipe: Recipe, fit: Fit
) -> State:
    """Return the clusters of the loaded rows X (n, d), those merged that are not found again."""
    (n, d), rules = X.shape, recipe.rules
    judged = state.k > 1 and recipe.plan.merges and steps.outliers is None and rules.folds > 1
    few = n - n // max(rules.folds, 1) < recipe.family.enough_rows(d)
    if not judged or few or n > rules.seed_rows:
        return state
    rows, weight = some_weighted_rows(X, weight, n)
    labels, tables = steps.engine.first_labels(n), []
    for out in _folds(n, rules.folds):
        seen = rows[~out]
        own, found = fit(recipe.family.prepare(seen), seen, weight[~out])
        predicted = best_labels(own.family, found, own.alpha, rows[out])
        tables.append(_table(predicted, labels[out], weight[out], state.k))
    fewer = _merged(steps, state, np.concatenate(tables))
    return state if fewer is state else drop_forgotten(steps, last_sweep(steps, fewer))


def _folds(n: int, folds: int) -> list[NDArray[np.bool_]]:
    """Return for each fold which of n rows are in it, the same for every model."""
    fold = np.random.default_rng(0).permutation(n) % folds
    return [fold == i for i in range(folds)]


def _table(predicted: Labels, labels: Labels, weight: Array, k: int) -> Array:
    """Return the weight of rows by the cluster that they are predicted in, and that they are in."""
    out, own = np.zeros((int(predicted.max(initial=0)) + 1, k)), labels >= 0
    np.add.at(out, (predicted[own], labels[own]), weight[own])
    return out


def _merged(steps: Context, state: State, table: Array) -> State:
    """Return the clusters (k, p), those merged that share most of what a table (m, k) says."""
    shares = table / np.maximum(table.sum(axis=0), 1e-300)
    overlap = np.array([np.minimum(shares, own[:, None]).sum(axis=0) for own in shares.T])
    np.fill_diagonal(overlap, 0.0)
    while state.k > 1 and overlap.max() > steps.rules.confused:
        pair = np.sort(np.unravel_index(overlap.argmax(), overlap.shape))
        state, to = merged(steps, state, pair[None])
        whole, left, new = np.zeros((state.k, len(table))), np.empty(state.k, int), to[pair[0]]
        np.add.at(whole, to, table.T)
        left[to] = np.arange(len(to))
        table, overlap = whole.T, overlap[np.ix_(left, left)]
        shares = table / np.maximum(table.sum(axis=0), 1e-300)
        overlap[new] = overlap[:, new] = np.minimum(shares, shares[:, [new]]).sum(axis=0)
        overlap[new, new] = 0.0
    return state
