"""Log marginal likelihoods of clusters, sub-clusters and pairs, computed once a batch each.

They cost a determinant each, and every ratio needs them. Most hold from one step to the next.
"""

from __future__ import annotations

from math import lgamma, log

import numpy as np

from scstream import core
from scstream.families.contract import Array, Family
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.context import Context
from scstream.support.frozen import changed


def log_marginals(ctx: Context, state: State) -> LogMarginals:
    """Return the log marginals of the clusters and of their sub-clusters, computed once.

    Those that an earlier state of the batch knew are taken over where nothing changed.
    """
    known, family = state.known, ctx.family
    if known is not None and known.family is family:
        return known
    if state.recalled is None or state.recalled[2].family is not family:
        levels, k = family.log_marginal(state.everything), state.k
        return state.learn(LogMarginals(family, levels[k:].reshape(k, 2), levels[:k]))
    parts, totals, before = state.recalled
    each = filled(family, state.parts, _still(before.each, state.parts, parts))
    whole = _still(before.whole, state.totals, totals)
    new = np.isnan(whole)
    joined, past = before.joined, before.past
    if joined is not None:
        joined = np.where(new[:, None] | new, np.nan, joined)
    if past is not None:
        past = np.where(new, np.nan, past)
    whole = filled(family, state.totals, whole)
    return state.learn(LogMarginals(family, each, whole, joined, past))


def joined_log_marginals(ctx: Context, state: State, a: Ints, b: Ints) -> Array:
    """Return the log marginals (m,) of pairs of clusters taken together, computed once."""
    known = log_marginals(ctx, state)
    joined = np.full((state.k, state.k), np.nan) if known.joined is None else known.joined
    new = np.isnan(joined[a, b])
    c, d = a[new], b[new]
    if len(c):
        joined[c, d] = ctx.family.joined_log_marginal(state.totals, c, d)
    if known.joined is None:
        state.learn(changed(known, joined=joined))
    return joined[a, b]


def log_posterior(
    family: Family, alpha: float, totals: Array, log_marginal: Array | None = None
) -> float:
    """Return the log of the joint density of a partition and the data, base measure aside.

    The clusters' log marginals (k,) are computed unless they are given.
    """
    if log_marginal is None:
        log_marginal = family.log_marginal(totals)
    n = np.maximum(totals[:, 0], 1e-300)
    gammas = np.empty(len(n))
    core.log_gammas(n, gammas)
    level = float((gammas + log_marginal).sum()) + len(n) * log(alpha)
    return level + lgamma(alpha) - lgamma(alpha + float(n.sum()))


def filled(family: Family, s: Array, known: Array) -> Array:
    """Return the log marginals (...) of ``s`` (..., p), computed where they are NaN."""
    new = np.isnan(known)
    if new.all():
        return family.log_marginal(s)
    out = known.copy()
    if new.any():
        out[new] = family.log_marginal(s[new])
    return out


def _still(known: Array, s: Array, before: Array) -> Array:
    """Return what is known (...) of ``before`` (..., p), NaN where ``s`` is not the same."""
    if np.isnan(known).all():
        return known
    return np.where((s == before).all(axis=-1), known, np.nan)
