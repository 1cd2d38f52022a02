"""Logs of sums over components: densities, where scores are log weights times densities."""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array, Points, Products, Score, fast_scores, form_of, products
from scstream.kernels import scores

_NOTHING = np.zeros(0)


def log_totals(score: Score, T: Points) -> Array:
    """Return the logs of sums over components (n,) of scores, which are logs.

    Those too far below the best to be seen in a sum are left out, where that is known beforehand.
    """
    form = form_of(score)
    if isinstance(form, Products) and form.pruning is not None:
        return row_log_totals(fast_scores(form, T))
    if isinstance(form, Products) and form.student and form.power.min() > 0.0:
        room, out = np.empty(len(form.power)), np.empty(T.shape[0])
        scores.log_totals(products(T, form.eta), form.const, form.power, room, out)
        return out
    return row_log_totals(score.block(T))


def row_log_totals(rows: Array) -> Array:
    """Return the logs of the sums (n,) of scores (n, k), which are logs."""
    out = np.empty(len(rows))
    scores.log_totals(rows, _NOTHING, _NOTHING, _NOTHING, out)
    return out
