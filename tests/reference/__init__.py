"""What the package is compared with: slow and obvious arithmetic on points, in plain NumPy.

- ``by_points``: densities and ratios from points alone, with every constant in its place
- ``labelling``: one pass over the rows
- ``uniforms``: the random numbers that draw labels
- ``gaps``: rows of which some entries are missing

Nothing here comes from the package.
"""

from reference.by_points import (
    Dirichlet,
    NormalInverseWishart,
    deterministic_scores,
    log_hastings_split,
    log_multinomial,
    log_normal,
    log_posterior,
    log_student,
    restricted_scores,
    window_sum,
)
from reference.labelling import against, drawn, entropies, label, rivals, row_counts, statistics
from reference.uniforms import philox, uniforms

__all__ = [
    "Dirichlet",
    "NormalInverseWishart",
    "against",
    "deterministic_scores",
    "drawn",
    "entropies",
    "label",
    "log_hastings_split",
    "log_multinomial",
    "log_normal",
    "log_posterior",
    "log_student",
    "philox",
    "restricted_scores",
    "rivals",
    "row_counts",
    "statistics",
    "uniforms",
    "window_sum",
]
