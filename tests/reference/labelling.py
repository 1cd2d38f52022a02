"""One pass over the rows: labels, sub-labels, and what is summed up about them."""

from dataclasses import dataclass
from math import exp, inf, log1p

import numpy as np


def most_probable(scores):
    """Return the best of the log-probabilities; of equals the first."""
    return int(np.argmax(scores))


def drawn(scores, u):
    """Return the label at which the cumulated probabilities pass the uniform."""
    passed = np.cumsum(np.exp(scores - np.max(scores)))
    return int(np.argmax(u * passed[-1] < passed))


def against(chosen, other):
    """Minus the log-probability of one of two labels, by their log-probabilities."""
    return -chosen + max(chosen, other) + log1p(exp(-abs(chosen - other)))


@dataclass(frozen=True)
class Labelling:
    """Labels and what a sweep says about them, row by row."""

    z: np.ndarray
    sub: np.ndarray
    second: np.ndarray  # the best other label, -1 if there is none
    entropy: np.ndarray  # minus the log-probability of the label against that one
    sub_entropy: np.ndarray  # the same of the sub-label; of one that is not drawn, what is expected
    share: np.ndarray  # how much of the row goes to the second sub-cluster


def label(scores, sub_scores, u=None):
    """Label every row by its scores (n, k), then within the cluster by its pair of (n, k, 2).

    With uniforms (2, n) labels are drawn, without them the best are taken: then a row goes to both
    sub-clusters by their probabilities, whose entropy is found. Components beyond the k of
    the sub-scores take points away from the clusters: label -1, sub-label 0.
    """
    n, k = sub_scores.shape[:2]
    out = Labelling(*(np.zeros(n, dtype=kind) for kind in (int, int, int, float, float, float)))
    for i in range(n):
        z = most_probable(scores[i]) if u is None else drawn(scores[i], u[0][i])
        out.second[i] = -1
        if len(scores[i]) > 1:
            others = np.where(np.arange(len(scores[i])) == z, -inf, scores[i])
            out.second[i] = most_probable(others)
            out.entropy[i] = against(scores[i][z], others[out.second[i]])
        if z >= k:
            out.z[i] = -1
            continue
        # of two sub-labels the second is drawn where the uniform is below its probability
        pair = sub_scores[i, z]
        sub = most_probable(pair) if u is None else 1 - drawn(pair[::-1], u[1][i])
        out.z[i], out.sub[i] = z, sub
        if u is None:
            minus_log = [against(pair[0], pair[1]), against(pair[1], pair[0])]
            out.share[i] = exp(-minus_log[1])
            out.sub_entropy[i] = sum(exp(-v) * v for v in minus_log)
        else:
            out.share[i] = sub
            out.sub_entropy[i] = against(pair[sub], pair[1 - sub])
    return out


def statistics(T, w, z, share, k):
    """Weighted sums (k, 2, p) of the rows of ``T`` by label and share of the second sub-cluster.

    Sub-labels are such shares, of all or nothing.
    """
    out = np.zeros((k, 2, T.shape[1]))
    for i in range(len(T)):
        if z[i] >= 0:
            out[z[i], 0] += (1 - share[i]) * w[i] * T[i]
            out[z[i], 1] += share[i] * w[i] * T[i]
    return out


def row_counts(z, sub, k):
    """Numbers of rows (k, 2) by label and sub-label."""
    out = np.zeros((k, 2), dtype=int)
    for a, b in zip(z, sub, strict=True):
        if a >= 0:
            out[a, b] += 1
    return out


def rivals(labelling, k):
    """How many rows of each cluster have each other cluster as second choice, (k, k)."""
    out = np.zeros((k, k), dtype=int)
    for a, b in zip(labelling.z, labelling.second, strict=True):
        if a >= 0 and 0 <= b < k:
            out[a, b] += 1
    return out


def entropies(labelling, w, k):
    """Weighted entropies (k, k): between two clusters, over the rows of either; within one."""
    out = np.zeros((k, k))
    for i, (a, b) in enumerate(zip(labelling.z, labelling.second, strict=True)):
        if a < 0:
            continue
        out[a, a] += w[i] * labelling.sub_entropy[i]
        if 0 <= b < k:
            out[a, b] += w[i] * labelling.entropy[i]
            out[b, a] += w[i] * labelling.entropy[i]
    return out
