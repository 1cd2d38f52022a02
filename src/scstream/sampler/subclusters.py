"""Sub-clusters: how a cluster may come apart. Restarts, and the present set apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scstream import core
from scstream.engines import Key, Sums
from scstream.families.contract import Array
from scstream.families.division import CERTAIN
from scstream.families.scores import LinearScore
from scstream.sampler.clusters import LogMarginals, State
from scstream.sampler.context import Context
from scstream.sampler.log_marginals import filled, log_marginals
from scstream.sampler.ratios import log_hastings_now, log_hastings_split
from scstream.support.frozen import changed

Forget = Callable[[State], State]  # what lets clusters forget a part of their past


def seek_subclusters(steps: Context, state: State, forget: Forget | None = None) -> State:
    """Restart the sub-clusters of all clusters present, then set the present apart.

    Clusters may have to forget something before that is judged: a division is sought in the present
    alone.
    """
    if not (steps.rules.restarts and np.count_nonzero(state.present)):
        return split_past_from_present(steps, state if forget is None else forget(state))
    state, apart = divide(steps, state, state.present, keep_better=True, forget=forget)
    return split_past_from_present(steps, state) if apart else state


def restart(steps: Context, state: State, chosen: NDArray[np.bool_]) -> State:
    """Divide the chosen clusters anew, whether or not that is better."""
    return divide(steps, state, chosen, keep_better=False)[0]


def divide(
    ctx: Context, state: State, chosen: NDArray[np.bool_], key: Key | None = None, *,
    keep_better: bool, forget: Forget | None = None,
) -> tuple[State, bool]:  # fmt: skip
    """Try a new division of the chosen clusters, let them forget, and judge it.

    Also returns whether the present of some cluster may have to be set apart.
    """
    current, entropy = try_division(ctx, state, chosen, key)
    if forget is not None:
        state = forget(state)
    return judge_division(ctx, state, chosen, current, entropy, keep_better=keep_better)


def try_division(
    ctx: Context, state: State, chosen: NDArray[np.bool_], key: Key | None = None
) -> tuple[Array, Array]:
    """Seek a new division of the chosen clusters; returns sums (k, 2, p) and entropies (k,).

    A functional of the statistics proposes it (a principal axis, a random point), and a few rounds
    of hard assignment refine it. The engine remembers the sub-labels that were tried until they are
    adopted. The key of the random points is the next one unless it is given.
    """
    score = LinearScore(_cuts(ctx, state, chosen, key))
    return ctx.engine.refine(score, chosen, ctx.family, ctx.alpha, ctx.rules.refine_rounds)


def judge_division(
    ctx: Context, state: State, chosen: NDArray[np.bool_], current: Array, entropy: Array, *,
    keep_better: bool,
) -> tuple[State, bool]:  # fmt: skip
    """Give the chosen clusters the division that was tried; the past is cut along its boundary.

    The old division stays where its ratio is better, unless ``keep_better`` is false. Also returns
    whether the present of some may have to be set apart.
    """
    if keep_better and ctx.few_gaussians is not None and len(state.window.times) <= 1:
        judged = _judged_at_once(ctx, state, chosen, current, entropy)
        if judged is not None:
            return judged
    family = ctx.family
    first = first_parts(ctx, state, chosen, current)
    better, each = chosen, None
    if keep_better:
        known = log_marginals(ctx, state)
        parts = state.if_divided(first, current)
        each = family.log_marginal(parts)
        new = log_hastings_split(ctx, parts, entropy, each, known.whole)
        better = chosen & (new > log_hastings_now(ctx, state))
        each = np.where(better[:, None], each, known.each)
    tried = state.having(attempt=state.attempt + chosen)
    return divided_anew(ctx, tried, better, first, current, entropy, each), True


def _judged_at_once(
    ctx: Context, state: State, chosen: NDArray[np.bool_], current: Array, entropy: Array
) -> tuple[State, bool] | None:
    """Do the same by one function of the core; None if a matrix failed."""
    (k, _, p), rules, prior = current.shape, ctx.rules, ctx.few_gaussians
    assert prior is not None
    first, each, whole, better = (
        np.empty((k, p)), np.empty((2, k, 2)), np.empty(k), np.empty(k, np.bool_)
    )  # fmt: skip
    apart = core.judge_divisions(
        state.past, state.now.current, current,
        (entropy, state.past_entropy, state.now.entropy), prior,
        (ctx.alpha, rules.least_part, rules.entropy, CERTAIN if rules.cut_past else -1.0), chosen,
        first, (each, whole, better),
    )  # fmt: skip
    if apart < 0:
        return None
    tried = state.having(attempt=state.attempt + chosen)
    tried.learn(LogMarginals(ctx.family, each[1], whole))
    cut = first[None][: len(state.window.times)]  # a first batch has no past
    return divided_anew(ctx, tried, better, cut, current, entropy, each[0]), apart > 0


def first_parts(ctx: Context, state: State, chosen: NDArray[np.bool_], current: Array) -> Array:
    """Return the past (b, k, p) of the first sides (k, 2, p) of the chosen clusters."""
    wholes, division = state.window.wholes, ctx.family.division
    first: Array = np.zeros(wholes.shape)
    if not ctx.rules.cut_past:
        first = 0.5 * wholes
    elif 2 * np.count_nonzero(chosen) >= len(chosen):  # to take them out would take longer
        first = division.divide(wholes, division.boundary(current[:, 0], current[:, 1]))
    else:
        which = np.flatnonzero(chosen)
        some = current[which]
        first[:, which] = division.divide(
            wholes[:, which], division.boundary(some[:, 0], some[:, 1])
        )
    return first


def _cuts(ctx: Context, state: State, chosen: NDArray[np.bool_], key: Key | None) -> Array:
    """Return functionals (2 k, p) that cut the chosen clusters in two: pairs of 0 and one."""
    key = ctx.next_key() if key is None else key
    eta, which = np.zeros((state.k, 2, state.past.shape[2])), _who(chosen)
    attempt, current = state.attempt[which], state.current[which]
    member = np.zeros(current.shape)
    if ctx.family.division.needs_members(attempt):
        member = ctx.engine.members(state.k, key)[which]
    eta[which, 1] = ctx.family.division.directions(current, member, attempt)
    return eta.reshape(2 * state.k, -1)


def _who(chosen: NDArray[np.bool_]) -> slice | NDArray[np.int64]:
    """Return the places of the chosen; all of them, as they mostly are, as a slice."""
    return slice(None) if chosen.all() else np.flatnonzero(chosen)


def split_past_from_present(ctx: Context, state: State) -> State:
    """Divide clusters into their past and their present where that is the better division.

    So a cluster is born from points that came where none had been.
    """
    family, known = ctx.family, log_marginals(ctx, state)
    parts = state.window.whole(), state.current
    alone = np.full(state.k, np.nan) if known.past is None else known.past
    each = np.stack([filled(family, parts[0], alone), family.log_marginal(parts[1])], axis=1)
    counts = np.stack([part[:, :1] for part in parts], axis=1)
    log_h = log_hastings_split(ctx, counts, np.zeros(state.k), each, known.whole)
    chosen = state.present & (log_h > np.maximum(log_hastings_now(ctx, state), 0.0))
    if not chosen.any():
        return state
    second = np.zeros((2 * state.k, parts[0].shape[1]))
    second[1::2, 0] = 1.0
    current, entropy = ctx.engine.resplit(LinearScore(second), chosen)
    each = np.where(chosen[:, None], each, known.each)
    wholes = state.window.wholes
    return divided_anew(ctx, state, chosen, wholes, current, np.zeros_like(entropy), each)


def divided_anew(
    ctx: Context, state: State, chosen: NDArray[np.bool_], first: Array, current: Array,
    entropy: Array, each: Array | None = None,
) -> State:  # fmt: skip
    """Return the chosen clusters with the division last tried; ``first`` is as in the state.

    ``each`` are the log marginals of all sub-clusters then, if they are known.
    """
    known = state.known
    if chosen.any():
        rows = ctx.engine.adopt(chosen)
        i = np.flatnonzero(chosen)
        entropies = state.now.entropy.copy()
        entropies[i, i] = entropy[i]
        sums = state.now.current.copy()
        sums[i] = current[i]
        now = Sums(sums, rows, state.now.rivals, entropies)
        state = state.with_past_parts(chosen, first).having(now=now)
    if known is not None and each is not None:
        state.learn(changed(known, each=each))
    return state
