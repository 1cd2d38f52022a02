"""A model whose family becomes wider in mid-stream: what it knows is carried over."""

from __future__ import annotations

from dataclasses import replace

from scstream.engines import Sums
from scstream.families.columns import Columns
from scstream.families.widening import Widening, Wider, widened
from scstream.sampler.clusters import State
from scstream.sampler.learner import Learner
from scstream.sampler.warmup import KeptBatch


def widened_learner(learner: Learner, table: Columns) -> tuple[Learner, tuple[Widening, ...]]:
    """Return a model that takes a table's columns, and which of them it had to take anew."""
    wider = widened(learner.family, table, learner.state.totals)
    if wider is None:
        return learner, ()
    dormant, outliers = learner.dormant, learner.outliers
    if outliers is not None:
        outliers = outliers.carried(wider.carried)
    return (
        replace(
            learner,
            family=wider.family,
            state=_carried_state(learner.state, wider),
            outliers=outliers,
            dormant=replace(dormant, sums=wider.carried(dormant.sums)),
            warmup=tuple(_carried_rows(kept, wider) for kept in learner.warmup),
        ),
        wider.changes,
    )


def _carried_state(state: State, wider: Wider) -> State:
    """Return the clusters with their statistics carried over."""
    window = replace(state.window, sums=wider.carried(state.window.sums))
    now = Sums(
        wider.carried(state.now.current), state.now.rows, state.now.rivals, state.now.entropy
    )
    return state.having(
        window=window, past=wider.carried(state.past), now=now, known=None, recalled=None
    )


def _carried_rows(kept: KeptBatch, wider: Wider) -> KeptBatch:
    return replace(kept, batch=replace(kept.batch, X=wider.rows(kept.batch.X)))
