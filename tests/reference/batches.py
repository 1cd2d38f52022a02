"""The order of steps in a batch: how a first one converges, and a later one."""

import copy
from dataclasses import dataclass, field
from math import inf

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
from reference.groups import over_cluster
from reference.moves import (
    drop_forgotten,
    keep_names,
    log_posterior,
    propose_merges,
    propose_splits,
    restart_subclusters,
    set_present_apart,
)
from reference.starts import start_over_clustered, start_that_stays, turn
from reference.sweeps import (
    RULES,
    deterministic_sweep,
    forget,
    last_sweep,
    predictive_sweep,
    restricted_sweep,
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
    given_up: list = field(default_factory=list)  # ids, as those who came back
    returns: list = field(default_factory=list)


# -- a later batch --------------------------------------------------------------------------------


def later_batch(batch, plan, clusters, time, forgetting, dormant):
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
    # who comes back is nobody who moved there
    kernel = forgetting.kernel is not None
    events.returns = dormant.reunite(batch.family, clusters, kernel=kernel)
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
    events.given_up += give_up(batch, clusters)


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
