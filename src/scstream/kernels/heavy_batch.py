"""Compiled sweep over a small batch of Student-t clusters of few columns.

It does in one call what the generic steps of `scstream.sampler` do in many, see `small_batch`: rows
are labelled as they came, tamed in the frames of their labels (`taming`), and the tamed rows are
divided among sub-clusters as those of Gaussian clusters are.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels import matrices, taming
from scstream.kernels.arguments import (
    Floats,
    Prior,
    Rows,
    Scores,
    Sums,
    Words,
    Workspace,
)
from scstream.kernels.compiling import bare, brief_part, part
from scstream.kernels.labelling import uniforms
from scstream.kernels.mixture import stacked
from scstream.kernels.side_by_side import ROWS, SIDE
from scstream.kernels.small_batch import draw, log_shares, student
from scstream.kernels.small_labels import label_rows
from scstream.kernels.small_rows import sublabel_rows
from scstream.kernels.small_scratch import block_of, order_of, search_of
from scstream.kernels.taming import Tails
from scstream.kernels.workspace import line, next_line, table


class Factors(NamedTuple):
    """Of clusters: rows ``(n, L^-1 mean, L)`` (k, p), log determinants and log weights (k,)."""

    rows: Floats
    log_det: Floats
    log_weight: Floats


class Frames(NamedTuple):
    """Centres (k, d) and functionals (k, p), see `taming`."""

    centre: Floats
    quad: Floats


@bare
def sweep(
    past: Floats, now: Floats, state: Words, alpha: float, prior: Any, rows: Any, tails: Any,
    key: Any, room: Any, sums: Any,
) -> Any:  # fmt: skip
    """Label the rows by clusters and sub-clusters with the given past and present (k, 2, p).

    Arguments are those of `small_batch.sweep`. Of ``rows`` the last are the statistics (n, p) as
    they came; the first are filled with the tamed ones. Returns how many matrices, or shapes of
    gammas, do not allow that.
    """
    seen, prior, tails, room = rows[4], Prior(*prior), Tails(*tails), Workspace(*room)
    rows = Rows(rows[0], rows[1], rows[2], rows[3])
    sums, plain, drawn = Sums(*sums), len(state) > 0, key[3]
    k, p, d = len(sums.rows), past.shape[2], prior.columns
    some, at = line(room.floats, np.int64(0), SIDE * (4 * p + ROWS))
    totals, at = table(room.floats, at, 3 * k, p)
    factors, at = table(room.floats, at, 3 * k, p)
    eta, at = table(room.floats, at, 3 * k, p)
    each, at = table(room.floats, at, np.int64(4), 3 * k)
    log_det, log_weight, by = each[0], each[3], Scores(eta, each[1], each[2])
    quad, at = table(room.floats, at, k, p)
    centre, at = table(room.floats, at, k, d)
    u, at = table(room.floats, at, np.int64(2), len(rows.label))
    rest = Workspace(room.floats[next_line(at) :], room.ints, room.singles)
    stacked(past, now, totals)
    nobody = room.floats[:0].reshape(0, d)
    failed = matrices.factor(totals.reshape(3 * k, 1, p), prior.row, nobody, some, factors, log_det)
    if failed > 0:
        return failed
    clusters = Factors(factors[:k], log_det, log_weight)
    fill_distances(clusters.rows, d, some, quad)
    if drawn:
        uniforms(key[0], key[1], key[2], len(totals) * 0, u)
    if plain:
        failed = draw(state, totals, alpha, prior, factors, log_weight, some, rest.floats, eta)
        if failed > 0:
            return failed
        _drawn(clusters, tails, d, rest.floats, by)
    else:
        log_shares(totals[:k], alpha, log_weight)
        for r in range(k, 3 * k):
            log_weight[r] = log(totals[r, 0] + 0.5 * alpha)
        student(factors, log_det, prior, log_weight, some, by)
        _predictive(clusters, tails, prior, quad, by)
    fill_frames(totals, prior, tails.df, Frames(centre, quad))
    _sweep_rows(rows, seen, tails, Frames(centre, quad), by, u, (drawn, plain), rest, sums)
    return failed


@part
def _sweep_rows(
    rows: Rows, seen: Floats, tails: Tails, frames: Frames, by: Scores, u: Floats, how: Any,
    room: Workspace, sums: Sums,
) -> None:  # fmt: skip
    """Label the rows as they came, tame them, and add everything up.

    ``how`` is as in `small_rows.sweep_rows`; scores of clusters are Student-t ones in any case.
    """
    n, k, d = len(rows.label), len(sums.rows), frames.centre.shape[1]
    block, at = block_of(room.floats, rows.T.shape[1])
    order, start, behind = order_of(room.ints, n, k)
    rest = Workspace(room.floats[at:], room.ints[behind:], room.singles)
    search = search_of(rest, k)
    for i in range(n):
        order[i] = i
    as_seen = Rows(seen, rows.weight, rows.label, rows.sublabel)
    label_rows(as_seen, by, u, (how[0], n < 0), d, order, block, search, sums)
    for i in range(n):
        c = rows.label[i]
        taming.tame_row(seen[i], frames.centre[c], frames.quad[c], tails, n >= 0, rows.T[i])
    sublabel_rows(rows, by, u, how, d, (order, start), block, sums)


@brief_part
def fill_distances(factors: Floats, d: int, room: Floats, out: Floats) -> None:
    """Fill functionals (k, p) of T that are squared distances by scatters."""
    matrices.student(factors, d, room, out)
    for r in range(len(factors)):
        out[r, 0] -= 1.0
        for q in range(out.shape[1]):
            out[r, q] *= 1.0 + 1.0 / factors[r, 0]


@brief_part
def fill_frames(totals: Floats, prior: Prior, df: float, frames: Frames) -> None:
    """Fill the frames of clusters, whose functionals are `fill_distances` before."""
    for r in range(len(frames.centre)):
        n = prior.row[0] + totals[r, 0]
        for i in range(prior.columns):
            frames.centre[r, i] = (prior.row[1 + i] + totals[r, 1 + i]) / n
        for q in range(totals.shape[1]):
            frames.quad[r, q] *= (n + prior.more) / df
        frames.quad[r, 0] += 1.0


@brief_part
def _drawn(clusters: Factors, tails: Tails, d: int, chi: Floats, by: Scores) -> None:
    """Turn the drawn Gaussians of clusters into Student-t densities; ``chi`` are as `draw` has."""
    half = 0.5 * tails.df
    level = matrices.log_gammas(half + 0.5 * d, d) - 0.5 * d * log(half)
    for r in range(len(clusters.rows)):
        top = clusters.log_weight[r] - 0.5 * clusters.log_det[r]
        for i in range(d):
            top += log(chi[r * d + i])
        for q in range(by.eta.shape[1]):
            by.eta[r, q] /= -half
        by.eta[r, 0] += 1.0 + top / half
        by.const[r], by.power[r] = top + level, half + 0.5 * d


@brief_part
def _predictive(
    clusters: Factors, tails: Tails, prior: Prior, quad: Floats, by: Scores
) -> None:  # fmt: skip
    """Fill the Student-t densities of clusters, see `Student.predictive_score`."""
    d = prior.columns
    for r in range(len(clusters.rows)):
        kappa = clusters.rows[r, 0]
        spare = kappa + prior.more - d + 1.0
        df = 1.0 / (1.0 / tails.df + 1.0 / spare)
        tight = kappa / (kappa + 1.0) * spare
        level = matrices.log_gammas(0.5 * (df + d), d) - 0.5 * d * log(0.5 * df)
        by.const[r] = clusters.log_weight[r] + level + 0.5 * (d * log(tight) - clusters.log_det[r])
        by.power[r] = 0.5 * (df + d)
        for q in range(by.eta.shape[1]):
            by.eta[r, q] = quad[r, q] * (tight / df)
        by.eta[r, 0] += 1.0
