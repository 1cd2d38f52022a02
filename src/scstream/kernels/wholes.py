"""Compiled kernels that judge the seams between clusters: which of them are pieces of one whole."""

from __future__ import annotations

from math import erfc, exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.compiling import bare, brief, brief_part
from scstream.kernels.directions import factored, squared_distance, white
from scstream.kernels.joining import join, numbered
from scstream.kernels.seams import follow

_LEAST = 1e-300
_MOST = 2.0  # deviations that a single far side counts among all


class Judging(NamedTuple):
    """The numbers that `form` goes by: see `scstream.sampler.group_rules`, in the same order."""

    level: float
    deviations: float
    flat_deviations: float
    prior_rows: float
    bells: float
    flat: float
    heavy: float
    spread: float
    side_rows: float
    others: float
    all_share: float
    all_sides: float
    seen_rows: float
    tail: float
    tail_from: float
    around: float
    lasting: float
    points: float
    reach: float
    bridge: float


@brief
def form(
    seams: Any, clusters: Any, whole: Any, links: Any, numbers: Any, room: Any, out: Any
) -> Any:  # fmt: skip
    """Judge the seams of clusters, and fill who is joined to whom.

    Parameters
    ----------
    seams : tuple
        Pairs of places, (m, 2) and room for k and the links more; sums (m, 15) and squared
        distances (m,), see `scstream.kernels.seams.follow`.
    clusters : tuple
        Counts (k,), means (k, d), covariances (k, d, d).
    whole : ndarray (k,)
        What each cluster was a part of before, -1 if that is not known.
    links : tuple
        Of clusters of few rows, see `scstream.kernels.nearness`: the least height (k, k) at which
        two may be joined, or (0, 0) if there are none; pairs of places (e, 2) that are joined
        whether they touch or not, and what their seams have of the lower peak (e,).
    numbers : tuple
        `Judging`.
    room : tuple
        Floats and whole numbers, see `room_needed`.
    out : tuple
        Merges (k, 2) and heights (k,), see `join`; the whole (k,) of each cluster, see `numbered`.

    Returns
    -------
    int
        How many merges there are.
    """
    rules = Judging(*numbers)
    pairs, sums, between = seams
    count, mean, cov = clusters
    floats, nodes = room
    merges, heights, part = out
    (k, d), m, e = mean.shape, len(sums), len(links[1])
    L, u = floats[: d * d].reshape(d, d), floats[d * d : d * d + d]
    sizes, floats = floats[d * d + d :][: 4 * k].reshape(4, k), floats[d * d + d + 4 * k :]
    peak, top, floats = floats[:k], floats[k : 2 * k], floats[2 * k :]
    level, ratio, far = floats[:k], floats[k:][: m + k + e], floats[m + 2 * k + e :]
    nearest, nodes = nodes[:k], nodes[k:]
    of_pairs = nodes[: 2 * m + k]
    _measure((count, mean, cov), pairs[:m], rules, (L, u, of_pairs), (sizes, far, nearest, level))
    for j in range(k):
        peak[j] = log(max(count[j], _LEAST)) - sizes[0, j]
    _judge((pairs, sums, between, far), sizes, whole, rules, d, ratio)
    m = _few(
        (count, mean, cov), nearest, rules, (L, u), (pairs, ratio), _link(links, pairs, ratio, m)
    )
    power = log(1.0 - rules.level) / log(rules.bridge)
    n = join(pairs[:m], ratio[:m], peak, power, (nodes[:k], top), (merges, heights))
    low = 0
    while low < n and heights[low] <= rules.level:
        low += 1
    numbered(merges, low, nodes[k:], part)
    return n


def room_needed(k: int, d: int, m: int, e: int) -> tuple[int, int]:
    """Return how many floats and whole numbers `form` works in, given e links."""
    return d * d + d + 8 * k + 3 * m + e, 4 * k + 2 * m


@bare
def step(
    rows: Any, frame: Any, clusters: Any, before: Any, whole: Any, links: Any, numbers: Any,
    room: Any, out: Any,
) -> Any:  # fmt: skip
    """Do what `scstream.kernels.seams.follow` and then `form` do; return pairs and merges.

    ``out`` is pairs, sums, squared distances, merges, heights and the whole of each cluster.
    """
    pairs, sums, between, merges, heights, part = out
    m = follow(rows, frame, clusters, before, room, (pairs, sums, between))
    _, count, mean, cov, _ = clusters
    seams = pairs, sums[:m], between[:m]
    n = form(seams, (count, mean, cov), whole, links, numbers, room, (merges, heights, part))
    return m, n


@brief_part
def _measure(clusters: Any, pairs: Any, rules: Any, room: Any, out: Any) -> None:
    """Fill the sizes of clusters, and distances from them: each one's shape is factored once.

    ``out`` is the log of each cluster's volume and what `_judge` compares (2, k), the squared
    distance (2 m,) of each pair's means in the deviations of the first and of the second; and, of
    each cluster of too few points, the larger one that its place is most probable under (k,), -1 if
    there is none, and how probable it is (k,).
    """
    count, mean, cov = clusters
    L, u, of_pairs = room
    sizes, far, nearest, level = out
    k, d = mean.shape
    first, then = of_pairs[:k], of_pairs[k:]
    for j in range(k):
        first[j] = nearest[j] = -1
        level[j] = -np.inf
    for i in range(2 * len(pairs)):
        j = pairs[i // 2, i % 2]
        then[i], first[j] = first[j], i
    for j in range(k):
        for i in range(d):
            for c in range(i + 1):
                L[i, c] = cov[j, i, c]
        fine, volume = factored(L), 0.0
        if fine:
            for i in range(d):
                volume += log(L[i, i])
        points = log(max(count[j], _LEAST))
        sizes[0, j], sizes[1, j] = volume, points - min(d, 3) * volume / d
        i = first[j]
        while i >= 0:
            far[i] = _distance(mean, pairs[i // 2, 0], pairs[i // 2, 1], L, u) if fine else 0.0
            i = then[i]
        if count[j] < rules.points:
            continue
        for a in range(k):
            if count[a] < rules.points:
                here = points - volume
                if fine:
                    here -= 0.5 * _distance(mean, a, j, L, u)
                if here > level[a]:
                    nearest[a], level[a] = j, here


@brief_part
def _distance(mean: Any, a: int, b: int, L: Any, u: Any) -> Any:
    """Return the squared distance of two means in the deviations of a shape that is factored."""
    for i in range(len(u)):
        u[i] = mean[a, i] - mean[b, i]
    return white(L, u)


@brief_part
def _judge(seams: Any, sizes: Any, whole: Any, rules: Any, d: int, ratio: Any) -> None:
    """Fill how much of the lower peak the seam of each pair has; 1 if nothing separates the two."""
    pairs, sums, between, far = seams
    power = log(rules.level) / log(0.5)
    bells = sizes[2:]
    usual = rules.all_share * sqrt(2.0) * _add_bells(pairs, sums, rules, bells)
    for m in range(len(sums)):
        a, b = pairs[m, 0], pairs[m, 1]
        z = _shape(_bell(sums[m, 9:12], rules), bells[:, a], rules.others)
        z += _shape(_bell(sums[m, 12:15], rules), bells[:, b], rules.others)
        z = z / sqrt(2.0) + usual - rules.bells * _presumed(sums[m], rules.seen_rows * (d - 1))
        z -= rules.tail * max(abs(sizes[1, a] - sizes[1, b]) - rules.tail_from, 0.0)
        if whole[a] >= 0 and whole[b] >= 0:
            z += rules.lasting if whole[a] != whole[b] else -rules.lasting
        in_the_wider = far[2 * m] if sizes[0, a] > sizes[0, b] else far[2 * m + 1]
        apart = 0.0
        if max(in_the_wider, between[m]) >= rules.around**2:
            apart = (0.5 * erfc(-z / sqrt(2.0))) ** power
        more = rules.flat_deviations * min(max(-0.5 * z, 0.0), 1.0)
        ratio[m] = min(_valley(sums[m], rules.prior_rows, rules.deviations + more), 1.0 - apart)


@brief_part
def _presumed(sums: Any, enough: float) -> Any:
    """Return how much a pair is presumed to be one whole: from -1, if no rows were seen, to 1."""
    seen = sums[1] + sums[2]
    return (seen - enough) / (seen + enough + _LEAST)


@brief_part
def _link(links: Any, pairs: Any, ratio: Any, m: int) -> Any:
    """Hold apart clusters of few rows that are not near, and link those that are.

    Returns how many links there are, with the m that there were.
    """
    least, others, between = links
    if len(least) > 0:
        for i in range(m):
            ratio[i] = min(ratio[i], 1.0 - least[pairs[i, 0], pairs[i, 1]])
    for i in range(len(others)):
        pairs[m, 0], pairs[m, 1] = others[i, 0], others[i, 1]
        ratio[m] = between[i]
        m += 1
    return m


@brief_part
def _few(clusters: Any, nearest: Any, rules: Any, room: Any, out: Any, m: int) -> Any:
    """Link each cluster of too few points to the one that is nearest, if that is within reach.

    Returns how many links there are, with the m that there were.
    """
    count, mean, cov = clusters
    pairs, ratio = out
    L, u = room
    for a in range(len(count)):
        b = nearest[a]
        if b >= 0 and squared_distance(mean, cov, a, b, L, u) <= rules.reach**2:
            pairs[m, 0], pairs[m, 1] = a, b
            ratio[m] = 1.0
            m += 1
    return m


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
def _add_bells(pairs: Any, sums: Any, rules: Any, out: Any) -> Any:
    """Fill `_bell` of each cluster's far sides, summed up over its seams, and how many these are.

    ``out`` is (2, k). Returns the mean over all sides, none of which counts more than two
    deviations, beside some that are neither flat nor a Gaussian's.
    """
    for j in range(out.shape[1]):
        out[0, j] = out[1, j] = 0.0
    total, sides = 0.0, rules.all_sides
    for m in range(len(sums)):
        for side in range(2):
            j, at = pairs[m, side], 9 + 3 * side
            bell = _bell(sums[m, at : at + 3], rules)
            out[0, j] += bell
            out[1, j] += 1.0
            total += min(max(bell, -_MOST), _MOST)
            sides += sums[m, at] / (sums[m, at] + rules.side_rows)
    return total / sides


@brief_part
def _shape(own: float, all_sides: Any, share: float) -> Any:
    """Return by how many deviations a cluster looks like a Gaussian, judged from one seam.

    Its far side there counts, and for a share of it the mean of the others, if there are others.
    """
    total, n = all_sides[0], all_sides[1]
    if n < 2.0:
        return own
    return (own + share * (total - own) / (n - 1.0)) / (1.0 + share)


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
