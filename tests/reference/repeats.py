"""Rows that come again, in several passes over one data set, count once.

All that is remembered shall count as many rows as the data set has. Rows that are equal by chance,
as counts and flags are, are known by their batch: many of its rows are equal to each other.

The package looks at some rows of larger batches, by hashes of them; here it is all rows.
"""

from dataclasses import dataclass, field

import numpy as np

WATCHED = 32  # batches without rows that had come before, after which nobody looks any more
LEAST = 8  # rows that a batch must have
SHARE = 0.9  # of its rows that must have been seen
CHANCE = 0.3  # of the equal rows there would be at least, were it chance
WEIGHT = 1e-3  # of a row that comes again, at least


@dataclass
class Repeats:
    """Rows of the last batches, each with the number of its batch."""

    seen: list = field(default_factory=list)
    number: int = 0
    time: float = 0.0
    watched: int = 0

    def share(self, X, time, forgetting):
        """Return what the rows of the next batch count, and take note of them."""
        if self.watched >= WATCHED:
            return 1.0
        rows = [tuple(x) for x in X.tolist()]
        ago = None if forgetting.kernel is not None else self.batches_ago(rows)
        last, self.time, self.number = self.time, time, self.number + 1
        self.seen = [(row, b) for row, b in self.seen if b > self.number - WATCHED]
        self.seen += [(row, self.number) for row in rows]
        if ago is None:
            self.watched += 1
            return 1.0
        self.watched = 0
        return min(max(ago * (1.0 - forgetting.weight(time - last)), WEIGHT), 1.0)

    def batches_ago(self, rows):
        """Return how many batches ago most of these rows were last seen; None if they were not."""
        if len(rows) < LEAST or not self.seen:
            return None
        latest, distinct = dict(self.seen), set(rows)
        known = [latest[row] for row in distinct if row in latest]
        share, equal = len(known) / len(distinct), 1.0 - len(distinct) / len(rows)
        if share < SHARE or equal * len(self.seen) > CHANCE * share * len(rows):
            return None
        return self.number + 1 - np.median(known)
