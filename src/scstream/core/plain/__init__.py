"""The core in plain NumPy: what the native one is tested against, and runs where there is none."""

from scstream.core.plain.centres import approach, choose_nearest
from scstream.core.plain.columns import (
    distances,
    invert_factors,
    leading_distances,
    sum_products,
)
from scstream.core.plain.counts import add_compressed, add_rises, count_marginals
from scstream.core.plain.gaps import complete_rows, score_observed
from scstream.core.plain.gaussian import (
    boundaries,
    directions,
    drawn_scores,
    factor,
    log_normalisers,
    predictives,
    set_prior,
    student_forms,
    truncate,
)
from scstream.core.plain.logs import subtract_logs
from scstream.core.plain.mixture import log_gammas, log_weights, neighbours, split_ratios
from scstream.core.plain.passes import (
    best_labels,
    choose_sublabels,
    fill_statistics,
    label_rows,
    label_scores,
    score_pairs,
    score_rows,
    sweep,
    try_sublabels,
    widen_ends,
)
from scstream.core.plain.pooling import middle, pool
from scstream.core.plain.randomness import fill_uniforms as uniforms
from scstream.core.plain.text import lay_out, scan

__all__ = [
    "add_compressed",
    "add_rises",
    "approach",
    "best_labels",
    "boundaries",
    "choose_nearest",
    "choose_sublabels",
    "complete_rows",
    "count_marginals",
    "directions",
    "distances",
    "drawn_scores",
    "factor",
    "fill_statistics",
    "invert_factors",
    "label_rows",
    "label_scores",
    "lay_out",
    "leading_distances",
    "log_gammas",
    "log_normalisers",
    "log_weights",
    "middle",
    "neighbours",
    "pool",
    "predictives",
    "scan",
    "score_observed",
    "score_pairs",
    "score_rows",
    "set_prior",
    "split_ratios",
    "student_forms",
    "subtract_logs",
    "sum_products",
    "sweep",
    "truncate",
    "try_sublabels",
    "uniforms",
    "widen_ends",
]
