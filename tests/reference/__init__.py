"""ScStream in plain NumPy: slow and obvious, what the package is compared with.

The whole method, batch after batch, as docs/method.md tells it. Read it from the top:

- ``model``: a stream; where it begins, what is kept between batches
- ``batches``: the order of steps in a first batch, and in a later one
- ``sweeps``: labels drawn, or the best; what a cluster forgets besides
- ``moves``: restarts of sub-clusters, splits and merges
- ``clusters``: what is known of the clusters, and surgery on them
- ``labelling``: one pass over the rows
- ``gaussian``, ``families``: Gaussian, Poisson, multinomial clusters; any other by its contract
- ``student``: Student-t clusters, whose rows are tamed, and two of them in one frame
- ``uniforms``: the random numbers that draw labels
- ``by_points``: densities and ratios from points alone, with every constant in its place

With the same seed it makes the same draws as the package, and comes to the same labels. Nothing
here comes from the package but, for families that are not written out, the family itself.

Left out: how rows are read, rows without weight, coarse columns and the directions of many columns
(docs/method.md), batches of more rows than groups are made from (8,192; 2,000 of Student-t
clusters), Student-t clusters beside outliers, more records of a kernel than are kept (256), and
what is done where rounding cost a matrix its positive definiteness.
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
from reference.labelling import against, doubts, drawn, label, rivals, row_counts, statistics
from reference.model import Model
from reference.uniforms import philox, uniforms

__all__ = [
    "Dirichlet",
    "Model",
    "NormalInverseWishart",
    "against",
    "deterministic_scores",
    "doubts",
    "drawn",
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
