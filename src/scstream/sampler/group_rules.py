"""The numbers that steer how clusters are joined to groups, with what showed their values.

Scores are mean ARIs of groups on seeds 1 and 7 of streams of ``benchmarks/shapes.py`` and others.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupRules:
    """How groups are formed. These are fields of `scstream.sampler.rules.Rules`.

    Attributes
    ----------
    group_level : float
        The height up to which clusters are of one group: the probability that a valley separates
        them.
    group_prior : float
        Share of pairs that are pieces of one shape, as if one pair had shown it. With .5 Gaussians
        in a row are joined more often.
    group_tempering : float
        How much a nat of evidence for a filled valley counts: clusters are never quite Gaussian.
    group_flat : float
        Density at the bottom of a valley, over that of the lower peak, from which there is none.
    group_touch : float
        Entropy between two clusters, as a share of the smaller one's rows, from which they touch.
    group_low_ground : float
        Density of a place, over that of a peak, below which it is low ground: it connects no two
        groups that are higher, and belongs to one only if it touches this one most.
    group_lasting : float
        Log odds that speak for what was so before: for one group or for two.
    group_memory : float
        Rows after which half of what a boundary showed is forgotten. With 17,000 clusters that
        move fast are joined where they meet (.919, .923 with 8,000).
    group_changed : float
        The share that is stored when one of the two clusters was split or merged.
    group_rows : int
        Rows that are looked at together, at most.
    group_numbers : int
        Numbers in these rows, at most.
    group_columns : int
        Columns of the embedding up to which rows are seen along Fisher's direction.
    """

    group_level: float = 0.3
    group_prior: float = 0.3
    group_tempering: float = 0.4
    group_flat: float = 0.95
    group_touch: float = 0.01
    group_low_ground: float = 0.15
    group_lasting: float = 2.0
    group_memory: float = 8000.0
    group_changed: float = 0.3
    group_rows: int = 3000
    group_numbers: int = 400_000
    group_columns: int = 64
