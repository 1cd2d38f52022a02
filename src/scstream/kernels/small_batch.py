"""Compiled steps of a small batch of Gaussian clusters.

Each does in one call what the generic steps of `scstream.sampler` do in many. Tuples are plain, see
`arguments`: a prior is `Gaussian.numbers`. Where a matrix turns out not to be positive definite
nothing that was filled holds.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from scstream.kernels import draws, matrices
from scstream.kernels.arguments import (
    Division,
    Floats,
    Ints,
    Levels,
    Margins,
    Prior,
    Ratio,
    Rows,
    Scores,
    Sums,
    Words,
    Workspace,
)
from scstream.kernels.compiling import bare, brief, brief_part
from scstream.kernels.gaussian_moves import Clusters, Merges, log_marginal, merged
from scstream.kernels.keeping import Trial, shares_kept
from scstream.kernels.labelling import uniforms
from scstream.kernels.mixture import log_split, log_weights, shapes, stacked
from scstream.kernels.pooling import zeros
from scstream.kernels.side_by_side import ROWS, SIDE
from scstream.kernels.small_labels import best_labels, log_totals
from scstream.kernels.small_rows import sweep_rows
from scstream.kernels.workspace import line, next_line, table

FAILED, MOVES = -1, -2  # what `moves` may return


@bare
def sweep(
    past: Floats, now: Floats, state: Words, alpha: float, prior: Any, rows: Any, key: Any,
    room: Any, sums: Any,
) -> Any:  # fmt: skip
    """Label the rows by clusters and sub-clusters with the given past and present (k, 2, p).

    With the state of a generator weights and parameters are drawn, and it moves on. Without, scores
    are by the predictives; weights are those of `scstream.sampler.sweep`. The key is (seed, batch,
    sweep), and whether labels are drawn: if not, they are the best. Fills ``sums``. Returns how
    many matrices, or shapes of gammas, do not allow that.
    """
    prior, rows, room = Prior(*prior), Rows(*rows), Workspace(*room)
    sums, plain, drawn = Sums(*sums), len(state) > 0, key[3]
    k, p = len(sums.rows), past.shape[2]
    some, at = line(room.floats, np.int64(0), SIDE * (4 * p + ROWS))
    totals, at = table(room.floats, at, 3 * k, p)
    factors, at = table(room.floats, at, 3 * k, p)
    eta, at = table(room.floats, at, 3 * k, p)
    each, at = table(room.floats, at, np.int64(4), 3 * k)
    log_det, log_weight, by = each[0], each[3], Scores(eta, each[1], each[2])
    u, at = table(room.floats, at, np.int64(2), len(rows.label))
    rest = Workspace(room.floats[next_line(at) :], room.ints, room.singles)
    stacked(past, now, totals)
    nobody = room.floats[:0].reshape(0, prior.columns)
    groups = totals.reshape(3 * k, 1, p)
    failed = matrices.factor(groups, prior.row, nobody, some, factors, log_det)
    if failed > 0:
        return failed
    if drawn:
        start = len(totals) * 0  # a constant would have it all compiled once more
        uniforms(key[0], key[1], key[2], start, u)
    if plain:
        failed = draw(state, totals, alpha, prior, factors, log_weight, some, rest.floats, eta)
        if failed > 0:
            return failed
    else:
        log_shares(totals[:k], alpha, log_weight)
        for r in range(k, 3 * k):
            log_weight[r] = log(totals[r, 0] + 0.5 * alpha)
        student(factors, log_det, prior, log_weight, some, by)
    sweep_rows(rows, by, u, (drawn, plain), prior.columns, rest, sums)
    return failed


@brief_part
def draw(
    state: Words, sums: Floats, alpha: float, prior: Prior, factors: Floats, log_weight: Floats,
    some: Floats, room: Floats, eta: Floats,
) -> Any:  # fmt: skip
    """Draw log weights (m,) and parameters (m, p), as `Gaussian.draw_factors` does.

    Leaves the diagonals (m, d) of Bartlett's factors where the room begins. Returns how many shapes
    are too small.
    """
    (m, p), d = sums.shape, prior.columns
    nu = prior.row[0] + prior.more
    chi, at = line(room, np.int64(0), m * d)
    noise, at = line(room, at, m * (p - 1 - d))
    of_weights, at = table(room, at, np.int64(3), m + 1)
    n, g, u = of_weights[0], of_weights[1], of_weights[2]
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
    draws.normals(state, noise)
    if failed == 0:
        diagonal, normal = chi.reshape(m, d), noise.reshape(m, p - 1 - d)
        low, shift = normal[:, d:], normal[:, :d]
        matrices.wishart(factors, diagonal, low, shift, log_weight, some, eta)
    return failed


@bare
def assign(
    X: Any, frame: Any, totals: Floats, alpha: float, prior: Any, room: Any, ids: Ints, z: Ints
) -> Any:  # fmt: skip
    """Fill the ids (k,) of the best clusters (k, p) of rows by the predictives; returns failures.

    The rows (n, d) are to be put in a frame, shift and scale (d,). -1 says that some number of them
    is not finite: then nothing is filled.
    """
    if zeros(X) != 0.0:
        return -1
    prior, room = Prior(*prior), Workspace(*room)
    k, p = totals.shape
    quad, at = table(room.floats, np.int64(0), k, p)
    each, at = table(room.floats, at, np.int64(3), k)
    log_weight, by = each[0], Scores(quad, each[1], each[2])
    log_shares(totals, alpha, log_weight)
    rest = Workspace(room.floats[next_line(at) :], room.ints, room.singles)
    failed = predictive(totals, prior, log_weight, rest.floats, by)
    if failed == 0:
        best_labels(X, frame[0], frame[1], by, rest, z)
        for i in range(len(z)):
            z[i] = ids[z[i]]
    return failed


@bare
def densities(
    X: Any, frame: Any, totals: Floats, alpha: float, prior: Any, room: Any, out: Floats
) -> Any:  # fmt: skip
    """Fill the log densities (n,) of rows by `scstream.sampler.sweep.next_point`.

    Rows, frame and what is returned are as in `assign`.
    """
    if zeros(X) != 0.0:
        return -1
    prior, room = Prior(*prior), Workspace(*room)
    k, p = totals.shape
    every, at = table(room.floats, np.int64(0), k + 1, p)  # one is yet to be born
    quad, at = table(room.floats, at, k + 1, p)
    each, at = table(room.floats, at, np.int64(3), k + 1)
    log_weight, by = each[0], Scores(quad, each[1], each[2])
    for q in range(p):
        every[k, q] = 0.0
        for r in range(k):
            every[r, q] = totals[r, q]
    every[k, 0] = alpha  # which is its share
    log_shares(every, 0.0, log_weight)
    every[k, 0] = 0.0
    rest = Workspace(room.floats[next_line(at) :], room.ints, room.singles)
    failed = predictive(every, prior, log_weight, rest.floats, by)
    if failed == 0:
        log_totals(X, frame[0], frame[1], by, rest, out)
    return failed


@brief
def forget(
    past: Any, now: Floats, shares: Floats, margins: Any, alpha: float, prior: Any, room: Any,
    new: Any,
) -> Any:  # fmt: skip
    """Fill a new past (k, 2, p) and its doubts (k, k) with what is worth keeping of the old.

    See `shares_worth_keeping`. ``margins`` are the nats by which less must win, the points that the
    least share must leave for less to be kept, those that are kept then, those that a place counts
    whose cluster has left it, and the nats by which it must say that somebody else is meant.
    Returns how many matrices fail, or -1 if all of the past is worth keeping: then it is filled as
    it was.
    """
    prior, past, new, room = Prior(*prior), Division(*past), Division(*new), Workspace(*room)
    k, p = len(now), now.shape[2]
    each, at = table(room.floats, np.int64(0), np.int64(5), k)
    trial = Trial(past.sums, now, each[0], each[1], each[2], each[3], each[4])
    which, _ = line(room.ints, np.int64(0), k)
    failed = shares_kept(trial, shares, margins, alpha, prior, which, room.floats[at:])
    kept, less = trial.kept, False
    for r in range(k):
        less = less or kept[r] < 1.0
        for q in range(p):
            new.sums[r, 0, q] = kept[r] * past.sums[r, 0, q]
            new.sums[r, 1, q] = kept[r] * past.sums[r, 1, q]
        for s in range(k):
            new.doubt[r, s] = min(kept[r], kept[s]) * past.doubt[r, s]
    return failed if failed > 0 or less else -1


@brief
def moves(
    past: Any, now: Any, levels: Any, decisions: Any, lived: Ints, margins: Any, ratio: Any,
    prior: Any, room: Any, merges: Any,
) -> Any:  # fmt: skip
    """Return `MOVES` if some cluster is to be split, merged or dropped, `FAILED` if a matrix fails.

    Otherwise fills ``merges``, see `gaussian_moves.Merges`, and returns how many there are. They
    may be without room for pairs: then nobody wants them. ``levels`` are log marginals, and whether
    these are known: if not, they are filled before anything else.
    ``decisions`` are what the log ratios must exceed, for k splits and then for merges, whether
    they are greedy, the points that clusters must have together for them to hold (if not, something
    moves), and the state of a generator that draws them: without it they are given, and infinities
    let nothing move. A split's must by its edges more, see
    `scstream.sampler.split_merge.decisions`, a merge's for every batch that the younger of the two
    has ``lived`` (k,). What makes up margins and a ``ratio`` is as in `arguments`.
    """
    prior, past, now, how = Prior(*prior), Division(*past), Sums(*now), Ratio(*ratio)
    room, margins = Workspace(*room), Margins(*margins)
    levels, known = Levels(levels[0], levels[1]), levels[2]
    log_u, greedy, least, state = decisions
    if len(state) > 0:
        draws.log_uniforms(state, log_u)
    top, pairs, gain, both = merges
    k, p = len(past.sums), past.sums.shape[2]
    sums, at = table(room.floats, np.int64(0), 3 * k, p)
    each, at = table(room.floats, at, np.int64(2), k)
    own, gains = each[0], each[1]
    stacked(past.sums, now.current, sums)
    totals, parts = sums[:k], sums[k:].reshape(k, 2, p)
    if not known:
        some, behind = line(room.floats, at, 3 * k)
        if log_marginals(sums, prior, room.floats[behind:], some, levels) > 0:
            return FAILED
    points = 0.0
    for r in range(k):
        points += totals[r, 0]
        own[r] = how.doubt * (past.doubt[r, r] + now.doubt[r, r])
    if points < least:
        return MOVES
    n = parts[:, :, 0]
    log_split(log(how.alpha), n, levels.each, levels.whole, own, how.least, gains)
    for r in range(k):
        here = now.rows[r, 0] + now.rows[r, 1] > 0
        if here and gains[r] > log_u[r]:
            if gains[r] > log_u[r] + _edges(r, past.doubt, now, margins, greedy):
                return MOVES
        elif not here and not totals[r, 0] >= 1.0 and log_u[r] < np.inf:
            return MOVES
    if len(pairs) == 0:
        most = top.shape[1]
        pairs, after = table(room.ints, np.int64(0), k * most, np.int64(2))
        top, after = table(room.ints, after, k, most)
        gain, at = line(room.floats, at, k * most)
        both, at = line(room.floats, at, k * most)
    clusters = Clusters(totals, levels.whole, past.doubt, now.doubt, now.rivals)
    m = merged(clusters, prior, how, room.floats[at:], Merges(top, pairs, gain, both))
    for i in range(m):
        a, b = pairs[i, 0], pairs[i, 1]
        if gain[i] > log_u[k + i] + min(margins.step * min(lived[a], lived[b]), margins.most):
            return MOVES
    return m


@brief_part
def _edges(r: int, past_doubt: Floats, now: Sums, margins: Margins, greedy: bool) -> Any:
    """Return what a split of cluster r must win for the doubt about its edges."""
    before = present = 0.0
    for s in range(len(past_doubt)):
        if s != r:
            before += past_doubt[r, s]
            present += now.doubt[r, s]
    rows = now.rows[r, 0] + now.rows[r, 1]
    if greedy and rows >= margins.rows and present > margins.doubt * rows:
        return np.inf
    return max(margins.edges * (before + (present if greedy else 0.0)) - margins.free, 0.0)


@brief_part
def log_shares(totals: Floats, alpha: float, out: Floats) -> None:
    """Fill the log weights ``N_k / (N + alpha)`` of k clusters."""
    k = len(totals)
    n = 0.0
    for r in range(k):
        n += max(totals[r, 0], 1e-300)
    for r in range(k):
        out[r] = log(max(totals[r, 0], 1e-300)) - log(n + alpha)


@brief_part
def predictive(
    s: Floats, prior: Prior, log_weight: Floats, room: Floats, by: Scores
) -> Any:  # fmt: skip
    """Fill the Student-t predictives of ``s`` (m, p); returns how many fail."""
    m, p = s.shape
    factors, at = table(room, np.int64(0), m, p)
    log_det, at = line(room, at, m)
    groups, nobody, rest = s.reshape(m, 1, p), room[:0].reshape(0, prior.columns), room[at:]
    failed = matrices.factor(groups, prior.row, nobody, rest, factors, log_det)
    if failed == 0:
        student(factors, log_det, prior, log_weight, rest, by)
    return failed


@brief_part
def student(
    factors: Floats, log_det: Floats, prior: Prior, log_weight: Floats, room: Floats, by: Scores
) -> None:
    """Fill Student-t predictives by the factors of their scatters."""
    d = prior.columns
    matrices.student_level(factors, log_det, prior.more, d, log_weight, by.const, by.power)
    matrices.student(factors, d, room, by.eta)


@brief_part
def log_marginals(
    sums: Floats, prior: Prior, room: Floats, each: Floats, levels: Levels
) -> Any:  # fmt: skip
    """Fill the log marginals of parts (k, 2) and wholes (k,) of sums as `stacked` has them."""
    k = len(levels.whole)
    failed = log_marginal(sums, prior, room, each)
    for r in range(k):
        levels.whole[r] = each[r]
        levels.each[r, 0], levels.each[r, 1] = each[k + 2 * r], each[k + 2 * r + 1]
    return failed
