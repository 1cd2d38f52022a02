"""Moves: restarts of sub-clusters, splits and merges, and the ratios that decide about them."""

from math import inf, lgamma, log

import numpy as np

from reference import labelling
from reference.clusters import ONE, heavier
from reference.student import log_marginal_of_both, together
from reference.sweeps import RULES, near, pair_scores, tames

# -- ratios ---------------------------------------------------------------------------------------


def log_split_ratio(batch, parts, doubt, least=RULES.part):
    """Log ratio for splitting a cluster into two parts; a merge has the inverse ratio.

    ``log alpha + sum_j [lgamma(N_j) + log_marginal_j] - lgamma(N) - log_marginal``, plus the doubt:
    minus the log-probability with which these very labels were proposed. What counts ``least`` or
    less is no part: ``lgamma`` of next to nothing would make it a good one.
    """
    one, two = parts
    if not (one[0] > least and two[0] > least):
        return -inf
    marginal = batch.family.log_marginal
    apart = (lgamma(one[0]) + marginal(one)) + (lgamma(two[0]) + marginal(two))
    whole = lgamma(one[0] + two[0]) + marginal(one + two)
    return log(batch.alpha) + apart - whole + doubt


def log_merge_ratio(batch, clusters, a, b):
    """Log ratio for merging two clusters; those of heavy tails are one in a frame of both."""
    pair, doubt = clusters.totals()[[a, b]], clusters.all_doubt()[a, b]
    split = log_split_ratio(batch, pair, doubt, 0.0)
    if tames(batch.family):
        apart = split + batch.family.log_marginal(pair.sum(axis=0))
        split = apart - log_marginal_of_both(batch, clusters, (a, b), apart)
    return -split


def log_posterior(family, alpha, totals):
    """Log joint density of a partition, and of its points, from its clusters (k, p)."""
    n = np.maximum(totals[:, 0], 1e-300)
    out = lgamma(alpha) - lgamma(alpha + n.sum())
    return out + sum(
        log(alpha) + lgamma(n[c]) + family.log_marginal(s) for c, s in enumerate(totals)
    )


# -- sub-clusters ---------------------------------------------------------------------------------


def restart_subclusters(batch, clusters, chosen, *, keep_better=True):
    """Seek a new division of the chosen clusters into two.

    A cut proposes it (see the family's ``direction``), two rounds of hard assignment by predictives
    refine it, and the past is cut along the same boundary. The old division stays where its ratio
    is better, unless the new one is clear and the present alone asks for it.
    """
    if not chosen:
        return
    u, doubts, past = batch.next_uniforms(), clusters.all_doubt(), clusters.past()
    for c in chosen:
        mine = np.flatnonzero(batch.z == c)
        member = np.zeros(batch.T.shape[1])
        if len(mine):
            member = batch.T[mine[np.argmin(u[0][mine])]]
        cut = batch.family.direction(clusters.sums[c].sum(axis=0), member, clusters.attempts[c])
        clusters.attempts[c] += 1
        sub = (batch.T @ cut > 0).astype(int)
        for _ in range(RULES.rounds):
            scores = pair_scores(batch, sums_of(batch, mine, sub))
            sub = (scores[1] > scores[0]).astype(int)
        new = sums_of(batch, mine, sub)
        doubt = sum(
            batch.weight[i] * labelling.against(scores[sub[i]][i], scores[1 - sub[i]][i])
            for i in mine
        )
        firsts = [batch.family.cut(r.sums[c].sum(axis=0), *new) for r in clusters.records]
        if keep_better:
            first = sum((r.weight * f for r, f in zip(clusters.records, firsts, strict=True)), 0.0)
            parts = first + new[0], past[c].sum(axis=0) - first + new[1]
            now = log_split_ratio(batch, past[c] + clusters.sums[c], doubts[c, c])
            better = log_split_ratio(batch, parts, doubt) > now
            if not better and not (now <= 0.0 and is_asked_for(batch, clusters, c, new, doubt)):
                continue
        rows = [int((sub[mine] == j).sum()) for j in (0, 1)]
        clusters.divide(c, new, rows, doubt, firsts)
        batch.sub[mine] = sub[mine]


def is_asked_for(batch, clusters, c, new, doubt):
    """Whether the present alone would be split by a new division, and rather than by the old.

    The division must be clear, and its parts have as many points as they have statistics.
    """
    n = new[:, 0]
    if not (doubt < RULES.clear * n.sum() and n.min() >= new.shape[1]):
        return False
    old = log_split_ratio(batch, clusters.sums[c], clusters.doubt[c, c])
    return log_split_ratio(batch, new, doubt) > max(old, 0.0)


def sums_of(batch, mine, sub):
    """Statistics (2, p) of some rows by sub-label."""
    one = np.zeros(len(mine), dtype=int)
    return labelling.statistics(batch.T[mine], batch.weight[mine], one, sub[mine], 1)[0]


def set_present_apart(batch, clusters):
    """Divide clusters into past and present where that is better, and better than not at all.

    So a cluster is born from points that came where none had been.
    """
    past, doubts = clusters.past(), clusters.all_doubt()
    for c in range(clusters.k):
        if not clusters.is_present(c):
            continue
        whole, present = past[c].sum(axis=0), clusters.sums[c].sum(axis=0)
        apart = log_split_ratio(batch, (whole, present), 0.0)
        if apart > max(log_split_ratio(batch, past[c] + clusters.sums[c], doubts[c, c]), 0.0):
            rows = [0, clusters.rows[c].sum()]
            firsts = [record.sums[c].sum(axis=0) for record in clusters.records]
            clusters.divide(c, np.array([0.0 * present, present]), rows, 0.0, firsts)
            batch.sub[batch.z == c] = 1


# -- splits and merges ----------------------------------------------------------------------------


def propose_splits(batch, clusters, time, *, room, log_u):
    """Split clusters into their sub-clusters, each with probability ``min(1, H)``.

    Returns pairs of ids: the cluster, and its new part. At most ``room`` clusters are added.
    """
    parts, doubts = clusters.parts(), clusters.all_doubt()
    log_h = [log_split_ratio(batch, parts[c], doubts[c, c]) for c in range(clusters.k)]
    which = [c for c in range(clusters.k) if log_h[c] > log_u[c] and clusters.is_present(c)]
    if room is not None:
        which = sorted(sorted(which, key=lambda c: -log_h[c])[: max(room, 0)])
    events = []
    for c in which:
        new = clusters.k
        major = clusters.split(c, time)
        events.append((clusters.ids[c], clusters.ids[new]))
        to = {major: c, 1 - major: new}
        batch.relabel(lambda z, s, c=c, to=to: (to[s], 0) if z == c else (z, s))
    changed = [*which, *range(clusters.k - len(which), clusters.k)]
    restart_subclusters(batch, clusters, changed, keep_better=False)
    return events


def survives(clusters, totals, a, b):
    """Whether of two clusters that merge the id of the first is kept, not that of the second.

    It is that of the heavier one, but not of one born in this batch if the other was not.
    """
    if (clusters.lived[a] == 0) != (clusters.lived[b] == 0):
        return clusters.lived[b] == 0
    return heavier(totals[a][0], totals[b][0])


def propose_merges(
    batch,
    clusters,
    *,
    neighbours=RULES.neighbours,
    greedy=False,
    must_go=0,
    born_from=0,
    log_u=None,
):
    """Merge pairs of neighbours, each with probability ``min(1, 1 / H)``, the best first.

    Clusters that lived apart are presumed to stay apart: a merge must win by two nats for each
    batch that the younger has lived, up to 20. Returns pairs of ids: who survives, and who is gone.
    The best ``must_go`` pairs are merged whatever their ratio.
    """
    totals = clusters.totals()
    pairs = [
        (a, b)
        for a, b in merge_candidates(clusters.rivals, neighbours)
        if max(clusters.ids[a], clusters.ids[b]) >= born_from
    ]
    if not pairs:
        return []
    ratio = {(a, b): log_merge_ratio(batch, clusters, a, b) for a, b in pairs}
    if log_u is None:
        log_u = batch.log_uniforms(neighbours * clusters.k, greedy=greedy)
    wanted = set()
    for (a, b), least in zip(pairs, log_u, strict=False):
        won = ratio[a, b] > least + reluctance(min(clusters.lived[a], clusters.lived[b]))
        if won and not better_apart(batch, clusters, a, b):
            wanted.add((a, b))
    chosen, taken = [], set()
    for pair in sorted(pairs, key=lambda pair: -ratio[pair]):
        if (pair in wanted or len(chosen) < must_go) and taken.isdisjoint(pair):
            chosen.append(pair)
            taken.update(pair)
    chosen = [(b, a) if survives(clusters, totals, b, a) else (a, b) for a, b in chosen]
    in_frames = {pair: together(batch, clusters, pair) for pair in chosen if tames(batch.family)}
    events, gone = [], []
    for a, b in chosen:
        clusters.merge(a, b)
        if (a, b) in in_frames:
            put_in_frame(clusters, a, in_frames[a, b])
        batch.relabel(lambda z, s, a=a, b=b: (a, int(z == b)) if z in (a, b) else (z, s))
        events.append((clusters.ids[a], clusters.ids[b]))
        gone.append(b)
    keep(batch, clusters, [c for c in range(clusters.k) if c not in gone])
    return events


def better_apart(batch, clusters, a, b):
    """Whether two clusters of rows that say little foretold the batch better than one would have.

    What they held before has been paid for. The doubt about labels is known between a row's two
    best clusters only; of what the two have with any others half is taken for theirs. Who had no
    past, or was born with the batch, foretold nothing.
    """
    if not getattr(batch.family, "faint", False):
        return False
    past, doubt = clusters.past().sum(axis=1)[[a, b]], clusters.doubt
    if min(clusters.lived[a], clusters.lived[b]) == 0 or not (past[:, 0] > 0).all():
        return False
    elsewhere = [sum(doubt[c]) - doubt[c, c] - doubt[a, b] for c in (a, b)]
    gained = doubt[a, b] + RULES.doubt_elsewhere * sum(elsewhere)
    before = log_split_ratio(batch, past, 0.0, 0.0)
    return log_split_ratio(batch, clusters.totals()[[a, b]], gained, 0.0) > before


def put_in_frame(clusters, c, both):
    """Give a cluster that was two the statistics of these in the frame of both."""
    clusters.sums[c] = both.present
    for record in clusters.records:
        record.sums[c] = [
            both.frame.moved(part, by) for part, by in zip(record.sums[c], both.by, strict=True)
        ]


def merge_candidates(rivals, neighbours):
    """Pairs of clusters of which one is among the other's commonest rivals."""
    k, top = len(rivals), []
    for a in range(k):
        common = {b: rivals[a, b] + rivals[b, a] for b in range(k) if b != a}
        top.append(sorted((b for b in common if common[b] > 0), key=lambda b: -common[b]))
    top = [others[:neighbours] for others in top]
    return [(min(a, b), max(a, b)) for a in range(k) for b in top[a] if a < b or a not in top[b]]


def reluctance(lived):
    """Nats by which a cluster's end must win, given how many batches it has lived."""
    each, most = RULES.reluctance
    return min(each * lived, most)


def drop_forgotten(batch, clusters):
    """Drop clusters that count less than 1 and own no point; the heaviest always stays."""
    n = clusters.totals()[:, 0]
    kept = [c for c in range(clusters.k) if n[c] >= ONE or clusters.is_present(c)]
    keep(batch, clusters, kept or [int(np.argmax(n))])


def keep(batch, clusters, order):
    """Keep the given clusters in the given order, and rename labels by their new places."""
    place = {c: i for i, c in enumerate(order)}
    clusters.select(order)
    batch.relabel(lambda z, s: (place[z], s))


def keep_names(batch, had, clusters, splits):
    """Let the name of a cluster that was split go with its points, or with what continues its past.

    The name is where more of the past is. But a place that got hardly any of the points that were
    due has been left, for one that is near; and points that are rather new than the past's further
    ones, where those of the other part are just that, are somebody else. ``had`` are the shares of
    the clusters, by name, before the batch. Returns who moved: its name, and that of the place.
    """
    marginal, moves, source = batch.family.log_marginal, [], {}
    for old, new in splits:  # parts that were split again are parts of the same cluster
        source[new] = source.get(old, old)
    for new, old in source.items():
        if old not in clusters.ids or new not in clusters.ids:
            continue
        a, b = clusters.ids.index(old), clusters.ids.index(new)
        past, n = clusters.past().sum(axis=1), clusters.rows.sum(axis=1)
        if n[b] == 0:
            continue
        P, gone = past[a] + past[b], False
        C = clusters.sums[[a, b]].sum(axis=1)
        due = had.get(old, 0.0) * past[a, 0] / max(P[0], 1e-300) * n.sum()
        if n[a] <= RULES.left * (due - RULES.due):
            gone = near(batch.family, past[a], C[1])
            moves += [(old, new)] if gone else []
        elif n[a] > 0:
            gain = [marginal(P + c) - marginal(P) - marginal(c) for c in C]
            gone = P[0] >= ONE and gain[0] < 0.0 < gain[1]
        if gone:
            for names in (clusters.ids, clusters.born, clusters.lived):
                names[a], names[b] = names[b], names[a]
    return moves
