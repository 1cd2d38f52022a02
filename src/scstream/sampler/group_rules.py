"""Every number that steers how clusters are joined to groups, with what showed its value.

Scores are mean ARIs of groups on seeds 100 to 103 of the streams of ``benchmarks/quality.py`` and
``benchmarks/shapes.py``; those of ``docs/groups.md`` come from other seeds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupRules:
    """How groups are formed. These are fields of `scstream.sampler.rules.Rules`.

    Attributes
    ----------
    group_level : float
        The height up to which clusters are of one group: how deep the valley between them is.
    group_bridge : float
        Density of a place, over that of the lower of two peaks, below which it joins no two groups:
        a tail does not connect what lies on its two sides. At .25 bent shapes come apart (crescents
        and rings .951, .965 with .15).
    group_deviations : float
        Deviations by which a valley must be significant, whatever the shape of the two: one that
        few rows show is none. With .5 Gaussians that overlap are joined a little more often (unit
        variance .003 lower).
    group_flat_deviations : float
        The same, in addition, where the far sides of the two are flat as those of pieces are. With
        1 bent shapes come apart (crescents and rings .966, .971 with 1.3).
    group_prior_rows : float
        Rows that the fitted density counts as, beside those seen in a window.
    group_bells : float
        Deviations by which the far sides of two clusters, taken together, must look like those of
        Gaussians before the two are apart without a valley. On seeds 400 and 401, with .5, 1 and
        1.5: gamma .973, .984, .989; unit variance .818, .805, .803; a grid of Gaussians that are
        three deviations apart .453, .340, .208 (.014 where the less Gaussian of the two far sides
        decided alone, as it did before).
    group_flat : float
        Mean square over squared mean of a far side's distances, between those of an even strip
        (1.33) and of half a Gaussian (1.57): what is below is flat. At 1.48 Gaussians that overlap
        are joined (unit variance .01 lower).
    group_heavy : float
        The same, above which a side is a tail: that of an exponential has 2.
    group_spread : float
        Deviation of that number for a single row of half a Gaussian; it falls with the root of
        their number.
    group_side_rows : float
        Rows of a far side that are neither flat nor a Gaussian's, beside those seen.
    group_others : float
        What a cluster's far sides at its other seams count beside the one at the seam that is
        judged: a piece of a shape mostly looks like one from everywhere. On seeds 410 to 421, with
        0 and .5: gamma .965, .980; log-normal .982, .996; L shapes .997, .994; others the same.
    group_all_share : float
        What the mean of all clusters' far sides counts beside those of the two that are judged. On
        most streams clusters are alike: all Gaussians, or all pieces. On seeds 200 to 202, with 1.2
        and 1.6: unit variance .025 and .016 below the clusters; a grid of Gaussians that are three
        deviations apart .020, .012; crosses .988, .989; log-normal .990, .984; gamma in six
        columns, sums of which look like Gaussians, .951, .947.
    group_all_sides : float
        Far sides that are neither flat nor a Gaussian's, beside all those seen.
    group_seen_rows : float
        Rows at the two peaks, for each number by which the direction between the two was fitted
        (one less than columns), from which a pair is presumed to be one, by ``group_bells``. With
        fewer it is presumed to be two: few rows say little along a direction that was fitted to
        them, and clusters never seen side by side are not joined. On seeds 200 to 202, with 2.5 and
        5 for each column: letters .008 and .004 below the clusters; shapes the same.
    group_tail : float
        Deviations towards one whole for each unit by which log count less log volume of the two,
        in at most three columns, differ by more than ``group_tail_from``. A thin and wide cluster
        beside a dense one is its tail, or that of a skewed shape (gamma .977, .959 with 0).
    group_tail_from : float
        See there.
    group_around : float
        Deviations, both of the wider of two clusters and of the mean shape of the two, within which
        their means are those of one whole, such as a core and its tail. It is how far apart the two
        halves of a Gaussian are in their own deviations; two Gaussians with a valley between them,
        whose rows have the label of the nearer, are 2.9 apart and more. On seeds 100 to 105 and 200
        to 202, with 2 deviations of the wider alone and with this: gamma in six columns .959, .991
        (7.1 and 6.2 groups of 6); other shapes up to .004 better; Gaussians the same. With 2.65 of
        the wider alone Gaussians are joined (unit variance .006 lower, a grid of them .045).
    group_lasting : float
        Deviations that speak for what was so before: for two wholes or for one. Without, groups
        come and go (gamma's full NMI over NMI .91, with 1.3 .98). On seeds 410 to 413, with 1.3 and
        2: log-normal .975, .988; unit variance .820, .816.
    group_memory : float
        Rows after which half of what a seam showed is forgotten.
    group_changed : float
        The share that is kept when one of the two clusters was split or merged.
    group_overlap : float
        Entropy between two clusters, as a share of the smaller one's rows, from which they touch.
    group_points : float
        Points that make a cluster; one of fewer joins the nearest, and connects none.
    group_reach : float
        Deviations, of the mean shape of the two, within which it does so. Objects in 21 columns
        that have just come, or are about to go, have few points and lie far from all others: of
        them groups were .022 below the clusters, and are level.
    group_chance : float
        Height of the merge of two clusters of few rows (fewer than twice ``group_seen_rows`` for
        each column but one, together) for each cluster that would be as near by chance. With 2 and
        1.4: digits .004 and .014 above the clusters; even strips in 32 columns .070 and .070;
        Gaussians in pairs, five deviations apart in 16 columns, .002 and .002 below (seeds 0 to 2).
    group_drawn : float
        Height below which a line is drawn between the two, for later rows to be seen along.
    group_later_rows : float
        Rows at the ends of a line that what is usual on all lines counts as. With 4 and 8 (seeds 0
        and 1): MoCo features .008 and .007 above the clusters, strips .068 and .070; Gaussians in
        pairs, five deviations apart in 16 columns, .008 and .001 below.
    group_later_none : float
        Rows at the ends of lines with none between, beside those of all lines: none are joined
        before later rows were seen. With 6, MoCo features .004 above the clusters, .007 with 3.
    group_rows : int
        Rows of a batch that are looked at, at most.
    group_chunk : int
        Rows that are collected before they are looked at, where groups are formed after every
        batch: of batches of 1,000 rows every third. On seeds 510 to 512 that is no worse than every
        second (log-normal .977, .974; drift .934, .933; unit variance .863, .867).
    group_kept : int
        Rows that are kept, where groups are formed only when asked for, at most.
    group_numbers : int
        Numbers in these rows, and in those of a batch, at most.
    group_parts : int
        Batches whose rows are kept as they came; those of more, which are small, are put together.
    group_stale : float
        Mean squared deviations a column by which rows kept may be further from their clusters than
        the latest rows are: where clusters move, old rows show nothing of today.
    group_columns : int
        Columns up to which seams of clusters without correlations are looked at; above, overlaps
        alone decide. A look costs a matrix of these columns for each cluster, which Gaussian
        clusters pay for all they do, and others for nothing else.
    group_same : float
        Overlap, where it alone decides, of two clusters that are taken for the same.
    """

    group_level: float = 0.3
    group_bridge: float = 0.15
    group_deviations: float = 0.3
    group_flat_deviations: float = 1.3
    group_prior_rows: float = 2.0
    group_bells: float = 1.0
    group_flat: float = 1.45
    group_heavy: float = 1.75
    group_spread: float = 0.62
    group_side_rows: float = 4.0
    group_others: float = 0.5
    group_all_share: float = 1.6
    group_all_sides: float = 8.0
    group_seen_rows: float = 5.0
    group_tail: float = 1.0
    group_tail_from: float = 1.0
    group_around: float = 2.65
    group_lasting: float = 1.8
    group_memory: float = 17_000.0
    group_changed: float = 0.3
    group_overlap: float = 0.01
    group_points: float = 5.0
    group_reach: float = 6.0
    group_chance: float = 1.4
    group_drawn: float = 0.5
    group_later_rows: float = 8.0
    group_later_none: float = 3.0
    group_rows: int = 4000
    group_chunk: int = 3000
    group_kept: int = 6000
    group_numbers: int = 400_000
    group_parts: int = 16
    group_stale: float = 0.3
    group_columns: int = 100
    group_same: float = 0.25
