"""Gaussian clusters of few columns, and few rows: steps of a batch in one compiled call each.

Where a batch is small the calls between its steps cost more than the work. What is computed here
is what the plain steps of `scstream.sampler` compute, which remain the words
for it, and take over wherever this does not apply.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from scstream.engines import CpuEngine, Engine, Key, Sums
from scstream.engines.cpu import FewRows
from scstream.engines.ordered_sums import LEAF_ROWS
from scstream.families import Family, Gaussian
from scstream.families.contract import CERTAIN, Array
from scstream.families.gaussian import AXES
from scstream.families.scores import Labels, Points
from scstream.kernels import gaussian_moves, small_batch, small_rows
from scstream.kernels.draws import Draws
from scstream.kernels.labelling import named
from scstream.kernels.workspace import room_of
from scstream.sampler import split_merge, sweep
from scstream.sampler.clusters import LogMarginals, State
from scstream.sampler.forgetting import RELUCTANCE, SHARES
from scstream.sampler.gaussian_ratios import is_small, with_past
from scstream.sampler.split_merge import NEIGHBOURS, ROUNDS, log_marginals, set_present_apart
from scstream.sampler.sweep import Context

_NOBODY, _NOTHING = np.empty((0, 0)), np.empty(0)
_NO_DRAWS = np.empty(0, dtype=np.uint64)
_NO_KEY = Key(0, 0, 0)


def restricted_sweep(ctx: Context, state: State) -> State:
    """Draw weights, parameters, labels and sub-labels; no point founds a new cluster."""
    rows = _few_rows(ctx)
    if rows is None:
        return sweep.restricted_sweep(ctx, state)
    key, draws = ctx.next_key(), ctx.rng.words.copy()
    new = _swept(ctx, state, rows, draws, key)
    if new is None:
        return sweep.restricted_sweep(ctx, state, key)
    ctx.rng = Draws(draws)
    return new


def deterministic_sweep(ctx: Context, state: State) -> State:
    """Give every point the label and sub-label with the best weight times predictive."""
    rows = _few_rows(ctx)
    if rows is None:
        return sweep.deterministic_sweep(ctx, state)
    new = _swept(ctx, state, rows, _NO_DRAWS, _NO_KEY)
    return sweep.deterministic_sweep(ctx, state) if new is None else new


def _swept(ctx: Context, state: State, rows: FewRows, draws: Any, key: Key) -> State | None:
    """Return the clusters after a sweep; None if a matrix is not positive definite."""
    family, k, p = ctx.family, state.k, state.past.shape[2]
    assert isinstance(family, Gaussian)
    now, drawn = Sums.nothing(k, p), len(draws) > 0
    each, whole = (_NOBODY, _NOTHING) if drawn else (np.empty((k, 2)), np.empty(k))
    failed = small_batch.sweep(
        state.past, state.now.current, draws, ctx.alpha, family.numbers,
        (rows.T, rows.weight, rows.labels, rows.sublabels), (key.seed, key.batch, key.sweep),
        _room(len(rows.labels), k, p), (now.current, now.rows, now.rivals, now.doubt),
        (each, whole),
    )  # fmt: skip
    if failed:
        return None
    new = state.having(now=now)
    if not drawn:
        new.learn(LogMarginals(family, each, whole))
    return new


def best_ids(family: Family, alpha: float, state: State, X: Points) -> Labels | None:
    """Return the best cluster (n,) of a few rows; None if they are many or clusters not small."""
    if not is_small(family) or not 0 < len(X) <= LEAF_ROWS:
        return None
    assert isinstance(family, Gaussian)
    z: Labels = np.empty(len(X), dtype=np.int64)
    X, totals = family.check(X), state.totals
    room = _room(0, *totals.shape)
    if small_batch.assign(X, family.frame, totals, alpha, family.numbers, room, z):
        return None
    named(z, state.ids, z)
    return z


def forget(ctx: Context, state: State) -> State:
    """Return the clusters with the share of each one's past that best foretells its present."""
    family = ctx.family
    if is_small(family):
        assert isinstance(family, Gaussian)
        past, doubt = np.empty(state.past.shape), np.empty(state.past_doubt.shape)
        failed = small_batch.forget(
            (state.past, state.past_doubt), state.now.current, SHARES, RELUCTANCE, ctx.alpha,
            family.numbers, _room(0, *state.past.shape[::2])[0], (past, doubt),
        )  # fmt: skip
        if failed <= 0:
            return state if failed else with_past(state, past, doubt)
    return split_merge.forget(ctx, state)


def restart_and_set_apart(ctx: Context, state: State) -> State:
    """Restart the sub-clusters of all clusters present, then set the present apart."""
    rows, family, k = _few_rows(ctx), ctx.family, state.k
    if rows is None or state.window.forgetting.kernel is not None:
        return split_merge.restart_and_set_apart(ctx, state)
    assert isinstance(family, Gaussian)
    now = state.now
    past, past_doubt, attempt = state.past.copy(), state.past_doubt.copy(), state.attempt.copy()
    new = Sums(now.current.copy(), now.rows.copy(), now.rivals, now.doubt.copy())
    each, whole = np.empty((k, 2)), np.empty(k)
    numbers, key = family.numbers, ctx.next_key()
    room = _room(len(rows.labels), k, past.shape[2])

    def tried(member: Array) -> int:
        return int(
            small_batch.restart(
                (rows.T, rows.weight, rows.labels, rows.sublabels), rows.trial,
                (past, past_doubt), (new.current, new.rows, new.rivals, new.doubt),
                (attempt, member), numbers, (min(numbers[-1], AXES), CERTAIN, ROUNDS), ctx.alpha,
                room, (each, whole),
            )
        )  # fmt: skip

    code = tried(_NOBODY)
    if code == small_batch.MEMBERS:
        code = tried(ctx.engine.members(k, key))
    if code > 0:
        return split_merge.restart_and_set_apart(ctx, state, key)
    state = with_past(state, past, past_doubt, now=new, attempt=attempt)
    state.learn(LogMarginals(family, each, whole))
    return set_present_apart(ctx, state) if code == gaussian_moves.APART else state


def anything_to_do(ctx: Context, state: State, log_u: tuple[Array, Array]) -> bool:
    """Whether some cluster is to be split, merged or dropped; true if that is not known.

    ``log_u`` are the logs of the uniforms that decide, see `split_merge.decisions`.
    """
    if not is_small(ctx.family):
        return True
    assert isinstance(ctx.family, Gaussian)
    known, now = log_marginals(ctx, state), state.now
    return bool(
        small_batch.anything(
            (state.past, state.past_doubt), (now.current, now.rows, now.rivals, now.doubt),
            (known.each, known.whole), log_u, state.lived, split_merge.RELUCTANCE, NEIGHBOURS,
            ctx.alpha, ctx.family.numbers, _room(0, state.k, state.past.shape[2]),
        )
    )  # fmt: skip


def _room(n: int, k: int, p: int) -> tuple[Array, Labels]:
    """Return room to work in on n rows and k clusters with p statistics, for compiled code."""
    floats, ints = room_of(*_needed(n, k, p))
    return floats, ints


@lru_cache
def _needed(n: int, k: int, p: int) -> tuple[int, int]:
    """Return how many floats and whole numbers of room that takes."""
    floats, ints = small_rows.room_needed(n, k, p)
    matrices = 30 * (k + 1) * (p + 1) + 16 * p
    return floats + 2 * n + matrices, ints + (3 * NEIGHBOURS + 1) * k


def applies(family: Family, engine: Engine, n_rows: int) -> bool:
    """Whether a batch of so many rows is learned here."""
    return is_small(family) and type(engine) is CpuEngine and 0 < n_rows <= LEAF_ROWS


def _few_rows(ctx: Context) -> FewRows | None:
    """Return the rows of the batch if they are few, the clusters small, and the only components."""
    engine = ctx.engine
    if type(engine) is not CpuEngine or ctx.outliers is not None or not is_small(ctx.family):
        return None  # a subclass may have a sweep of its own
    return engine.few_rows()
