"""Compiled merges of Student-t clusters of few columns, in a small batch.

It does in one call what `scstream.sampler.merged_frames` does in many. Where a matrix turns out not
to be positive definite nothing that was filled holds.
"""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels import matrices, taming
from scstream.kernels.arguments import Division, Floats, Ints, Prior, Ratio, Rows, Sums, Workspace
from scstream.kernels.compiling import bare, brief_part, part
from scstream.kernels.elementary import log_gamma
from scstream.kernels.gaussian_moves import Merges, log_marginal
from scstream.kernels.heavy_batch import Frames, fill_distances, fill_frames
from scstream.kernels.mixture import neighbours
from scstream.kernels.small_scratch import order_of, sort
from scstream.kernels.taming import Tails
from scstream.kernels.workspace import line, table


class Pair(NamedTuple):
    """Two clusters: all their statistics and those of the past (2, p), and of both (1, p).

    A frame for both is sought in ``frames``, of which there is one, and ``by`` (2,) is what
    distances of sums are multiplied by in it; the others are for its factors.
    """

    whole: Floats
    past: Floats
    both: Floats
    frames: Frames
    by: Floats
    factors: Floats
    log_det: Floats
    row: Floats
    room: Floats


class Search(NamedTuple):
    """How often a frame is sought, and nats a row that a merge may lose to be looked at closely."""

    rounds: int
    hopeless: float


@bare
def merged(
    past: Any, now: Any, whole: Floats, rows: Any, tails: Any, prior: Any, ratio: Any, search: Any,
    room: Any, merges: Any,
) -> Any:  # fmt: skip
    """Fill pairs (m, 2) of neighbours, log ratios (m,) for merging them, and log marginals (m,).

    Given are past and present, the clusters' log marginals (k,), the rows with their labels, and
    what `gaussian_moves.merged` takes. Returns m, or -1 if a matrix failed.
    """
    prior, tails, how = Prior(*prior), Tails(*tails), Ratio(*ratio)
    rows = Rows(rows[4], rows[1], rows[2], rows[3])  # as they came
    past, now, search = Division(*past), Sums(*now), Search(*search)
    room, out = Workspace(*room), Merges(*merges)
    k, m = len(whole), neighbours(now.rivals, out.top, out.pairs)
    order, start, _ = order_of(room.ints, len(rows.label), k)
    sort(rows.label, k, order, start)
    pair = _pair_of(room.floats, past.sums.shape[2], prior.columns)
    for i in range(m):
        a, b = out.pairs[i, 0], out.pairs[i, 1]
        _fill_pair(past.sums, now.current, out.pairs[i], pair)
        n, o = pair.whole[0, 0], pair.whole[1, 0]
        out.ratio[i], level = np.inf, out.both[i : i + 1]
        if _join_sums(pair, prior, tails, search.rounds, level):
            return -1
        if not (n > 0.0 and o > 0.0):
            continue
        apart = whole[a] + whole[b] + log(how.alpha) + log_gamma(n) + log_gamma(o)
        apart += how.doubt * (past.doubt[a, b] + now.doubt[a, b]) - log_gamma(n + o)
        if level[0] - apart > -search.hopeless * (n + o):
            mine = order[start[a] : start[a + 1]], order[start[b] : start[b + 1]]
            if _join_rows(pair, prior, tails, rows, mine, search.rounds, level):
                return -1
        out.ratio[i] = level[0] - apart
    return m


@bare
def together(
    past: Floats, now: Floats, pairs: Ints, rows: Any, tails: Any, prior: Any, rounds: int,
    room: Any, out: Any,
) -> Any:  # fmt: skip
    """Seek the frames of pairs (m, 2) of clusters with past and present (k, 2, p).

    Fills the frames' centres (m, d) and functionals (m, p), the present in them (m, 2, p), and what
    distances of the past are multiplied by (m, 2). Returns how many matrices failed.
    """
    prior, tails, room = Prior(*prior), Tails(*tails), Workspace(*room)
    rows = Rows(rows[4], rows[1], rows[2], rows[3])  # as they came
    centre, quad, present, by = out
    p, failed = past.shape[2], 0
    order, start, _ = order_of(room.ints, len(rows.label), len(past))
    sort(rows.label, len(past), order, start)
    pair = _pair_of(room.floats, p, prior.columns)
    for i in range(len(pairs)):
        _fill_pair(past, now, pairs[i], pair)
        for _ in range(rounds):
            failed += _frame(pair, prior, tails.df)
            _fill_sums(pair.whole, pair.frames, tails, by[i], pair.both[0])
        for _ in range(rounds):
            failed += _frame(pair, prior, tails.df)
            _fill_sums(pair.past, pair.frames, tails, by[i], pair.both[0])
            for side in range(2):
                c = pairs[i, side]
                mine = order[start[c] : start[c + 1]]
                present[i, side, :] = 0.0
                _add_rows(tails, rows, mine, pair.frames, pair.row, present[i, side])
                for q in range(p):
                    pair.both[0, q] += present[i, side, q]
        for j in range(prior.columns):
            centre[i, j] = pair.frames.centre[0, j]
        for q in range(p):
            quad[i, q] = pair.frames.quad[0, q]
    return failed


@brief_part
def _fill_pair(past: Floats, now: Floats, clusters: Ints, pair: Pair) -> None:
    """Fill the statistics of two clusters, and of both."""
    for q in range(past.shape[2]):
        for side in range(2):
            c = clusters[side]
            pair.past[side, q] = past[c, 0, q] + past[c, 1, q]
            pair.whole[side, q] = pair.past[side, q] + (now[c, 0, q] + now[c, 1, q])
        pair.both[0, q] = pair.whole[0, q] + pair.whole[1, q]


@brief_part
def _pair_of(room: Floats, p: int, d: int) -> Any:
    """Return room for a pair of clusters with p statistics."""
    some, at = table(room, np.int64(0), np.int64(8), p)
    ends, at = line(room, at, np.int64(d + 3))
    frames, log_det, by = Frames(ends[:d].reshape(1, d), some[5:6]), ends[d : d + 1], ends[d + 1 :]
    both, factors, row = some[4:5], some[6:7], some[7]
    return Pair(some[:2], some[2:4], both, frames, by, factors, log_det, row, room[at:])


@brief_part
def _frame(pair: Pair, prior: Prior, df: float) -> Any:
    """Fill the frame of both; returns whether that failed."""
    p, d = pair.both.shape[1], prior.columns
    group, nobody = pair.both.reshape(1, 1, p), pair.room[:0].reshape(0, d)
    failed = matrices.factor(group, prior.row, nobody, pair.room, pair.factors, pair.log_det)
    if failed == 0:
        fill_distances(pair.factors, d, pair.room, pair.frames.quad)
        fill_frames(pair.both, prior, df, pair.frames)
    return failed


@brief_part
def _join_sums(pair: Pair, prior: Prior, tails: Tails, rounds: int, level: Floats) -> Any:
    """Fill both and their log marginal by sums alone; returns failures."""
    failed = 0
    for _ in range(rounds):
        failed += _frame(pair, prior, tails.df)
        _fill_sums(pair.whole, pair.frames, tails, pair.by, pair.both[0])
    return failed + log_marginal(pair.both, prior, pair.room, level)


@part
def _join_rows(
    pair: Pair, prior: Prior, tails: Tails, rows: Rows, mine: Any, rounds: int, level: Floats
) -> Any:  # fmt: skip
    """Fill both and their log marginal by the rows of the two, ``mine``; returns failures."""
    failed = 0
    for _ in range(rounds):
        failed += _frame(pair, prior, tails.df)
        _fill_sums(pair.past, pair.frames, tails, pair.by, pair.both[0])
        for side in range(2):
            _add_rows(tails, rows, mine[side], pair.frames, pair.row, pair.both[0])
    return failed + log_marginal(pair.both, prior, pair.room, level)


@brief_part
def _fill_sums(sums: Floats, frames: Frames, tails: Tails, shrunk: Floats, out: Floats) -> None:
    """Fill the sum (p,) of sums (2, p) of rows, tamed elsewhere, in a frame.

    Distances are multiplied by ``shrunk`` (2,), see `Frames.of_sums` of the family.
    """
    d, centre = frames.centre.shape[1], frames.centre[0]
    out[:] = 0.0
    for side in range(2):
        s, n = sums[side], sums[side, 0]
        inside = 0.0
        for q in range(len(s)):
            inside += s[q] * frames.quad[0, q]
        inside = max(tails.df * (inside / max(n, 1e-300) - 1.0), 1e-12)
        far = inside + (tails.typical - d)
        by = sqrt(min(taming.tamed_square(log1p(far / tails.df), tails) / inside, 1.0))
        rest, shrunk[side] = 1.0 - by, by
        out[0] += n
        e = 1 + d
        for i in range(d):
            out[1 + i] += by * s[1 + i] + rest * n * centre[i]
            for j in range(i, d):
                cross = s[1 + i] * centre[j] + s[1 + j] * centre[i]
                square = rest * rest * n * centre[i] * centre[j]
                out[e] += by * by * s[e] + by * rest * cross + square
                e += 1


@part
def _add_rows(
    tails: Tails, rows: Rows, which: Ints, frames: Frames, room: Floats, out: Floats
) -> None:  # fmt: skip
    """Add some rows, tamed in a frame."""
    full = len(room) > 0
    for i in which:
        taming.tame_row(rows.T[i], frames.centre[0], frames.quad[0], tails, full, room)
        for e in range(len(room)):
            out[e] += rows.weight[i] * room[e]
