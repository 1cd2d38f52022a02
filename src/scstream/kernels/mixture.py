"""Compiled kernels of the sampler: weights, the ratio of a split, who is whose neighbour."""

from __future__ import annotations

from math import exp, log, log1p
from typing import Any

import numpy as np

from scstream.kernels.compiling import bare, brief, brief_part, in_order
from scstream.kernels.cuts import OF_A_KIND
from scstream.kernels.elementary import log_gamma


@bare
def faded(share: float, sums: Any, doubt: Any, left: Any) -> None:
    """Fill a share of sums (b, k, 2, p) and of doubts (b, k, k)."""
    sums_left, doubt_left = left
    before, after = sums.reshape(sums.size), sums_left.reshape(sums.size)
    for q in range(len(before)):
        after[q] = share * before[q]
    before, after = doubt.reshape(doubt.size), doubt_left.reshape(doubt.size)
    for q in range(len(before)):
        after[q] = share * before[q]


@brief
def older(lived: Any, now: Any, attempt: Any) -> None:
    """Fill how many batches clusters (k,) have lived after one more, and their first attempts.

    In every other batch attempts to divide a cluster begin with those of the other kind.
    """
    for r in range(len(lived)):
        now[r] = lived[r] + 1
        attempt[r] = OF_A_KIND * (now[r] & 1)


@brief
def recent(kept: float, had: Any, current: Any, out: Any) -> Any:
    """Fill the rows (k,) of clusters: a share of those before, and those of statistics (k, p).

    Returns the least of them.
    """
    least = np.inf
    for r in range(len(out)):
        out[r] = had[r] * kept + current[r, 0]
        least = min(least, out[r])
    return least


@brief
def most(before: Any, totals: Any, out: Any) -> None:
    """Fill the most points (k,) that clusters ever counted, given those before and now (k, p)."""
    for r in range(len(out)):
        out[r] = max(before[r], totals[r, 0])


@brief
def dirichlets(past: Any, now: Any, alpha: float, sums: Any, n: Any) -> None:
    """Fill the statistics (3 k, p) of clusters and then of their sub-clusters, and n (3 k + 1,).

    These are the parameters of the Dirichlets that weights are drawn from, see `log_weights`;
    counts of 0 are taken as tiny. The sub-clusters' past and present are (k, 2, p) each.
    """
    stacked(past, now, sums)
    shapes(sums, alpha, n)


@brief_part
def shapes(sums: Any, alpha: float, n: Any) -> None:
    """Fill the parameters (m + 1,) of the Dirichlets of `stacked` statistics (m, p)."""
    m = len(sums)
    for r in range(m):
        n[r] = max(sums[r, 0] + (0.5 * alpha if 3 * r >= m else 0.0), 1e-3)
    n[m] = max(alpha, 1e-3)


@brief
def stacked(past: Any, now: Any, out: Any) -> None:
    """Fill the sums (3 k, p) of k clusters, then of their sub-clusters."""
    k, p = len(past), past.shape[2]
    for r in range(k):
        for q in range(p):
            one, other = past[r, 0, q] + now[r, 0, q], past[r, 1, q] + now[r, 1, q]
            out[k + 2 * r, q] = one
            out[k + 2 * r + 1, q] = other
            out[r, q] = one + other


@brief
def standing(past: Any, now: Any, doubts: Any, out: Any, here: Any, doubt: Any) -> Any:
    """Do as `stacked` does, and fill the sums (k, p) of the clusters' present.

    Also adds the doubts (k, k) of past and present. Returns how many points there are.
    """
    stacked(past, now, out)
    before, present = doubts
    n = 0.0
    for r in range(len(now)):
        n += out[r, 0]
        for q in range(now.shape[2]):
            here[r, q] = now[r, 0, q] + now[r, 1, q]
        for s in range(len(now)):
            doubt[r, s] = before[r, s] + present[r, s]
    return n


@brief
def many_rows(rows: Any, least: int, out: Any) -> Any:
    """Fill which clusters have so many rows (k, 2), both sides together; returns how many do."""
    found = 0
    for r in range(len(rows)):
        out[r] = rows[r, 0] + rows[r, 1] >= least
        found += out[r]
    return found


@brief
def log_weights(gamma: Any, u: Any, n: Any, out: Any) -> None:
    """Fill log weights of k clusters, then of their sub-clusters: (3 k,).

    ``n`` (3 k + 1,) holds the Dirichlets' parameters, those of the clusters, of their
    sub-clusters, and of the cluster yet to be born. ``gamma`` are draws with shapes ``n + 1``,
    ``u`` uniforms; they make one with shape n, whose logarithm does not run out of digits.
    """
    k = len(out) // 3
    unborn = log(gamma[3 * k]) + log1p(-u[3 * k]) / n[3 * k]
    for r in range(3 * k):
        out[r] = log(gamma[r]) + log1p(-u[r]) / n[r]
    _normalise(out[:k], unborn)
    for r in range(k):
        _normalise(out[k + 2 * r : k + 2 * r + 2], -np.inf)


@brief_part
def _normalise(logs: Any, more: float) -> None:
    """Subtract the logarithm of the sum of exponentials, that of ``more`` included."""
    top = more
    for i in range(len(logs)):
        top = max(top, logs[i])
    total = exp(more - top)
    for i in range(len(logs)):
        total += exp(logs[i] - top)
    for i in range(len(logs)):
        logs[i] -= top + log(total)


@brief
def log_joint(totals: Any, log_marginal: Any, alpha: float) -> Any:
    """Return the log of the joint density of clusters (k, p) with the given marginals (k,)."""
    n = 0.0
    level = log_gamma(alpha)
    for r in range(len(totals)):
        count = max(totals[r, 0], 1e-300)
        n += count
        level += log(alpha) + log_gamma(count) + log_marginal[r]
    return level - log_gamma(alpha + n)


@brief
def log_split(
    log_alpha: float, n: Any, each: Any, whole: Any, doubt: Any, least: float, out: Any
) -> None:  # fmt: skip
    """Fill the log ratios (k,) of splits into parts with counts and log marginals (k, 2) each.

    There is no split into parts that do not both count more than ``least``.
    """
    for r in range(len(out)):
        a, b = n[r, 0], n[r, 1]
        if a > least and b > least:
            gain = _both(log_gamma(a) + each[r, 0], log_gamma(b) + each[r, 1])
            out[r] = log_alpha + gain - log_gamma(a + b) - whole[r] + doubt[r]
        else:
            out[r] = -np.inf


@in_order
def _both(one: float, other: float) -> float:
    """Return a sum that is the same whichever comes first: a division found again is no better."""
    return one + other


@brief_part
def _common(rivals: Any, a: int, b: int) -> Any:
    """Return how many points of either cluster have the other as second choice."""
    return rivals[a, b] + rivals[b, a]


@brief
def neighbours(rivals: Any, top: Any, pairs: Any) -> Any:
    """Fill pairs (a, b), a < b, of which one is among the commonest rivals of the other.

    There is room for the rivals of each (k, most). Of equally common ones the first counts. Returns
    how many pairs there are.
    """
    k, most = top.shape
    for a in range(k):
        for j in range(most):
            top[a, j] = -1
        for b in range(k):
            common = _common(rivals, a, b)
            if b == a or common == 0:
                continue
            j = most
            while j > 0 and (top[a, j - 1] < 0 or common > _common(rivals, a, top[a, j - 1])):
                j -= 1
                if j + 1 < most:
                    top[a, j + 1] = top[a, j]
            if j < most:
                top[a, j] = b
    found = 0
    for a in range(k):
        for j in range(most):
            b = top[a, j]
            if b < 0:
                break
            mutual = False
            for i in range(most):
                mutual = mutual or top[b, i] == a
            if a < b or not mutual:
                pairs[found, 0], pairs[found, 1] = min(a, b), max(a, b)
                found += 1
    return found
