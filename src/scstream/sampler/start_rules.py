"""Every number that steers how a stream starts, with what it is for and what showed its value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StartRules:
    """How a first batch, and a stream of few rows, finds its clusters.

    These are fields of `scstream.sampler.rules.Rules`.

    Attributes
    ----------
    prior_rows : int
        Rows of a first batch that its prior is prepared from, at most. More change it by less than
        the noise of a seed.
    seed_rows : int
        Rows of a batch that groups are made from by k-means, at most. Twice as many gave the same K
        and ARI (13 shapes of 20,000 to 60,000 rows, 20 or 25 seeds each).
    points_a_group : int
        Points for each such group: with fewer nothing new can be distinguished.
    seeds : int
        Groups that a first batch starts from, unless these are too few. One group gives a start
        from one cluster, as in the paper: two-way splits are then a barrier, and results differ
        from seed to seed.
    starts : int
        Sets of such groups of real numbers that are merged; the most probable one is the start. Of
        counts and categories, three find clusters more than there are in small batches. Mean ARI
        of 70 streams, five seeds: .8389 with one, .8412 with three; outdoor objects .49 and
        .56, with a standard deviation of .13 and .02.
    divided_groups : float
        Share of these groups that are two clusters rather than one, from which there are twice as
        many groups, and so on: clusters that share a group from the start hardly come apart again.
        Of 400 clusters on a grid 14 to 20 were found from 200 groups, and 397 or more are. Up to
        150 clusters have .07 at most, 225 to 400 on a grid .2 to .8. Clusters of six rows or fewer
        among those that groups are made from do not show. It is judged by a prior that suits the
        two sides, which finds two in slices of a ring (.16), or in 12 rows of 60 columns (.8).
    divided_rows : float
        Share of rows that must be in such groups even by a prior that suits whole groups. That
        is 0 of the latter two, mostly .008 to .4 where clusters are many (one grid of 400 in four
        had 0, of 2,500 rows), and .07 at most of Cauchy tails, whose share of groups is .04 to .16.
    few_seeds : int
        Groups of the second start, by the most informative columns alone. Where clusters differ in
        a few of many columns, 200 small groups are chance neighbours in all the others.
    sliced_columns : int
        Columns up to which groups that no longer merge may be slices of clusters. One cluster in
        one column came out as 31 to 60, three as up to 18. In two columns slices merge.
    flat_by : float
        By how much the fourth moment of an informative column must be below a normal's 3.
    least_column_weight : float
        What all other columns count in the second start.
    turns : int
        How often groups are made again by distances in the deviations within the clusters found so
        far, at most. Twenty uneven clusters beside 13 columns of noise: 17 for one seed of eight
        without, 20 for all with it.
    turn_gain : float
        Nats by which clusters must become more probable if that is to be done again.
    round_by : float
        Largest over smallest variance within clusters up to which they are about round, so that
        it is not done at all. With 4, one of the seeds above stays at 4 clusters.
    complete_rounds : int
        How often missing entries are completed by clusters whose labels are given. Each round
        leaves the missing share of what the last one was off: .3 to the power of 5 is nothing.
    adapt_sweeps : int
        Sampled sweeps of the first batch during which the prior follows the clusters.
    patience : float
        Sampled sweeps without a better log posterior that end the first batch.
    patience_again : float
        The same where clusters were found among other rows before, see `sample_rows`. There, and in
        samples, so many from the first one on that move no cluster end it too. With 8 in samples,
        of 180 batches (nine shapes, most of 50,000 rows) one had three clusters more and one had
        one less, and those of clusters far apart took a tenth longer.
    gain_again : float
        There a log posterior is only better if a row is more probable by this, in nats. Among
        400,000 rows of clusters far apart labels that are drawn anew change it by some 20.
    sample_rows : int
        Rows of a first batch that its clusters are found among. They are then looked for among
        `sample_growth` times as many, and so on, until that neither changes how many there are nor
        makes a row more probable by `sample_gain` nats; and only then among all rows. With 8,192,
        first batches of 20,000 rows took twice to three times as long, and found what these find
        (20 streams, 6 to 16 seeds: ARI within .002, but for heavy tails and skewed or flat shapes,
        where the number of pieces differs). With 2,048 three of sixty clusters that overlap were
        missed.
    sample_least : int
        There are at most a `sample_growth`-th of all rows in the first sample; if these are fewer
        than that many the batch is taken whole. Of 10,000 rows 2,500 find what all do (eight
        streams and seeds: ARI within .006), in half the time.
    sample_growth : int
    sample_gain : float
    single_points : int
        Random points of a first batch, or of `fit`, that draw their labels one by one after each
        sampled sweep, all parameters integrated out: the move by which a point founds a cluster
        alone. The distance from the posterior over partitions of seven points falls from .37 to an
        exact sampler's .1 (`tests/statistical`). For up to 4,096 rows on the CPU.
    settle_sweeps : int
        Deterministic sweeps at the end of the first batch, at most.
    settled_share : float
        They end when no more than this share of rows got another label. Where clusters overlap some
        rows always do: all ten sweeps were taken, and after four or five hardly any row changed.
    warmup_rows : int
        Rows that make a start for good. The first rows of a stream are kept, and clustered again
        whenever there are twice as many, until there are so many of them: twenty points of ten
        clusters look like three (batches of 20 points: .839 without, .974 with).
    enough_alone : int
        Rows of a single batch that make a start for good: there is no need to wait for the next.
    moved_on : float
        Nats by which labels must distinguish a batch from the rows before it, to end the warm-up:
        clusters that move so fast are better followed than clustered together.
    moved_on_a_row : float
        The same for each row of the batch.
    same_rows : float
        The share of rows that a repeated start must find in the same clusters as before, for these
        to be the same clusters. With `enough_alone` rows they have then converged before, as in
        `patience_again`, and the warm-up is over if batches have half as many.
    folds : int
        Parts of a whole data set of few rows that are left out in turn, to see which clusters are
        found without them (`scstream.sampler.stability`); 0 to leave the clusters as they are. A
        batch that others follow is left alone: letters, of which the first 500 rows show too
        little, fell from .19 to .13.
    confused : float
        The share of what two clusters' rows are labelled without them that is the same, from which
        they are one. Mean ARI of 16 labelled tables as they are, of their numbers, of the first
        1,000 rows of 70 streams, and of 3,000 rows of 18: .429, .396, .817 and .638 without;
        .464, .428, .828 and .686 with .35; .451, .420, .826 and .661 with .5. With .2 it is .495,
        .453, .829 and .723, but 1,000 baskets fall from .93 to .68, with .35 to .86.
    """

    prior_rows: int = 100_000
    seed_rows: int = 4096
    points_a_group: int = 4
    seeds: int = 200
    starts: int = 3
    divided_groups: float = 0.12
    divided_rows: float = 0.002
    few_seeds: int = 30
    sliced_columns: int = 1
    flat_by: float = 0.5
    least_column_weight: float = 0.05
    turns: int = 8
    turn_gain: float = 1.0
    round_by: float = 2.0
    complete_rounds: int = 5
    adapt_sweeps: int = 15
    patience: float = 8.0
    patience_again: float = 3.0
    gain_again: float = 1e-4
    sample_rows: int = 4096
    sample_least: int = 2048
    sample_growth: int = 4
    sample_gain: float = 0.01
    single_points: int = 0
    settle_sweeps: int = 10
    settled_share: float = 0.001
    warmup_rows: int = 1000
    enough_alone: int = 500
    moved_on: float = 5.0
    moved_on_a_row: float = 0.3
    same_rows: float = 0.99
    folds: int = 3
    confused: float = 0.35
