"""A loaded batch, the sweeps over it, and forgetting that follows from what they find."""

from dataclasses import dataclass
from math import lgamma, log

import numpy as np

from reference import labelling
from reference.clusters import ONE
from reference.uniforms import uniforms


@dataclass(frozen=True)
class Rules:
    """The numbers that steer the sampler."""

    part: float = 0.5  # points, weighted, that are too few to be a part of a cluster
    neighbours: int = 3  # merge candidates of a cluster
    reluctance: tuple = (2.0, 20.0)  # nats a merge must win by: for each batch lived, and at most
    rounds: int = 2  # hard assignments that refine a restarted pair of sub-clusters
    clear: float = 0.02  # doubt of a point below which such a pair is clear
    shares: tuple = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # of its past, for a cluster to keep
    behind: float = 20.0  # points that the least of them must leave for less to be kept,
    points: float = 3.0  # and that are kept then
    sharp_edges: float = 0.25  # of the doubt about labels of the best, for a split to win,
    edges_free: float = 20.0  # less so many nats
    doubt_elsewhere: float = 0.5  # of that with others, taken for that of two faint clusters
    forget: float = 2.0  # nats by which less of the past must win
    due: float = 3.0  # points that may be missing at a place that was not left,
    left: float = 0.1  # the share of the others that may come to one that was,
    moved: float = 0.05  # and the points that it counts then, for each column, two at least
    apart: float = 2.0  # nats by which points must be rather somebody else's


RULES = Rules()


class Batch:
    """A loaded batch with its labels, and everything that steps work with."""

    left_out = 0.15  # points, for each number that describes a cluster: fewer are left out
    drawn_rows = 300  # of a cluster that overlaps others, from which best labels mislead

    def __init__(self, family, X, weight, *, alpha, rng, seed, number, outliers=None):
        self.family, self.alpha, self.rng = family, alpha, rng
        self.seed, self.number, self.sweep = seed, number, 0
        self.X, self.seen, self.weight = X, family.statistics(X), weight
        self.T = self.seen.copy()  # of heavy tails these are tamed, once rows have labels
        self.outliers = outliers  # (weight, statistics) of a component that is nobody's
        self.z = np.full(len(X), -1)
        self.sub = np.zeros(len(X), dtype=int)

    def sampled(self, rows):
        """Return some of its rows as a batch, which goes on where this one has come to."""
        out = Batch(
            self.family, self.X[rows], self.weight[rows], alpha=self.alpha, rng=self.rng,
            seed=self.seed, number=self.number, outliers=self.outliers,
        )  # fmt: skip
        out.sweep, out.drawn_rows = self.sweep, self.drawn_rows
        out.left_out = self.left_out
        return out

    def next_uniforms(self):
        """Two uniforms (2, n) a row, keyed by what they are for."""
        self.sweep += 1
        return uniforms(self.seed, self.number, self.sweep, 0, len(self.X))

    def log_uniforms(self, size, *, greedy):
        """Return what log ratios must exceed; greedy ones must exceed 0."""
        return np.zeros(size) if greedy else np.log(self.rng.random(size))

    def relabel(self, new):
        """Rename pairs of label and sub-label by a function of both."""
        for i, z in enumerate(self.z):
            if z >= 0:
                self.z[i], self.sub[i] = new(z, self.sub[i])


def restricted_sweep(batch, clusters):
    """Draw weights and parameters, then labels and sub-labels; no point founds a cluster."""
    k, parts, totals = clusters.k, clusters.parts(), clusters.totals()
    flat = parts.reshape(2 * k, -1)
    # Dirichlet(N_1 .. N_k, alpha) and Dirichlet(N_k0 + alpha / 2, N_k1 + alpha / 2)
    shapes = [*totals[:, 0], *(flat[:, 0] + batch.alpha / 2), batch.alpha]
    shapes = np.maximum(shapes, 1e-3)
    logs = np.log(batch.rng.standard_gamma(shapes + 1.0))
    logs += np.log1p(-batch.rng.random(len(shapes))) / shapes
    log_weight = logs[:k] - np.logaddexp.reduce([*logs[:k], logs[-1]])
    log_sub = logs[k : 3 * k].reshape(k, 2)
    log_sub = log_sub - np.logaddexp.reduce(log_sub, axis=1)[:, None]
    drawn = batch.family.draw(batch.rng, [*totals, *flat])
    of_rows = getattr(batch.family, "log_label_density", batch.family.log_density)
    scores = [of_rows(batch.seen, drawn[c]) + log_weight[c] for c in range(k)]

    def sub_scores():
        return [
            [
                batch.family.log_density(batch.T, drawn[k + 2 * c + j]) + log_sub[c, j]
                for j in (0, 1)
            ]
            for c in range(k)
        ]

    sweep(batch, clusters, scores, sub_scores, batch.next_uniforms())


def predictive_sweep(batch, clusters):
    """Draw labels and sub-labels by weight times predictive."""
    sweep(batch, clusters, *predictive_scores(batch, clusters), batch.next_uniforms())


def deterministic_sweep(batch, clusters):
    """Take the labels with the best weight times predictive; sub-clusters share each point.

    What is to be compared with one cluster is all divisions of it by their probabilities: expected
    statistics and entropy. The best sub-labels alone, with any doubt, would make too much of it.
    """
    sweep(batch, clusters, *predictive_scores(batch, clusters), None)


def last_sweep(batch, clusters):
    """Do the same at the end of a batch; of few points none counts in its cluster before.

    A point finds itself in the cluster that it is in, by some p / N nats where N points show p
    numbers. One that is alone in its cluster scores as one that founds a cluster.
    """
    totals = clusters.totals()
    few = totals[:, 0].sum() < ONE * batch.left_out * clusters.k * batch.family.size()
    if not few or tames(batch.family):
        deterministic_sweep(batch, clusters)
        return
    scores, sub_scores = predictive_scores(batch, clusters)
    everyone = np.maximum(totals[:, 0], 1e-300).sum() + batch.alpha
    for i, (c, w) in enumerate(zip(batch.z, batch.weight, strict=True)):
        row = batch.T[i]
        without = totals[c] - w * row
        if c < 0:
            continue
        if without[0] < 0.5 * w:
            scores[c][i] = log(batch.alpha / everyone) + batch.family.log_marginal(row)
            continue
        with np.errstate(all="ignore"):
            both, alone = (batch.family.log_marginal(s) for s in (without + row, without))
        if np.isfinite(both - alone):
            scores[c][i] = log(without[0] / everyone) + both - alone
    sweep(batch, clusters, scores, sub_scores, None)


def predictive_scores(batch, clusters):
    """Return scores (k, n) with weights ``N_k / (N + alpha)``, and what gives those of parts.

    These are (k, 2, n), with weights ``N_kj + alpha / 2``, once rows have labels.
    """
    totals, parts = clusters.totals(), clusters.parts()
    n = np.maximum(totals[:, 0], 1e-300)
    scores = [
        log(n[c] / (n.sum() + batch.alpha)) + batch.family.log_predictive(batch.seen, totals[c])
        for c in range(clusters.k)
    ]
    return scores, lambda: [pair_scores(batch, pair) for pair in parts]


def pair_scores(batch, pair):
    """Return scores (2, n) of rows as statistics hold them."""
    of_rows = getattr(batch.family, "log_part_predictive", batch.family.log_predictive)
    return [log(part[0] + batch.alpha / 2) + of_rows(batch.T, part) for part in pair]


def sweep(batch, clusters, scores, sub_scores, u):
    """Label every row, drawn by uniforms or the best, and sum up."""
    k, w = clusters.k, batch.weight
    scores = with_outliers(batch, scores, clusters)
    scores = np.transpose(scores)
    if tames(batch.family):
        totals = clusters.totals()
        z = labelling.label(scores, np.zeros((len(scores), k, 2)), u).z
        tame(batch, [batch.family.frame(s) for s in totals], z % k)  # nobody's: as the last one's
    found = labelling.label(scores, np.transpose(sub_scores(), (2, 0, 1)), u)
    batch.z, batch.sub = found.z, found.sub
    clusters.sums = labelling.statistics(batch.T, w, found.z, found.share, k)
    clusters.rows = labelling.row_counts(found.z, found.sub, k)
    clusters.rivals = labelling.rivals(found, k)
    clusters.doubt = labelling.doubts(found, w, k)


def tames(family):
    """Whether rows enter statistics with their tails drawn in, see `reference.student`."""
    return getattr(family, "tames", False)


def tame(batch, frames, z):
    """Tame every row in the frame of its label."""
    batch.T = np.array([frames[c].tamed(row) for c, row in zip(z, batch.seen, strict=True)])


def with_outliers(batch, scores, clusters):
    """Return the clusters' scores, and behind them that of a component that is nobody's.

    It takes the points that no cluster should take: it is as wide as the whole first batch, and has
    a fixed weight; or both are learned, see `reference.background`.
    """
    if batch.outliers is None:
        return scores
    fixed = isinstance(batch.outliers, tuple)
    share, everything = batch.outliers if fixed else batch.outliers.component(clusters)
    odds = log(share / (1.0 - share))
    return [*scores, odds + batch.family.log_predictive(batch.seen, everything)]


# -- forgetting -----------------------------------------------------------------------------------


def forget(batch, clusters):
    """Let each cluster keep the share of its past that best foretells its present.

    The evidence of the present C given a share r of the past P is ``log_marginal(r P + C) -
    log_marginal(r P)``. The whole stays unless less wins clearly, or where half is no better than
    the whole. Where the present looks like a new cluster rather than the old one changed, or is not
    near and a split would keep it apart from all of the past, nothing is forgotten: a split will
    tell the two apart. One that keeps the least share moved far: of many points it keeps less while
    that is better. Returns whether something was forgotten.
    """
    marginal, shares = batch.family.log_marginal, np.ones(clusters.k)
    past, present = clusters.past().sum(axis=1), clusters.sums.sum(axis=1)
    for c in range(clusters.k):
        P, C = past[c], present[c]
        if not C[0] > 0:
            continue
        evidence = [marginal(r * P + C) - marginal(r * P) for r in RULES.shares]
        if not evidence[1] > evidence[0]:
            continue
        whole, evidence[0] = evidence[0], evidence[0] + RULES.forget
        n, m = max(P[0], 1e-12), C[0]
        new = log(batch.alpha) + lgamma(m) + lgamma(n) - lgamma(n + m) + marginal(C)
        if new < max(evidence) and (new < whole or near(batch.family, P, C)):
            shares[c] = RULES.shares[int(np.argmax(evidence))]
        level = max(evidence)
        if RULES.shares[-1] * P[0] < RULES.behind:
            continue
        while shares[c] <= RULES.shares[-1] and 0.5 * shares[c] * P[0] >= RULES.points:
            less = marginal(0.5 * shares[c] * P + C) - marginal(0.5 * shares[c] * P)
            if not less > level:
                break
            shares[c], level = 0.5 * shares[c], less
    clusters.forget(shares)
    return bool((shares < 1.0).any())


def near(family, P, C):
    """Whether a cluster with the past P may have moved to where the points C are."""
    points = RULES.moved * max(family.moving_columns(), 2)
    place = min(1.0, points / max(P[0], 1e-12)) * P
    marginal = family.log_marginal
    return marginal(place + C) - marginal(place) > marginal(C) - RULES.apart
