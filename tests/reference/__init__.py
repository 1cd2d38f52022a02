"""ScStream in plain NumPy: slow and obvious, what the package is compared with.

The whole method, batch after batch, as docs/method.md tells it. Read it from the top:

- ``model``: a stream; where it begins, what is kept between batches
- ``batches``: the order of steps in a first batch, and in a later one
- ``starts``, ``groups``: where a first batch starts, and a prior on trial; groups of rows
- ``warmup``, ``elsewhere``: the first rows of a stream; batches with which a model begins anew
- ``dormant``, ``repeats``: clusters that come back; rows that come again
- ``alike``: rows that resemble the row before
- ``background``: noise that is learned
- ``sweeps``: labels drawn, or the best; what a cluster forgets besides
- ``moves``: restarts of sub-clusters, splits and merges
- ``clusters``: what is known of the clusters, and surgery on them
- ``labelling``: one pass over the rows
- ``gaussian``, ``families``: Gaussian, Poisson, multinomial clusters; any other by its contract
- ``restraint``: clusters far wider, or further out, than all others
- ``student``: Student-t clusters, whose rows are tamed, and two of them in one frame
- ``uniforms``: the random numbers that draw labels
- ``by_points``: densities and ratios from points alone, with every constant in its place

With the same seed it makes the same draws as the package, and comes to the same labels. Nothing
here comes from the package but, for families that are not written out, the family itself.

Left out: how rows are read and what is missing in them, rows without weight, families that become
wider, amounts that first tell clusters apart, coarse columns and the directions of many columns
(docs/method.md), batches of more rows than groups are made from (4,096; 2,000 of Student-t
clusters), or a prior is tried on (2,048), Student-t clusters beside outliers, points that draw
their labels one by one (a rule that is off), more records of a kernel than are kept (256), and what
is done where rounding cost a matrix its positive definiteness.
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
