"""Rows that resemble the row before count less.

Of n rows that follow each other slowly as many independent ones say the same as
``n (1 - r) / (1 + r)``, where r is the correlation of a row's deviation from the centre of its
cluster with that of the cluster's next row. It is learned from some batches.
"""

from dataclasses import dataclass, field

import numpy as np

ALIKE = 0.65  # correlation from which rows count less
FARTHER = 0.6  # rows, as a share, from which the eighth next is farther away than the next
POINTS, LEAST = 30.0, 0.2  # that a usual batch counts at least, if that is no more a row
ROWS = 200  # that show it; smaller batches are put together
NUMBERS = 40_000  # of a batch, at most
MEMORY = 400  # rows that earlier looks count as, at most
CHANGE = 1.25  # times by which a weight changes, or it does not


@dataclass
class Alike:
    """What rows count, and what is known of how much they resemble the row before."""

    weight: float = 1.0
    correlation: float = 0.0
    farther: float = 0.5
    looked: int = 0
    seen: int = 0
    usual: float = 0.0
    kept: list = field(default_factory=list)  # small batches: deviations of each cluster's rows

    def is_due(self, n, number):
        """Whether the so manieth batch is looked at."""
        return (n < ROWS and number <= 64) or number % 16 == 0 or number in (1, 2, 4, 8)

    def look(self, X, labels):
        """Learn from a batch."""
        self.seen += len(X)
        self.usual += (len(X) - self.usual) * len(X) / max(self.seen, 1)
        some = max(NUMBERS // X.shape[1], ROWS)
        self.kept += [X[:some][labels[:some] == name] for name in np.unique(labels[:some])]
        n = sum(len(own) for own in self.kept)
        if n < ROWS:
            return
        share = n / (min(self.looked, MEMORY) + n)
        correlation, farther = likeness(self.kept)
        self.correlation += share * (correlation - self.correlation)
        self.farther += share * (farther - self.farther)
        self.looked, self.kept = self.looked + n, []
        weight = self.says()
        if not 1.0 / CHANGE < weight / self.weight < CHANGE:
            self.weight = weight

    def says(self):
        """Return what a row says."""
        if self.correlation < ALIKE or self.farther < FARTHER:
            return 1.0
        independent = (1.0 - self.correlation) / (1.0 + self.correlation)
        return max(independent, min(POINTS / self.usual, LEAST))


def likeness(clusters):
    """Return the correlation, and the share of rows from which a later one is farther away.

    Columns that only rise or fall are left out, and what goes with them.
    """
    R = [own - own.mean(axis=0) for own in clusters]
    step = np.sign(np.concatenate([np.diff(own, axis=0) for own in R]))
    moves, one_way = np.abs(step).sum(axis=0), np.abs(step.sum(axis=0))
    trend = one_way > 0.9 * np.maximum(moves, 1.0)
    own = ~trend & (moves > 0)
    everything = np.concatenate(R)
    if not own.any() or not any(len(r) > 8 for r in R):
        return 0.0, 0.5
    if trend.any():
        fit = np.linalg.lstsq(everything[:, trend], everything[:, own], rcond=None)[0]
        R = [r[:, own] - r[:, trend] @ fit for r in R]
    else:
        R = [r[:, own] for r in R]
    scale = np.sqrt(sum((r**2).sum(axis=0) for r in R))
    R = [r / scale for r in R]
    lag = sum((r[1:] * r[:-1]).sum(axis=0) for r in R)
    away = []
    for r in R:
        for i in range(len(r) - 8):
            near, far = (r[i + 1] - r[i]) ** 2, (r[i + 8] - r[i]) ** 2
            away.append(np.sign(far.sum() - near.sum()))
    return np.median(lag), 0.5 + 0.5 * np.mean(away)
