"""Compiled steps of a small batch of Gaussian clusters.

Each does in one call what the plain steps of `scstream.sampler` do in many. A
prior comes as `Gaussian.numbers`: its row (p,), nu - kappa, its log-normaliser, and d. Where a
matrix turns out not to be positive definite nothing that was filled holds.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from scstream.kernels import draws, matrices
from scstream.kernels.compiling import bare, helper
from scstream.kernels.gamma import log_gamma
from scstream.kernels.gaussian_moves import log_marginal, merged
from scstream.kernels.labelling import uniforms
from scstream.kernels.mixture import PART, log_split, log_weights, shapes, stacked
from scstream.kernels.small_rows import best_labels, divide_rows, order_of, sort, sweep_rows
from scstream.kernels.workspace import line, table


@bare
def sweep(
    past: Any, now: Any, state: Any, alpha: float, prior: Any, more: float, log_z: float, d: int,
    T: Any, w: Any, seed: int, batch: int, number: int, room: Any, ints: Any, z: Any, sub: Any,
    current: Any, rows: Any, rivals: Any, doubt: Any, each: Any, whole: Any,
) -> Any:  # fmt: skip
    """Label the rows by clusters and sub-clusters with the given past and present (k, 2, p).

    With the state of a generator weights, parameters and labels are drawn, and it moves on.
    Without, labels are the best by the predictives; weights are those of `scstream.sampler.sweep`.
    Fills what `scstream.engines.Sums` has and, without draws, the log marginals of the parts and
    wholes then. Returns how many matrices, or shapes of gammas, do not allow that.
    """
    k, p, drawn = len(rows), past.shape[2], len(state) > 0
    some, at = line(room, np.int64(0), matrices.ROOM * (d + 1) ** 2)
    sums, at = table(room, at, 3 * k, p)
    factors, at = table(room, at, 3 * k, p)
    eta, at = table(room, at, 3 * k, p)
    levels, at = table(room, at, np.int64(4), 3 * k)
    log_det, const, power, log_weight = levels[0], levels[1], levels[2], levels[3]
    u, at = table(room, at, np.int64(2), len(z))
    stacked(past, now, sums)
    groups, nobody = sums.reshape(3 * k, 1, p), room[:0].reshape(0, d)
    failed = matrices.factor(groups, prior, nobody, some, factors, log_det)
    if failed > 0:
        return failed
    if drawn:
        squares, after = line(room, at, 3 * k * d)
        normals, after = line(room, after, 3 * k * (p - 1 - d))
        shape, after = table(room, after, np.int64(3), 3 * k + 1)
        failed = _draw(state, sums, alpha, prior[0] + more, d, shape, log_weight, squares, normals)
        if failed > 0:
            return failed
        chi, normal = squares.reshape(3 * k, d), normals.reshape(3 * k, p - 1 - d)
        matrices.draw_wishart(factors, chi, normal[:, d:], normal[:, :d], log_weight, some, eta)
        start = len(chi) * 0  # a constant would have it all compiled once more
        uniforms(seed, batch, number, start, u)
    else:
        _log_shares(sums[:k], alpha, log_weight)
        for r in range(k, 3 * k):
            log_weight[r] = log(sums[r, 0] + 0.5 * alpha)
        matrices.student_level(factors, log_det, more, d, log_weight, const, power)
        matrices.student(factors, d, some, eta)
    sweep_rows(
        T, w, eta, const, power, u, drawn, d, room[at:], ints, z, sub, current, rows, rivals,
        doubt,
    )  # fmt: skip
    if not drawn:
        stacked(past, current, sums)
        failed = _log_marginals(sums, prior, more, log_z, d, some, log_det, each, whole)
    return failed


@helper
def _draw(
    state: Any, sums: Any, alpha: float, nu: float, d: int, room: Any, log_weight: Any, chi: Any,
    normals: Any,
) -> Any:  # fmt: skip
    """Draw log weights (m,), and diagonals, rests and noises as `Gaussian.draw_factors` does.

    Returns how many shapes are too small.
    """
    m = len(sums)
    n, g, u = room[0], room[1], room[2]
    shapes(sums, alpha, n)
    for r in range(m + 1):
        g[r] = n[r] + 1.0
    draws.gammas(state, g)
    for r in range(m + 1):
        u[r] = draws.uniform(state)
    log_weights(g, u, n, log_weight)
    failed = 0
    for r in range(m):
        for i in range(d):
            shape = 0.5 * (sums[r, 0] + (nu - i))
            failed += not shape > 1.0
            chi[r * d + i] = max(shape, 1.0)
    draws.gammas(state, chi)
    for r in range(m * d):
        chi[r] = sqrt(max(2.0 * chi[r], 1e-30))
    draws.normals(state, normals)
    return failed


@bare
def assign(
    X: Any, shift: Any, scale: Any, totals: Any, alpha: float, prior: Any, more: float,
    log_z: float, d: int, room: Any, ints: Any, z: Any,
) -> Any:  # fmt: skip
    """Fill the best labels of rows by the predictives of clusters (k, p); returns failures.

    The rows (n, d) are to be put in a frame by ``shift`` and ``scale`` (d,).
    """
    k, p = totals.shape
    quad, at = table(room, np.int64(0), k, p)
    levels, at = table(room, at, np.int64(3), k)
    log_weight, const, power = levels[0], levels[1], levels[2]
    _log_shares(totals, alpha, log_weight)
    rest = room[at:]
    failed = _predictive(totals, prior, more, d, log_weight, rest, quad, const, power)
    if failed == 0:
        best_labels(X, shift, scale, quad, const, power, rest, ints, z)
    return failed


@bare
def forget(
    past: Any, past_doubt: Any, now: Any, shares: Any, reluctance: float, alpha: float,
    prior: Any, more: float, log_z: float, d: int, room: Any, new_past: Any, new_doubt: Any,
) -> Any:  # fmt: skip
    """Fill the past (k, 2, p) and its doubts (k, k) with what is worth keeping of each cluster's.

    See `shares_worth_keeping`. Returns how many matrices fail, or -1 if all of the past is worth
    keeping.
    """
    k, p = len(past), past.shape[2]
    kept, at = line(room, np.int64(0), k)
    level, at = line(room, at, np.int64(2))
    rows, at = table(room, at, np.int64(2), p)
    rest = room[at:]
    failed, less = 0, False
    for r in range(k):
        kept[r] = 1.0
        m = now[r, 0, 0] + now[r, 1, 0]
        if not m > 0.0:
            continue
        best = share = halved = whole = 0.0
        for i in range(len(shares) + 1):
            last = i == len(shares)  # then it is the present alone, where less is kept
            if last and not (halved > whole and share < 1.0):
                break
            for q in range(p):
                rows[0, q] = 0.0 if last else shares[i] * (past[r, 0, q] + past[r, 1, q])
                rows[1, q] = rows[0, q] + now[r, 0, q] + now[r, 1, q]
            failed += log_marginal(rows, prior, more, log_z, d, rest, level)
            evidence = level[1] - level[0]
            if last:
                n = max(past[r, 0, 0] + past[r, 1, 0], 1e-12)
                new = log(alpha) + log_gamma(m) + log_gamma(n) - log_gamma(n + m) + level[1]
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


@bare
def try_division(
    T: Any, w: Any, z: Any, now: Any, chosen: Any, attempt: Any, member: Any, prior: Any,
    more: float, log_z: float, d: int, axes: int, rounds: int, alpha: float, room: Any, ints: Any,
    trial: Any, current: Any, doubt: Any,
) -> Any:  # fmt: skip
    """Try a new division of the points of the chosen clusters (k,): by a cut, then by predictives.

    The present's sums ``now`` (k, 2, p) and a member (k, p) of each cluster say where to cut. Fills
    the sub-labels that are tried, and their sums (k, 2, p) and doubts (k,). Returns how many
    matrices fail.
    """
    k, p = len(now), now.shape[2]
    present, at = table(room, np.int64(0), k, p)
    eta, at = table(room, at, 2 * k, p)
    levels, at = table(room, at, np.int64(3), 2 * k)
    log_sub, const, power = levels[0], levels[1], levels[2]
    rest, pairs = room[at:], current.reshape(2 * k, p)
    order, start, at = order_of(ints, len(z), k)
    sort(z, k, order, start)
    for r in range(k):
        for q in range(p):
            present[r, q] = now[r, 0, q] + now[r, 1, q]
    matrices.directions(present, member, attempt, axes, d, rest, pairs[:k])
    for r in range(k):
        for q in range(p):
            eta[2 * r, q], eta[2 * r + 1, q] = 0.0, pairs[r, q]
    pairs[:] = 0.0
    failed = 0
    for left in range(rounds, -1, -1):
        if left < rounds:
            for r in range(2 * k):
                log_sub[r] = log(pairs[r, 0] + 0.5 * alpha)
            failed += _predictive(pairs, prior, more, d, log_sub, rest, eta, const, power)
            pairs[:] = 0.0
        plain, last = left == rounds, left == 0
        divide_rows(
            T, w, order, start, chosen, eta, const, power, plain, last, d, rest, trial, current,
            doubt,
        )  # fmt: skip
    return failed


@bare
def anything(
    past: Any, now: Any, past_doubt: Any, doubt: Any, rows: Any, rivals: Any, each: Any,
    whole: Any, split_u: Any, merge_u: Any, lived: Any, step: float, margin: float, most: int,
    alpha: float, prior: Any, more: float, log_z: float, d: int, room: Any, ints: Any,
) -> Any:  # fmt: skip
    """Whether some cluster is to be split, merged or dropped.

    ``split_u`` (k,) and ``merge_u`` are what the log ratios must exceed, a merge's by ``step`` for
    every batch that the younger of the two has ``lived`` (k,), but by ``margin`` at most.
    """
    k, p = len(past), past.shape[2]
    sums, at = table(room, np.int64(0), 3 * k, p)
    levels, at = table(room, at, np.int64(2), k)
    own, ratio = levels[0], levels[1]
    stacked(past, now, sums)
    totals, parts = sums[:k], sums[k:].reshape(k, 2, p)
    for r in range(k):
        own[r] = past_doubt[r, r] + doubt[r, r]
    log_split(log(alpha), parts[:, :, 0], each, whole, own, PART, ratio)
    for r in range(k):
        here = rows[r, 0] + rows[r, 1] > 0
        if here and ratio[r] > split_u[r]:
            return True
        if not here and not totals[r, 0] >= 1.0:
            return True
    pairs, after = table(ints, np.int64(0), k * most, np.int64(2))
    top, after = table(ints, after, k, most)
    gain, at = line(room, at, k * most)
    both, at = line(room, at, k * most)
    m = merged(
        totals, whole, past_doubt, doubt, rivals, prior, more, log_z, d, alpha, room[at:], top,
        pairs, gain, both,
    )  # fmt: skip
    if m < 0:
        return True
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        if gain[i] > merge_u[i] + min(step * min(lived[a], lived[b]), margin):
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
    s: Any, prior: Any, more: float, d: int, log_weight: Any, room: Any, quad: Any, const: Any,
    power: Any,
) -> Any:  # fmt: skip
    """Fill the Student-t predictives of ``s`` (m, p); returns how many fail."""
    m, p = quad.shape
    factors, at = table(room, np.int64(0), m, p)
    log_det, at = line(room, at, m)
    groups, nobody, rest = s.reshape(m, 1, p), room[:0].reshape(0, d), room[at:]
    failed = matrices.factor(groups, prior, nobody, rest, factors, log_det)
    if failed == 0:
        matrices.student_level(factors, log_det, more, d, log_weight, const, power)
        matrices.student(factors, d, rest, quad)
    return failed


@helper
def _log_marginals(
    sums: Any, prior: Any, more: float, log_z: float, d: int, room: Any, levels: Any, each: Any,
    whole: Any,
) -> Any:  # fmt: skip
    """Fill the log marginals of parts (k, 2) and wholes (k,) of sums as `stacked` has them."""
    k = len(whole)
    failed = log_marginal(sums, prior, more, log_z, d, room, levels)
    for r in range(k):
        whole[r] = levels[r]
        each[r, 0], each[r, 1] = levels[k + 2 * r], levels[k + 2 * r + 1]
    return failed
