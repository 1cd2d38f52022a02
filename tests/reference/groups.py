"""Groups of rows that are near each other, from which clusters are merged."""

from math import inf, lgamma, log

import numpy as np


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
