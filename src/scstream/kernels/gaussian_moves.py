"""Compiled algebra on Gaussian clusters of few columns, whoever passes over their points.

A prior comes as `Gaussian.numbers`: its row (p,), nu - kappa, its log-normaliser, and d. Where a
matrix turns out not to be positive definite nothing that was filled holds.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from scstream.kernels import matrices
from scstream.kernels.compiling import bare, helper
from scstream.kernels.gamma import log_gamma
from scstream.kernels.mixture import PART, log_split, neighbours
from scstream.kernels.workspace import line, table

APART = -2  # what `judged` may return


@helper
def judged(
    which: Any, better: bool, current: Any, tried: Any, past: Any, past_doubt: Any, now: Any,
    doubt: Any, prior: Any, more: float, log_z: float, d: int, certain: float, alpha: float,
    room: Any, chosen: Any, each: Any, whole: Any,
) -> Any:  # fmt: skip
    """Give clusters a new division that was tried, all that are ``chosen`` (k,).

    Or those of them for which it is ``better``, and no others are chosen any more. Tried were sums
    ``current`` (k, 2, p) with doubts (k,). The past (k, 2, p) is divided along the same boundary.
    It and its doubts (k, k), the present's sums ``now`` (k, 2, p) and doubts (k, k) are changed in
    place. Fills the log marginals of the clusters ``which`` (m,), among them all that are chosen:
    of parts (k, 2) and wholes (k,). Returns ``APART`` if the past and the present of some chosen
    cluster had better be set apart, or how many matrices failed.
    """
    m, p = len(which), past.shape[2]
    flat, at = table(room, np.int64(0), 7 * m, p)  # three divisions, see below, and the wholes
    wholes, at = table(room, at, m, p)
    first, at = table(room, at, m, p)
    pairs, at = table(room, at, 2 * m, p)
    levels, at = line(room, at, 7 * m)
    doubts, at = table(room, at, np.int64(3), m)
    ratio, at = table(room, at, np.int64(3), m)
    rest, new = room[at:], pairs.reshape(m, 2, p)
    parts, log_parts = flat[: 6 * m].reshape(3, m, 2, p), levels[: 6 * m].reshape(3, m, 2)
    for i in range(m):
        r = which[i]
        for q in range(p):
            wholes[i, q] = past[r, 0, q] + past[r, 1, q]
            new[i, 0, q], new[i, 1, q] = current[r, 0, q], current[r, 1, q]
    failed = cut(new, wholes, prior, more, d, certain, rest, first)
    for i in range(m):
        r = which[i]
        doubts[0, i], doubts[1, i] = tried[r], 0.0
        doubts[2, i] = past_doubt[r, r] + doubt[r, r]
        for q in range(p):
            parts[0, i, 0, q] = first[i, q] + new[i, 0, q]
            parts[0, i, 1, q] = wholes[i, q] - first[i, q] + new[i, 1, q]
            parts[1, i, 0, q] = wholes[i, q]
            parts[1, i, 1, q] = now[r, 0, q] + now[r, 1, q]
            parts[2, i, 0, q] = past[r, 0, q] + now[r, 0, q]
            parts[2, i, 1, q] = past[r, 1, q] + now[r, 1, q]
            flat[6 * m + i, q] = parts[2, i, 0, q] + parts[2, i, 1, q]
    failed += log_marginal(flat, prior, more, log_z, d, rest, levels)
    if failed > 0:
        return failed
    for t in range(3):
        n, level = parts[t, :, :, 0], log_parts[t]
        log_split(log(alpha), n, level, levels[6 * m :], doubts[t], PART, ratio[t])
    code = 0
    for i in range(m):
        r = which[i]
        take = chosen[r] and (ratio[0, i] > ratio[2, i] or not better)
        t = 0 if take else 2
        whole[r], each[r, 0], each[r, 1] = levels[6 * m + i], log_parts[t, i, 0], log_parts[t, i, 1]
        if chosen[r] and ratio[1, i] > max(ratio[t, i], 0.0):
            code = APART
        chosen[r] = take
        if take:
            past_doubt[r, r], doubt[r, r] = 0.0, doubts[0, i]
            for q in range(p):
                now[r, 0, q], now[r, 1, q] = new[i, 0, q], new[i, 1, q]
                past[r, 0, q], past[r, 1, q] = first[i, q], wholes[i, q] - first[i, q]
    return code


@helper
def merged(
    totals: Any, whole: Any, past_doubt: Any, doubt: Any, rivals: Any, prior: Any, more: float,
    log_z: float, d: int, alpha: float, room: Any, top: Any, pairs: Any, ratio: Any, both: Any,
) -> Any:  # fmt: skip
    """Fill pairs (m, 2) of neighbours, see `neighbours`, and log ratios (m,) for merging them.

    Also the log marginals of the two together (m,). The clusters have statistics (k, p), log
    marginals (k,), and doubts and rivals (k, k). Returns m, or -1 if a matrix failed.
    """
    p, m = totals.shape[1], neighbours(rivals, top, pairs)
    joint, at = table(room, np.int64(0), m, p)
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        for q in range(p):
            joint[i, q] = totals[a, q] + totals[b, q]
    if log_marginal(joint, prior, more, log_z, d, room[at:], both[:m]):
        return -1
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        n, o = totals[a, 0], totals[b, 0]
        ratio[i] = np.inf
        if n > 0.0 and o > 0.0:
            gain = both[i] - whole[a] - whole[b] - past_doubt[a, b] - doubt[a, b] - log(alpha)
            ratio[i] = gain + log_gamma(n + o) - log_gamma(n) - log_gamma(o)
    return m


@bare
def judge(
    which: Any, better: bool, current: Any, tried: Any, past: Any, past_doubt: Any, now: Any,
    doubt: Any, prior: Any, more: float, log_z: float, d: int, certain: float, alpha: float,
    room: Any, chosen: Any, each: Any, whole: Any,
) -> Any:  # fmt: skip
    """Do as `judged` does, for who is not compiled."""
    return judged(
        which, better, current, tried, past, past_doubt, now, doubt, prior, more, log_z, d, certain,
        alpha, room, chosen, each, whole,
    )  # fmt: skip


@bare
def merges(
    totals: Any, whole: Any, past_doubt: Any, doubt: Any, rivals: Any, prior: Any, more: float,
    log_z: float, d: int, alpha: float, room: Any, top: Any, pairs: Any, ratio: Any, both: Any,
) -> Any:  # fmt: skip
    """Do as `merged` does, for who is not compiled."""
    return merged(
        totals, whole, past_doubt, doubt, rivals, prior, more, log_z, d, alpha, room, top, pairs,
        ratio, both,
    )  # fmt: skip


@helper
def cut(
    current: Any, wholes: Any, prior: Any, more: float, d: int, certain: float, room: Any,
    first: Any,
) -> Any:  # fmt: skip
    """Fill the first parts (k, p) of a past that is divided as the present is; returns failures."""
    k, p = first.shape
    factors, at = table(room, np.int64(0), k, p)
    between, at = table(room, at, k, d)
    middle, at = table(room, at, k, d)
    normal, at = table(room, at, k, d)
    levels, at = table(room, at, np.int64(3), k)
    dof, log_det, offset, rest = levels[0], levels[1], levels[2], room[at:]
    matrices.between(current, prior, more, between, middle, dof)
    failed = matrices.factor(current, prior, between, rest, factors, log_det)
    if failed == 0:
        matrices.discriminant(factors, dof, middle, current, normal, offset)
        matrices.truncate(wholes, normal, offset, certain, rest, first)
    return failed


@helper
def log_marginal(
    s: Any, prior: Any, more: float, log_z: float, d: int, room: Any, out: Any
) -> Any:  # fmt: skip
    """Fill the log marginals of ``s`` (m, p); returns how many fail."""
    failed = matrices.log_partition(s, prior, more, d, room, out)
    for r in range(len(out)):
        out[r] -= log_z
    return failed
