"""Split and merge moves, their ratios, and restarts of sub-clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Key, Sums
from scstream.families.contract import Array, Family
from scstream.families.scores import LinearScore
from scstream.kernels import mixture
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.forgetting import shares_worth_keeping
from scstream.sampler.gaussian_ratios import judged, merge_ratios
from scstream.sampler.sweep import Context

ROUNDS = 2  # hard assignments that refine a restarted pair of sub-clusters
NEIGHBOURS = 3  # merge candidates of a cluster
RELUCTANCE = (2.0, 20.0)  # nats by which a merge must win: for each batch lived, and at most


def log_hastings_split(
    family: Family, alpha: float, parts: Array, doubt: Array, each: Array | None = None,
    whole: Array | None = None, *, least: float = mixture.PART,
) -> Array:  # fmt: skip
    """Return the log ratio (k,) for splitting clusters into the given parts (k, 2, p).

    ``log alpha + sum_j [lgamma(N_j) + log_marginal_j] - lgamma(N) - log_marginal``, plus the
    doubt: minus the log-probability with which these very labels were proposed. Without it the
    ratio compares one cluster with one division of it, out of many nearly as good, and
    overlapping clusters would be joined although the data tell them apart.

    A merge has the inverse ratio. The log marginals of the parts (k, 2) and of the wholes (k,)
    are computed unless they are given; if they are, the counts will do for the parts (k, 2, 1).
    Parts must both count more than ``least``: next to nothing is no part, but ``lgamma(N_j)`` would
    make it a good one, the better the more of it is forgotten.
    """
    if each is None:
        each = family.log_marginal(parts)
    if whole is None:
        whole = family.log_marginal(parts.sum(axis=1))
    out = np.empty(len(parts))
    mixture.log_split(float(np.log(alpha)), parts[..., 0], each, whole, doubt, least, out)
    return out


def propose_splits(
    ctx: Context, state: State, time: float, *, room: int | None = None, greedy: bool = False,
    log_u: Array | None = None,
) -> tuple[State, list[tuple[int, int]]]:  # fmt: skip
    """Split clusters into their sub-clusters, each with probability ``min(1, H)``.

    Returns the new state and pairs (id of the cluster, id of its new part). At most ``room``
    clusters are added. Greedy proposals are accepted where ``H > 1``. The logs of the uniforms
    that decide (k,) are drawn unless they are given.
    """
    log_h = _log_hastings_now(ctx, state)
    if log_u is None:
        log_u = log_uniforms(ctx, state.k, greedy=greedy)
    which = np.flatnonzero((log_h > log_u) & state.present)
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
    ctx: Context, state: State, *, neighbours: int = NEIGHBOURS, greedy: bool = False,
    must_go: int = 0, born_from: int = 0, log_u: Array | None = None,
) -> tuple[State, list[tuple[int, int]]]:  # fmt: skip
    """Merge pairs of neighbouring clusters, each with probability ``min(1, 1 / H)``.

    Returns the new state and pairs (id that survives, id that is gone). The best ``must_go``
    disjoint pairs are merged whatever their ratio. One of a pair has an id of at least
    ``born_from``. The logs of the uniforms that decide, for as
    many pairs as there can be, are drawn unless they are given.
    """
    pairs, log_m, level = _merge_ratios(ctx, state, neighbours, born_from)
    if len(pairs) == 0:
        return state, []
    if log_u is None:
        log_u = log_uniforms(ctx, neighbours * state.k, greedy=greedy)
    wanted = log_m > log_u[: len(pairs)] + reluctance(state.lived[pairs].min(axis=1))
    likely = np.flatnonzero(wanted | (must_go > 0))
    chosen: list[int] = []
    taken: set[int] = set()
    for i in likely[np.argsort(-log_m[likely], kind="stable")].tolist():
        pair = set(pairs[i].tolist())
        if (wanted[i] or len(chosen) < must_go) and not pair & taken:
            chosen.append(i)
            taken |= pair
    if not chosen:
        return state, []
    before = state.ids
    first, second = np.ascontiguousarray(pairs[chosen].T)
    state, label, sublabel = state.merge(first, second, level[chosen])
    ctx.engine.relabel(label, sublabel)
    survivors = state.ids[label[first, 0]]
    gone = np.where(survivors == before[first], before[second], before[first])
    return state, list(zip(survivors.tolist(), gone.tolist(), strict=True))


def _merge_ratios(
    ctx: Context, state: State, neighbours: int, born_from: int
) -> tuple[Ints, Array, Array]:
    """Return candidates (m, 2) for merges, log ratios (m,), and log marginals of both together.

    One of a pair has an id of at least ``born_from``.
    """
    known = log_marginals(ctx, state)
    found = None if born_from else merge_ratios(ctx, state, known, neighbours)
    if found is not None:
        return found
    pairs = merge_candidates(state.now.rivals, neighbours)
    if born_from:
        pairs = pairs[(state.ids[pairs] >= born_from).any(axis=1)]
    a, b = pairs.T
    doubt = state.past_doubt[a, b] + state.now.doubt[a, b]
    whole = _joined_log_marginals(ctx, state, a, b)
    counts = state.totals[pairs, :1]
    each = known.whole[pairs]
    ratio = -log_hastings_split(ctx.family, ctx.alpha, counts, doubt, each, whole, least=0.0)
    return pairs, ratio, whole


def reluctance(lived: Ints) -> Array:
    """Return by how many nats a merge must win, given how many batches the younger has lived.

    Clusters that lived apart are presumed to stay apart, even while they cross each other.
    """
    each, most = RELUCTANCE
    margin: Array = np.minimum(each * lived, most)
    return margin


def merge_candidates(rivals: NDArray[np.int64], neighbours: int) -> Ints:
    """Return pairs (m, 2) of clusters of which one is among the other's commonest rivals."""
    k = len(rivals)
    most = max(min(neighbours, k - 1), 0)
    top, pairs = np.empty((k, most), dtype=np.int64), np.empty((k * most, 2), dtype=np.int64)
    return pairs[: mixture.neighbours(rivals, top, pairs)]


def restart_and_set_apart(ctx: Context, state: State, key: Key | None = None) -> State:
    """Restart the sub-clusters of all clusters present, then set the present apart."""
    state, apart = _restarted(ctx, state, state.present, key, keep_better=True)
    return set_present_apart(ctx, state) if apart else state


def restart_subclusters(
    ctx: Context, state: State, chosen: NDArray[np.bool_], key: Key | None = None, *,
    keep_better: bool = True,
) -> State:  # fmt: skip
    """Seek a new division of the chosen clusters into two.

    A functional of the statistics proposes it (a principal axis, a random point), a few rounds
    of hard assignment refine it, and the past is divided along the same boundary. The old
    division stays where its ratio is better, unless ``keep_better`` is false. The key of the random
    points is the next one unless it is given.
    """
    return _restarted(ctx, state, chosen, key, keep_better=keep_better)[0]


def _restarted(
    ctx: Context, state: State, chosen: NDArray[np.bool_], key: Key | None, *, keep_better: bool
) -> tuple[State, bool]:
    """Do as `restart_subclusters` does; says besides whether a present may be to be set apart."""
    if not chosen.any():
        return state, True
    family = ctx.family
    score = LinearScore(_cuts(ctx, state, chosen, key))
    current, doubt = ctx.engine.refine(score, chosen, family, ctx.alpha, ROUNDS)
    done = judged(ctx, state, chosen, current, doubt, keep_better=keep_better)
    if done is not None:
        return done
    boundary = family.boundary(current[:, 0], current[:, 1])
    first = family.divide(state.window.wholes, boundary)
    better, each = chosen, None
    if keep_better:
        known = log_marginals(ctx, state)
        parts = state.past_cut(first)
        parts += current
        each = family.log_marginal(parts)
        new = log_hastings_split(family, ctx.alpha, parts, doubt, each, known.whole)
        better = chosen & (new > _log_hastings_now(ctx, state))
        each = np.where(better[:, None], each, known.each)
    tried = state.having(attempt=state.attempt + chosen)
    return divided_anew(ctx, tried, better, first, current, doubt, each), True


def _cuts(ctx: Context, state: State, chosen: NDArray[np.bool_], key: Key | None) -> Array:
    """Return functionals (2 k, p) that cut the chosen clusters in two: pairs of 0 and one."""
    key = ctx.next_key() if key is None else key
    eta, which = np.zeros((state.k, 2, state.past.shape[2])), np.flatnonzero(chosen)
    attempt = state.attempt[which]
    member = np.zeros((len(which), eta.shape[2]))
    if ctx.family.needs_members(attempt):
        member = ctx.engine.members(state.k, key)[which]
    eta[which, 1] = ctx.family.directions(state.current[which], member, attempt)
    return eta.reshape(2 * state.k, -1)


def forget(ctx: Context, state: State) -> State:
    """Return the clusters with the share of each one's past that best foretells its present."""
    family, past = ctx.family, state.window.whole()
    whole, alone = family.log_marginal(state.totals), family.log_marginal(past)
    unknown = np.full((state.k, 2), np.nan)
    state.recall(LogMarginals(family, unknown, whole, past=alone))
    share = shares_worth_keeping(family, ctx.alpha, past, state.current, whole - alone)
    return state.forget(share)


def set_present_apart(ctx: Context, state: State) -> State:
    """Divide clusters into their past and their present where that is the better division.

    So a cluster is born from points that came where none had been.
    """
    family, known = ctx.family, log_marginals(ctx, state)
    parts = state.window.whole(), state.current
    alone = np.full(state.k, np.nan) if known.past is None else known.past
    each = np.stack([_filled(family, parts[0], alone), family.log_marginal(parts[1])], axis=1)
    counts = np.stack([part[:, :1] for part in parts], axis=1)
    log_h = log_hastings_split(family, ctx.alpha, counts, np.zeros(state.k), each, known.whole)
    chosen = state.present & (log_h > np.maximum(_log_hastings_now(ctx, state), 0.0))
    if not chosen.any():
        return state
    second = np.zeros((2 * state.k, parts[0].shape[1]))
    second[1::2, 0] = 1.0
    current, doubt = ctx.engine.resplit(LinearScore(second), chosen)
    each = np.where(chosen[:, None], each, known.each)
    wholes = state.window.wholes
    return divided_anew(ctx, state, chosen, wholes, current, np.zeros_like(doubt), each)


def log_marginals(ctx: Context, state: State) -> LogMarginals:
    """Return the log marginals of the clusters and of their sub-clusters, computed once.

    Those that an earlier state of the batch knew are taken over where nothing changed.
    """
    known, family = state.known, ctx.family
    if known is not None and known.family is family:
        return known
    if state.recalled is None or state.recalled[2].family is not family:
        each, whole = family.log_marginal(state.parts), family.log_marginal(state.totals)
        return state.learn(LogMarginals(family, each, whole))
    parts, totals, before = state.recalled
    each = _filled(family, state.parts, _still(before.each, state.parts, parts))
    whole = _still(before.whole, state.totals, totals)
    new = np.isnan(whole)
    joined, past = before.joined, before.past
    if joined is not None:
        joined = np.where(new[:, None] | new, np.nan, joined)
    if past is not None:
        past = np.where(new, np.nan, past)
    whole = _filled(family, state.totals, whole)
    return state.learn(LogMarginals(family, each, whole, joined, past))


def _still(known: Array, s: Array, before: Array) -> Array:
    """Return what is known (...) of ``before`` (..., p), NaN where ``s`` is not the same."""
    return known if np.isnan(known).all() else np.where((s == before).all(axis=-1), known, np.nan)


def _filled(family: Family, s: Array, known: Array) -> Array:
    """Return the log marginals (...) of ``s`` (..., p), computed where they are NaN."""
    new = np.isnan(known)
    if new.all():
        return family.log_marginal(s)
    out = known.copy()
    if new.any():
        out[new] = family.log_marginal(s[new])
    return out


def _joined_log_marginals(ctx: Context, state: State, a: Ints, b: Ints) -> Array:
    """Return the log marginals (m,) of pairs of clusters taken together, computed once."""
    known = log_marginals(ctx, state)
    joined = np.full((state.k, state.k), np.nan) if known.joined is None else known.joined
    new = np.isnan(joined[a, b])
    c, d = a[new], b[new]
    if len(c):
        both = state.totals[c]
        both += state.totals[d]
        joined[c, d] = ctx.family.log_marginal(both)
    if known.joined is None:
        state.learn(replace(known, joined=joined))
    return joined[a, b]


def _log_hastings_now(ctx: Context, state: State) -> Array:
    """Return the log ratios (k,) for splitting clusters as they are divided now."""
    known = log_marginals(ctx, state)
    doubt = state.past_doubt.diagonal() + state.now.doubt.diagonal()
    return log_hastings_split(ctx.family, ctx.alpha, state.parts, doubt, known.each, known.whole)


def divided_anew(
    ctx: Context, state: State, chosen: NDArray[np.bool_], first: Array, current: Array,
    doubt: Array, each: Array | None = None,
) -> State:  # fmt: skip
    """Return the chosen clusters with the division last tried; ``first`` is as in the state.

    ``each`` are the log marginals of all sub-clusters then, if they are known.
    """
    known = state.known
    if chosen.any():
        rows = ctx.engine.adopt(chosen)
        i = np.flatnonzero(chosen)
        doubts = state.now.doubt.copy()
        doubts[i, i] = doubt[i]
        sums = state.now.current.copy()
        sums[i] = current[i]
        now = Sums(sums, rows, state.now.rivals, doubts)
        state = state.with_past_parts(chosen, first).having(now=now)
    if known is not None and each is not None:
        state.learn(replace(known, each=each))
    return state


def drop_forgotten(ctx: Context, state: State) -> State:
    """Drop clusters whose weighted count fell below 1 and that own no point of the batch.

    If that holds of all, the heaviest stays: there is always something to predict.
    """
    n = state.totals[:, 0]
    kept = (n >= 1.0) | state.present
    if kept.all():
        return state
    kept[np.argmax(n)] |= not kept.any()
    place = np.cumsum(kept) - 1
    same = np.tile(np.array([0, 1]), (state.k, 1))
    ctx.engine.relabel(np.repeat(place[:, None], 2, axis=1), same)
    return state.select(np.flatnonzero(kept))


def decisions(ctx: Context, k: int, *, greedy: bool = False) -> tuple[Array, Array]:
    """Return logs of the uniforms that decide about splits and merges of k clusters."""
    log_u = log_uniforms(ctx, (1 + NEIGHBOURS) * k, greedy=greedy)
    return log_u[:k], log_u[k:]


def log_uniforms(ctx: Context, size: int, *, greedy: bool = False) -> Array:
    """Return logs of uniforms, which log ratios must exceed; greedy ones must exceed 0."""
    return np.zeros(size) if greedy else ctx.rng.log_uniforms(size)
