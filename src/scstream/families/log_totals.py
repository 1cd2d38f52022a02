"""Logs of sums over components: densities, where scores are log weights times densities."""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array, Points, Products, Score, fast_scores, form_of


def log_totals(score: Score, T: Points) -> Array:
    """Return the logs of sums over components (n,) of scores, which are logs."""
    form = form_of(score)
    if isinstance(form, Products) and form.triangular is not None:
        return row_log_totals(fast_scores(form, T))
    return row_log_totals(score.block(T))


def row_log_totals(rows: Array) -> Array:
    """Return the logs of the sums (n,) of scores (n, k), which are logs."""
    high = rows.max(axis=1)
    at = np.where(np.isfinite(high), high, 0.0)
    with np.errstate(divide="ignore"):
        out: Array = at + np.log(np.exp(rows - at[:, None]).sum(axis=1))
    return out
