"""A stream: what is kept between batches, where it begins, and when it begins anew."""

import copy

import numpy as np

from reference.alike import Alike
from reference.background import Background, arisen, arising, left_after
from reference.batches import (
    Events,
    Plan,
    draw_what_is_learned,
    first_batch,
    later_batch,
    start_from_samples,
    tamed_in_vain,
)
from reference.clusters import ONE, Clusters, Forgetting
from reference.dormant import Dormant
from reference.elsewhere import ROWS, begins_anew, is_beyond, is_elsewhere, is_suspected
from reference.heavier import SHOWN, with_tails
from reference.moves import drop_forgotten, keep, log_posterior
from reference.repeats import Repeats
from reference.starts import start_from_labels, start_over_clustered, with_prior_on_trial
from reference.sweeps import (
    Batch,
    deterministic_sweep,
    predictive_scores,
    tames,
    with_outliers,
)
from reference.warmup import Kept, came_apart, rename, same_clusters


class Model:
    """ScStream: clusters a stream batch by batch. Rows are arrays, and each has a weight above 0.

    After a batch: ``labels`` (ids) and ``sublabels`` of its rows, the ``clusters``, and what
    happened: ``births``, ``deaths``, ``splits``, ``merges``, ``returns``; and the
    ``log_posterior``.
    """

    def __init__(
        self, family, *, alpha=1.0, half_life="auto", kernel=None, epsilon=1e-8, outlier_weight=0.0,
        random_state=None, sample_rows=4096, drawn_rows=300, left_out=0.15, dormant=200, **plan,
    ):  # fmt: skip
        self.sample_rows, self.drawn_rows, self.left_out = sample_rows, drawn_rows, left_out
        self.unprepared, self.alpha, self.plan = family, alpha, Plan(**plan)
        self.half_life, self.kernel, self.epsilon = half_life, kernel, epsilon
        self.outlier_weight, self.outliers, self.suspicion = outlier_weight, None, 0.0
        self.rng = np.random.default_rng(random_state)
        self.seed = int(self.rng.integers(2**63))
        self.n_batches, self.time, self.clusters = 0, None, None
        self.spacing, self.first_rows = 0.0, []
        self.dormant, self.repeats, self.alike = Dormant(dormant), Repeats(), Alike()

    def partial_fit(self, X, *, time=None, weight=None, labels=None):
        """Learn from the next batch; its rows count less if they resemble the row before."""
        if time is None:
            time = 0.0 if self.time is None else self.time + 1.0
        if weight is not None:
            return self.learn(X, time, np.asarray(weight, dtype=float), labels)
        before, known = copy.deepcopy(vars(self)), self.alike.weight
        self.learn(X, time, np.full(len(X), known), labels, known)
        if self.family.real and self.alike.is_due(len(X), self.n_batches):
            self.alike.look(X, self.labels)
        times = self.alike.weight / known
        if times != 1.0 and self.n_batches == 1:  # once more, from the start
            self.__dict__ = {**before, "alike": self.alike}
            self.learn(X, time, np.full(len(X), times), labels, times)
        elif times != 1.0:
            self.recount(times)
        return self

    def recount(self, times):
        """Let all that is remembered count so many times as much."""
        for table in self.clusters.records:
            table.sums, table.doubt = times * table.sums, times * table.doubt
        for old in self.dormant.asleep:
            old.sums = times * old.sums
        self.dormant.most = {name: times * n for name, n in self.dormant.most.items()}
        for kept in self.first_rows:
            kept.weight = times * kept.weight
        self.recent = {name: times * n for name, n in self.recent.items()}
        if isinstance(self.outliers, Background):
            self.outliers.everything = times * self.outliers.everything
            self.outliers.held = times * self.outliers.held

    def learn(self, X, time, weight, labels, alike=1.0):
        """Learn from a batch whose rows have weights; ``alike`` of it since they are alike."""
        if hasattr(self.unprepared, "met"):
            known = None if self.clusters is None else self.family
            self.unprepared = self.unprepared.met(X, known)
            self.family = known and known.met(X, known)
        before = [] if self.clusters is None else self.clusters.ids
        gap = 0.0 if self.time is None else time - self.time
        spacing = self.new_spacing(gap)
        self.events, self.forgetting = (
            Events(),
            self.forgetting_of(alike * len(X), gap, spacing or 1.0),
        )
        anew = labels is None and is_elsewhere(self, X, time)
        if anew:
            self.first_rows, self.repeats = [], Repeats()
        weight = self.repeats.share(X, time, self.forgetting) * weight
        begun = anew or self.begins(X, time)
        if not (begun and self.learn_first(X, weight, time, labels)):
            self.learn_later(X, weight, time)
        self.spacing = spacing
        after = self.clusters.ids
        self.births = tuple(sorted(set(after) - set(before) - set(self.events.returns)))
        self.returns = tuple(sorted(self.events.returns))
        self.deaths = tuple(sorted(set(before) - set(after)))
        self.splits = tuple(pair for pair in self.events.splits if pair[1] in after)
        self.merges = tuple(pair for pair in self.events.merges if pair[1] in before)
        self.time, self.n_batches = time, self.n_batches + 1
        return self

    def predict(self, X):
        """Return the best cluster's id for other rows, by weight times predictive; -1: outlier."""
        batch = self.batch(self.family, X, np.ones(len(X)), self.rng)
        scores, _ = predictive_scores(batch, self.clusters)
        best = np.argmax(with_outliers(batch, scores, self.clusters), axis=0)
        return np.array([*self.clusters.ids, -1])[best]

    def forgetting_of(self, n, gap, spacing):
        """How a batch of n points sees the past, so long after the last one.

        Unless asked otherwise the half-life is five times the usual spacing of batches, few rows
        last longer, and no gap counts more than four half-lives.
        """
        half_life = self.half_life
        if half_life == "auto":
            half_life = max(5.0 * spacing * max(1.0, 100.0 / n if n else 1.0), gap / 4.0)
        return Forgetting(half_life, self.kernel, self.epsilon)

    def new_spacing(self, gap):
        """Return the usual spacing of batches after one more gap; 0 is unknown."""
        before = self.spacing
        if self.clusters is None or before in (0.0, gap):
            return gap
        return before + (min(max(gap, before / 4.0), 4.0 * before) - before) / min(
            self.n_batches, 5
        )

    def batch(self, family, X, weight, rng):
        out = Batch(
            family, X, weight, alpha=self.alpha, rng=rng, seed=self.seed, number=self.n_batches,
            outliers=self.outliers,
        )  # fmt: skip
        out.drawn_rows, out.left_out = self.drawn_rows, self.left_out
        return out

    def learn_later(self, X, weight, time):
        """Learn from a batch that finds clusters and a prior."""
        past, known = self.clusters, copy.deepcopy(self.clusters)
        before = past.totals()[:, 0].sum()
        past.advance(time, self.forgetting)
        batch = self.batch(self.family, X, weight, copy.deepcopy(self.rng))
        if isinstance(self.outliers, Background):
            batch.outliers = self.outliers.begin(batch, past.totals()[:, 0].sum() / before)
        clusters = self.run_later(batch, copy.deepcopy(past), time)
        joined = past.k > 1 and sum(clusters.is_present(c) for c in range(clusters.k)) == 1
        born = clusters.next_id > past.next_id or self.events.returns
        some = some_rows(len(X), ROWS)
        suspected = (joined or born) and is_suspected(self, batch, past, clusters, some)
        beyond = (joined or born or past.k == 1) and is_beyond(self, X)
        if beyond or (suspected and begins_anew(self, batch, clusters)):
            self.clusters, self.first_rows, self.events = known, [], Events()
            self.learn_first(X, weight, time, None)
            return
        self.suspicion *= past.totals()[:, 0].sum() / before
        if self.outlier_weight == "auto" and self.outliers is None:
            noise, self.suspicion = arising(batch, clusters, self.suspicion)
            if noise is not None:
                batch = self.batch(self.family, X, weight, self.rng)
                batch.outliers = noise
                clusters = self.run_later(batch, past, time)
        if born and hasattr(self.family, "with_tails"):
            batch, clusters = with_tails(
                self, batch, clusters, past, time, some_rows(len(X), SHOWN)
            )
        self.hand_out(batch, clusters)
        self.drop_places(clusters, time)
        totals = clusters.totals()
        gone = [b for _, b in self.events.merges] + self.events.given_up
        self.dormant.after(known, clusters, gone)
        followed = batch.family.follow(totals, clusters.sums.sum(axis=1))
        self.finish(batch, clusters, time)
        self.family = followed
        if hasattr(followed, "with_tails") and self.n_batches % 4 == 0 and len(X):
            rows = some_rows(len(X), max(250, len(X) // 4))
            self.family = followed.with_tails(X[rows], totals, 500.0)
        if self.first_rows and len(X):
            left = self.remembered(time)
            known = sum(len(kept.X) for kept in left) + len(X)
            self.first_rows.append(Kept(X, weight, time, self.labels))
            if len(left) + 1 < len(self.first_rows) or known >= self.settled_rows(X.shape[1]):
                self.first_rows = []

    def run_later(self, batch, clusters, time):
        """Run a batch on what is left of the past; returns the clusters."""
        if len(batch.X):
            clusters, self.events = later_batch(
                batch, self.plan, clusters, time, self.forgetting, self.dormant
            )
        else:
            drop_forgotten(batch, clusters)
        return clusters

    def hand_out(self, batch, clusters):
        """Give the user the labels; only then it is drawn what clusters that overlap learn."""
        self.all_labels = np.array([*clusters.ids, -1])[batch.z]
        self.labels, self.sublabels = self.all_labels, batch.sub.copy()
        if self.forgetting.adaptive:
            draw_what_is_learned(batch, clusters)

    def drop_places(self, clusters, time):
        """Drop clusters without recent rows: places that others left, with the rows they had."""
        self.recent = self.recent_rows(clusters, time)
        if not self.forgetting.adaptive:
            return
        n = [self.recent[i] for i in clusters.ids]
        here = [
            c
            for c in range(clusters.k)
            if n[c] >= ONE or clusters.is_present(c) or clusters.lived[c] == 0
        ]
        clusters.select(here or [int(np.argmax(n))])

    def recent_rows(self, clusters, time):
        """Return the clusters' recent rows by id, of one family if they were split or merged."""
        ids = clusters.ids
        if not self.forgetting.adaptive:
            return dict(zip(ids, clusters.totals()[:, 0], strict=True))
        past = dict(zip(ids, np.maximum(clusters.past()[..., 0].sum(axis=1), 0.0), strict=True))
        for name, place in self.events.moves:
            past[name], past[place] = past[place], past[name]
        kin = {i: {i} for i in [*ids, *self.recent]}
        for a, b in self.events.splits + self.events.merges:
            both = kin.get(a, {a}) | kin.get(b, {b})
            kin |= dict.fromkeys(both, both)
        kept, out = self.forgetting.weight(time - self.time), {}
        for i, now in zip(ids, clusters.sums[..., 0].sum(axis=1), strict=True):
            left = sum(past.get(j, 0.0) for j in kin[i])
            had = kept * sum(self.recent.get(j, 0.0) for j in kin[i])
            out[i] = now + (had * past[i] / left if left > 0.0 else 0.0)
        return out

    def finish(self, batch, clusters, time):
        """Take over what a batch has come to."""
        self.log_posterior = log_posterior(batch.family, self.alpha, clusters.totals())
        if isinstance(batch.outliers, Background):
            self.outliers = left_after(batch, clusters)
        clusters.settle(time, self.forgetting)
        self.family, self.clusters, self.rng = batch.family, clusters, batch.rng

    # -- where it begins --------------------------------------------------------------------------

    def begun(self, family, rows, weights, labels, old_ids):
        """Return a batch and its clusters; if rows need not be tamed all is done without.

        Should clusters have heavy tails then after all, once more with these.
        """
        batch, clusters = self.found(family, rows, weights, labels, old_ids)
        untamed = family.untamed(batch.family) if tames(family) else None
        if untamed is not None:  # then all is done again, also the draws
            batch, clusters = self.found(untamed, rows, weights, labels, old_ids)
            tamed = batch.family.tamed(rows, clusters.totals(), 100.0)
            if tamed is not None:
                batch, clusters = self.found(tamed, rows, weights, labels, old_ids)
        return batch, clusters

    def found(self, family, rows, weights, labels, old_ids):
        """Return the rows as a batch, and the clusters that are found among them from nothing."""
        self.outliers = None
        # the generator moves on only if something is learned
        batch = self.batch(family, rows, weights, copy.deepcopy(self.rng))
        if labels is None:
            with_prior_on_trial(batch, self.plan)
        if self.outlier_weight not in (0, "auto"):
            batch.outliers = self.outliers = self.outlier_weight, weights @ batch.T
        clusters = self.started(batch, labels, old_ids)
        again = family.started_again(batch.family) if tames(family) else None
        if again is not None:
            batch.family = again
            clusters = self.started(batch, labels, old_ids)
        return batch, clusters

    def started(self, batch, labels, old_ids):
        """Return the clusters of a batch, from labels that were given or many groups."""
        noisy, clusters, noise = self.outlier_weight == "auto", None, None
        if noisy:
            batch.outliers = None
        if labels is None:
            clusters, noise = start_from_samples(batch, self.plan, self.sample_rows, noisy=noisy)
        again = clusters is not None
        if again and len(batch.X) >= 8000 and tamed_in_vain(batch.family):
            return clusters
        if labels is not None:
            clusters = start_from_labels(batch, np.asarray(labels))
        elif not again:
            clusters = start_over_clustered(batch, self.plan)
            n, d = batch.X.shape
            again = same_clusters(old_ids, batch.z[: len(old_ids)], clusters.k)
            again = again and n >= self.alone_rows(d)
        if noisy:
            batch.outliers = arisen(batch, noise)
        if noisy and noise is None:  # the start is made without
            swept = copy.deepcopy(clusters)
            deterministic_sweep(batch, swept)
            batch.outliers, _ = arising(batch, swept)
        turned = labels is None and not again
        first_batch(batch, self.plan, clusters, again=again, turned=turned)
        return clusters

    def learn_first(self, X, weight, time, labels):
        """Learn from all rows so far that are not forgotten; the prior is set from them.

        Nothing is learned, and False returned, if these rows are better not taken together.
        """
        early = self.remembered(time)
        rows = np.concatenate([*(kept.X for kept in early), X])
        ages = [kept.weight * self.weight_now(kept, time) for kept in early]
        weights = np.concatenate([*ages, weight])
        old_ids = np.concatenate([np.zeros(0, dtype=int), *(kept.ids for kept in early)])
        outliers, again = self.outliers, False
        family = self.unprepared.prepare(rows)
        batch, clusters = self.begun(family, rows, weights, labels, old_ids)
        # the heaviest first
        n = clusters.totals()[:, 0]
        order = np.argsort(-np.round(n / (1e-9 * n.max())), kind="stable").tolist()
        keep(batch, clusters, order)
        clusters.ids, clusters.born = list(range(clusters.k)), [time] * clusters.k
        clusters.next_id = clusters.k
        if self.clusters is not None:
            known = batch.z[: len(old_ids)]
            alone = len(known) >= self.unprepared.enough_rows(X.shape[1])
            if alone and came_apart(known, clusters.rows.sum(axis=1)):
                self.first_rows, self.outliers = [], outliers
                return False
            again = same_clusters(old_ids, known, clusters.k)
            rename(clusters, known, old_ids, self.clusters)
            if not early:
                self.dormant.after(self.clusters, Clusters.of(self.clusters.totals()[:0], 0.0, 0))
            self.dormant.reframe(batch.family, self.family)
            kernel = self.kernel is not None
            self.events.returns = self.dormant.reunite(batch.family, clusters, kernel=kernel)
        self.dormant.begin(clusters)
        self.hand_out(batch, clusters)
        self.recent = dict(zip(clusters.ids, clusters.totals()[:, 0], strict=True))
        self.finish(batch, clusters, time)
        self.suspicion = 0.0
        n, d = rows.shape
        found_again = again and 2 * len(X) >= self.alone_rows(d) <= n
        few = n < self.settled_rows(d) and len(X) < self.alone_rows(d) and labels is None
        few = few and not found_again
        old = len(rows) - len(X)
        self.labels, self.sublabels = self.all_labels[old:], self.sublabels[old:]
        self.first_rows = []
        if few:
            batches = [*((kept.X, kept.weight, kept.time) for kept in early), (X, weight, time)]
            for own in batches:
                ids, self.all_labels = np.split(self.all_labels, [len(own[0])])
                self.first_rows.append(Kept(*own, ids))
        return True

    def begins(self, X, time):
        """Whether the batch is to set the prior: it is among the first, or all is forgotten.

        A start is made anew with each batch until the rows can set a prior, and then whenever they
        have become twice as many, until there are enough of them.
        """
        n, d = X.shape
        if self.clusters is None:
            return True
        if n == 0:
            return False
        enough, settled = self.unprepared.enough_rows(d), self.settled_rows(d)
        if self.first_rows:
            left = self.remembered(time)
            before = sum(len(kept.X) for kept in left)
            if before == 0 or before + n < enough:
                return True
            doubled = (before + n).bit_length() > before.bit_length()
            return before < settled and (before + n >= settled or doubled)
        left = self.clusters.count_at(time, self.forgetting)
        return left < ONE and (n >= enough or left <= self.epsilon)

    def weight_now(self, kept, time):
        return self.forgetting.weight(time - kept.time)

    def remembered(self, time):
        """Return the first batches that still count."""
        return [kept for kept in self.first_rows if self.weight_now(kept, time) > self.epsilon]

    def settled_rows(self, d):
        """How many rows set clusters and prior for good."""
        enough = self.unprepared.enough_rows(d)
        by_batches = self.kernel is not None or self.outlier_weight not in (0, "auto")
        free = self.plan.splits and self.plan.merges and not by_batches
        return max(1000, enough) if free else enough

    def alone_rows(self, d):
        """How many rows of a single batch do."""
        return min(self.settled_rows(d), max(500, self.unprepared.enough_rows(d)))


def some_rows(n, most):
    """Return so many of n rows at most, spread evenly."""
    if n <= most:
        return np.arange(n)
    within = np.random.default_rng(0).random(most)
    return [min(int((i + within[i]) * (n / most)), n - 1) for i in range(most)]
