"""The clusters: what is known of them at present and from the past, and surgery on them.

A cluster's statistics are the sum of its two sub-clusters', past and present added up. Tables
``(k, k)`` hold a number for each pair of clusters, and one about its two sub-clusters on the
diagonal.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Forgetting:
    """How much a batch of a given age counts; ``half_life`` None keeps everything."""

    half_life: float | None = 5.0
    kernel: object = None
    epsilon: float = 1e-8  # a batch with no more than this weight is dropped

    @property
    def adaptive(self):
        """Whether clusters that change forget more: not where the user said what counts."""
        return self.kernel is None and self.half_life is not None

    def weight(self, age):
        if self.kernel is not None and age > 0:
            return self.kernel(age)
        return 1.0 if self.half_life is None else 2.0 ** (-age / self.half_life)


@dataclass
class Record:
    """Sums (k, 2, p) and doubts (k, k) of a past batch, and what it counts by now.

    Without a kernel all past batches are one record, weighed down as time moves on.
    """

    time: float
    weight: float
    sums: np.ndarray
    doubt: np.ndarray


@dataclass
class Clusters:
    """Everything that is known of k clusters."""

    ids: list
    born: list
    lived: list  # numbers of batches since birth
    attempts: list  # how often sub-clusters were restarted in this batch, or since a change
    next_id: int
    sums: np.ndarray  # (k, 2, p): of the present batch's points
    rows: np.ndarray  # (k, 2): how many points these are, whatever their weights
    rivals: np.ndarray  # (k, k): how many points have which other cluster as second choice
    doubt: np.ndarray  # (k, k): minus the log-probability of the labels, see `labelling.doubts`
    records: list = field(default_factory=list)

    @staticmethod
    def of(sums, time, next_id):
        """Clusters without a past, with the given statistics (k, p), halved for now."""
        out = Clusters([], [], [], [], next_id, *nothing(0, sums.shape[1]))
        out.found(sums, time)
        return out

    @property
    def k(self):
        return len(self.ids)

    def past(self):
        """Weighted sums (k, 2, p) of the past."""
        return sum((r.weight * r.sums for r in self.records), 0.0 * self.sums)

    def past_doubt(self):
        return sum((r.weight * r.doubt for r in self.records), 0.0 * self.doubt)

    def parts(self):
        """Statistics (k, 2, p) of the sub-clusters."""
        return self.past() + self.sums

    def totals(self):
        """Statistics (k, p) of the clusters."""
        return self.parts().sum(axis=1)

    def all_doubt(self):
        return self.past_doubt() + self.doubt

    def is_present(self, c):
        """Whether the cluster owns points of the batch."""
        return self.rows[c].sum() > 0

    # -- time ----------------------------------------------------------------------------------

    def advance(self, time, forgetting):
        """Let time pass until the next batch: the past counts less."""
        if forgetting.kernel is None:
            for record in self.records:
                factor = forgetting.weight(time - record.time)
                record.sums, record.doubt = factor * record.sums, factor * record.doubt
                record.time = time
        else:
            for record in self.records:
                record.weight = forgetting.weight(time - record.time)
            self.records = [r for r in self.records if r.weight > forgetting.epsilon]
        self.lived = [lived + 1 for lived in self.lived]
        self.attempts = [8 * (lived % 2) for lived in self.lived]

    def settle(self, time, forgetting):
        """Let the present batch become the latest of the past."""
        if forgetting.kernel is None and self.records:
            self.records[0].sums = self.records[0].sums + self.sums
            self.records[0].doubt = self.records[0].doubt + self.doubt
        else:
            self.records.append(Record(time, 1.0, self.sums, self.doubt))
        self.sums, self.rows, self.rivals, self.doubt = nothing(self.k, self.sums.shape[2])

    def count_at(self, time, forgetting):
        """How many points of the past still count at a later time."""
        count = 0.0
        for record in self.records:
            weight = forgetting.weight(time - record.time)
            if forgetting.kernel is None or weight > forgetting.epsilon:
                count += weight * record.sums[..., 0].sum()
        return count

    def forget(self, shares):
        """Keep only a share (k,) of each cluster's past."""
        for record in self.records:
            record.sums = record.sums * shares[:, None, None]
            record.doubt = record.doubt * np.minimum.outer(shares, shares)

    # -- surgery -------------------------------------------------------------------------------

    def tables(self):
        """Every pair of sums (k, 2, ...) and doubts (k, k), present and past, to be changed."""
        return [self, *self.records]

    def divide(self, c, sums, rows, doubt, firsts):
        """Divide a cluster anew: the present as given, of each record the first part as given."""
        self.sums[c], self.rows[c], self.doubt[c, c] = sums, rows, doubt
        for record, first in zip(self.records, firsts, strict=True):
            whole = record.sums[c].sum(axis=0)
            record.sums[c] = first, whole - first
            record.doubt[c, c] = 0.0

    def split(self, c, time):
        """Make two clusters of a cluster's parts; returns which part keeps place and id.

        The other part becomes a new cluster at the end. Both are undivided, all of each in its
        first sub-cluster, and the doubt about the sub-labels is now one between clusters.
        """
        major = int(heavier(*self.claims(c)[::-1]))
        siblings = self.rows[c].min()
        for table in self.tables():
            minor = np.zeros((1, 2, table.sums.shape[2]))
            minor[0, 0] = table.sums[c, 1 - major]
            table.sums = np.concatenate([table.sums, minor])
            table.sums[c] = table.sums[c, major], 0.0 * minor[0, 0]
            table.doubt = grown(table.doubt, 1)
            table.doubt[c, -1] = table.doubt[-1, c] = table.doubt[c, c]
            table.doubt[c, c] = 0.0
        self.rows = np.concatenate([self.rows, [[self.rows[c, 1 - major], 0]]])
        self.rows[c] = self.rows[c, major], 0
        self.rivals = grown(self.rivals, 1)
        self.rivals[c, -1] = siblings  # they are neighbours
        self.attempts[c] = 0
        self.name_new(1, time)
        return major

    def claims(self, c):
        """How much each part has a claim to the id.

        That is its past: a cluster is where it was, whatever comes beside it. A cluster without a
        past is where most of it is.
        """
        past = self.past()[c, :, 0]
        return self.parts()[c, :, 0] if past.sum() < ONE else past

    def merge(self, a, b):
        """Join cluster b to a; the two become the sub-clusters.

        What was in doubt between the two is in doubt about the sub-labels. Of the doubts between
        either and a third one the larger stays: most points of the two have but one of them as
        rival of the third, and points must not be counted twice.
        """
        for table in self.tables():
            table.sums[a] = table.sums[a].sum(axis=0), table.sums[b].sum(axis=0)
            between = table.doubt[a, b]
            table.doubt[a] = np.maximum(table.doubt[a], table.doubt[b])
            table.doubt[:, a] = np.maximum(table.doubt[:, a], table.doubt[:, b])
            table.doubt[a, a] = between
        self.rows[a] = self.rows[a].sum(), self.rows[b].sum()
        self.rivals[a] += self.rivals[b]
        self.rivals[:, a] += self.rivals[:, b]
        self.attempts[a] = 0

    def select(self, order):
        """Keep the given clusters in the given order."""
        for name in ("ids", "born", "lived", "attempts"):
            setattr(self, name, [getattr(self, name)[c] for c in order])
        for table in self.tables():
            table.sums, table.doubt = table.sums[order], table.doubt[np.ix_(order, order)]
        self.rows, self.rivals = self.rows[order], self.rivals[np.ix_(order, order)]

    def found(self, groups, time):
        """Add clusters of the present with the given statistics (m, p), each halved for now."""
        m = len(groups)
        for table in self.tables():
            table.doubt = grown(table.doubt, m)
        for record in self.records:
            record.sums = np.concatenate([record.sums, np.zeros((m, *record.sums.shape[1:]))])
        self.sums = np.concatenate([self.sums, np.repeat(0.5 * groups[:, None], 2, axis=1)])
        self.rows = np.concatenate([self.rows, np.zeros((m, 2), dtype=int)])
        self.rivals = grown(self.rivals, m)
        self.name_new(m, time)

    def name_new(self, m, time):
        """Give m new clusters ids that were never used."""
        self.ids = self.ids + [self.next_id + i for i in range(m)]
        self.born = self.born + [time] * m
        self.lived = self.lived + [0] * m
        self.attempts = self.attempts + [0] * m
        self.next_id += m


def nothing(k, p):
    """Return sums, rows, rivals and doubts over no points."""
    return np.zeros((k, 2, p)), np.zeros((k, 2), int), np.zeros((k, k), int), np.zeros((k, k))


ONE = 1.0 - 1e-9  # what a row counts at least, as rounding leaves it


def heavier(count, other):
    """Whether a count is more than another, by more than rounding."""
    return count - other > 1e-9 * abs(other)


def grown(table, m):
    """Return a table (k, k) with m more rows and columns of zeros."""
    return np.pad(table, ((0, m), (0, m)))
