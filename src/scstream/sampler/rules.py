"""Every number that steers the sampler, with what it is for and what showed its value.

The figures are shares of an oracle's ARI, as ``benchmarks/quality.py`` prints them, or come from
the ablations of ``benchmarks/ablation.py``. Numbers that a family needs for its prior are with the
family; numbers that only decide how fast something is computed are where it is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from scstream.sampler.group_rules import GroupRules
from scstream.sampler.start_rules import StartRules


@dataclass(frozen=True)
class Rules(StartRules, GroupRules):
    """How the sampler decides, wherever the data do not.

    How it starts is in `StartRules`, and how clusters are joined to groups in `GroupRules`.

    The defaults serve all streams that we know. They are here for experiments:
    ``ScStream(rules=Rules(restarts=False))``.

    Attributes
    ----------
    half_life : float
        The half-life of ``half_life="auto"``, in batches: so many times their usual spacing.
    spacing_memory : int
        Gaps between batches that their usual spacing is an average of, about.
    spacing_jump : float
        By how many times a single gap may be taken for longer, or shorter, than the usual one: a
        pause says little about the batches after it.
    pause : float
        Half-lives that a single gap counts at most with ``half_life="auto"``: after a pause,
        however long, the model still knows its clusters.
    usual_rows : int
        Rows of a batch below which that half-life is longer: 5 batches of 10 rows are no memory.
    keep_shares : tuple of float
        Shares of its past among which a cluster's evidence chooses; ``(1.0,)`` keeps the past
        whole.
    min_residual_points : float
        Points that the least of these shares must leave for less to be kept: so many would stay
        behind as a cluster where a cluster moved away. Of 20 clusters that moved 4 deviations a
        batch, in batches of 30,000 rows, 247 were left after 20 batches, now 25. Where few points
        are left of clusters that jump anywhere that is better: ARI .931, and .922 with 0 here.
    keep_points : float
        Points that are then kept at least.
    forget_reluctance : float
        Nats by which forgetting more must win.
    more_sweeps : int
        Sampled sweeps of a later batch beyond those asked for, at most, while there are more
        clusters after each. Where many are born at once a sweep makes two of each that holds
        several. What is left is wide, and so would be what is expected of clusters from then on:
        of eight born in 64 columns two pairs stayed one. Nine born in 5-D are found in their first
        batch (ARI .99; .84 without).
    follow : bool
        Whether what is expected of clusters follows them. Without, eight clusters in 16-D that grow
        by 15 % a batch are lost.
    restarts : bool
        Whether the two sub-clusters of a cluster are sought again in every sampled sweep.
    refine_rounds : int
        Hard assignments that refine a new division into sub-clusters.
    cut_past : bool
        Whether the past of a divided cluster is cut along the boundary between the two parts. If
        not, it is halved, and a long memory resists splitting (.92 of the oracle with a half-life
        of 1, .88 with 5).
    least_part : float
        Points, weighted, that are too few to be a part of a cluster. Next to nothing is no part,
        but ``lgamma`` of its count would make it a good one: clusters that were one for long could
        never be divided again (27.5 times on streams of 200 batches, .4 with this).
    sharp_edges : float
        The share of the entropy about a cluster's labels that a split must win after the
        deterministic sweep, whose labels cut it sharply where it overlaps others. Of 80 clusters
        that overlap, in batches of 100,000 rows, up to 5 were split without need, for up to .16 of
        that entropy.
    edges_free : float
        Nats that are taken off that share: a split of fewer points wins less than it costs. Without
        this clusters of 50 points that overlap much are divided too seldom.
    watched_batches : int
        Batches without rows that had come before, after which none are looked for any more; 0 to
        take all rows for new ones. See `scstream.sampler.repeats`.
    least_repeated : int
        Rows of a batch that are looked at must be at least so many.
    repeated_share : float
        The share of them that must have been seen before.
    alike : float
        The correlation of a row's deviation from the centre of its cluster with that of the
        cluster's next row from which rows count less, see `scstream.sampler.alike`; 1 for never.
        With less there are hardly more clusters than there should be, and close ones are lost.
    alike_farther : float
        The share of rows from which the eighth next of their cluster must then be farther away than
        the next: .64 to 1 where readings follow slowly, .41 to .6 of independent rows.
    alike_points : float
        Points that the rows of a usual batch then count at least: fewer show no cluster.
    alike_least : float
        Weight of a row that need not be exceeded for that, in small batches.
    alike_rows : int
        Rows from which that is known; those of smaller batches are put together.
    alike_batches : int
        Batches up to which all small ones are looked at.
    alike_looks : int
        Batches from one look at others to the next. The first are at batches 1, 2, 4 and 8.
    left_out : float
        Points, for each number that describes a cluster, below which no point counts in the cluster
        that it is in when it gets its last label in a batch: it would find itself there. On 1,000
        texts a batch (20 newsgroups, five seeds) predicted ARI .189 without, .204 with it. At .5
        a batch of 20,000 rows of 64 columns took 1.5 times as long.
    drawn_rows : int
        Rows of a cluster in a batch from which what it learns is drawn, if it overlaps others: best
        labels cut it sharply, which many rows show. They would shrink it in every batch, and split
        what is left: of three clusters three deviations apart in one column, in batches of 40,000
        rows, 6 to 16 were made in six batches. With fewer rows draws are noise.
    drawn_entropy : float
        The entropy of a row's label, in nats, from which a cluster overlaps others so.
    entropy : float
        What the entropy counts in the ratio of a split or merge, see docs/architecture.md. 0 is the
        paper's ratio, which joins clusters that overlap (drift .976 with, .964 without).
    due_points : float
        Points that may be missing of those expected at a place that was not left.
    left_share : float
        The share of the others that come at most to a place that was left: of a cluster that moves
        by five deviations some points are still nearer to where it was. Where eight do so every
        five batches the ARI of ids is .97, and .92 if none may come (2-D and 5-D, six seeds each).
    move_points : float
        Points, for each column, that a place counts that was left; one column counts as two. It is
        as if clusters moved by 4.5 deviations or so from one batch to the next, in however many
        columns. Farther away, by what is usual between clusters, points are another cluster's. See
        `scstream.sampler.forgetting.points_of_a_place`. In files sorted by class of 8 columns the
        ARI of ids was .57 where a place counted .1 in any number of columns, and is .91. With .1
        for each it would be .97, but .52 for 1.00 where clusters jump by eight deviations.
    move_margin : float
        Nats by which they must be so; where clusters overlap nothing is far. Without this rule ids
        go with any points: of four clusters by day and four by night, 50 batches each, the ARI of
        ids over four days is .75, and .97 with it (2-D and 5-D, six seeds each).
    neighbours : int
        Clusters that each cluster may be merged with: its commonest second choices.
    many_neighbours : int
        The same while there are deliberately too many clusters.
    merge_reluctance : float
        Nats by which a merge must win, for each batch that the younger of the two has lived:
        clusters that lived apart are presumed to stay apart, even while they cross.
    merge_reluctance_most : float
        The same, at most.
    entropy_elsewhere : float
        Share of the entropy that two clusters of rows that say little have with all others, which
        is taken for theirs when a merge is judged by what they predict. Thirty topics, rows of 10
        words, 24 batches of 1,000: with 0, 24 clusters and ARI .60 after eight batches; with .3 and
        .5, 25 and .62, and with .5 30 and .99 at the end. Ten topics, rows of 5 words: 3 clusters
        and .09, 4 and .15, 6 and .32 after eight.
    dormant : int
        Clusters that are remembered after they were forgotten, at most.
    dormant_points : float
        Points that such a cluster must have counted once: of fewer no shape is known.
    return_points : float
        Points that what is known of a cluster that comes back counts, at most: it may have changed.
    return_margin : float
        Nats by which a birth must be more probable as a return of one of the dormant, whichever.
    challenger_rows : int
        Rows of a batch on which an alternative is fitted and judged, at most: half
        for each. It takes .1 to 1 s of a first batch of 1,000 rows by 1,000 or 2,000 words.
    challenger_least : int
        Rows of a first batch from which on weaker priors are tried.
    challenger_margin : float
        Nats a row by which it must predict rows held out better than the model does, or by which
        another prior must suit clusters better for it to be tried. Six clusters a thousand times
        larger or smaller, or in one column, gain .1 to 13.
    challenger_clear : float
        The same in standard errors.
    unexplained : float
        The share of a batch's rows that no cluster expects from which on an alternative is tried,
        and with which the model begins anew after a pause in which all would have been forgotten.
    seen_rows : int
        Rows by which that share is known in a batch in which clusters were born.
    return_within : int
        Batches after its birth in which a cluster may still turn out to be a return.
    turn_rows : int
        Rows of a later batch by which the directions of many columns are judged, at most.
    turn_past : float
        Times the rows of a batch that those before it count at most when directions are chosen
        anew: else a class that lies outside of them would not be seen for long.
    background_begins : float
        Nats by which clusters must be more probable beside a background, where its weight is
        learned, for there to be one; what batches before gain counts as much as is remembered of
        them. Few rows at new places gain 15 at most on most streams without noise; 5 rows of noise
        in 1,000 gain 10 to 80.
    background_looks : int
        Batches from one look for noise to the next, at most; a batch in which clusters are born is
        always looked at. A look takes half as long as a small batch.
    background_margin : float
        Nats by which a new cluster must be more probable than its rows in the background, where
        that is learned: chance puts some rows of noise close together.
    background_more : float
        Standard deviations by which the rows of a batch that no cluster expects must be more than
        the share of the background makes likely, to be searched for clusters at once.
    background_seldom : int
        Batches between such searches, at most: one takes several times as long as the rest of a
        small batch.
    background_most : float
        The share of rows that clusters may be given up for at most: noise is the lesser part. A
        single cluster and nothing but noise are the same to any model.
    background_width : float
        What the shape of all rows together counts in that of the background at least, as a share of
        them: however many rows it holds, it does not become as narrow as a cluster.
    background_stretch : float
        By how much rows are stretched about their middle before they stand for the shape of the
        background: where there is but one cluster it must be wider than that.
    scored_rows : int
        Rows of a batch that are scored before they are learned, at most, for `ScStream.anomaly`;
        0 for none.
    scored_first : int
        Batches all rows of which are scored, up to that number, since a model that has just begun
        learns much from each.
    scored_share : float
        The share of a later batch's rows that are scored, up to that number. Of 1,000 rows of 64
        columns a quarter costs as much as leaving out three batches of four; the latter flags 3.3
        times the rows that it should where clusters of 128 columns move, a quarter of each batch
        1.2 times (15 kinds of streams, three seeds; an eighth is as good but for flags and codes).
    scored_least : int
        Rows that are scored at least, or all.
    scored_batches : float
        The share of batches that are scored where scoring takes as long as learning, twice that
        while few scores are known. All others are scored. With one in 16 the sketch was so old that
        streams of 2 to 8 columns had .3 to 2.3 times the rows below .001 that they should have;
        with one in 8 .7 to 1.3, with one in 4 .8 to 1.2 (16 streams). With one in 8 updates of
        1,000 rows take 8 % longer than without scores.
    scores_kept : float
        Scores that are remembered at least, however fast the model forgets: with fewer one row
        in a thousand is not known.
    scores_lag : float
        Rows of batches, scored or not, within which remembered scores follow the middle and the
        spread of new ones. Without, .63 times the rows that should be were below .001 on fast
        streams of flags; with scored rows alone, of which there are a quarter as many, .66 to .72
        times those below .003, for .83 now.
    weight_rounds : int
        How often the weights of rows of two clusters taken together are found anew, and those of
        clusters that moved. Of eight that move by one or two scales a batch (seeds 300 to 302)
        14 to 23 were found where these had one round, and are 8.0 to 8.7.
    weight_hopeless : float
        Nats a row by which a merge of two such clusters may lose, judged by their sums alone, to be
        judged by their rows: no two pieces of one cluster lose that much.
    heavy_rows : int
        Rows of a first batch that clusters of heavy tails are started from, at most. So many show
        whether there are tails of 20 degrees of freedom; of a quarter one in two does not.
    heavy_least : int
        The same at least. If a batch has less than twice as many all of them are taken.
    tail_every : int
        Batches from one look at the tails to the next: these change slowly.
    tail_rows : int
        Rows of a batch by which the degrees of freedom of heavy tails are learned, if there are so
        many; and of more rows one in four.
    calm : int
        Sampled sweeps of a first batch without a split or a merge after which tails are learned, or
        some more without a better log posterior. If so many looks in a row show no tails there are
        none.
    tail_first : float
        Rows that the degrees of freedom before count as, while a first batch converges.
    tail_memory : float
        The same in a later batch.
    """

    half_life: float = 5.0
    spacing_memory: int = 5
    spacing_jump: float = 4.0
    pause: float = 4.0
    usual_rows: int = 100
    keep_shares: tuple[float, ...] = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)
    min_residual_points: float = 20.0
    keep_points: float = 3.0
    forget_reluctance: float = 2.0
    more_sweeps: int = 8
    follow: bool = True
    restarts: bool = True
    refine_rounds: int = 2
    cut_past: bool = True
    least_part: float = 0.5
    sharp_edges: float = 0.25
    edges_free: float = 20.0
    watched_batches: int = 32
    least_repeated: int = 8
    repeated_share: float = 0.9
    alike: float = 0.65
    alike_farther: float = 0.6
    alike_points: float = 30.0
    alike_least: float = 0.2
    alike_rows: int = 200
    alike_batches: int = 64
    alike_looks: int = 16
    left_out: float = 0.15
    drawn_rows: int = 300
    drawn_entropy: float = 0.01
    entropy: float = 1.0
    due_points: float = 3.0
    left_share: float = 0.1
    move_points: float = 0.05
    move_margin: float = 2.0
    neighbours: int = 3
    many_neighbours: int = 6
    merge_reluctance: float = 2.0
    merge_reluctance_most: float = 20.0
    entropy_elsewhere: float = 0.5
    dormant: int = 200
    dormant_points: float = 10.0
    return_points: float = 30.0
    return_margin: float = 2.0
    challenger_rows: int = 1000
    challenger_least: int = 100
    challenger_margin: float = 0.05
    challenger_clear: float = 3.0
    unexplained: float = 0.5
    seen_rows: int = 100
    return_within: int = 4
    turn_rows: int = 1024
    turn_past: float = 4.0
    background_begins: float = 20.0
    background_looks: int = 16
    background_margin: float = 10.0
    background_more: float = 2.0
    background_seldom: int = 4
    background_most: float = 0.4
    background_width: float = 0.02
    background_stretch: float = 1.5
    scored_rows: int = 1000
    scored_first: int = 8
    scored_share: float = 0.25
    scored_least: int = 50
    scored_batches: float = 0.125
    scores_kept: float = 10_000.0
    scores_lag: float = 1500.0
    weight_rounds: int = 3
    weight_hopeless: float = 0.3
    heavy_rows: int = 2000
    heavy_least: int = 400
    tail_every: int = 4
    tail_rows: int = 250
    calm: int = 2
    tail_first: float = 100.0
    tail_memory: float = 500.0

    def __post_init__(self) -> None:
        for rule in fields(self):
            value, kind = getattr(self, rule.name), type(rule.default)
            if kind is float and type(value) is int:
                continue
            if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
                raise ValueError(f"The rule {rule.name} must be a {kind.__name__}; got {value!r}.")

    def to_saved(self) -> dict[str, Any]:
        """Return the rules that are not the default, by name."""
        mine = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in mine.items() if value != getattr(RULES, name)}

    @staticmethod
    def from_saved(saved: dict[str, Any]) -> Rules:
        """Return the rules that `to_saved` told of, or raise `ValueError`."""
        unknown = sorted(set(saved) - {f.name for f in fields(Rules)})
        if unknown:
            raise ValueError(f"There is no rule called {unknown[0]!r}")
        known: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()
        }
        return Rules(**known)


RULES = Rules()  # as they are unless the user says otherwise
