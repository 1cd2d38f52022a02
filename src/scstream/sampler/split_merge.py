"""Splits and merges: which are proposed, and which are accepted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream import core
from scstream.families.contract import Array
from scstream.sampler.clusters import ONE, Ints, State
from scstream.sampler.context import Context
from scstream.sampler.forgetting import further, near
from scstream.sampler.joint_weights import joint, jointly_weighted_marginals, with_joint_weights
from scstream.sampler.log_marginals import joined_log_marginals, log_marginals
from scstream.sampler.ratios import log_hastings_now, log_hastings_split
from scstream.sampler.subclusters import restart

Pairs = list[tuple[int, int]]


def propose_splits(
    steps: Context, state: State, time: float, *, room: int | None = None, greedy: bool = False,
    log_u: Array | None = None,
) -> tuple[State, Pairs]:  # fmt: skip
    """Split clusters into their sub-clusters, each with probability ``min(1, H)``.

    Returns the new state and pairs (id of the cluster, id of its new part). At most ``room``
    clusters are added. Greedy proposals are accepted where ``H > 1``. The logs of the uniforms
    that decide (k,) are drawn unless they are given.
    """
    log_h = log_hastings_now(steps, state)
    if log_u is None:
        log_u = steps.log_uniforms(state.k, greedy=greedy)
    which = np.flatnonzero((log_h > log_u) & state.present)
    if room is not None:
        which = np.sort(which[np.argsort(-log_h[which], kind="stable")[: max(room, 0)]])
    if len(which) == 0:
        return state, []
    parents = state.ids[which]
    state, moved = state.split(which, time)
    sublabel = np.tile(np.array([0, 1]), (len(moved), 1))
    sublabel[which] = 0
    steps.engine.relabel(moved, sublabel)
    chosen = np.zeros(state.k, dtype=bool)
    chosen[which] = chosen[-len(which) :] = True
    state = restart(steps, state, chosen)
    state = state.having(known=None)  # parts that shared points have them for themselves now
    return state, list(zip(parents.tolist(), state.ids[-len(which) :].tolist(), strict=True))


def propose_merges(
    steps: Context, state: State, *, neighbours: int | None = None, greedy: bool = False,
    must_go: int = 0, born_from: int = 0, log_u: Array | None = None,
) -> tuple[State, Pairs]:  # fmt: skip
    """Merge pairs of neighbouring clusters, each with probability ``min(1, 1 / H)``.

    Returns the new state and pairs (id that survives, id that is gone). The best ``must_go``
    disjoint pairs are merged whatever their ratio. One of a pair has an id of at least
    ``born_from``. The logs of the uniforms that decide, for as many pairs as there can be, are
    drawn unless they are given.
    """
    neighbours = steps.rules.neighbours if neighbours is None else neighbours
    pairs, log_m, level = merge_ratios(steps, state, neighbours, born_from)
    if len(pairs) == 0:
        return state, []
    if log_u is None:
        log_u = steps.log_uniforms(neighbours * state.k, greedy=greedy)
    wanted = log_m > log_u[: len(pairs)] + reluctance(steps, state.lived[pairs].min(axis=1))
    if steps.family.is_faint():
        wanted[wanted] = ~better_apart(steps, state, pairs[wanted])
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
    first, second = np.ascontiguousarray(pairs[chosen].T)
    before = state.ids
    state, to = merged(steps, state, pairs[chosen], level[chosen])
    survivors = state.ids[to[first]]
    gone = np.where(survivors == before[first], before[second], before[first])
    return state, list(zip(survivors.tolist(), gone.tolist(), strict=True))


def merged(
    steps: Context, state: State, pairs: Ints, level: Array | None = None
) -> tuple[State, Ints]:
    """Return the clusters with disjoint pairs (m, 2) merged, and the places (k,) where all went.

    The log marginals of the merged ones are their ``level`` (m,), if they are known.
    """
    first, second = np.ascontiguousarray(pairs.T)
    after, label, sublabel = state.merge(first, second, level)
    if steps.family.weighs_rows:
        lighter = sublabel[first, 0] == 1
        ordered = np.where(lighter[:, None], pairs[:, ::-1], pairs)
        after = with_joint_weights(joint(steps, state, ordered), after, label[first, 0])
    steps.engine.relabel(label, sublabel)
    return after, label[:, 0]


def merge_ratios(
    ctx: Context, state: State, neighbours: int, born_from: int
) -> tuple[Ints, Array, Array]:
    """Return candidates (m, 2) for merges, log ratios (m,), and log marginals of both together.

    One of a pair has an id of at least ``born_from``.
    """
    known = log_marginals(ctx, state)
    pairs = merge_candidates(state.now.rivals, neighbours)
    pairs = pairs[(state.ids[pairs] >= born_from).any(axis=1)]
    a, b = pairs.T
    entropy = state.past_entropy[a, b] + state.now.entropy[a, b]
    if ctx.family.weighs_rows:
        whole = jointly_weighted_marginals(ctx, state, pairs, known.whole)
    else:
        whole = joined_log_marginals(ctx, state, a, b)
    counts, each = state.totals[pairs, :1], known.whole[pairs]
    return pairs, -log_hastings_split(ctx, counts, entropy, each, whole, least=0.0), whole


def reluctance(ctx: Context, lived: Ints) -> Array:
    """Return by how many nats a merge must win, given how many batches the younger has lived.

    Clusters that lived apart are presumed to stay apart, even while they cross each other.
    """
    rules = ctx.rules
    margin: Array = np.minimum(rules.merge_reluctance * lived, rules.merge_reluctance_most)
    return margin


def better_apart(ctx: Context, state: State, pairs: Ints) -> NDArray[np.bool_]:
    """Whether pairs (m, 2) of clusters predict their rows of the batch better than their unions do.

    Clusters of rows that say little are mixed at first, and each gets purer with every batch. Of
    what they hold so far one cluster may be more probable than two; but what is held has been
    paid for, and what counts is what comes. Entropy is known for a row's two best clusters only.
    The others of such a row are nearly as good, so a share of the entropy that the two have with
    anybody else is theirs.

    A cluster without a past, or that was born with the batch, predicted nothing.
    """
    a, b = pairs.T
    past, entropy = state.past.sum(axis=1), state.now.entropy
    elsewhere = entropy.sum(axis=1) - entropy.diagonal()
    unknown = ctx.rules.entropy_elsewhere * (elsewhere[a] + elsewhere[b] - 2.0 * entropy[a, b])
    before, after = (
        log_hastings_split(ctx, s[pairs], np.zeros(len(pairs)), least=0.0)
        for s in (past, state.totals)
    )
    known = ((past[pairs, 0] > 0.0) & (state.lived[pairs] > 0)).all(axis=1)
    apart: NDArray[np.bool_] = known & (after + entropy[a, b] + unknown > before)
    return apart


def merge_candidates(rivals: NDArray[np.int64], neighbours: int) -> Ints:
    """Return pairs (m, 2) of clusters of which one is among the other's commonest rivals."""
    k = len(rivals)
    most = max(min(neighbours, k - 1), 0)
    top, pairs = np.empty((k, most), dtype=np.int64), np.empty((k * most, 2), dtype=np.int64)
    return pairs[: core.neighbours(rivals, top, pairs)]


def drop_forgotten(ctx: Context, state: State) -> State:
    """Drop clusters whose weighted count fell below 1 and that own no point of the batch.

    If that holds of all, the heaviest stays: there is always something to predict.
    """
    n = state.totals[:, 0]
    kept = (n >= ONE) | state.present
    if kept.all():
        return state
    kept[np.argmax(n)] |= not kept.any()
    place = np.cumsum(kept) - 1
    same = np.tile(np.array([0, 1]), (state.k, 1))
    ctx.engine.relabel(np.repeat(place[:, None], 2, axis=1), same)
    return state.select(np.flatnonzero(kept))


def keep_names(ctx: Context, before: State, state: State, splits: Pairs) -> tuple[State, Pairs]:
    """Return the clusters with the names of those that were split where they belong, and the moves.

    A split leaves the name to the part with more of the past. At the end of the batch it is known
    which points each part has. A place that got hardly any of the points that were due has been
    left: the name goes with the points, unless they are so far away that they are rather another
    else's (`near`). So it does where the points of the new part are rather further ones of the past
    than points of a new cluster, and those of the old are not.

    ``before`` are the clusters before the batch. A move is a pair: the cluster's name, and
    that of the place that was left.
    """
    moves: Pairs = []
    share = before.past[..., 0].sum(axis=1)
    had = dict(zip(before.ids.tolist(), share / max(share.sum(), 1e-300), strict=True))
    source: dict[int, int] = {}  # parts that were split again are parts of the same cluster
    for old, new in splits:
        source[new] = source.get(old, old)
    for new, old in source.items():
        a, b = (np.flatnonzero(state.ids == i) for i in (old, new))
        rows = state.now.rows.sum(axis=1)
        if not (len(a) and len(b) and rows[b].any()):
            continue
        pair = np.concatenate([a, b])
        past, present = state.past[pair].sum(axis=1), state.current[pair]
        whole, gone, left = past.sum(axis=0), False, False
        due = had.get(old, 0.0) * past[0, 0] / max(whole[0], 1e-300) * rows.sum()
        if rows[a[0]] <= ctx.rules.left_share * (due - ctx.rules.due_points):
            gone = left = bool(near(ctx, past[:1], present[1:])[0])
            moves += [(old, new)] if gone else []
        elif rows[a].any():
            gain = further(ctx.family, whole, present)
            gone = bool(whole[0] >= ONE and gain[0] < 0.0 < gain[1])
        if gone:
            state = state.with_names_swapped(int(a[0]), int(b[0]), left=left)
    return state, moves


def may_move(ctx: Context, state: State, log_u: Array, *, greedy: bool) -> bool:
    """Whether some cluster may be split, merged or dropped, given what log ratios must exceed.

    Without one function of the core that says so, they may.
    """
    prior, rules = ctx.few_gaussians, ctx.rules
    if prior is None:
        return True
    known, now = log_marginals(ctx, state), state.now
    return core.may_move(
        (
            state.everything, now.rows, now.rivals, state.past_entropy, now.entropy, known.each,
            known.whole, state.lived,
        ),
        log_u, greedy, prior, (ctx.alpha, rules.least_part, rules.entropy),
        (
            rules.merge_reluctance, rules.merge_reluctance_most, rules.sharp_edges,
            rules.edges_free, rules.drawn_rows, rules.drawn_entropy,
        ),
    )  # fmt: skip


def decisions(
    ctx: Context, state: State, log_u: Array, *, greedy: bool = False
) -> tuple[Array, Array]:
    """Return what log ratios of splits (k,) and of merges must exceed.

    That is logs of uniforms, or 0 if decisions are greedy: ``log_u``, for splits and then for
    merges. Besides, labels of a deterministic sweep cut a cluster sharply where it overlaps
    another, and two parts fit what was cut better than one. So a split must win a share of
    the entropy of such labels: those of the past, and those of the present if decisions are greedy,
    since that sweep was the last. Of many rows no such split is made at all:
    draws have shown what there is to split.
    """
    k, rules = state.k, ctx.rules
    entropy = state.past_entropy + state.now.entropy if greedy else state.past_entropy
    edges = rules.sharp_edges * (entropy.sum(axis=1) - entropy.diagonal()) - rules.edges_free
    sharp = overlapping(ctx, state) if greedy else None
    if sharp is not None:
        edges[sharp] = np.inf
    return log_u[:k] + np.maximum(edges, 0.0), log_u[k:]


def overlapping(ctx: Context, state: State) -> NDArray[np.bool_] | None:
    """Whether clusters (k,) have so many rows, and of such entropy, that best labels mislead.

    None if no cluster has so many.
    """
    rows, entropy = state.now.rows[:, 0] + state.now.rows[:, 1], state.now.entropy
    many = rows >= ctx.rules.drawn_rows
    if not np.count_nonzero(many):
        return None
    out: NDArray[np.bool_] = many & (
        entropy.sum(axis=1) - entropy.diagonal() > ctx.rules.drawn_entropy * rows
    )
    return out
