"""What a model stores for its groups, and how they are formed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.groups.boundaries import Boundaries, look, touching
from scstream.groups.bridges import heights
from scstream.groups.lasting import Lasting
from scstream.groups.rows import most_rows, rows_of, together
from scstream.groups.tree import Joined, Tree, cut_to, grow, join, same
from scstream.records import Cluster, Group
from scstream.sampler.learner import Learner, Outcome
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules
from scstream.support.blas import single_threaded
from scstream.support.frozen import changed

Ints = NDArray[np.int64]


class Grouping:
    """The groups of a model between two batches: what is known of boundaries, and ids by level.

    A batch makes a new one. What was formed since the batch is remembered here.

    Attributes
    ----------
    boundaries : Boundaries
        What is known of boundaries, but for the rows in ``pending``.
    pending : tuple of Points
        Rows of clusters that touch others, by batch, that were not looked at yet.
    waiting : int
        How many rows came with these, of all clusters.
    lasting : dict of float to Lasting
        By level, the groups as they were last formed. A level above 1 is a number of groups.
    formed : list of float
        The levels at which groups were formed since the last batch, or are what they were before.
    """

    def __init__(
        self,
        boundaries: Boundaries | None = None,
        pending: tuple[Points, ...] = (),
        waiting: int = 0,
        lasting: dict[float, Lasting] | None = None,
    ) -> None:
        self.boundaries = Boundaries() if boundaries is None else boundaries
        self.pending, self.waiting = pending, waiting
        self.lasting = {} if lasting is None else lasting
        self.formed: list[float] = []
        self._joined: Joined | None = None  # once groups were asked for
        self._ids: Ints | None = None  # of the clusters that were joined

    def after(
        self, batch: Batch, outcome: Outcome, learner: Learner, rules: Rules, *, asked: bool
    ) -> Grouping:
        """Return the grouping after a batch that a model learned.

        ``asked`` says that groups are formed after every batch: rows on other machines or devices
        are fetched for nothing less. Where batches are small, rows are collected, and groups stay
        what they are while clusters do. Rows of before a column became wider have another form.
        """
        record = outcome.record
        new = Grouping(lasting={level: g.follow(record) for level, g in self.lasting.items()})
        if not batch.widened:
            new.boundaries = self.boundaries.follow(record, rules)
            new.pending, new.waiting = self.pending, self.waiting
        n, d = batch.X.shape
        if n and (asked or isinstance(batch.X, np.ndarray)):
            most, ids = most_rows(d, rules), learner.state.ids
            near = ids[np.unique(touching(learner, rules)[1])]
            new._store(rows_of(batch, outcome.labels, near, most), most)
            new.waiting += min(n, most)
            unchanged = self._ids is not None and same(self._ids, ids)
            if asked and unchanged and new.waiting < min(most, new.boundaries.seen):
                new._joined, new._ids = self._joined, self._ids
                still = [level for level in self.formed if level <= 1]
                new.formed = [level for level in still if new.lasting[level].told]
        return new

    def _store(self, rows: Points, most: int) -> None:
        """Add rows to those that are to be looked at, of which the oldest are dropped."""
        stored = (*self.pending, rows) if rows.shape[0] else self.pending
        n = sum(X.shape[0] for X in stored)
        while n > most and len(stored) > 1:
            n, stored = n - stored[0].shape[0], stored[1:]
        self.pending = stored

    def tree(self, learner: Learner, rules: Rules, level: float) -> Tree:
        """Return the tree above the clusters of a model, with a level that serves as default."""
        state, family = learner.state, learner.family
        joined = self._join(learner, rules)
        return grow(state.ids, joined, level, state.totals, family.log_marginal)

    def _join(self, learner: Learner, rules: Rules) -> Joined:
        """Return which clusters are joined, by all that is known."""
        if self._joined is None:
            with single_threaded():
                self._joined = self._looked(learner, rules)
            self._ids = learner.state.ids
        return self._joined

    def _looked(self, learner: Learner, rules: Rules) -> Joined:
        """Look at the rows that wait, and return which clusters are joined."""
        state = learner.state
        volume, new = np.zeros(state.k), Boundaries()
        contact, touch = touching(learner, rules)
        if self.pending and len(touch):
            new, volume = look(learner, together(self.pending), touch, rules)
        known = self.boundaries.after(new, self.waiting, state.ids, rules)
        pairs, here = known.places(state.ids, touch)
        rows, skewed = known.rows[here], known.skewed[here]
        height, fitted = heights(rows, known.curve[here], skewed, known.whole[here], rules)
        whole, curve = known.whole.copy(), known.curve.copy()
        whole[here], curve[here] = 1.0 - 2.0 * height, fitted
        self.boundaries = changed(known, whole=whole, curve=curve)
        self.pending, self.waiting = (), 0
        peak = np.log(np.maximum(state.totals[:, 0], 1e-300)) - volume
        return join(pairs, height, peak, contact, rules.group_low_ground)

    @property
    def merges(self) -> tuple[Ints, Array] | None:
        """The merges (n, 2) of clusters that touch and their heights (n,), if they were formed."""
        return None if self._joined is None else (self._joined.merges, self._joined.heights)

    def restore(self, merges: tuple[Ints, Array], learner: Learner) -> None:
        """Take over merges that were formed before the model was saved."""
        self._joined, self._ids = Joined(learner.state.k, *merges), learner.state.ids

    def changes(self, level: float) -> Lasting | None:
        """Return the groups at a level if they were formed since the last batch."""
        return self.lasting[level] if level in self.formed else None

    def preview(self, learner: Learner, rules: Rules, level: float) -> Lasting:
        """Return the groups at a level as `at` would, and form none: no id and no event follows."""
        copy = Grouping(lasting=dict(self.lasting))
        copy.formed, copy._joined = list(self.formed), self._join(learner, rules)
        return copy.at(learner, rules, level)

    def at(self, learner: Learner, rules: Rules, level: float) -> Lasting:
        """Return the groups at a level, or so many if it is above 1, with their lasting ids."""
        if level not in self.formed:
            state = learner.state
            if level > 1:
                merges = self.tree(learner, rules, 1.0).merges
                part = cut_to(int(level), merges, learner.labelling)
            else:
                part = self._join(learner, rules).at(level)
            before = self.lasting.get(level, Lasting())
            self.lasting[level] = before.form(state.ids, state.totals[:, 0], part)
            self.formed.append(level)
        return self.lasting[level]


def records_of(lasting: Lasting, clusters: list[Cluster]) -> list[Group]:
    """Return the groups of clusters, the lowest id first."""
    members: dict[int, list[Cluster]] = {}
    for cluster in clusters:
        members.setdefault(lasting.group[cluster.id], []).append(cluster)
    return [_record(name, members[name]) for name in sorted(members)]


def _record(name: int, members: list[Cluster]) -> Group:
    count = np.array([cluster.count for cluster in members])
    mean: Array | None = None
    if all("mean" in cluster.parameters for cluster in members):
        places = np.array([cluster.parameters["mean"] for cluster in members])
        share = count / count.sum() if count.sum() > 0 else np.full(len(count), 1 / len(count))
        mean = np.tensordot(share, places, axes=1)
    ids, weight = tuple(c.id for c in members), float(sum(c.weight for c in members))
    return Group(id=name, members=ids, weight=weight, count=float(count.sum()), mean=mean)
