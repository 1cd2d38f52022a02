"""What a model keeps for its groups, and how they are formed when they are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import CpuEngine
from scstream.engines.outputs import Probabilities
from scstream.families.contract import Array
from scstream.groups.lasting import Lasting
from scstream.groups.mixture import Normals
from scstream.groups.sample import Recent, stacked
from scstream.groups.tree import Links, Tree, grow
from scstream.groups.valleys import touching, valley_links
from scstream.records import BatchRecord, Cluster, Group
from scstream.sampler.learner import Learner
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules
from scstream.sampler.sweep import predictive
from scstream.support.blas import single_threaded


class Grouping:
    """The groups of a model between two batches: rows to look at, and ids by level.

    A batch makes a new one. What was formed since the batch is remembered here.

    Attributes
    ----------
    recent : Recent
    lasting : dict of float to Lasting
        By level, the groups as they were last formed.
    formed : list of float
        The levels at which groups were formed since the last batch.
    """

    def __init__(
        self, recent: Recent | None = None, lasting: dict[float, Lasting] | None = None
    ) -> None:
        self.recent = Recent() if recent is None else recent
        self.lasting = {} if lasting is None else lasting
        self.formed: list[float] = []
        self._tree: Tree | None = None

    def after(self, batch: Batch, record: BatchRecord, rules: Rules, *, asked: bool) -> Grouping:
        """Return the grouping after a batch that was learned.

        ``asked`` says that groups are formed after every batch: rows on other machines or devices
        are fetched for nothing less. Rows of before a column became wider have another form.
        """
        lasting = self.lasting
        if record.splits or record.merges:
            lasting = {level: groups.follow(record) for level, groups in lasting.items()}
        recent = Recent() if batch.widened else self.recent
        if asked or isinstance(batch.X, np.ndarray) or sparse.issparse(batch.X):
            recent = recent.after(batch, rules)
        return Grouping(recent, dict(lasting))

    def tree(self, learner: Learner, rules: Rules, level: float) -> Tree:
        """Return the tree above the clusters of a model, with a level that serves as default."""
        if self._tree is None:
            with single_threaded():
                links = _links(learner, self.recent, rules)
            self._tree = grow(learner.state.ids, links, rules.group_level, rules.group_bridge)
        return replace(self._tree, level=level)

    def changes(self, level: float) -> Lasting | None:
        """Return the groups at a level if they were formed since the last batch."""
        return self.lasting[level] if level in self.formed else None

    def preview(self, learner: Learner, rules: Rules, level: float) -> Lasting:
        """Return the groups at a level as `at` would, and form none: no id and no event follows."""
        self.tree(learner, rules, level)
        copy = Grouping(self.recent, dict(self.lasting))
        copy.formed, copy._tree = list(self.formed), self._tree
        return copy.at(learner, rules, level)

    def at(self, learner: Learner, rules: Rules, level: float) -> Lasting:
        """Return the groups at a level, with their lasting ids."""
        if level not in self.formed:
            part = self.tree(learner, rules, level).at(level)
            state = learner.state
            before = self.lasting.get(level, Lasting())
            self.lasting[level] = before.form(state.ids.tolist(), state.totals[:, 0], part)
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
    return Group(
        id=name,
        members=tuple(cluster.id for cluster in members),
        weight=float(sum(cluster.weight for cluster in members)),
        count=float(count.sum()),
        mean=mean,
    )


def _links(learner: Learner, recent: Recent, rules: Rules) -> Links:
    """Return what lies between the clusters of a model, by the latest rows.

    Where none are known, as after loading, the clusters stand for the rows that they would give.
    """
    k = learner.state.k
    normals = Normals.of(learner, rules.group_columns)
    if normals is not None and not recent.batches and k > 1:
        return valley_links(normals, [normals.rows(rules.group_chunk * 4)], rules)
    if normals is not None and recent.batches and not hasattr(recent.batches[-1], "tocsr"):
        whole = [X[np.isfinite(X).all(axis=1)] for X in recent.batches]
        batches = [X.astype(np.float64, copy=False) for X in whole if len(X)]
        if batches:
            return valley_links(normals, batches, rules)
    share: Array = np.zeros((0, k))
    if recent.batches:
        score = predictive(learner.family, learner.state.totals, learner.alpha)
        X = stacked(list(recent.batches))
        found = CpuEngine(1).evaluate(learner.family, X, score, Probabilities(k))
        share = found.astype(np.float64)
    return _overlaps(share, rules)


def _overlaps(share: Array, rules: Rules) -> Links:
    """Return what lies between clusters of which nothing but the rows' probabilities is known.

    Two clusters are the same where a row of the smaller is as likely one of the other.
    """
    both, own = share.T @ share, np.maximum(share.sum(axis=0), 1e-9)
    pairs: NDArray[np.int64] = touching(share, rules)
    a, b = pairs[:, 0], pairs[:, 1]
    ratio = np.minimum(1.0, both[a, b] / (rules.group_same * np.minimum(own[a], own[b])))
    return Links(pairs, ratio, np.zeros(len(own)), -both)
