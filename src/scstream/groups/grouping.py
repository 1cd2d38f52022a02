"""What a model keeps for its groups, and how they are formed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.groups.lasting import Lasting
from scstream.groups.near import Rows
from scstream.groups.sample import fresh, in_chunks, rows_of, together
from scstream.groups.seams import Seams
from scstream.groups.shapes import Shapes
from scstream.groups.tree import Joined, Links, Tree, cut_to, grow, join, parts, same
from scstream.records import Cluster, Group
from scstream.sampler.learner import Learner, Outcome
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules


class Grouping:
    """The groups of a model between two batches: what is known of seams, and ids by level.

    A batch makes a new one. What was formed since the batch is remembered here.

    Attributes
    ----------
    seams : Seams
        What is known of the seams, but for the rows in ``pending``.
    pending : tuple of Rows
        Rows that were not looked at yet, the latest last.
    n_pending : int
        How many these are.
    lasting : dict of float to Lasting
        By level, the groups as they were last formed. A level above 1 is a number of groups.
    formed : list of float
        The levels at which groups were formed since the last batch, or are what they were before.
    """

    def __init__(
        self,
        seams: Seams | None = None,
        pending: tuple[Rows, ...] = (),
        lasting: dict[float, Lasting] | None = None,
        n_pending: int | None = None,
    ) -> None:
        self.seams = Seams() if seams is None else seams
        self.pending = pending
        self.n_pending = sum(len(z) for _, z in pending) if n_pending is None else n_pending
        self.lasting = {} if lasting is None else lasting
        self.formed: list[float] = []
        self._joined: Joined | None = None  # once someone asked for groups
        self._ids: NDArray[np.int64] | None = None  # of the clusters that were joined
        self._left: tuple[Seams, tuple[Rows, ...]] | None = None  # to the next batch

    def after(
        self, batch: Batch, outcome: Outcome, learner: Learner, rules: Rules, *, asked: bool
    ) -> Grouping:
        """Return the grouping after a batch that a model learned.

        ``asked`` says that groups are formed after every batch: rows on other machines or devices
        are fetched for nothing less. Where batches are small, rows are collected, and groups stay
        what they are while clusters do: new clusters are judged by the rows that they have. Rows of
        before a column became wider have another form.
        """
        record = outcome.record
        followed = {}
        for level, groups in self.lasting.items():
            followed[level] = groups.follow(record)
        seams, pending = self.known
        if batch.widened:
            seams, pending = Seams(), ()
        n_pending = self.n_pending if pending is self.pending else None
        new = Grouping(seams.follow(record), pending, followed, n_pending)
        waits, unchanged = False, self._ids is not None and same(self._ids, learner.state.ids)
        n, d = batch.X.shape
        seen = d <= rules.group_columns or learner.family.small_gaussian() is not None
        if n and seen and (asked or isinstance(batch.X, np.ndarray)):
            rows = rows_of(batch, outcome.labels, min(rules.group_rows, rules.group_numbers // d))
            if rows is not None and len(rows[0]):
                waits = asked and unchanged and new._may_wait(len(rows[0]), rules)
                new._keep(rows, rules, copied=waits or not asked)
        if waits:
            new._joined, new._ids, new._left = self._joined, self._ids, (new.seams, new.pending)
            new.formed = [level for level in self.formed if level <= 1 and followed[level].told]
        return new

    def _may_wait(self, n: int, rules: Rules) -> bool:
        """Whether with n more there are too few rows yet for another look at the seams.

        Not if there are lines: these are of clusters of few rows, and every later row counts.
        """
        few = self.n_pending + n < min(rules.group_chunk, self.seams.rows)
        return few and len(self.seams.lines.pairs) == 0

    def _keep(self, rows: Rows, rules: Rules, *, copied: bool) -> None:
        """Add rows to those that are to be looked at; those of a batch itself if not copied."""
        if copied:
            rows = rows[0].copy(), rows[1].copy()
        parts, n = (*self.pending, rows), self.n_pending + len(rows[1])
        most = min(rules.group_kept, rules.group_numbers // rows[0].shape[1])
        while n > most and len(parts) > 1:
            n -= len(parts[0][1])
            parts = parts[1:]
        if len(parts) > rules.group_parts:
            parts = in_chunks(parts, most // 4)  # the oldest of which goes as a whole
        self.pending, self.n_pending = parts, n

    def tree(self, learner: Learner, rules: Rules, level: float) -> Tree:
        """Return the tree above the clusters of a model, with a level that serves as default."""
        state, family = learner.state, learner.family
        joined = self._join(learner, rules)
        return grow(state.ids, joined, level, state.totals, family.log_marginal)

    def _join(self, learner: Learner, rules: Rules) -> Joined:
        """Return which clusters are joined, by all that is known."""
        if self._joined is not None:
            return self._joined
        state = learner.state
        entropy = state.window.weighted(state.window.entropy)
        shapes = Shapes.of(learner, rules)
        if shapes is None:
            links = _overlaps(entropy, state.totals[:, 0], rules)
            self._joined = join(links, rules.group_level, rules.group_bridge)
        else:
            pending = tuple((learner.family.narrowed(X), ids) for X, ids in self.pending)
            rows = together(fresh(pending, shapes, rules), shapes.mean.shape[1])
            known = self.seams.along(self.pending, rules)
            seams, self._joined = known.after(shapes, entropy, rows, learner.family.along, rules)
            self._left = seams, ()
        self._ids = state.ids
        return self._joined

    @property
    def merges(self) -> tuple[NDArray[np.int64], Array] | None:
        """The merges (n, 2) of clusters that touch and their heights (n,), if they were formed."""
        return None if self._joined is None else (self._joined.merges, self._joined.heights)

    @property
    def known(self) -> tuple[Seams, tuple[Rows, ...]]:
        """What the next batch begins with: what is known of seams, and rows to be looked at."""
        return self._left or (self.seams, self.pending)

    def restore(
        self, merges: tuple[NDArray[np.int64], Array], learner: Learner, rules: Rules
    ) -> None:
        """Take over merges that were formed before the model was saved."""
        self._joined = Joined(parts(*merges, rules.group_level, learner.state.k), *merges)
        self._ids, self._left = learner.state.ids, (self.seams, self.pending)

    def changes(self, level: float) -> Lasting | None:
        """Return the groups at a level if they were formed since the last batch."""
        return self.lasting[level] if level in self.formed else None

    def preview(self, learner: Learner, rules: Rules, level: float) -> Lasting:
        """Return the groups at a level as `at` would, and form none: no id and no event follows."""
        self._join(learner, rules)
        copy = Grouping(self.seams, self.pending, dict(self.lasting))
        copy.formed, copy._joined = list(self.formed), self._joined
        return copy.at(learner, rules, level)

    def at(self, learner: Learner, rules: Rules, level: float) -> Lasting:
        """Return the groups at a level, with their lasting ids."""
        if level not in self.formed:
            state = learner.state
            part = self._parts(learner, rules, level)
            before = self.lasting.get(level, Lasting())
            self.lasting[level] = before.form(state.ids, state.totals[:, 0], part)
            self.formed.append(level)
        return self.lasting[level]

    def _parts(self, learner: Learner, rules: Rules, level: float) -> NDArray[np.int64]:
        """Return the group (k,) of each cluster at a level; above 1 it is a number of groups."""
        joined = self._join(learner, rules)
        if level > 1:
            return cut_to(int(level), self.tree(learner, rules, 1.0).merges, learner.labelling)
        return joined.part if level == rules.group_level else joined.at(level)


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
    return Group(
        id=name,
        members=tuple(cluster.id for cluster in members),
        weight=float(sum(cluster.weight for cluster in members)),
        count=float(count.sum()),
        mean=mean,
    )


def _overlaps(entropy: Array, count: Array, rules: Rules) -> Links:
    """Return what lies between clusters of which nothing but the entropy between them is known.

    Two clusters are the same where a row of the smaller is as likely one of the other.
    """
    k = len(count)
    smaller = np.maximum(np.minimum(count[:, None], count), 1e-9)
    a, b = np.nonzero(np.triu(entropy >= rules.group_overlap * smaller, 1) & (entropy > 0.0))
    ratio = np.minimum(1.0, entropy[a, b] / (rules.group_same * smaller[a, b]))
    return Links(np.column_stack([a, b]), ratio, np.zeros(k))
