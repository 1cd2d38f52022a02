"""Gaussian clusters and few rows: a batch, or steps of it, in one compiled call.

Where a batch is small the calls between its steps cost more than the work. What is computed here
is what `scstream.sweep`, `scstream.window` and `scstream.moves` compute, which remain the words
for it, and take over wherever this does not apply.
"""

from __future__ import annotations

import enum

import numpy as np

from scstream import _fused
from scstream.engines import CpuEngine, Sums
from scstream.engines.cpu import FewRows
from scstream.families import Gaussian
from scstream.families.base import CERTAIN, Array
from scstream.families.gaussian import AXES
from scstream.moves import (
    NEIGHBOURS,
    ROUNDS,
    decisions,
    divided_anew,
    members,
    reluctance,
    restart_subclusters,
    set_present_apart,
)
from scstream.state import LogMarginals, State
from scstream.sweep import Context, draw_weights
from scstream.window import RELUCTANCE, SHARES, Window, shares_worth_keeping

_MOST_COLUMNS = 15  # above, an inverse for each sub-cluster is too dear


class Reached(enum.IntEnum):
    """How far a batch came at once, until something was to be decided that is not common."""

    FAILED = -1
    END = 0
    PRESENT_APART = 1
    MOVES = 2
    LAST_MOVES = 3


def later_batch(ctx: Context, state: State) -> tuple[State, Reached, tuple[Array, Array]] | None:
    """Run the batch at once, with one sampled sweep, as far as nothing is split or merged.

    Returns the clusters, how far it came, and the logs of the uniforms that decide about splits
    and merges if that was after the sampled sweep. None if it has to be done step by step.
    """
    rows, window = _few_rows(ctx, state), state.window
    if rows is None or ctx.outliers is not None or len(window.times) != 1:
        return None
    family, k, rng = ctx.family, state.k, ctx.rng
    assert isinstance(family, Gaussian)
    everything, weights = draw_weights(ctx, state)
    drawn = family.draw_factors(rng, everything)
    log_u = decisions(ctx, k)
    now = Sums.nothing(k, len(family.prior))
    past, past_doubt = window.sums[0].copy(), window.doubt[0].copy()
    each, whole = np.empty((k, 2)), np.empty(k)
    reached = Reached(
        _fused.later_batch(
            rows.T, rows.weight, ctx.seed, ctx.batch, past, past_doubt, weights,
            *drawn, *(u.copy() for u in log_u), ctx.alpha, *family.numbers, SHARES, RELUCTANCE,
            window.forgetting.adaptive, min(family.numbers[-1], AXES), CERTAIN, ROUNDS,
            NEIGHBOURS, reluctance(state.lived), *rows.labels, now.current, now.rows, now.rivals,
            now.doubt, each, whole,
        )
    )  # fmt: skip
    if reached is Reached.FAILED:
        return None
    ctx.next_key(), ctx.next_key()  # of the sweep, and of random members, not needed
    window = Window(window.forgetting, past[None], past_doubt[None], window.times, window.weight)
    state = state.having(
        now=now,
        window=window,
        past=past,
        past_doubt=past_doubt,
        attempt=state.attempt + 1,
    )
    state.learn(LogMarginals(family, each, whole))
    return state, reached, log_u


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
        rows.T, rows.weight, rows.labels[0], state.present, state.past, state.now.current,
        state.past_doubt.diagonal() + state.now.doubt.diagonal(), state.attempt,
        member, *family.numbers, min(family.numbers[-1], AXES), CERTAIN, ROUNDS, ctx.alpha,
        rows.labels[-1], current, doubt, first, each, whole, better, apart,
    )  # fmt: skip
    if failed:
        return set_present_apart(ctx, restart_subclusters(ctx, state, state.present))
    state = state.having(attempt=state.attempt + state.present)
    state = divided_anew(ctx, state, better, first[None][: len(state.window.times)], current, doubt)
    state.learn(LogMarginals(family, each, whole))
    return set_present_apart(ctx, state) if apart.any() else state


def worthwhile_shares(ctx: Context, past: Array, current: Array) -> Array:
    """Return the share (k,) of each cluster's past that best foretells its present."""
    if type(ctx.family) is Gaussian and ctx.family.numbers[-1] <= _MOST_COLUMNS:
        out = np.empty(len(past))
        numbers = ctx.family.numbers
        if not _fused.shares(past, current, SHARES, RELUCTANCE, ctx.alpha, *numbers, out):
            return out
    return shares_worth_keeping(ctx.family, ctx.alpha, past, current)


def _few_rows(ctx: Context, state: State) -> FewRows | None:
    """Return the rows of the batch if they are few, the clusters Gaussian, the past one record."""
    if type(ctx.family) is not Gaussian or not isinstance(ctx.engine, CpuEngine):
        return None
    if ctx.family.numbers[-1] > _MOST_COLUMNS or state.window.forgetting.kernel is not None:
        return None
    return ctx.engine.few_rows()
