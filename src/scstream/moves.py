"""Split and merge moves, their ratios, and restarts of sub-clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from scstream.families.base import Array, Family
from scstream.families.scores import LinearScore
from scstream.state import Ints, State
from scstream.sweep import Context

_ROUNDS = 2  # hard assignments that refine a restarted pair of sub-clusters
_NEIGHBOURS = 3  # merge candidates of a cluster
_RELUCTANCE_A_BATCH, _RELUCTANCE_AT_MOST = 2.0, 20.0  # nats


def log_hastings_split(family: Family, alpha: float, parts: Array, doubt: Array) -> Array:
    """Return the log ratio (k,) for splitting clusters into the given parts (k, 2, p).

    ``log alpha + sum_j [lgamma(N_j) + log_marginal_j] - lgamma(N) - log_marginal``, plus the
    doubt: minus the log-probability with which these very labels were proposed. Without it the
    ratio compares one cluster with one division of it, out of many nearly as good, and
    overlapping clusters would be joined although the data tell them apart.

    A merge has the inverse ratio.
    """
    n = parts[..., 0]
    possible: NDArray[np.bool_] = np.all(n > 0, axis=1)
    n = np.where(possible[:, None], n, 1.0)
    gain = (gammaln(n) + family.log_marginal(parts)).sum(axis=1)
    loss = gammaln(n.sum(axis=1)) + family.log_marginal(parts.sum(axis=1))
    return np.where(possible, np.log(alpha) + gain - loss + doubt, -np.inf)


def propose_splits(
    ctx: Context, state: State, time: float, *, room: int | None = None, greedy: bool = False
) -> tuple[State, list[tuple[int, int]]]:
    """Split clusters into their sub-clusters, each with probability ``min(1, H)``.

    Returns the new state and pairs (id of the cluster, id of its new part). At most ``room``
    clusters are added. Greedy proposals are accepted where ``H > 1``.
    """
    log_h = _log_hastings_now(ctx, state)
    divided = (state.now.rows > 0).any(axis=1) & (state.parts[..., 0] > 0.5).all(axis=1)
    which = np.flatnonzero((log_h > _threshold(ctx, state.k, greedy=greedy)) & divided)
    if room is not None:
        which = np.sort(which[np.argsort(-log_h[which], kind="stable")[: max(room, 0)]])
    if len(which) == 0:
        return state, []
    parents = state.ids[which]
    state, moved = state.split(which, time)
    sublabel = np.tile(np.array([0, 1]), (len(moved), 1))
    sublabel[which] = 0
    ctx.engine.relabel(moved, sublabel)
    chosen = np.zeros(state.k, dtype=bool)
    chosen[which] = chosen[-len(which) :] = True
    state = restart_subclusters(ctx, state, chosen, keep_better=False)
    return state, list(zip(parents.tolist(), state.ids[-len(which) :].tolist(), strict=True))


def propose_merges(
    ctx: Context, state: State, *, neighbours: int = _NEIGHBOURS, greedy: bool = False,
    must_go: int = 0,
) -> tuple[State, list[tuple[int, int]]]:  # fmt: skip
    """Merge pairs of neighbouring clusters, each with probability ``min(1, 1 / H)``.

    Returns the new state and pairs (id that survives, id that is gone). The best ``must_go``
    disjoint pairs are merged whatever their ratio.
    """
    pairs = merge_candidates(state.now.rivals, neighbours)
    if len(pairs) == 0:
        return state, []
    a, b = pairs.T
    totals = state.totals
    doubt = (state.past_doubt + state.now.doubt)[a, b]
    log_m = -log_hastings_split(
        ctx.family, ctx.alpha, np.stack([totals[a], totals[b]], axis=1), doubt
    )
    lived = np.minimum(state.lived[a], state.lived[b])
    wanted = log_m > _threshold(ctx, len(pairs), greedy=greedy) + reluctance(lived)
    chosen: list[int] = []
    taken: set[int] = set()
    for i in np.argsort(-log_m, kind="stable"):
        if (wanted[i] or len(chosen) < must_go) and not {a[i], b[i]} & taken:
            chosen.append(int(i))
            taken |= {a[i], b[i]}
    if not chosen:
        return state, []
    before = state.ids
    first, second = a[chosen], b[chosen]
    state, label, sublabel = state.merge(first, second)
    ctx.engine.relabel(label, sublabel)
    survivors = state.ids[label[first, 0]]
    gone = np.where(survivors == before[first], before[second], before[first])
    return state, list(zip(survivors.tolist(), gone.tolist(), strict=True))


def reluctance(lived: Ints) -> Array:
    """Return by how many nats a merge must win, given how many batches the younger has lived.

    Clusters that lived apart are presumed to stay apart, even while they cross each other.
    """
    margin: Array = np.minimum(_RELUCTANCE_A_BATCH * lived, _RELUCTANCE_AT_MOST)
    return margin


def merge_candidates(rivals: NDArray[np.int64], neighbours: int) -> Ints:
    """Return pairs (m, 2) of clusters of which one is among the other's commonest rivals."""
    common = rivals + rivals.T
    np.fill_diagonal(common, 0)
    k = len(common)
    top = min(neighbours, k - 1)
    if top < 1:
        return np.zeros((0, 2), dtype=np.int64)
    near = np.argpartition(-common, top - 1, axis=1)[:, :top]
    a, b = np.repeat(np.arange(k), top), near.ravel()
    met = common[a, b] > 0
    a, b = a[met], b[met]
    flat = np.unique(np.minimum(a, b) * k + np.maximum(a, b))
    return np.stack([flat // k, flat % k], axis=1)


def restart_subclusters(
    ctx: Context, state: State, chosen: NDArray[np.bool_], *, keep_better: bool = True
) -> State:
    """Seek a new division of the chosen clusters into two.

    A functional of the statistics proposes it (a principal axis, a random point), a few rounds
    of hard assignment refine it, and the past is divided along the same boundary. The old
    division stays where its ratio is better, unless ``keep_better`` is false.
    """
    if not chosen.any():
        return state
    family, engine, k = ctx.family, ctx.engine, state.k
    tried = chosen
    functional = family.directions(
        state.now.current.sum(axis=1), engine.members(k, ctx.next_key()), state.attempt
    )
    eta = np.zeros((2 * k, functional.shape[1]))
    eta[1::2] = functional
    current, doubt = engine.resplit(LinearScore(eta), chosen)
    for _ in range(_ROUNDS):
        log_sub = np.log(current[..., 0] + 0.5 * ctx.alpha)
        sub = family.predictive_score(current.reshape(2 * k, -1), log_sub.ravel())
        current, doubt = engine.resplit(sub, chosen)
    boundary = family.boundary(current[:, 0], current[:, 1])
    first = family.divide(state.window.sums.sum(axis=2), boundary)
    if keep_better:
        trial = state.with_past_parts(chosen, first)
        new = log_hastings_split(family, ctx.alpha, trial.past + current, doubt)
        chosen = chosen & (new > _log_hastings_now(ctx, state))
    state = _divided_anew(ctx, state, chosen, first, current, doubt)
    return replace(state, attempt=state.attempt + tried)


def set_present_apart(ctx: Context, state: State) -> State:
    """Divide clusters into their past and their present where that is the better division.

    So a cluster is born from points that came where none had been.
    """
    past, current = state.past.sum(axis=1), state.now.current.sum(axis=1)
    parts = np.stack([past, current], axis=1)
    log_h = log_hastings_split(ctx.family, ctx.alpha, parts, np.zeros(state.k))
    chosen = state.present & (log_h > np.maximum(_log_hastings_now(ctx, state), 0.0))
    if not chosen.any():
        return state
    second = np.zeros((2 * state.k, parts.shape[-1]))
    second[1::2, 0] = 1.0
    current, doubt = ctx.engine.resplit(LinearScore(second), chosen)
    whole = state.window.sums.sum(axis=2)
    return _divided_anew(ctx, state, chosen, whole, current, np.zeros_like(doubt))


def _log_hastings_now(ctx: Context, state: State) -> Array:
    """Return the log ratios (k,) for splitting clusters as they are divided now."""
    doubt = np.diagonal(state.past_doubt + state.now.doubt)
    return log_hastings_split(ctx.family, ctx.alpha, state.parts, doubt)


def _divided_anew(
    ctx: Context, state: State, chosen: NDArray[np.bool_], first: Array, current: Array,
    doubt: Array,
) -> State:  # fmt: skip
    """Return the chosen clusters with the division last tried; ``first`` is as in the state."""
    rows = ctx.engine.adopt(chosen)
    i = np.flatnonzero(chosen)
    doubts = state.now.doubt.copy()
    doubts[i, i] = doubt[i]
    now = replace(
        state.now,
        current=np.where(chosen[:, None, None], current, state.now.current),
        rows=rows,
        doubt=doubts,
    )
    return replace(state.with_past_parts(chosen, first), now=now)


def drop_forgotten(ctx: Context, state: State) -> State:
    """Drop clusters whose weighted count fell below 1 and that own no point of the batch.

    If that holds of all, the heaviest stays: there is always something to predict.
    """
    n = state.totals[:, 0]
    kept = (n >= 1.0) | state.present
    kept[np.argmax(n)] |= not kept.any()
    if kept.all():
        return state
    place = np.cumsum(kept) - 1
    same = np.tile(np.array([0, 1]), (state.k, 1))
    ctx.engine.relabel(np.repeat(place[:, None], 2, axis=1), same)
    return state.select(np.flatnonzero(kept))


def _threshold(ctx: Context, size: int, *, greedy: bool) -> Array:
    """Return what log ratios must exceed: 0, or the log of a uniform."""
    return np.zeros(size) if greedy else np.log(ctx.rng.random(size))
