"""The first rows of a stream, which are kept and clustered again until there are enough."""

from dataclasses import dataclass
from math import lgamma

import numpy as np
from scipy.optimize import linear_sum_assignment


@dataclass
class Kept:
    """A batch among the first rows of a stream, which are kept until there are enough of them."""

    X: np.ndarray
    weight: np.ndarray
    time: float
    ids: np.ndarray


def same_clusters(before, now, k):
    """Whether all but one row in a hundred are in the same clusters as before, and nobody else."""
    if len(before) == 0:
        return False
    old, new = np.unique(before), np.unique(now)
    shared = np.array([[((before == a) & (now == b)).sum() for b in new] for a in old])
    least = 0.99 * len(before)
    as_many = len(old) == len(new) == k
    return as_many and shared.max(axis=0).sum() >= least and shared.max(axis=1).sum() >= least


def came_apart(known, rows):
    """Whether the labels of the last batch tell it from the rows before it, whose labels are known.

    In places that stay the clusters' shares stay about the same. Where all clusters moved on, the
    new places are clusters of their own, and a row tells when it came. ``rows`` counts all rows.
    """
    before = np.array([(known == c).sum() for c in range(len(rows))])
    new = rows - before
    told = log_shares(new) + log_shares(before) - log_shares(rows)
    return told > 5.0 + 0.3 * new.sum()


def log_shares(n):
    """Log-probability of labels with such counts if all shares are equally likely."""
    return lgamma(len(n)) - lgamma(len(n) + n.sum()) + sum(lgamma(1.0 + count) for count in n)


def rename(clusters, known, old_ids, before):
    """Give clusters the ids, and births, of the old ones with which they share most points."""
    shared = np.zeros((clusters.k, before.k))
    for c, old in zip(known, old_ids, strict=True):
        if c >= 0 and old in before.ids:
            shared[c, before.ids.index(old)] += 1
    clusters.ids, clusters.next_id = [None] * clusters.k, before.next_id
    for c, old in zip(*linear_sum_assignment(-shared), strict=True):
        if shared[c, old] > 0:
            clusters.ids[c], clusters.born[c] = before.ids[old], before.born[old]
    for c, name in enumerate(clusters.ids):
        if name is None:
            clusters.ids[c] = clusters.next_id
            clusters.next_id += 1
