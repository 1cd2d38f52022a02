"""Clusters that were forgotten and may come back: a birth that fits one is a return."""

from dataclasses import dataclass, field
from math import log

import numpy as np

from reference.clusters import ONE

POINTS = 10.0  # that a cluster must have counted once to be remembered
LIKE = 30.0  # points that what is known of one that comes back counts, at most
MARGIN = 2.0  # nats by which a birth must be more probable as a return of one of them, whichever
WITHIN = 4  # batches after its birth in which a cluster may turn out to be a return


@dataclass
class Asleep:
    """A cluster that was forgotten, with the statistics (p,) of when it counted most."""

    name: int
    born: float
    sums: np.ndarray


@dataclass
class Dormant:
    """Those who were forgotten, the latest last, and how much each who is awake counted at most."""

    room: int
    asleep: list = field(default_factory=list)
    most: dict = field(default_factory=dict)

    def begin(self, clusters):
        """Take note of clusters that have just begun: nobody among them is asleep."""
        self.asleep = [old for old in self.asleep if old.name not in clusters.ids]
        self.most = dict(zip(clusters.ids, clusters.totals()[:, 0], strict=True))

    def after(self, before, now, gone=()):
        """Take note of a batch; ``gone`` were merged or given up, and do not sleep."""
        known = self.most
        self.asleep = [old for old in self.asleep if old.name not in now.ids]
        for c, name in enumerate(before.ids):
            if name in now.ids or name in gone or known.get(name, 0.0) < ONE * POINTS:
                continue
            was = before.totals()[c]
            self.asleep.append(Asleep(name, before.born[c], known[name] / was[0] * was))
        self.asleep = self.asleep[len(self.asleep) - min(self.room, len(self.asleep)) :]
        counts = zip(now.ids, now.totals()[:, 0], strict=True)
        self.most = {name: max(known.get(name, 0.0), n) for name, n in counts}

    def reframe(self, family, before):
        """See everybody in the frame of another family."""
        for old in self.asleep:
            old.sums = family.reframed(old.sums, before)

    def reunite(self, family, clusters, *, kernel):
        """Give those that have come back their old ids and shapes; returns their ids.

        One that was born lately has if its points are more probable as further ones of an old
        cluster than as those of a new one, and the two are each other's best match. One that could
        be several of the old ones waits as long as it may.
        """
        new = [c for c in range(clusters.k) if clusters.lived[c] < WITHIN]
        if not new or not self.asleep:
            return []
        like = [old.sums * min(1.0, LIKE / old.sums[0]) for old in self.asleep]
        marginal, totals = family.log_marginal, clusters.totals()
        gain = np.array([
            [marginal(totals[c] + s) - marginal(s) - marginal(totals[c]) for s in like]
            for c in new
        ])  # fmt: skip
        margin, back = MARGIN + log(len(like)), []
        for i, c in enumerate(new):
            j = int(np.argmax(gain[i]))
            waits = (gain[i] > margin).sum() > 1 and clusters.lived[c] < WITHIN - 1
            if np.argmax(gain[:, j]) == i and gain[i, j] > margin and not waits:
                back.append((c, j))
        for c, j in back:
            clusters.ids[c], clusters.born[c] = self.asleep[j].name, self.asleep[j].born
            clusters.lived[c] = WITHIN  # it is no newcomer
            if not kernel and clusters.records:
                own = min(1.0, totals[c, 0] / like[j][0])
                clusters.records[0].sums[c] += 0.5 * own * like[j]
        return [self.asleep[j].name for _, j in back]
