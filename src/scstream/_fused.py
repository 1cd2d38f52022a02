"""Compiled steps of a small batch of Gaussian clusters.

Each does in one call what `scstream.sweep` and `scstream.moves` do in many.
"""

from __future__ import annotations

from math import lgamma, log
from typing import Any

import numpy as np

from scstream._compile import kernel
from scstream._kernels import log_split, neighbours
from scstream.engines._kernels import (
    best_block,
    draw_block,
    resplit_block,
    take_trial,
)
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
    parts, totals = past + now, np.empty((k, p))
    failed = _marginals(parts, totals, prior, more, log_z, d, each, whole)
    old, new = np.empty(k), np.empty(k)
    log_split(log_alpha, parts[:, :, 0], each, whole, doubt, old)
    present, functional = np.empty((k, p)), np.empty((k, p))
    for r in range(k):
        for q in range(p):
            present[r, q] = now[r, 0, q] + now[r, 1, q]
    _spd.directions(present, member, attempt, axes, d, functional)
    for r in range(k):
        eta[2 * r + 1] = functional[r]
    nothing = np.empty(0)
    resplit_block(T, w, z, chosen, eta, nothing, nothing, rounds == 0, trial, current, new_doubt)
    for left in range(rounds, 0, -1):
        for r in range(2 * k):
            log_sub[r] = log(current[r // 2, r % 2, 0] + 0.5 * alpha)
        pairs = current.reshape(2 * k, p)
        failed += predictive(pairs, prior, more, d, log_sub, eta, const, power)
        current[:] = 0.0
        resplit_block(T, w, z, chosen, eta, const, power, left == 1, trial, current, new_doubt)
    between, middle, dof = np.empty((k, d)), np.empty((k, d)), np.empty(k)
    _spd.between(current, prior, more, between, middle, dof)
    factors, log_det = np.empty((k, p)), np.empty(k)
    failed += _spd.factor(current, prior, between, factors, log_det)
    if failed > 0:
        return failed
    normal, offset = np.empty((k, d)), np.empty(k)
    _spd.discriminant(factors, dof, middle, current, normal, offset)
    wholes = past[:, 0] + past[:, 1]
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
            each[r] = levels[r]
    failed += _log_marginal(
        set_apart.reshape(2 * k, p), prior, more, log_z, d, levels.reshape(2 * k)
    )
    log_split(log_alpha, set_apart[:, :, 0], levels, whole, np.zeros(k), new)
    for r in range(k):
        apart[r] = chosen[r] and new[r] > max(old[r], 0.0)
    return failed


@kernel
def later_batch(
    T: Any, w: Any, seed: Any, batch: Any, past: Any, past_doubt: Any, weights: Any, chi: Any,
    low: Any, noise: Any, split_u: Any, merge_u: Any, alpha: float, prior: Any,
    more: float, log_z: float, d: int, shares_tried: Any, reluctance: float, adaptive: bool,
    axes: int, certain: float, rounds: int, most: int, margin: Any, z: Any, second: Any,
    doubt: Any, sub: Any, sub_doubt: Any, trial: Any, current: Any, rows: Any, rivals: Any,
    between: Any, each: Any, whole: Any,
) -> Any:  # fmt: skip
    """Run a batch as `scstream.chain.later_batch` does, up to the first thing out of the common.

    The past (k, 2, p) and its doubts (k, k) become what is left of them, the labels and sums those
    of the batch, ``each`` and ``whole`` the log marginals. Returns how far it came: 0 is to the
    end; 1 up to the division of past and present; 2 to the splits and merges after the sampled
    sweep, of which some are to be made; 3 to those after the deterministic one; -1 if a matrix
    was not positive definite, and then nothing holds.
    """
    k, p = past.shape[0], past.shape[2]
    if _drawn_sweep(
        T, w, seed, batch, past, weights, chi, low, noise, prior, d, z, second, doubt, sub,
        sub_doubt, current, rows, rivals, between,
    ):  # fmt: skip
        return -1
    wholes = past[:, 0] + past[:, 1]
    if adaptive:
        share = np.empty(k)
        if shares(
            wholes, current[:, 0] + current[:, 1], shares_tried, reluctance, alpha, prior, more,
            log_z, d, share,
        ):  # fmt: skip
            return -1
        for r in range(k):
            for q in range(p):
                past[r, 0, q] *= share[r]
                past[r, 1, q] *= share[r]
            for c in range(k):
                past_doubt[r, c] *= min(share[r], share[c])
    chosen, better, apart = np.empty(k, np.bool_), np.empty(k, np.bool_), np.empty(k, np.bool_)
    for r in range(k):
        chosen[r] = rows[r, 0] + rows[r, 1] > 0
    tried, new_doubt, first = np.zeros((k, 2, p)), np.zeros(k), np.empty((k, p))
    own = np.empty(k)
    for r in range(k):
        own[r] = past_doubt[r, r] + between[r, r]
    if restart(
        T, w, z, chosen, past, current, own, np.zeros(k, np.int64), np.empty((k, p)), prior, more,
        log_z, d, axes, certain,
        rounds, alpha, trial, tried, new_doubt, first, each, whole, better, apart,
    ):  # fmt: skip
        return -1
    _adopt(better, trial, tried, new_doubt, first, z, sub, rows, current, between, past, past_doubt)
    if np.any(apart):
        return 1
    if _anything(
        past, past_doubt, current, rows, rivals, between, each, whole, split_u, merge_u, margin,
        most, alpha, prior, more, log_z, d,
    ):  # fmt: skip
        return 2
    if _best_sweep(
        T, w, past, alpha, prior, more, d, z, second, doubt, sub, sub_doubt, current, rows,
        rivals, between,
    ):  # fmt: skip
        return -1
    totals = np.empty((k, p))
    if _marginals(past + current, totals, prior, more, log_z, d, each, whole):
        return -1
    split_u[:] = 0.0
    merge_u[:] = 0.0
    if _anything(
        past, past_doubt, current, rows, rivals, between, each, whole, split_u, merge_u, margin,
        most, alpha, prior, more, log_z, d,
    ):  # fmt: skip
        return 3
    return 0


@kernel
def _drawn_sweep(
    T: Any, w: Any, seed: Any, batch: Any, past: Any, weights: Any, chi: Any, low: Any,
    noise: Any, prior: Any, d: int, z: Any, second: Any, doubt: Any, sub: Any, sub_doubt: Any,
    current: Any, rows: Any, rivals: Any, between: Any,
) -> Any:  # fmt: skip
    """Draw parameters from the past, labels from them, and add up; returns how many fail."""
    k, p = past.shape[0], past.shape[2]
    s, eta = _clusters_and_parts(past), np.empty((3 * k, p))
    factors, log_det = np.empty((3 * k, p)), np.empty(3 * k)
    failed = _spd.factor(s.reshape(3 * k, 1, p), prior, np.empty((0, d)), factors, log_det)
    if failed == 0:
        _spd.wishart(factors, chi, low, noise, weights, eta)
        draw_block(
            np.dot(T, eta[:k].T), T, w, eta[k:], seed, batch, 1, 0, z, second, doubt, sub,
            sub_doubt, current, rows, rivals, between,
        )  # fmt: skip
        _both_sides(between)
    return failed


@kernel
def _best_sweep(
    T: Any, w: Any, past: Any, alpha: float, prior: Any, more: float, d: int, z: Any, second: Any,
    doubt: Any, sub: Any, sub_doubt: Any, current: Any, rows: Any, rivals: Any, between: Any,
) -> Any:  # fmt: skip
    """Take the best labels and sub-labels and add up anew; returns how many fail."""
    k, p = past.shape[0], past.shape[2]
    s = _clusters_and_parts(past + current)
    weights, quad = np.empty(3 * k), np.empty((3 * k, p))
    const, power = np.empty(3 * k), np.empty(3 * k)
    n = 0.0
    for r in range(k):
        n += max(s[r, 0], 1e-300)
    for r in range(k):
        weights[r] = log(max(s[r, 0], 1e-300)) - log(n + alpha)
    for r in range(k, 3 * k):
        weights[r] = log(s[r, 0] + 0.5 * alpha)
    failed = predictive(s, prior, more, d, weights, quad, const, power)
    if failed == 0:
        current[:] = 0.0
        between[:] = 0.0
        rows[:] = 0
        rivals[:] = 0
        best_block(
            np.dot(T, quad[:k].T), const[:k], power[:k], T, w, quad[k:], const[k:], power[k:], z,
            second, doubt, sub, sub_doubt, current, rows, rivals, between,
        )  # fmt: skip
        _both_sides(between)
    return failed


@kernel
def _clusters_and_parts(parts: Any) -> Any:
    """Return the statistics of clusters and, behind them, of their parts (k, 2, p): (3 k, p)."""
    k, _, p = parts.shape
    out = np.empty((3 * k, p))
    for r in range(k):
        for q in range(p):
            out[r, q] = parts[r, 0, q] + parts[r, 1, q]
            out[k + 2 * r, q] = parts[r, 0, q]
            out[k + 2 * r + 1, q] = parts[r, 1, q]
    return out


@kernel
def _both_sides(between: Any) -> None:
    """Add the doubts of either side to the other's, the diagonal aside."""
    for a in range(len(between)):
        for b in range(a):
            between[a, b] += between[b, a]
            between[b, a] = between[a, b]


@kernel
def _adopt(
    better: Any, trial: Any, tried: Any, new_doubt: Any, first: Any, z: Any, sub: Any, rows: Any,
    current: Any, between: Any, past: Any, past_doubt: Any,
) -> None:  # fmt: skip
    """Take the division tried where it is better, as `divided_anew` does."""
    if not np.any(better):
        return
    rows[:] = 0
    take_trial(better, trial, z, sub, rows)
    for r in range(len(better)):
        if better[r]:
            current[r] = tried[r]
            between[r, r] = new_doubt[r]
            past_doubt[r, r] = 0.0
            for q in range(current.shape[2]):
                past[r, 1, q] += past[r, 0, q] - first[r, q]
                past[r, 0, q] = first[r, q]


@kernel
def _anything(
    past: Any, past_doubt: Any, current: Any, rows: Any, rivals: Any, between: Any, each: Any,
    whole: Any, split_u: Any, merge_u: Any, margin: Any, most: int, alpha: float, prior: Any,
    more: float, log_z: float, d: int,
) -> Any:  # fmt: skip
    """Whether some cluster is to be split, merged or dropped.

    ``split_u`` (k,) and ``merge_u`` are what the log ratios must exceed, a merge's by the smaller
    ``margin`` (k,) of the two.
    """
    k, p = past.shape[0], past.shape[2]
    parts = past + current
    own, ratio = np.empty(k), np.empty(k)
    for r in range(k):
        own[r] = past_doubt[r, r] + between[r, r]
    log_split(log(alpha), parts[:, :, 0], each, whole, own, ratio)
    for r in range(k):
        here = rows[r, 0] + rows[r, 1] > 0
        if here and ratio[r] > split_u[r] and parts[r, 0, 0] > 0.5 and parts[r, 1, 0] > 0.5:
            return True
        if not here and not parts[r, 0, 0] + parts[r, 1, 0] >= 1.0:
            return True
    pairs = np.empty((k * most, 2), np.int64)
    m = neighbours(rivals, most, pairs)
    joint, counts, levels = np.empty((m, p)), np.empty((m, 2)), np.empty((m, 2))
    apart, together = np.empty(m), np.empty(m)
    for i in range(m):
        for j in range(2):
            c = pairs[i, j]
            counts[i, j] = parts[c, 0, 0] + parts[c, 1, 0]
            levels[i, j] = whole[c]
        a, b = pairs[i]
        apart[i] = past_doubt[a, b] + between[a, b]
        for q in range(p):
            joint[i, q] = parts[a, 0, q] + parts[a, 1, q] + (parts[b, 0, q] + parts[b, 1, q])
    if _log_marginal(joint, prior, more, log_z, d, together):
        return True
    ratio = np.empty(m)
    log_split(log(alpha), counts, levels, together, apart, ratio)
    for i in range(m):
        a, b = pairs[i]
        if -ratio[i] > merge_u[i] + min(margin[a], margin[b]):
            return True
    return False


@kernel
def _marginals(
    parts: Any, totals: Any, prior: Any, more: float, log_z: float, d: int, each: Any, whole: Any
) -> Any:  # fmt: skip
    """Fill log marginals of parts (k, 2, p) and of the clusters, whose statistics it adds up."""
    k, p = totals.shape
    for r in range(k):
        for q in range(p):
            totals[r, q] = parts[r, 0, q] + parts[r, 1, q]
    failed = _log_marginal(parts.reshape(2 * k, p), prior, more, log_z, d, each.reshape(2 * k))
    return failed + _log_marginal(totals, prior, more, log_z, d, whole)


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
            rows[2] = current[r]
            failed += _log_marginal(rows[2:], prior, more, log_z, d, level[2:])
            n = max(past[r, 0], 1e-12)
            new = log(alpha) + lgamma(m) + lgamma(n) - lgamma(n + m) + level[2]
            if new < best:
                out[r] = share
    return failed
