"""A background whose weight and shape are learned: clusters that it takes, and ones found in it."""

from dataclasses import dataclass
from math import inf, log

import numpy as np
from scipy.special import betaln, gammaln

from reference.clusters import ONE
from reference.moves import drop_forgotten, log_posterior, reluctance
from reference.sweeps import Batch, deterministic_sweep, predictive_scores, with_outliers

BEGINS = 20.0  # nats by which clusters must be more probable beside a background
LOOKS = 16  # batches between looks for noise, at most
MARGIN = 10.0  # nats by which a new cluster must be better than its rows in the background
MORE = 2.0  # standard deviations above the usual number of rows that call for a search at once
SELDOM = 4  # batches between searches at most
MOST = 0.4  # of the rows are noise at most
STRETCH = 1.5  # by which rows are stretched about their middle for the background's shape
WIDTH = 0.02  # of all rows stand for the background's shape at least


@dataclass
class Background:
    """What is remembered of all rows, stretched, and of those that nobody owns."""

    everything: np.ndarray
    held: np.ndarray
    weight: float
    present: np.ndarray | None = None  # the sum over the rows of the batch that is being learned
    pseudo: float = 0.0

    def begin(self, batch, faded):
        """Return it as it is while a batch is learned; of the past a share is left."""
        present, wide = batch.weight @ batch.T, 0.0 * batch.T[:1].sum(axis=0)
        if len(batch.X):
            wide = stretched(batch)
        everything = faded * self.everything + wide
        least = batch.family.enough_rows(batch.X.shape[1])
        pseudo = max(least, WIDTH * everything[0])
        return Background(everything, faded * self.held, self.weight, present, pseudo)

    def beside(self, clusters):
        """Return what it is while clusters own what they own; before a sweep, what it was."""
        if self.present is None or not clusters.rows.any():
            return self
        held = self.held + self.present - clusters.sums.sum(axis=(0, 1))
        if held[0] < 1e-9 * self.everything[0]:
            held = 0.0 * held
        weight = min((1.0 + held[0]) / (2.0 + self.everything[0]), MOST)
        return Background(self.everything, held, weight, None, self.pseudo)

    def shape(self, rows):
        """Return the statistics whose predictive it is, if it holds such rows."""
        return rows + self.pseudo / self.everything[0] * self.everything

    def component(self, clusters):
        """Return its weight and its statistics."""
        now = self.beside(clusters)
        return now.weight, now.shape(now.held)

    def log_density(self, family, rows):
        nothing = family.log_marginal(self.shape(0.0 * rows))
        return family.log_marginal(self.shape(rows)) - nothing


def stretched(batch):
    """Sum the statistics of the rows stretched about their middle, as if they had their weights."""
    centre = batch.X.mean(axis=0)
    rows = batch.family.statistics(centre + STRETCH * (batch.X - centre))
    return rows.sum(axis=0) * (batch.weight.sum() / len(batch.X))


def arising(batch, clusters, suspicion=0.0):
    """Return a background if a batch that was learned without shows noise, None if it does not.

    Clusters were born in it, or it is time for a look, and with a background that takes some of
    them all is more probable. So it was in batches before, perhaps: also returns by how much in
    sum.
    """
    born = [c for c in range(clusters.k) if clusters.is_present(c) and clusters.lived[c] == 0]
    present = any(clusters.is_present(c) for c in range(clusters.k))
    if clusters.k < 2 or not (born or (present and batch.number % LOOKS == 0)):
        return None, suspicion
    noise = empty(batch, clusters.past()[..., 0].sum())
    _, gain = worth_keeping(batch, noise, clusters, 0.0 * noise.held)
    return (noise, 0.0) if suspicion + gain > BEGINS else (None, suspicion + gain)


def arisen(batch, before):
    """Return a background for rows of which fewer have shown noise, with the share it had there."""
    if before is None:
        return None
    noise = empty(batch, 0.0)
    noise.weight = before.weight
    return noise


def empty(batch, past):
    """Return a background that holds nothing, beside a batch and so many points before it."""
    wide = stretched(batch)
    before = wide * (past / wide[0])
    return Background(before, 0.0 * wide, 1.0 / (2.0 + past + wide[0])).begin(batch, 1.0)


def left_after(batch, clusters):
    """Return the background after a batch; one that holds less than a row is none."""
    if batch.outliers is None:
        return None
    noise = batch.outliers.beside(clusters)
    return None if noise.held[0] < ONE else noise


def log_level(batch, family, clusters):
    """Log posterior of the clusters, and of the background if there is one."""
    level = log_posterior(family, batch.alpha, clusters.totals())
    if isinstance(batch.outliers, Background):
        held, n = batch.outliers.beside(clusters).held, batch.outliers.everything[0]
        level += batch.outliers.log_density(family, held)
        level += betaln(1.0 + held[0], 1.0 + n - held[0])
    return level


def give_up(batch, clusters):
    """Give up the clusters whose rows are more probable in the background; one always stays.

    Returns the ids of those.
    """
    if not isinstance(batch.outliers, Background) or clusters.k < 2:
        return []
    kept, _ = worth_keeping(batch, batch.outliers, clusters, batch.outliers.beside(clusters).held)
    if not kept:
        kept = [int(np.argmax(clusters.totals()[:, 0]))]
    gone = [name for c, name in enumerate(clusters.ids) if c not in kept]
    if gone:
        clusters.select(kept)
        deterministic_sweep(batch, clusters)
        drop_forgotten(batch, clusters)
    return gone


def worth_keeping(batch, background, clusters, held, elsewhere=0.0):
    """Return the clusters that are more probable than their rows in the background, and the gain.

    Of the beginnings of a line, those first whose rows gain most, the most probable one goes.
    """
    totals, family = clusters.totals(), batch.family
    n, ours = totals[:, 0], totals[:, 0].sum() + elsewhere
    lose = [
        family.log_marginal(totals[c]) + log(batch.alpha) + gammaln(n[c]) - MARGIN
        + reluctance(clusters.lived[c])
        for c in range(clusters.k)
    ]  # fmt: skip
    before = background.log_density(family, held)
    present = [c for c in range(clusters.k) if clusters.is_present(c)]
    gain = {
        c: (background.log_density(family, held + totals[c]) - before - lose[c]) / n[c]
        for c in present
    }
    line = sorted(present, key=lambda c: -gain[c])
    own_before = held[0] * ours / max(background.everything[0] - held[0], ours)
    none, best, going = None, -inf, []
    for m in range(len(line) + 1):
        taken = totals[line[:m]].sum(axis=0)
        own, rest = own_before + taken[0], ours - taken[0]
        if m and elsewhere == 0.0 and own > MOST * (own + rest):
            continue
        total = background.log_density(family, held + taken) + betaln(1.0 + own, 1.0 + rest)
        total -= gammaln(batch.alpha + max(rest, 0.0)) + sum(lose[c] for c in line[:m])
        none = total if none is None else none
        if total > best:
            best, going = total, line[:m]
    return [c for c in range(clusters.k) if c not in going], best - none


def found_in_background(batch, plan, clusters, time, start):
    """Add clusters found among the rows that the background would take.

    ``start`` merges groups of rows down, as a first batch does, under a prior that stays.
    """
    room = clusters.k if plan.max_clusters is None else plan.max_clusters - clusters.k
    if not (isinstance(batch.outliers, Background) and plan.splits and plan.merges) or room < 1:
        return
    scores = with_outliers(batch, predictive_scores(batch, clusters)[0], clusters)
    rows = np.argmax(scores, axis=0) == clusters.k
    usual = batch.outliers.weight * len(rows)
    more = rows.sum() > usual + MORE * np.sqrt(usual)
    if rows.sum() < 8 or not (more or batch.number % SELDOM == 0):
        return
    some = Batch(
        batch.family, batch.X[rows], np.ones(rows.sum()), alpha=batch.alpha, rng=batch.rng,
        seed=batch.seed, number=batch.number,
    )  # fmt: skip
    found = start(some, plan)
    elsewhere = clusters.totals()[:, 0].sum()
    kept, _ = worth_keeping(some, batch.outliers, found, batch.outliers.held, elsewhere)
    kept = sorted(sorted(kept, key=lambda c: -found.totals()[c, 0])[:room])
    if kept:
        clusters.found(found.totals()[kept], time)
