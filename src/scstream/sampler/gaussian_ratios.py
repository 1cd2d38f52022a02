"""Gaussian clusters of few columns: a division that was tried is judged in one compiled call.

What is computed here is what `split_merge` computes in words, which takes over wherever this
does not apply.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.engines import CpuEngine, Sums
from scstream.families import Family, Gaussian
from scstream.families.contract import CERTAIN, Array
from scstream.kernels import gaussian_moves
from scstream.kernels.workspace import room_of
from scstream.sampler.clusters import Ints, LogMarginals, State
from scstream.sampler.forgetting import Window
from scstream.sampler.sweep import Context

_MOST_COLUMNS = 15  # above, an inverse for each sub-cluster is too dear


def is_small(family: Family) -> bool:
    """Whether clusters are Gaussian, and small enough to be worked on one after the other."""
    return type(family) is Gaussian and family.numbers[3] <= _MOST_COLUMNS


def _applies(ctx: Context) -> bool:
    """Whether compiling is worth while: on the CPU `gaussian` compiles what is common."""
    return is_small(ctx.family) and type(ctx.engine) is not CpuEngine


def judged(
    ctx: Context, state: State, chosen: NDArray[np.bool_], current: Array, doubt: Array, *,
    keep_better: bool,
) -> tuple[State, bool] | None:  # fmt: skip
    """Return the clusters with the division last tried where that is better, or where ``chosen``.

    Sums (k, 2, p) and doubts (k,) are those of the trial. Says besides whether to set some
    cluster's present apart. None if there are many columns or records of the past, or if a matrix
    is not positive definite.
    """
    family, window, k = ctx.family, state.window, state.k
    if not _applies(ctx) or window.forgetting.kernel is not None:
        return None
    assert isinstance(family, Gaussian)
    p = state.past.shape[2]
    known, taken = state.known, chosen.astype(np.int64)
    if known is None or known.family is not family:
        which, each, whole = np.arange(k), np.empty((k, 2)), np.empty(k)
    else:
        which, each, whole = np.flatnonzero(chosen), known.each.copy(), known.whole.copy()
    past, past_doubt = state.past.copy(), state.past_doubt.copy()
    sums, doubts = state.now.current.copy(), state.now.doubt.copy()
    room = room_of(30 * (k + 1) * (p + 1) + 16 * p, 0).floats
    code = gaussian_moves.judge(
        (which, taken, keep_better), (current, doubt), (past, past_doubt), (sums, doubts),
        family.numbers, CERTAIN, ctx.alpha, room, (each, whole),
    )  # fmt: skip
    if code > 0:
        return None
    joined = None if known is None or known.family is not family else known.joined
    better = taken > 0
    if better.any():
        now = Sums(sums, ctx.engine.adopt(better), state.now.rivals, doubts)
        state = with_past(state, past, past_doubt, now=now)
    state = state.having(attempt=state.attempt + chosen)
    state.learn(LogMarginals(family, each, whole, joined))
    return state, bool(code == gaussian_moves.APART)


def merge_ratios(
    ctx: Context, state: State, known: LogMarginals, neighbours: int
) -> tuple[Ints, Array, Array] | None:
    """Return pairs (m, 2) of neighbours, log ratios (m,) for merging them, and log marginals (m,).

    These are of the two together, ``known`` are those of the clusters. None if there are many
    columns, or if a matrix is not positive definite.
    """
    family, now, k = ctx.family, state.now, state.k
    if not _applies(ctx):
        return None
    assert isinstance(family, Gaussian)
    most, p = max(min(neighbours, k - 1), 0), state.past.shape[2]
    top, pairs = np.empty((k, most), dtype=np.int64), np.empty((k * most, 2), dtype=np.int64)
    ratio, both = np.empty((2, k * most))
    room = room_of((k * most + 30) * (p + 1), 0).floats
    m = gaussian_moves.merges(
        (state.totals, known.whole, state.past_doubt, now.doubt, now.rivals), family.numbers,
        ctx.alpha, room, (top, pairs, ratio, both),
    )  # fmt: skip
    return None if m < 0 else (pairs[:m], ratio[:m], both[:m])


def with_past(state: State, past: Array, doubt: Array, **changes: object) -> State:
    """Return the clusters with another past (k, 2, p), of a single record or none."""
    window = state.window
    if len(window.times):
        window = Window(window.forgetting, past[None], doubt[None], window.times, window.weight)
    return state.having(window=window, past=past, past_doubt=doubt, **changes)
