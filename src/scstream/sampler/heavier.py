"""Tails that come in mid-stream: a batch in which clusters without any seem to be born.

Rows of heavy tails lie about clusters that had none as if others had been born there, and pieces
of a tail have no tails themselves. So where clusters are born it is asked what the batch would be
if they had heavy tails, and what its rows show then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from scstream.families.contract import Family
from scstream.families.scores import Points, to_dense
from scstream.sampler.clusters import ONE, State
from scstream.sampler.context import Context
from scstream.sampler.learned import Learner
from scstream.sampler.recipe import Batch, Events
from scstream.sampler.rows import as_computed, some_rows
from scstream.sampler.rules import Rules

Ran = tuple[Context, State, Events]


def with_tails(
    learner: Learner, ran: Ran, batch: Batch, rules: Rules, run: Callable[[Learner], Ran]
) -> Ran:
    """Return what a batch comes to with heavy tails if these describe it as well, else as it ran.

    Fewer clusters may do so by a nat less for each number that describes one of the others. The
    engine is left with the batch as it is returned.
    """
    heavy = learner.family.made_heavy()
    if heavy is None:
        return ran
    _, tamed, _ = run(replace(learner, family=heavy))
    n = batch.X.shape[0]
    rows = as_computed(heavy, some_rows(batch.X, rules.seed_rows), learner.n_batches)
    shown = heavy.tails_shown(rows, tamed.totals, rules.tail_first)
    if shown.has_heavy_tails():
        more = _log_density(shown, tamed, rows) - _log_density(learner.family, ran[1], rows)
        spared = len(learner.family.prior) * (ran[1].k - tamed.k)
        if more * n > -spared * len(rows):
            return run(replace(learner, family=shown))
    return run(learner)


def _log_density(family: Family, state: State, rows: Points) -> float:
    """Return the log density of rows (n, d) under all clusters, in the family's frame."""
    totals = state.totals[state.totals[:, 0] >= ONE]
    n = totals[:, 0]
    score = family.predictive_score(totals, np.log(n / n.sum()))
    return float(logsumexp(score.block(to_dense(family.statistics(rows))), axis=1).sum())
