"""The Hastings ratio of a split, whose inverse is that of a merge."""

from __future__ import annotations

import numpy as np

from scstream import core
from scstream.families.contract import Array
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.log_marginals import log_marginals


def log_hastings_split(
    ctx: Context, parts: Array, entropy: Array, each: Array | None = None,
    whole: Array | None = None, *, least: float | None = None,
) -> Array:  # fmt: skip
    """Return the log ratio (k,) for splitting clusters into the given parts (k, 2, p).

    ``log alpha + sum_j [lgamma(N_j) + log_marginal_j] - lgamma(N) - log_marginal``, plus the
    entropy: minus the log-probability with which these very labels were proposed. Without it the
    ratio compares one cluster with one division of it, out of many nearly as good, and
    overlapping clusters would be joined although the data distinguish them.

    A merge has the inverse ratio. The log marginals of the parts (k, 2) and of the wholes (k,)
    are computed unless they are given; if they are, the counts will do for the parts (k, 2, 1).
    Parts must both count more than ``least``, by default `Rules.least_part`.
    """
    family = ctx.family
    if each is None:
        each = family.log_marginal(parts)
    if whole is None:
        whole = family.log_marginal(parts.sum(axis=1))
    least = ctx.rules.least_part if least is None else least
    out = np.empty(len(parts))
    entropy, n = ctx.rules.entropy * entropy, np.ascontiguousarray(parts[..., 0])
    core.split_ratios(n, each, whole, entropy, ctx.alpha, least, out)
    return out


def log_hastings_now(ctx: Context, state: State) -> Array:
    """Return the log ratios (k,) for splitting clusters as they are divided now."""
    known = log_marginals(ctx, state)
    entropy = state.past_entropy.diagonal() + state.now.entropy.diagonal()
    return log_hastings_split(ctx, state.parts, entropy, known.each, known.whole)
