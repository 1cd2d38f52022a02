"""Compiled steps of a small batch of Gaussian clusters.

Each does in one call what `scstream.sweep` and `scstream.moves` do in many.
"""

from __future__ import annotations

from math import lgamma, log
from typing import Any

import numpy as np

from scstream._compile import kernel
from scstream._kernels import log_split, neighbours
from scstream.engines._kernels import resplit_block
from scstream.families import _spd


@kernel
def predictive(
    s: Any, prior: Any, more: float, d: int, log_weight: Any, quad: Any, const: Any, power: Any
) -> Any:  # fmt: skip
    """Fill the Student-t predictives of ``s`` (m, p); returns how many fail."""
    m = len(s)
    factors, log_det = np.empty(quad.shape), np.empty(m)
    failed = _spd.factor(s.reshape(m, 1, -1), prior, np.empty((0, d)), factors, log_det)
    if failed == 0:
        _spd.student_level(factors, log_det, more, d, log_weight, const, power)
        _spd.student(factors, d, quad)
    return failed


@kernel
def restart(
    T: Any, w: Any, z: Any, chosen: Any, past: Any, now: Any, doubt: Any, attempt: Any,
    member: Any, prior: Any, more: float, log_z: float, d: int, axes: int, certain: float,
    rounds: int, alpha: float, trial: Any, current: Any, new_doubt: Any, first: Any, each: Any,
    whole: Any, better: Any, apart: Any,
) -> Any:  # fmt: skip
    """Do what `restart_subclusters` and then `set_present_apart` find out, for k clusters.

    ``past`` and ``now`` (k, 2, p) are their statistics, ``doubt`` (k,) that of their division.
    Fills the division tried: sub-labels ``trial``, sums ``current`` (k, 2, p), their doubts, the
    first part of the past (k, p); the log marginals of the parts (k, 2) and wholes (k,) as they
    are to be then; where the new division is better, and where past and present had better be
    set apart. Returns how many matrices failed: then nothing of it holds.
    """
    k, p = first.shape
    eta, const, power = np.zeros((2 * k, p)), np.empty(2 * k), np.empty(2 * k)
    log_sub, log_alpha = np.empty(2 * k), log(alpha)
    parts, wholes, totals = np.empty((k, 2, p)), np.empty((k, p)), np.empty((k, p))
    present, functional = np.empty((k, p)), np.empty((k, p))
    for r in range(k):
        for q in range(p):
            parts[r, 0, q] = past[r, 0, q] + now[r, 0, q]
            parts[r, 1, q] = past[r, 1, q] + now[r, 1, q]
            totals[r, q] = parts[r, 0, q] + parts[r, 1, q]
            wholes[r, q] = past[r, 0, q] + past[r, 1, q]
            present[r, q] = now[r, 0, q] + now[r, 1, q]
    failed = _log_marginal(parts.reshape(2 * k, p), prior, more, log_z, d, each.reshape(2 * k))
    failed += _log_marginal(totals, prior, more, log_z, d, whole)
    old, new = np.empty(k), np.empty(k)
    log_split(log_alpha, parts[:, :, 0], each, whole, doubt, old)
    _spd.directions(present, member, attempt, axes, d, functional)
    for r in range(k):
        for q in range(p):
            eta[2 * r + 1, q] = functional[r, q]
    nothing = np.empty(0)
    resplit_block(T, w, z, chosen, eta, nothing, nothing, rounds == 0, trial, current, new_doubt)
    for left in range(rounds, 0, -1):
        for r in range(2 * k):
            log_sub[r] = log(current[r // 2, r % 2, 0] + 0.5 * alpha)
        pairs = current.reshape(2 * k, p)
        failed += predictive(pairs, prior, more, d, log_sub, eta, const, power)
        for r in range(k):
            for q in range(p):
                current[r, 0, q] = 0.0
                current[r, 1, q] = 0.0
        resplit_block(T, w, z, chosen, eta, const, power, left == 1, trial, current, new_doubt)
    between, middle, dof = np.empty((k, d)), np.empty((k, d)), np.empty(k)
    _spd.between(current, prior, more, between, middle, dof)
    factors, log_det = np.empty((k, p)), np.empty(k)
    failed += _spd.factor(current, prior, between, factors, log_det)
    if failed > 0:
        return failed
    normal, offset = np.empty((k, d)), np.empty(k)
    _spd.discriminant(factors, dof, middle, current, normal, offset)
    _spd.truncate(wholes, normal, offset, certain, first)
    trials, set_apart = np.empty((k, 2, p)), np.empty((k, 2, p))
    for r in range(k):
        for q in range(p):
            trials[r, 0, q] = first[r, q] + current[r, 0, q]
            trials[r, 1, q] = wholes[r, q] - first[r, q] + current[r, 1, q]
            set_apart[r, 0, q] = wholes[r, q]
            set_apart[r, 1, q] = present[r, q]
    levels = np.empty((k, 2))
    failed += _log_marginal(trials.reshape(2 * k, p), prior, more, log_z, d, levels.reshape(2 * k))
    log_split(log_alpha, trials[:, :, 0], levels, whole, new_doubt, new)
    for r in range(k):
        better[r] = chosen[r] and new[r] > old[r]
        if better[r]:
            old[r] = new[r]
            each[r, 0] = levels[r, 0]
            each[r, 1] = levels[r, 1]
    failed += _log_marginal(
        set_apart.reshape(2 * k, p), prior, more, log_z, d, levels.reshape(2 * k)
    )
    log_split(log_alpha, set_apart[:, :, 0], levels, whole, np.zeros(k), new)
    for r in range(k):
        apart[r] = chosen[r] and new[r] > max(old[r], 0.0)
    return failed


@kernel
def anything(
    parts: Any, totals: Any, past_doubt: Any, doubt: Any, rows: Any, rivals: Any, each: Any,
    whole: Any, split_u: Any, merge_u: Any, margin: Any, most: int, alpha: float, prior: Any,
    more: float, log_z: float, d: int,
) -> Any:  # fmt: skip
    """Whether some cluster is to be split, merged or dropped.

    ``split_u`` (k,) and ``merge_u`` are what the log ratios must exceed, a merge's by the smaller
    ``margin`` (k,) of the two.
    """
    k, p = totals.shape
    own, ratio = np.empty(k), np.empty(k)
    for r in range(k):
        own[r] = past_doubt[r, r] + doubt[r, r]
    log_split(log(alpha), parts[:, :, 0], each, whole, own, ratio)
    for r in range(k):
        here = rows[r, 0] + rows[r, 1] > 0
        if here and ratio[r] > split_u[r] and parts[r, 0, 0] > 0.5 and parts[r, 1, 0] > 0.5:
            return True
        if not here and not totals[r, 0] >= 1.0:
            return True
    pairs = np.empty((k * most, 2), np.int64)
    m = neighbours(rivals, most, pairs)
    joint, together = np.empty((m, p)), np.empty(m)
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        for q in range(p):
            joint[i, q] = totals[a, q] + totals[b, q]
    if _log_marginal(joint, prior, more, log_z, d, together):
        return True
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        n, o = totals[a, 0], totals[b, 0]
        gain = together[i] - whole[a] - whole[b] - past_doubt[a, b] - doubt[a, b] - log(alpha)
        gain += lgamma(n + o) - lgamma(n) - lgamma(o)
        if gain > merge_u[i] + min(margin[a], margin[b]):
            return True
    return False


@kernel
def _log_marginal(s: Any, prior: Any, more: float, log_z: float, d: int, out: Any) -> Any:
    failed = _spd.log_partition(s, prior, more, d, out)
    for r in range(len(out)):
        out[r] -= log_z
    return failed


@kernel
def shares(
    past: Any, current: Any, shares: Any, reluctance: float, alpha: float, prior: Any,
    more: float, log_z: float, d: int, out: Any,
) -> Any:  # fmt: skip
    """Fill what `scstream.window.shares_worth_keeping` says (k,); returns how many fail."""
    k, p = past.shape
    rows, level = np.empty((3, p)), np.empty(3)
    failed = 0
    for r in range(k):
        out[r] = 1.0
        m = current[r, 0]
        if not m > 0.0:
            continue
        best = share = halved = whole = 0.0
        for i in range(len(shares)):
            for q in range(p):
                rows[0, q] = shares[i] * past[r, q]
                rows[1, q] = rows[0, q] + current[r, q]
            failed += _log_marginal(rows[:2], prior, more, log_z, d, level[:2])
            evidence = level[1] - level[0]
            if i == 0:
                whole, best, share = evidence, evidence + reluctance, shares[0]
                continue
            if i == 1:
                halved = evidence
                if not halved > whole:
                    break
            if evidence > best:
                best, share = evidence, shares[i]
        if halved > whole and share < 1.0:
            for q in range(p):
                rows[2, q] = current[r, q]
            failed += _log_marginal(rows[2:], prior, more, log_z, d, level[2:])
            n = max(past[r, 0], 1e-12)
            new = log(alpha) + lgamma(m) + lgamma(n) - lgamma(n + m) + level[2]
            if new < best:
                out[r] = share
    return failed
