"""Compiled algebra on Gaussian clusters of few columns, whoever passes over their points.

Where a matrix turns out not to be positive definite nothing that was filled holds.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels import cuts, matrices
from scstream.kernels.arguments import Division, Floats, Ints, Levels, Prior, Ratio
from scstream.kernels.compiling import brief, brief_part
from scstream.kernels.elementary import log_gamma
from scstream.kernels.mixture import log_split, neighbours
from scstream.kernels.normalisers import log_partition
from scstream.kernels.workspace import line, table

APART = -2  # what `judged` may return


class Choice(NamedTuple):
    """The clusters ``which`` (m,) are looked at, all that are ``chosen`` (k,) among them.

    These get a new division: all of them, or those for which it is ``better``.
    """

    which: Ints
    chosen: Ints
    better: bool


class Clusters(NamedTuple):
    """Clusters that may be merged: statistics (k, p), log marginals (k,), doubts and rivals."""

    totals: Floats
    whole: Floats
    past_doubt: Floats
    doubt: Floats
    rivals: Ints


class Merges(NamedTuple):
    """Of up to k times ``most`` merges: neighbours (k, most), pairs, ratios and log marginals."""

    top: Ints
    pairs: Ints
    ratio: Floats
    both: Floats


@brief_part
def judged(
    choice: Choice, tried: Division, past: Division, now: Division, prior: Prior, certain: float,
    how: Ratio, room: Floats, levels: Levels,
) -> Any:  # fmt: skip
    """Give clusters a new division that was tried.

    The past is divided along the same boundary, see `cut`; it and the present are changed in
    place. Fills the log marginals of the clusters that are looked at, and says who is still
    chosen. Returns ``APART`` if the past and the present of some chosen cluster had better be set
    apart, or how many matrices failed.
    """
    which, chosen = choice.which, choice.chosen
    m, p = len(which), past.sums.shape[2]
    flat, at = table(room, np.int64(0), 7 * m, p)  # three divisions, see below, and the wholes
    wholes, at = table(room, at, m, p)
    first, at = table(room, at, m, p)
    pairs, at = table(room, at, 2 * m, p)
    each, at = line(room, at, 7 * m)
    doubts, at = table(room, at, np.int64(3), m)
    ratio, at = table(room, at, np.int64(3), m)
    rest, new = room[at:], pairs.reshape(m, 2, p)
    parts, log_parts = flat[: 6 * m].reshape(3, m, 2, p), each[: 6 * m].reshape(3, m, 2)
    for i in range(m):
        r = which[i]
        for q in range(p):
            wholes[i, q] = past.sums[r, 0, q] + past.sums[r, 1, q]
            new[i, 0, q], new[i, 1, q] = tried.sums[r, 0, q], tried.sums[r, 1, q]
    failed = cut(new, wholes, prior, certain, rest, first)
    for i in range(m):
        r = which[i]
        doubts[0, i], doubts[1, i] = how.doubt * tried.doubt[r], 0.0
        doubts[2, i] = how.doubt * (past.doubt[r, r] + now.doubt[r, r])
        for q in range(p):
            parts[0, i, 0, q] = first[i, q] + new[i, 0, q]
            parts[0, i, 1, q] = wholes[i, q] - first[i, q] + new[i, 1, q]
            parts[1, i, 0, q] = wholes[i, q]
            parts[1, i, 1, q] = now.sums[r, 0, q] + now.sums[r, 1, q]
            parts[2, i, 0, q] = past.sums[r, 0, q] + now.sums[r, 0, q]
            parts[2, i, 1, q] = past.sums[r, 1, q] + now.sums[r, 1, q]
            flat[6 * m + i, q] = parts[2, i, 0, q] + parts[2, i, 1, q]
    failed += log_marginal(flat, prior, rest, each)
    if failed > 0:
        return failed
    for t in range(3):
        n, level = parts[t, :, :, 0], log_parts[t]
        log_split(log(how.alpha), n, level, each[6 * m :], doubts[t], how.least, ratio[t])
    code = 0
    for i in range(m):
        r = which[i]
        take = chosen[r] and (ratio[0, i] > ratio[2, i] or not choice.better)
        t = 0 if take else 2
        levels.whole[r] = each[6 * m + i]
        levels.each[r, 0], levels.each[r, 1] = log_parts[t, i, 0], log_parts[t, i, 1]
        if chosen[r] and ratio[1, i] > max(ratio[t, i], 0.0):
            code = APART
        chosen[r] = take
        if take:
            past.doubt[r, r], now.doubt[r, r] = 0.0, tried.doubt[r]
            for q in range(p):
                now.sums[r, 0, q], now.sums[r, 1, q] = new[i, 0, q], new[i, 1, q]
                past.sums[r, 0, q], past.sums[r, 1, q] = first[i, q], wholes[i, q] - first[i, q]
    return code


@brief_part
def merged(
    clusters: Clusters, prior: Prior, how: Ratio, room: Floats, out: Merges
) -> Any:  # fmt: skip
    """Fill pairs (m, 2) of neighbours, see `neighbours`, and log ratios (m,) for merging them.

    Also the log marginals of the two together (m,). Returns m, or -1 if a matrix failed.
    """
    totals, whole, pairs = clusters.totals, clusters.whole, out.pairs
    p, m = totals.shape[1], neighbours(clusters.rivals, out.top, pairs)
    joint, at = table(room, np.int64(0), m, p)
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        for q in range(p):
            joint[i, q] = totals[a, q] + totals[b, q]
    if log_marginal(joint, prior, room[at:], out.both[:m]):
        return -1
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        n, o = totals[a, 0], totals[b, 0]
        out.ratio[i] = np.inf
        if n > 0.0 and o > 0.0:
            doubt = clusters.past_doubt[a, b] + clusters.doubt[a, b]
            gain = out.both[i] - whole[a] - whole[b] - how.doubt * doubt - log(how.alpha)
            out.ratio[i] = gain + log_gamma(n + o) - log_gamma(n) - log_gamma(o)
    return m


@brief
def judge(
    choice: Any, tried: Any, past: Any, now: Any, prior: Any, certain: float, ratio: Any,
    room: Floats, levels: Any,
) -> Any:  # fmt: skip
    """Do as `judged` does, for callers in Python."""
    return judged(
        Choice(*choice), Division(*tried), Division(*past), Division(*now), Prior(*prior), certain,
        Ratio(*ratio), room, Levels(*levels),
    )  # fmt: skip


@brief_part
def cut(
    current: Floats, wholes: Floats, prior: Prior, certain: float, room: Floats, first: Floats
) -> Any:  # fmt: skip
    """Fill the first parts (k, p) of a past that is divided as the present is; returns failures.

    It is cut as a Gaussian, ``certain`` deviations from its mean at most; or halved if that is
    negative.
    """
    (k, p), d = first.shape, prior.columns
    if certain < 0.0:
        for r in range(k):
            for q in range(p):
                first[r, q] = 0.5 * wholes[r, q]
        return 0
    factors, at = table(room, np.int64(0), k, p)
    between, at = table(room, at, k, d)
    middle, at = table(room, at, k, d)
    normal, at = table(room, at, k, d)
    levels, at = table(room, at, np.int64(3), k)
    dof, log_det, offset, rest = levels[0], levels[1], levels[2], room[at:]
    cuts.between(current, prior.row, prior.more, between, middle, dof)
    failed = matrices.factor(current, prior.row, between, rest, factors, log_det)
    if failed == 0:
        cuts.discriminant(factors, dof, middle, current, normal, offset)
        cuts.truncate(wholes, normal, offset, certain, rest, first)
    return failed


@brief_part
def log_marginal(s: Floats, prior: Prior, room: Floats, out: Floats) -> Any:
    """Fill the log marginals of ``s`` (m, p); returns how many fail."""
    failed = log_partition(s, prior.row, prior.more, prior.columns, room, out)
    for r in range(len(out)):
        out[r] -= prior.log_normaliser
    return failed
