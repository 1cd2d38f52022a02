"""Gaussian clusters of few columns, and few rows: steps of a batch in one compiled call each.

Where a batch is small the calls between its steps cost more than the work. What is computed here
is what `scstream.window` and `scstream.moves` compute, which remain the words for it, and take
over wherever this does not apply.
"""

from __future__ import annotations

import numpy as np

from scstream import _fused
from scstream.engines import CpuEngine
from scstream.engines.cpu import FewRows
from scstream.families import Gaussian
from scstream.families.base import CERTAIN, Array
from scstream.families.gaussian import AXES
from scstream.moves import (
    NEIGHBOURS,
    ROUNDS,
    divided_anew,
    log_marginals,
    members,
    reluctance,
    restart_subclusters,
    set_present_apart,
)
from scstream.state import LogMarginals, State
from scstream.sweep import Context
from scstream.window import RELUCTANCE, SHARES, shares_worth_keeping

_MOST_COLUMNS = 15  # above, an inverse for each sub-cluster is too dear


def anything_to_do(ctx: Context, state: State, log_u: tuple[Array, Array]) -> bool:
    """Whether some cluster is to be split, merged or dropped; true if that is not known.

    ``log_u`` are the logs of the uniforms that decide, see `scstream.moves.decisions`.
    """
    if not _is_small(ctx):
        return True
    assert isinstance(ctx.family, Gaussian)
    known = log_marginals(ctx, state)
    return bool(
        _fused.anything(
            state.parts, state.totals, state.past_doubt, state.now.doubt, state.now.rows,
            state.now.rivals, known.each, known.whole, *log_u, reluctance(state.lived),
            NEIGHBOURS, ctx.alpha, *ctx.family.numbers,
        )
    )  # fmt: skip


def restart_and_set_apart(ctx: Context, state: State) -> State:
    """Restart the sub-clusters of all clusters present, then set the present apart."""
    rows = _few_rows(ctx, state)
    if rows is None:
        return set_present_apart(ctx, restart_subclusters(ctx, state, state.present))
    family, k = ctx.family, state.k
    assert isinstance(family, Gaussian)
    p = len(family.prior)
    member = members(ctx, state)
    current, doubt, first = np.zeros((k, 2, p)), np.zeros(k), np.empty((k, p))
    each, whole = np.empty((k, 2)), np.empty(k)
    better, apart = np.empty((2, k), dtype=bool)
    failed = _fused.restart(
        rows.T, rows.weight, rows.labels, state.present, state.past, state.now.current,
        state.past_doubt.diagonal() + state.now.doubt.diagonal(), state.attempt,
        member, *family.numbers, min(family.numbers[-1], AXES), CERTAIN, ROUNDS, ctx.alpha,
        rows.trial, current, doubt, first, each, whole, better, apart,
    )  # fmt: skip
    if failed:
        return set_present_apart(ctx, restart_subclusters(ctx, state, state.present))
    state = state.having(attempt=state.attempt + state.present)
    state = divided_anew(ctx, state, better, first[None][: len(state.window.times)], current, doubt)
    state.learn(LogMarginals(family, each, whole))
    return set_present_apart(ctx, state) if apart.any() else state


def worthwhile_shares(ctx: Context, past: Array, current: Array) -> Array:
    """Return the share (k,) of each cluster's past that best foretells its present."""
    if _is_small(ctx):
        assert isinstance(ctx.family, Gaussian)
        out = np.empty(len(past))
        numbers = ctx.family.numbers
        if not _fused.shares(past, current, SHARES, RELUCTANCE, ctx.alpha, *numbers, out):
            return out
    return shares_worth_keeping(ctx.family, ctx.alpha, past, current)


def _is_small(ctx: Context) -> bool:
    """Whether clusters are Gaussian, and small enough to be worked on one after the other."""
    return type(ctx.family) is Gaussian and ctx.family.numbers[-1] <= _MOST_COLUMNS


def _few_rows(ctx: Context, state: State) -> FewRows | None:
    """Return the rows of the batch if they are few, the clusters Gaussian, the past one record."""
    if not _is_small(ctx) or not isinstance(ctx.engine, CpuEngine):
        return None
    return None if state.window.forgetting.kernel is not None else ctx.engine.few_rows()
