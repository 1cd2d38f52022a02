"""Compiled steps of a small batch of Gaussian clusters.

Each does in one call what `scstream.sweep`, `scstream.window` and `scstream.moves` do in many. A
prior comes as `Gaussian.numbers`: its row (p,), nu - kappa, its log-normaliser, and d. Where a
matrix turns out not to be positive definite nothing that was filled holds.
"""

from __future__ import annotations

from math import lgamma, log
from typing import Any

import numpy as np

from scstream._compile import helper, kernel
from scstream._kernels import log_split, neighbours, stacked
from scstream._rows import best_labels, divide_rows, sweep_rows
from scstream.engines._kernels import uniforms
from scstream.families import _spd

MEMBERS, APART = -1, -2  # what `restart` may return


@kernel
def sweep(
    sums: Any, log_weight: Any, chi: Any, low: Any, noise: Any, past: Any, alpha: float,
    prior: Any, more: float, log_z: float, d: int, T: Any, w: Any, seed: int, batch: int,
    number: int, z: Any, sub: Any, current: Any, rows: Any, rivals: Any, doubt: Any, each: Any,
    whole: Any,
) -> Any:  # fmt: skip
    """Label the rows by clusters and sub-clusters with the given sums (3 k, p); returns failures.

    With `Gaussian.draw_factors` drawn for them labels are drawn, by log weights (3 k,). Without,
    they are the best by the predictives, and weights are what `scstream.sweep` says. Fills what
    `scstream.engines.Sums` has and, without draws, the log marginals of the parts and wholes then.
    """
    k, p, drawn = len(rows), sums.shape[1], len(chi) > 0
    factors, log_det = np.empty(sums.shape), np.empty(3 * k)
    failed = _spd.factor(sums.reshape(3 * k, 1, p), prior, np.empty((0, d)), factors, log_det)
    if failed > 0:
        return failed
    eta, const, power = np.empty(sums.shape), np.zeros(3 * k), np.zeros(3 * k)
    u = np.empty((2, len(z)))
    if drawn:
        _spd.wishart(factors, chi, low, noise, log_weight, eta)
        start = len(chi) * 0  # a constant would have it all compiled once more
        uniforms(seed, batch, number, start, u)
    else:
        _log_shares(sums[:k], alpha, log_weight)
        for r in range(k, 3 * k):
            log_weight[r] = log(sums[r, 0] + 0.5 * alpha)
        _spd.student_level(factors, log_det, more, d, log_weight, const, power)
        _spd.student(factors, d, eta)
    sweep_rows(T, w, eta, const, power, u, drawn, z, sub, current, rows, rivals, doubt)
    if drawn:
        return failed
    stacked(past, current, sums)
    return _log_marginals(sums, prior, more, log_z, d, each, whole)


@kernel
def assign(
    X: Any, shift: Any, scale: Any, totals: Any, alpha: float, prior: Any, more: float,
    log_z: float, d: int, z: Any,
) -> Any:  # fmt: skip
    """Fill the best labels of rows by the predictives of clusters (k, p); returns failures.

    The rows (n, d) are to be put in a frame by ``shift`` and ``scale`` (d,).
    """
    k, p = totals.shape
    log_weight, quad = np.empty(k), np.empty((k, p))
    const, power = np.empty(k), np.empty(k)
    _log_shares(totals, alpha, log_weight)
    failed = _predictive(totals, prior, more, d, log_weight, quad, const, power)
    if failed == 0:
        best_labels(X, shift, scale, quad, const, power, z)
    return failed


@kernel
def forget(
    past: Any, past_doubt: Any, now: Any, shares: Any, reluctance: float, alpha: float,
    prior: Any, more: float, log_z: float, d: int, new_past: Any, new_doubt: Any,
) -> Any:  # fmt: skip
    """Fill the past (k, 2, p) and its doubts (k, k) with what is worth keeping of each cluster's.

    See `scstream.window.shares_worth_keeping`. Returns how many matrices fail, or -1 if all of the
    past is worth keeping.
    """
    k, p = len(past), past.shape[2]
    kept = np.ones(k)
    rows, level = np.empty((3, p)), np.empty(3)
    failed, less = 0, False
    for r in range(k):
        m = now[r, 0, 0] + now[r, 1, 0]
        if not m > 0.0:
            continue
        best = share = halved = whole = 0.0
        for i in range(len(shares) + 1):
            last = i == len(shares)  # then it is the present alone, where less is kept
            if last and not (halved > whole and share < 1.0):
                break
            for q in range(p):
                rows[2, q] = now[r, 0, q] + now[r, 1, q]
                rows[0, q] = 0.0 if last else shares[i] * (past[r, 0, q] + past[r, 1, q])
                rows[1, q] = rows[0, q] + rows[2, q]
            failed += _log_marginal(rows[:2], prior, more, log_z, d, level[:2])
            evidence = level[1] - level[0]
            if last:
                n = max(past[r, 0, 0] + past[r, 1, 0], 1e-12)
                new = log(alpha) + lgamma(m) + lgamma(n) - lgamma(n + m) + level[1]
                if new < best:
                    kept[r] = share
                    less = True
            elif i == 0:
                whole, best, share = evidence, evidence + reluctance, shares[0]
            else:
                if i == 1:
                    halved = evidence
                    if not halved > whole:
                        break
                if evidence > best:
                    best, share = evidence, shares[i]
    if failed == 0 and not less:
        return -1
    for r in range(k):
        for q in range(p):
            new_past[r, 0, q] = kept[r] * past[r, 0, q]
            new_past[r, 1, q] = kept[r] * past[r, 1, q]
        for s in range(k):
            new_doubt[r, s] = min(kept[r], kept[s]) * past_doubt[r, s]
    return failed


@kernel
def restart(
    T: Any, w: Any, z: Any, sub: Any, trial: Any, past: Any, past_doubt: Any, now: Any, rows: Any,
    doubt: Any, attempt: Any, member: Any, prior: Any, more: float, log_z: float, d: int,
    axes: int, certain: float, rounds: int, alpha: float, each: Any, whole: Any,
) -> Any:  # fmt: skip
    """Do what `restart_subclusters` does to k clusters that have points, and what comes before.

    Where the new division is better it takes the place of the old one in the sub-labels ``sub``,
    in the past (k, 2, p) and its doubts (k, k), and in the present's sums ``now`` (k, 2, p), rows
    (k, 2) and doubts (k, k); and each counts another ``attempt`` (k,). Fills the log marginals of
    the parts (k, 2) and wholes (k,). Returns ``APART`` if the past and the present of some cluster
    had better be set apart, or how many matrices failed, or ``MEMBERS`` if a member of each
    cluster (k, p) is needed but was not given: then sub-labels and sums are what they were.
    """
    k, p = len(past), past.shape[2]
    if len(member) == 0:
        for r in range(k):
            if attempt[r] % 2 == 1:
                return MEMBERS
    log_alpha, chosen = log(alpha), np.empty(k, np.bool_)
    sums, present, wholes = np.empty((3 * k, p)), np.empty((k, p)), np.empty((k, p))
    old, new, none = np.empty(k), np.empty(k), np.zeros(k)
    for r in range(k):
        chosen[r] = rows[r, 0] + rows[r, 1] > 0
        none[r] = past_doubt[r, r] + doubt[r, r]
        for q in range(p):
            wholes[r, q] = past[r, 0, q] + past[r, 1, q]
            present[r, q] = now[r, 0, q] + now[r, 1, q]
    stacked(past, now, sums)
    failed = _log_marginals(sums, prior, more, log_z, d, each, whole)
    log_split(log_alpha, sums[k:].reshape(k, 2, p)[:, :, 0], each, whole, none, old)
    current, new_doubt, first = np.zeros((k, 2, p)), np.zeros(k), np.empty((k, p))
    failed += _divide(
        T, w, z, present, attempt, member, prior, more, d, axes, rounds, alpha, trial, current,
        new_doubt,
    )  # fmt: skip
    failed += _cut(current, wholes, prior, more, d, certain, first)
    trials, levels = np.empty((2, k, 2, p)), np.empty((2, k, 2))
    for r in range(k):
        none[r] = 0.0
        for q in range(p):
            trials[0, r, 0, q] = first[r, q] + current[r, 0, q]
            trials[0, r, 1, q] = wholes[r, q] - first[r, q] + current[r, 1, q]
            trials[1, r, 0, q] = wholes[r, q]
            trials[1, r, 1, q] = present[r, q]
    failed += _log_marginal(trials.reshape(4 * k, p), prior, more, log_z, d, levels.reshape(4 * k))
    if failed > 0:
        return failed
    log_split(log_alpha, trials[0, :, :, 0], levels[0], whole, new_doubt, new)
    for r in range(k):
        chosen[r] = chosen[r] and new[r] > old[r]
        if chosen[r]:
            old[r] = new[r]
            past_doubt[r, r], doubt[r, r] = 0.0, new_doubt[r]
            for j in range(2):
                each[r, j] = levels[0, r, j]
                for q in range(p):
                    now[r, j, q] = current[r, j, q]
                    past[r, j, q] = first[r, q] if j == 0 else wholes[r, q] - first[r, q]
    log_split(log_alpha, trials[1, :, :, 0], levels[1], whole, none, new)
    code = 0
    for r in range(k):
        here = rows[r, 0] + rows[r, 1] > 0
        if here and new[r] > max(old[r], 0.0):
            code = APART
        attempt[r] += here
        if chosen[r]:
            rows[r, 0] = rows[r, 1] = 0
    for i in range(len(z)):
        r = z[i]
        if r >= 0 and chosen[r]:
            sub[i] = trial[i]
            rows[r, sub[i]] += 1
    return code


@helper
def _divide(
    T: Any, w: Any, z: Any, present: Any, attempt: Any, member: Any, prior: Any, more: float,
    d: int, axes: int, rounds: int, alpha: float, trial: Any, current: Any, doubt: Any,
) -> Any:  # fmt: skip
    """Try a new division of the points of each cluster: by a cut, then by predictives.

    Returns how many matrices fail.
    """
    k, p = present.shape
    functional, log_sub = np.empty((k, p)), np.empty(2 * k)
    eta, const, power = np.zeros((2 * k, p)), np.empty(2 * k), np.empty(2 * k)
    _spd.directions(present, member if len(member) else present, attempt, axes, d, functional)
    for r in range(k):
        for q in range(p):
            eta[2 * r + 1, q] = functional[r, q]
    failed = 0
    for left in range(rounds, -1, -1):
        if left < rounds:
            pairs = current.reshape(2 * k, p)
            for r in range(2 * k):
                log_sub[r] = log(pairs[r, 0] + 0.5 * alpha)
            failed += _predictive(pairs, prior, more, d, log_sub, eta, const, power)
            for r in range(2 * k):
                for q in range(p):
                    pairs[r, q] = 0.0
        divide_rows(T, w, z, eta, const, power, left == rounds, trial, current, doubt)
    return failed


@helper
def _cut(
    current: Any, wholes: Any, prior: Any, more: float, d: int, certain: float, first: Any
) -> Any:  # fmt: skip
    """Fill the first parts (k, p) of a past that is divided as the present is; returns failures."""
    k, p = first.shape
    between, middle, dof = np.empty((k, d)), np.empty((k, d)), np.empty(k)
    factors, log_det = np.empty((k, p)), np.empty(k)
    normal, offset = np.empty((k, d)), np.empty(k)
    _spd.between(current, prior, more, between, middle, dof)
    failed = _spd.factor(current, prior, between, factors, log_det)
    if failed == 0:
        _spd.discriminant(factors, dof, middle, current, normal, offset)
        _spd.truncate(wholes, normal, offset, certain, first)
    return failed


@kernel
def anything(
    past: Any, now: Any, past_doubt: Any, doubt: Any, rows: Any, rivals: Any, each: Any,
    whole: Any, split_u: Any, merge_u: Any, lived: Any, step: float, margin: float, most: int,
    alpha: float, prior: Any, more: float, log_z: float, d: int,
) -> Any:  # fmt: skip
    """Whether some cluster is to be split, merged or dropped.

    ``split_u`` (k,) and ``merge_u`` are what the log ratios must exceed, a merge's by ``step`` for
    every batch that the younger of the two has ``lived`` (k,), but by ``margin`` at most.
    """
    k, p = len(past), past.shape[2]
    sums, own, ratio = np.empty((3 * k, p)), np.empty(k), np.empty(k)
    stacked(past, now, sums)
    totals, parts = sums[:k], sums[k:].reshape(k, 2, p)
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
        if gain > merge_u[i] + min(step * min(lived[a], lived[b]), margin):
            return True
    return False


@helper
def _log_shares(totals: Any, alpha: float, out: Any) -> None:
    """Fill the log weights ``N_k / (N + alpha)`` of k clusters."""
    k = len(totals)
    n = 0.0
    for r in range(k):
        n += max(totals[r, 0], 1e-300)
    for r in range(k):
        out[r] = log(max(totals[r, 0], 1e-300)) - log(n + alpha)


@helper
def _predictive(
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


@helper
def _log_marginals(
    sums: Any, prior: Any, more: float, log_z: float, d: int, each: Any, whole: Any
) -> Any:  # fmt: skip
    """Fill the log marginals of parts (k, 2) and wholes (k,) of sums as `stacked` has them."""
    k = len(whole)
    levels = np.empty(3 * k)
    failed = _log_marginal(sums, prior, more, log_z, d, levels)
    for r in range(k):
        whole[r] = levels[r]
        each[r, 0], each[r, 1] = levels[k + 2 * r], levels[k + 2 * r + 1]
    return failed


@helper
def _log_marginal(s: Any, prior: Any, more: float, log_z: float, d: int, out: Any) -> Any:
    failed = _spd.log_partition(s, prior, more, d, out)
    for r in range(len(out)):
        out[r] -= log_z
    return failed
