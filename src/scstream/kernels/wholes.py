"""Compiled kernels that judge the seams between clusters, and join clusters to wholes."""

from __future__ import annotations

from math import erfc, exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.compiling import brief, brief_part
from scstream.kernels.seams import factored, white

_LEAST = 1e-300
_TIE = 1e-9  # where nothing speaks for either, the two are one


class Judging(NamedTuple):
    """The numbers that `judge` goes by: see `scstream.sampler.group_rules`, in the same order."""

    level: float
    deviations: float
    flat_deviations: float
    prior_rows: float
    flat: float
    heavy: float
    spread: float
    side_rows: float
    tail: float
    tail_from: float
    around: float
    lasting: float


@brief
def judge(
    sums: Any, pairs: Any, clusters: Any, whole: Any, numbers: Any, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill how much of the lower peak the seam of each pair has, and how high each cluster's is.

    Parameters
    ----------
    sums : ndarray (m, 15)
        See `scstream.kernels.seams`.
    pairs : ndarray (m, 2)
    clusters : tuple
        Counts (k,), means (k, d), covariances (k, d, d).
    whole : ndarray (k,)
        What each cluster was a part of before, -1 if that is not known.
    numbers : tuple
        `Judging`.
    room : tuple
        Floats: (d, d), (d,), (2, k).
    out : tuple
        Ratios (m,), of 1 where nothing separates the two, and log densities of peaks (k,).
    """
    rules = Judging(*numbers)
    count, mean, cov = clusters
    L, u, sizes = room
    ratio, peak = out
    d = mean.shape[1]
    for j in range(len(count)):
        volume = _log_volume(cov, j, L)
        peak[j] = log(max(count[j], _LEAST)) - volume
        sizes[0, j] = volume / d
        sizes[1, j] = log(max(count[j], _LEAST)) - min(d, 3) * volume / d
    power = log(rules.level) / log(0.5)
    for m in range(len(pairs)):
        a, b = pairs[m, 0], pairs[m, 1]
        wider = a if sizes[0, a] > sizes[0, b] else b
        z = min(_bell(sums[m, 9:12], rules), _bell(sums[m, 12:15], rules)) - _TIE
        z -= rules.tail * max(abs(sizes[1, a] - sizes[1, b]) - rules.tail_from, 0.0)
        if whole[a] >= 0 and whole[b] >= 0:
            z += rules.lasting if whole[a] != whole[b] else -rules.lasting
        for i in range(d):
            u[i] = mean[a, i] - mean[b, i]
            for j in range(i + 1):
                L[i, j] = cov[wider, i, j]
        inside = factored(L) and white(L, u) < rules.around**2
        apart = 0.0 if inside else (0.5 * erfc(-z / sqrt(2.0))) ** power
        more = rules.flat_deviations * min(max(-0.5 * z, 0.0), 1.0)
        ratio[m] = min(_valley(sums[m], rules.prior_rows, rules.deviations + more), 1.0 - apart)


@brief_part
def _log_volume(cov: Any, which: int, L: Any) -> Any:
    """Return the log of the product of a cluster's deviations, 0 if it has none."""
    for i in range(len(L)):
        for j in range(i + 1):
            L[i, j] = cov[which, i, j]
    if not factored(L):
        return 0.0
    total = 0.0
    for i in range(len(L)):
        total += log(L[i, i])
    return total


@brief_part
def _bell(side: Any, rules: Any) -> Any:
    """Return by how many deviations the far side of a cluster is more like a Gaussian's.

    The mean square of distances over the square of their mean is 1.57 for half a Gaussian, 1.33
    where rows end as an even strip does, 2 and more for tails. Few rows say little.
    """
    n, r = side[0], rules.flat
    if n > 0.0 and side[1] > 0.0:
        r = (n * n * side[2] / (side[1] * side[1]) + rules.side_rows * r) / (n + rules.side_rows)
    return min(r - rules.flat, rules.heavy - r) * sqrt(n + rules.side_rows) / rules.spread


@brief_part
def _valley(sums: Any, rows: float, deviations: float) -> Any:
    """Return the density in the valley over that of the lower peak, at most 1; 1 if unknown.

    The fit counts as so many rows beside those seen. The valley is taken for shallower, by so many
    deviations of the estimate.
    """
    valley = sums[6] * (sums[0] + rows) / (sums[3] + rows)
    one = sums[7] * (sums[1] + rows) / (sums[4] + rows)
    two = sums[8] * (sums[2] + rows) / (sums[5] + rows)
    lower, seen = (one, sums[1]) if one < two else (two, sums[2])
    if not lower > 0.0:
        return 1.0
    noise = sqrt(1.0 / (sums[0] + 1.0) + 1.0 / (seen + 1.0))
    return min(valley / lower * exp(deviations * noise), 1.0)


@brief
def join(pairs: Any, ratio: Any, peak: Any, power: float, room: Any, out: Any) -> Any:
    """Fill merges (k - 1, 2) and their heights (k - 1,), as far as links go, and return how many.

    The two wholes with the shallowest valley are joined first. A link between two wholes counts as
    deep as the deeper of two valleys: the one between the two clusters that touch, and, where
    their place is low ground, the one between the peaks of the two wholes, to a power.

    ``room`` is for the node (k,) and the highest peak (k,) of each cluster's whole.
    """
    node, top = room
    merges, heights = out
    k = len(peak)
    for i in range(k):
        node[i], top[i] = i, peak[i]
    least = 0.0
    for step in range(k - 1):
        best, value, place = -1, -np.inf, -np.inf
        for m in range(len(pairs)):
            a, b = pairs[m, 0], pairs[m, 1]
            if node[a] == node[b] or not ratio[m] > 0.0:
                continue
            depth = log(ratio[m])
            saddle = min(peak[a], peak[b]) + depth
            depth = min(depth, power * min(saddle - min(top[a], top[b]), 0.0))
            if depth > value or (depth == value and saddle > place):
                best, value, place = m, depth, saddle
        if best < 0:
            return step
        one, other = node[pairs[best, 0]], node[pairs[best, 1]]
        merges[step, 0], merges[step, 1] = min(one, other), max(one, other)
        least = max(1.0 - exp(value), least)
        heights[step] = least
        high = max(top[pairs[best, 0]], top[pairs[best, 1]])
        for i in range(k):
            if node[i] == one or node[i] == other:
                node[i], top[i] = k + step, high
    return k - 1


@brief
def numbered(merges: Any, n: int, owner: Any, out: Any) -> None:
    """Fill the whole (k,) of each cluster after n merges, numbered from 0 in their order.

    ``owner`` is room, (2 k,).
    """
    k = len(out)
    for node in range(k + n):
        owner[node] = node
    for i in range(n):
        owner[merges[i, 0]] = owner[merges[i, 1]] = k + i
    for node in range(k + n - 1, -1, -1):  # what joins whom is always the later node
        owner[node] = owner[owner[node]]
    found = 0
    for i in range(k):
        out[i] = -1
        for j in range(i):
            if owner[j] == owner[i]:
                out[i] = out[j]
                break
        if out[i] < 0:
            out[i] = found
            found += 1
