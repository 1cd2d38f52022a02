"""The order of steps in a batch: where a first batch starts, how it converges, and a later one."""

import copy
from dataclasses import dataclass, field
from itertools import product
from math import inf, lgamma, log

import numpy as np

from reference.background import (
    arisen,
    arising,
    found_in_background,
    give_up,
    left_after,
    log_level,
)
from reference.clusters import Clusters
from reference.moves import (
    drop_forgotten,
    keep_names,
    log_posterior,
    propose_merges,
    propose_splits,
    restart_subclusters,
    set_present_apart,
)
from reference.sweeps import (
    RULES,
    deterministic_sweep,
    forget,
    last_sweep,
    predictive_scores,
    predictive_sweep,
    restricted_sweep,
    tame,
    tames,
)


@dataclass(frozen=True)
class Plan:
    """What the user asked for of a batch."""

    sweeps: int = 1  # sampled ones, of a later batch
    max_sweeps: int = 100  # of the first batch
    max_clusters: int | None = None
    splits: bool = True
    merges: bool = True


@dataclass
class Events:
    """Pairs of ids, in order.

    Who was split, and the new part; who survived, and who is gone; who moved, and the place left.
    """

    splits: list = field(default_factory=list)
    merges: list = field(default_factory=list)
    moves: list = field(default_factory=list)


# -- a later batch --------------------------------------------------------------------------------


def later_batch(batch, plan, clusters, time, forgetting):
    """Run some sampled sweeps, moves after each, and the deterministic one; return the events."""
    events, first_new, n = Events(), clusters.next_id, clusters.past()[..., 0].sum(axis=1)
    had = dict(zip(clusters.ids, n / max(n.sum(), 1e-300), strict=True))
    clusters = with_founders(batch, plan, clusters, events, time, forgetting)
    found_in_background(batch, plan, clusters, time, start_that_stays)
    # with few points drawn parameters are mostly noise
    few = len(batch.X) < clusters.k * batch.family.size()
    sweep, before = 0, clusters.k
    # what was split may be more than two clusters
    while sweep < plan.sweeps or (sweep < plan.sweeps + 8 and clusters.k > before):
        before = clusters.k
        if few:
            predictive_sweep(batch, clusters)
        else:
            restricted_sweep(batch, clusters)
        if sweep == 0 and forgetting.adaptive:
            changed = forget(batch, clusters)
            # heavy tails were tamed about places that clusters have left
            for _ in range(2 if has_heavy_tails(batch.family) else 0):
                if changed:
                    restricted_sweep(batch, clusters)
                    changed = forget(batch, clusters)
        moves(batch, plan, clusters, events, time)
        sweep += 1
    last_sweep(batch, clusters)
    before = len(events.splits)
    moves(batch, plan, clusters, events, time, greedy=True, restart=False)
    if len(events.splits) > before:  # of shared points: each gets its best label
        last_sweep(batch, clusters)
        drop_forgotten(batch, clusters)
    events.moves = keep_names(batch, had, clusters, events.splits)
    renumber(clusters, events, first_new)
    return clusters, events


def moves(batch, plan, clusters, events, time, *, greedy=False, restart=True):
    """Seek better sub-clusters, split, merge, and drop what is forgotten."""
    if plan.splits and restart:
        present = [c for c in range(clusters.k) if clusters.is_present(c)]
        restart_subclusters(batch, clusters, present)
        set_present_apart(batch, clusters)
    k = clusters.k
    log_u = batch.log_uniforms(4 * k, greedy=greedy)
    for_splits, for_merges = log_u[:k] + edges(batch, clusters, greedy=greedy), log_u[k:]
    # best labels cut a heavy tail off, and what is left of it looks like more than one
    if plan.splits and not (greedy and has_heavy_tails(batch.family)):
        room = None if plan.max_clusters is None else plan.max_clusters - k
        split = propose_splits(batch, clusters, time, room=room, log_u=for_splits)
        events.splits += split
        if split:
            for_merges = None  # there are other pairs now than those they were drawn for
    if plan.merges:
        events.merges += propose_merges(batch, clusters, greedy=greedy, log_u=for_merges)
    drop_forgotten(batch, clusters)
    give_up(batch, clusters)


def has_heavy_tails(family):
    return tames(family) and family.has_heavy_tails()


def edges(batch, clusters, *, greedy):
    """Return a share of the doubt about labels that cut clusters sharply: a split must win it.

    Where such labels mislead no greedy split is made.
    """
    doubt = clusters.all_doubt() if greedy else clusters.past_doubt()
    between = np.array([doubt[c].sum() - doubt[c, c] for c in range(clusters.k)])
    out = np.maximum(RULES.sharp_edges * between - RULES.edges_free, 0.0)
    return [
        np.inf if greedy and overlaps(batch, clusters, c) else edge for c, edge in enumerate(out)
    ]


def overlaps(batch, clusters, c):
    """Whether the best labels of a cluster mislead: it has many rows, and others are near."""
    n, doubt = clusters.rows[c].sum(), clusters.doubt[c].sum() - clusters.doubt[c, c]
    return n >= batch.drawn_rows and doubt > 0.01 * n


def draw_what_is_learned(batch, clusters):
    """Let clusters learn from one more draw of the labels if the best ones mislead."""
    if any(overlaps(batch, clusters, c) for c in range(clusters.k)):
        restricted_sweep(batch, clusters)


def with_founders(batch, plan, clusters, events, time, forgetting):
    """Return the clusters, with more where groups of the batch's points are better clusters.

    In many columns the few points of a new class come to several old clusters, none of which would
    divide for its share of them. So groups of points compete with the clusters, and are merged
    while that is better. What comes of it is kept if the past foretells the batch better with it.
    This is tried in the batches after a birth, then ever more seldom.
    """
    n, enough = len(batch.X), batch.family.points_for_a_shape()
    calm = min(clusters.lived)
    is_due = calm & (calm - 1) == 0 or calm % 8 == 0
    few = n < clusters.k * enough or (n <= 4096 and n < 8 * clusters.k * enough)
    if not (plan.splits and plan.merges and is_due and few and 4 * clusters.k <= n):
        return clusters
    m = min(n // 4, 50)
    if plan.max_clusters is not None:
        m = min(m, plan.max_clusters - clusters.k)
    if m < 1:
        return clusters

    def swept(trial):
        predictive_sweep(batch, trial)
        if forgetting.adaptive:
            forget(batch, trial)
        drop_forgotten(batch, trial)
        return trial

    without = swept(copy.deepcopy(clusters))
    founded = copy.deepcopy(clusters)
    founded.found(over_cluster(batch, m), time)
    founded, merges = swept(founded), []
    while True:
        merged = propose_merges(
            batch, founded, neighbours=6, greedy=True, born_from=clusters.next_id
        )
        if not merged:
            break
        merges += merged
    if foresight(batch, founded) <= foresight(batch, without) + 1e-6:  # more than rounding
        return clusters
    events.merges += merges
    return founded


def foresight(batch, clusters):
    """Log-probability of the present points and their labels given the past."""
    past = clusters.past().sum(axis=1)
    past = past[past[:, 0] > 0]
    before = log_posterior(batch.family, batch.alpha, past) if len(past) else 0.0
    return log_posterior(batch.family, batch.alpha, clusters.totals()) - before


def renumber(clusters, events, first):
    """Let the ids that are new and lasted follow each other without gaps."""
    lasting = sorted(i for i in clusters.ids if i >= first)
    name = {i: first + rank for rank, i in enumerate(lasting)}
    for pairs in (events.splits, events.merges, events.moves):
        known = [pair for pair in pairs if all(i < first or i in name for i in pair)]
        pairs[:] = [(name.get(a, a), name.get(b, b)) for a, b in known]
    clusters.ids = [name.get(i, i) for i in clusters.ids]
    clusters.next_id = first + len(lasting)


# -- the first batch ------------------------------------------------------------------------------


def first_batch(batch, plan, clusters, *, again=False, turned=False):
    """Sweep until the log posterior no longer rises, then settle by deterministic sweeps."""
    converge(batch, plan, clusters, again=again, turned=turned)
    if tamed_in_vain(batch.family):
        return
    if tames(batch.family):
        learn_tails(batch, clusters, 4096)
    batch.family = batch.family.settled(clusters.k)
    for _ in range(10):
        before = batch.z.copy()
        last_sweep(batch, clusters)
        moves(batch, plan, clusters, Events(), 0.0, greedy=True)
        if np.count_nonzero(batch.z != before) <= int(0.001 * len(before)):
            break


def converge(batch, plan, clusters, *, again=False, sample=False, turned=False):
    """Sweep until nothing rises, and again from a better start if what was found leads to one."""
    gain = sweep_until_calm(batch, plan, clusters, again=again, sample=sample)
    moving = plan.splits and plan.merges and batch.outliers is None
    if turned and moving and not tamed_in_vain(batch.family) and turn(batch, plan, clusters):
        gain = sweep_until_calm(batch, plan, clusters, again=again, sample=sample)
    return gain


def sweep_until_calm(batch, plan, clusters, *, again, sample):
    """Sweep until the log posterior no longer rises; returns by how much it did since a sweep.

    Of a sample, and of clusters that have converged before, it is not waited for if no cluster was
    split or merged from the first sweep on.

    The prior follows the clusters during the first 15 sweeps, where that is more probable. Those
    of other rows that have converged before may end sooner: there rows must be more probable by a
    ten-thousandth of a nat each. Should rows show no tails twice in a row sweeps end at once: all
    will be done again without.
    """
    best, waited, calm, begin = -inf, 0, 0, None
    normal = int(tamed_in_vain(batch.family))
    gain = max(1e-4 * len(batch.X), 1.0) if again else 1.0
    give_up(batch, clusters)
    for sweep in range(plan.max_sweeps):
        restricted_sweep(batch, clusters)
        events = Events()
        moves(batch, plan, clusters, events, 0.0, restart=sweep % 2 == 0)
        calm = 0 if events.splits or events.merges else calm + 1
        settled = max(calm, waited - 4) >= 2  # pieces of clusters have no tails
        if tames(batch.family) and settled:
            best = -inf if learn_tails(batch, clusters, 2000) else best
            normal = normal + 1 if tamed_in_vain(batch.family) else 0
            if normal == 2:
                break
        totals = clusters.totals()
        level = log_level(batch, batch.family, clusters)
        if sweep < 15:
            family = batch.family.adapt(totals)
            adapted = log_level(batch, family, clusters)
            if adapted > level:
                batch.family, level = family, adapted
        waited = 0 if level > best + gain else waited + 1
        best, begin = max(best, level), level if begin is None else begin
        patience = 3 if again else 8
        if (sample or again) and calm == sweep + 1 >= 3:
            break
        if waited >= patience and (again or sweep >= 15):
            break
    return best - begin


def tamed_in_vain(family):
    """Whether rows were tamed but have no tails."""
    return tames(family) and family.untamed(family) is not None


def learn_tails(batch, clusters, most):
    """Let the tails suit the clusters, by so many rows at most; returns if that changed much."""
    before, n = batch.family, len(batch.X)
    rows = slice(None) if n <= most else np.sort(batch.rng.choice(n, most, replace=False))
    batch.family = before.with_tails(batch.X[rows], clusters.totals(), 100.0, first=True)
    return batch.family.tails_differ(before)


def start_from_samples(batch, plan, size, *, noisy):
    """Return the clusters that a sample of so many rows and one of four times as many agree on.

    They do if there are as many, and sweeps made the rows of the second no more probable than by
    a hundredth of a nat each; if not, the next sample is again four times as large. None if the
    batch has less than four times as many rows as the first, which may be smaller then, but not
    smaller than 2,048. Rows that are tamed begin with fewer, among which pieces of a tail are
    small. 2,000 rows without tails are enough.

    Where rows may be ``noisy`` the first sample shows it. Also returns the background of the last.
    """
    found, n, before, noise = None, len(batch.X), 1, None
    first = min(size, n // 4) if n // 4 >= min(size, 2048) else 0
    sizes = [first * 4**i for i in range(20) if first and first * 4 ** (i + 1) <= n]
    if tames(batch.family) and n >= 800:
        few = min(max(n // 4, 400), 2000)
        sizes = [few, *(size for size in sizes if size >= 2 * few)]
    for size in sizes:
        within = np.random.default_rng(0).random(size)
        rows = [min(int((i + within[i]) * (n / size)), n - 1) for i in range(size)]
        sample = batch.sampled(rows)
        if found is None:
            clusters = start_over_clustered(sample, plan)
            if noisy:
                swept = copy.deepcopy(clusters)
                deterministic_sweep(sample, swept)
                sample.outliers, _ = arising(sample, swept)
        else:
            clusters = Clusters.of(size / before * found.totals(), 0.0, 0)
            sample.outliers = sample.outliers or arisen(sample, noise)
        first = found is None
        gain = converge(sample, plan, clusters, again=not first, sample=True, turned=first)
        batch.family, batch.sweep = sample.family, sample.sweep
        agree = found is not None and found.k == clusters.k and gain < 0.01 * size
        found, before = clusters, size
        noise = left_after(sample, clusters) if noisy else None
        if agree or (size >= 2000 and tamed_in_vain(batch.family)):
            break
    return found and Clusters.of(n / before * found.totals(), 0.0, 0), noise


def start_from_labels(batch, labels):
    """Return the clusters that the user gives; the prior follows them at once."""
    names = sorted(set(labels.tolist()))
    batch.z = np.array([names.index(label) for label in labels])
    totals = sums_by_label(batch, len(names))
    for _ in range(5 if tames(batch.family) else 0):
        tame(batch, [batch.family.frame(s) for s in totals], batch.z)
        totals = sums_by_label(batch, len(names))
    batch.family = batch.family.adapt(totals)
    clusters = Clusters.of(totals, 0.0, 0)
    restart_subclusters(batch, clusters, list(range(clusters.k)), keep_better=False)
    return clusters


def sums_by_label(batch, k):
    return np.array([batch.weight[batch.z == c] @ batch.T[batch.z == c] for c in range(k)])


def start_over_clustered(batch, plan):
    """Deliberately many clusters, merged while that is better; the prior follows them.

    Should most points be left in clusters of fewer points than it takes to tell a shape, all is
    done again under a prior that takes clusters for alike.
    """
    clusters = most_probable_start(batch, plan)
    n, enough = clusters.totals()[:, 0], batch.family.points_for_a_shape()
    if 2.0 * n[n < enough].sum() > n.sum():
        batch.family = batch.family.alike()
        clusters = most_probable_start(batch, plan)
    restart_subclusters(batch, clusters, list(range(clusters.k)), keep_better=False)
    return clusters


def start_that_stays(batch, plan):
    """Return a start from 30 groups at most, under a prior that stays."""
    return most_probable_start(batch, plan, most=30, adapt=False)


def most_probable_start(batch, plan, most=200, *, adapt=True):
    """Return the best of some starts: small groups, or 30 by the columns that tell most.

    Each once more with a prior that is held wide, if the family has such.
    """
    family, size = batch.family, max(1, min(len(batch.X) // 4, most))
    starts = [enough_groups(batch, size) if adapt and size == 200 else over_cluster(batch, size)]
    if family.real and size > 30:
        E = family.embed(batch.X)
        weight = telling_columns(E)
        if weight is not None:
            starts.append(over_cluster(batch, 30, E * weight))
    best = None
    held = family.held(True) if adapt else family
    for prior, groups in product([family] if held is family else [family, held], starts):
        batch.family = prior.adapt(groups) if adapt else prior
        best = merged_down(batch, plan, Clusters.of(groups, 0.0, 0), best, adapt=adapt)
    _, clusters, family, batch.z = best
    batch.family = family.held(False)
    batch.sub = np.zeros(len(batch.X), dtype=int)
    return clusters


def turn(batch, plan, clusters):
    """Start again from groups in the deviations within the clusters, if that is more probable.

    And again from what these merge down to, while it is so by a nat. Returns whether it was.
    """
    family, size = batch.family, max(1, min(len(batch.X) // 4, 200))
    if not family.real or size <= 30:
        return False
    E = family.embed(batch.X)
    turned = in_deviations_within(E, best_labels(batch, clusters))
    if turned is None:
        return False
    best = 0.0, copy.deepcopy(clusters), family, batch.z.copy()
    sharp = copy.deepcopy(clusters)
    deterministic_sweep(batch, sharp)
    found = log_posterior(family, batch.alpha, sharp.totals())
    best = found, *best[1:]
    for _ in range(8):
        groups = over_cluster(batch, min(size, 30 + 4 * best[1].k), turned)
        batch.family, before = family.adapt(groups), best[0]
        best = merged_down(batch, plan, Clusters.of(groups, 0.0, 0), best, adapt=True)
        batch.family = best[2]
        turned = in_deviations_within(E, best_labels(batch, best[1]))
        if turned is None or best[0] < before + 1.0:
            break
    level, new, batch.family, batch.z = best
    batch.sub = np.zeros(len(batch.X), dtype=int)
    vars(clusters).update(vars(new))
    restart_subclusters(batch, clusters, list(range(clusters.k)), keep_better=False)
    return level > found


def best_labels(batch, clusters):
    """Return the clusters that rows are most probable in, numbered without gaps."""
    z = np.argmax(predictive_scores(batch, clusters)[0], axis=0)
    used = sorted(set(z.tolist()))
    return np.array([used.index(c) for c in z])


def merged_down(batch, plan, clusters, best, *, adapt):
    """Merge groups while that is better; returns the most probable step on the way, or before."""
    if best is None:
        best = -inf, copy.deepcopy(clusters), batch.family, batch.z.copy()
    while True:
        deterministic_sweep(batch, clusters)
        drop_forgotten(batch, clusters)
        if adapt:
            batch.family = batch.family.adapt(clusters.totals())
        excess = 0 if plan.max_clusters is None else max(clusters.k - plan.max_clusters, 0)
        level = -inf
        if excess == 0:
            level = log_posterior(batch.family, batch.alpha, clusters.totals())
        if level >= best[0]:
            best = level, copy.deepcopy(clusters), batch.family, batch.z.copy()
        if not plan.merges:
            return best
        if not propose_merges(batch, clusters, neighbours=6, greedy=True, must_go=excess):
            return best


# -- groups of points -----------------------------------------------------------------------------


def enough_groups(batch, m):
    """Return groups of the batch's rows, twice as many while they are too few for the clusters."""
    family, X, most = batch.family, batch.X, max(len(batch.X) // 4, m)
    while True:
        z = k_means(family.embed(X), m, batch.rng)
        groups = np.array([family.statistics(X[z == c]).sum(axis=0) for c in range(max(z) + 1)])
        own, same = shares_divided(family, X, z, batch.alpha)
        if m >= most or own <= 0.12 or same <= 0.002:
            return groups
        m = min(2 * m, most)


def shares_divided(family, X, z, alpha):
    """How many groups are more probable as two clusters, the halves by 2-means.

    The share of groups, by a prior that suits the halves, and that of rows, by the groups' prior.
    """
    pairs, E = [], family.embed(X)
    for c in range(max(z) + 1):
        e, t = E[z == c], family.statistics(X[z == c])
        a = e[np.argmax(((e - e.mean(axis=0)) ** 2).sum(axis=1))]
        b = e[np.argmax(((e - a) ** 2).sum(axis=1))]
        for _ in range(4):
            side = ((e - b) ** 2).sum(axis=1) < ((e - a) ** 2).sum(axis=1)
            if side.all() or not side.any():
                break
            a, b = e[~side].mean(axis=0), e[side].mean(axis=0)
        else:
            pairs.append([t[~side].sum(axis=0), t[side].sum(axis=0)])
    if not pairs:
        return 0.0, 0.0
    prior = family.adapt(np.array([s + t for s, t in pairs]))
    halves = prior.adapt(np.array([half for pair in pairs for half in pair]))

    def level(prior, s):
        return log(alpha) + lgamma(s[0]) + prior.log_marginal(s)

    gains = [[level(p, s) + level(p, t) - level(prior, s + t) for s, t in pairs]
             for p in (halves, prior)]  # fmt: skip
    rows = [s[0] + t[0] for s, t in pairs]
    same = sum(n for n, gain in zip(rows, gains[1], strict=True) if gain > 0)
    return sum(gain > 0 for gain in gains[0]) / (max(z) + 1), same / len(X)


def over_cluster(batch, m, E=None):
    """Statistics of at most m groups of the batch's rows, by k-means."""
    z = k_means(batch.family.embed(batch.X) if E is None else E, m, batch.rng)
    return np.array(
        [batch.family.statistics(batch.X[z == c]).sum(axis=0) for c in range(max(z) + 1)]
    )


def k_means(E, m, rng):
    """Labels of a rough clustering: k-means++ and five rounds."""
    picks, nearest = [int(rng.integers(len(E)))], np.full(len(E), inf)
    while True:
        centre = E[picks[-1]]
        gap = ((E - centre) ** 2).sum(axis=1)
        # rounding leaves copies of a centre at a tiny distance from it
        copies = gap <= 1e-12 * ((E**2).sum(axis=1) + centre @ centre)
        nearest = np.minimum(nearest, np.where(copies, 0.0, gap))
        cumulated = np.cumsum(nearest)
        if len(picks) == m or cumulated[-1] <= 0:
            break
        passed = np.flatnonzero(cumulated > rng.random() * cumulated[-1])
        picks.append(int(passed[0]))
    centres = E[picks]
    for _ in range(5):
        z = np.array([np.argmin(((centres - e) ** 2).sum(axis=1)) for e in E])
        used = sorted(set(z.tolist()))
        z = np.array([used.index(c) for c in z])
        centres = np.array([E[z == c].mean(axis=0) for c in range(len(used))])
    return z


def telling_columns(E):
    """Weights of columns by how flat they are: separate heaps make the fourth moment small."""
    if E.shape[1] < 3:
        return None
    deviation = E.std(axis=0)
    lack = 3.0 - (((E - E.mean(axis=0)) / deviation) ** 4).mean(axis=0)
    return None if lack.max() < 0.5 else np.maximum(lack, 0.05) / deviation


def in_deviations_within(E, z):
    """Rows in units of the deviations from the means of their groups, None if these are round."""
    off = E - np.array([E[z == c].mean(axis=0) for c in range(max(z) + 1)])[z]
    variance, axis = np.linalg.eigh(off.T @ off)
    if variance[-1] <= 2.0 * variance[0]:
        return None
    return E @ (axis / np.sqrt(np.maximum(variance, 1e-12 * variance[-1])))
