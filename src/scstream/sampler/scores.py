"""How expected the rows of a stream were: a sketch of their log densities before they were learned.

Rows that a model has learned fit it too well. So some rows of each batch are scored by the model
before it learns them; those of a first batch, each by the model without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scstream.families.contract import Array, Family
from scstream.families.gaps import gap_rows, observed_scores
from scstream.families.scale_mixture import own_predictives, weighted_rows
from scstream.families.scores import Points, Score, log_totals, row_log_totals, to_dense
from scstream.families.subspace import narrowed
from scstream.sampler.rows import some_weighted_rows
from scstream.sampler.rules import Rules

if TYPE_CHECKING:
    from scstream.sampler.learned import Learner

_STEP = 0.02  # by which the counts below two neighbouring entries differ, as a share
_LOG_STEP = float(np.log1p(_STEP))
_TAIL = 0.02  # of the numbers: what the slope of the tail is taken from
_PER_HALF = 1.96  # spreads, of median less lower tenth, for each share at a normal median
_PER_TENTH = 4.45  # the same at its lower tenth
_FORGOTTEN = 1e-12  # weight up to which an entry is left out
_MOST_NUMBERS = 2**21  # statistics of rows that are held at once


@dataclass(frozen=True)
class Sketch:
    """The distribution of numbers, fine at its lower end, in a few hundred entries.

    Entry i stands for so many numbers about ``values[i]``. Below it are ``c`` of them, and it is at
    most a fiftieth of ``c`` wide: shares are known to 1 % or so however small they are, and the
    lowest fifty numbers are kept one by one.

    Attributes
    ----------
    values : ndarray (m,)
        Ascending.
    weights : ndarray (m,)
    seen : float
        How many numbers there were, forgotten ones included.
    """

    values: Array
    weights: Array
    seen: float = 0.0

    @staticmethod
    def nothing() -> Sketch:
        """Return the sketch of no numbers."""
        return Sketch(np.zeros(0), np.zeros(0))

    @property
    def count(self) -> float:
        """How many numbers it stands for."""
        return float(self.weights.sum())

    def faded(self, share: float) -> Sketch:
        """Return the sketch with each number counting a share of what it did."""
        return Sketch(self.values, share * self.weights, self.seen)

    def merged(self, values: Array, weights: Array) -> Sketch:
        """Return the sketch with further numbers (n,), or with the entries of another sketch."""
        value = np.concatenate([self.values, values])
        weight = np.concatenate([self.weights, weights])
        order = value.argsort(kind="stable")
        order = order[weight[order] > _FORGOTTEN]
        value, weight = value[order], weight[order]
        middle = np.cumsum(weight) - 0.5 * weight  # entries with as many below them become one
        place = np.floor(np.log(np.maximum(middle, 1e-9)) / _LOG_STEP)
        first = np.flatnonzero(np.append(True, place[1:] != place[:-1])[: len(place)])
        whole = np.add.reduceat(weight, first)
        merged = np.maximum.accumulate(np.add.reduceat(weight * value, first) / whole)
        return Sketch(merged, whole, self.seen + len(values))

    def followed(self, values: Array, memory: float) -> Sketch:
        """Return the sketch moved and stretched towards further numbers (n,), which do not join it.

        Its median and its lower tenth take a step of ``n / (n + memory)`` to where as many of these
        numbers are below them as should be. A share says how far that is, were the numbers normally
        distributed: so a step is bounded, however far off some numbers are, and right on average
        for any number of them.
        """
        if len(values) == 0 or len(self.values) == 0:
            return self
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        tenth, median = np.interp(np.array([0.1, 0.5]) * self.count, middle, self.values)
        spread = median - tenth
        step = spread * len(values) / (len(values) + memory)
        up = step * _PER_HALF * (0.5 - _share_under(values, median))
        down = step * _PER_TENTH * (_share_under(values, tenth) - 0.1)
        factor = max((spread + up + down) / spread, 0.5) if spread > 0.0 else 1.0
        return Sketch(median + up + factor * (self.values - median), self.weights, self.seen)

    def share_below(self, x: Array) -> Array:
        """Return the share of numbers below each of x (...), never 0.

        A number as low as the lowest has the share of one in so many and one. Below it the share
        falls exponentially, as steeply as it does at the lower end.
        """
        if len(self.values) == 0:
            raise ValueError("The model has no scores to compare with: the rule scored_rows is 0.")
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        inside = np.interp(x, self.values, middle)
        tail = int(np.searchsorted(middle, _TAIL * self.count)) + 1
        lowest, weight = self.values[:tail], self.weights[:tail]
        slope = max(float(np.average(lowest[-1] - lowest, weights=weight)), 1e-9)
        beyond = np.minimum((x - self.values[0]) / slope, 0.0)
        out: Array = (inside + 0.5) / (self.count + 1.0) * np.exp(beyond)
        return out


def _share_under(values: Array, level: float) -> float:
    """Return the share of numbers below a level, of equal ones half."""
    return 0.5 * float((values < level).mean() + (values <= level).mean())


def scores_with(
    before: Sketch, learner: Learner, some: tuple[Points, Array], n: int, rules: Rules, kept: float,
    share: float,
) -> Sketch:  # fmt: skip
    """Return the sketch of scores, with those of a batch that the model is about to learn.

    These are of some of its n rows, which have weights. ``kept`` is the share of the past that is
    left after a batch, and ``share`` that of batches that are scored. Scores are forgotten as
    clusters are, but not so fast that too few are left to know small shares by. While there are
    few, the older half is left behind, however slowly clusters are forgotten: a model that has just
    begun expects less of its rows than it does later. All that are left follow the middle and the
    spread of new ones: only far out it takes many scores to know how they are distributed, and as
    clusters move so do the scores of their rows.
    """
    X, weight = some
    memory = max(0.5 * before.seen, rules.scored_rows)
    if memory < rules.scores_kept:
        kept = max(1.0 - X.shape[0] / memory, 0.0)
    else:
        kept = max(kept ** (1.0 / share), 1.0 - X.shape[0] / rules.scores_kept)
    scores, lag = log_densities(learner, X), rules.scores_lag
    lag *= max(X.shape[0] / n, rules.scored_share)  # all rows tell how far clusters have moved
    return before.followed(scores, lag).faded(kept).merged(scores, weight)


def share_scored(before: Sketch, n_batches: int, rules: Rules, *, quick: bool) -> float:
    """Return the share of batches that are scored, those before being ``n_batches``.

    All are, unless learning is so quick that scoring would take as long. Of quick batches half are
    scored while few scores are known, and fewer later.
    """
    if not quick or n_batches <= rules.scored_first:
        return 1.0
    enough = before.seen >= 2.0 * rules.scores_kept
    return rules.scored_batches if enough else min(2.0 * rules.scored_batches, 1.0)


def rows_scored(n: int, n_batches: int, rules: Rules) -> int:
    """Return how many of the n rows of a batch are scored, if it is, ``n_batches`` being before."""
    share = 1.0 if n_batches <= rules.scored_first else rules.scored_share
    return min(rules.scored_rows, max(int(share * n), rules.scored_least))


def is_scored(n_batches: int, share: float) -> bool:
    """Whether the next batch is among the share of batches that are scored.

    Multiples of the golden ratio choose, which keep no step with a rhythm of the stream.
    """
    return (n_batches * 0.6180339887498949) % 1.0 < share


def first_scores(learner: Learner, X: Points, weight: Array, rules: Rules) -> Sketch:
    """Return the sketch of the scores of rows (n, d) that a model has just learned, all at once."""
    most = min(rules.scored_rows, _MOST_NUMBERS // learner.state.past.shape[2] + 1)
    if rules.scored_rows == 0:
        return Sketch.nothing()
    some, weight = some_weighted_rows(X, weight, most)
    return Sketch.nothing().merged(log_densities_left_out(learner, some, weight), weight)


def log_densities(learner: Learner, X: Points) -> Array:
    """Return the log predictive density of checked rows (n,)."""
    score, level = learner.next_point()
    return log_density(learner.family, score, X) + level


def log_density(family: Family, score: Score, X: Points) -> Array:
    """Return the log density of checked rows (n,) whose scores are log weights times densities."""
    if len(gap_rows(family, X)):
        totals = row_log_totals(observed_scores(family, score, X))
    else:
        totals = log_totals(score, family.statistics(X))
    return totals + family.log_base(X)


def log_densities_left_out(learner: Learner, X: Points, weight: Array) -> Array:
    """Return the same for rows that were learned, each without what it taught its cluster.

    A row of the weight w (n,) taught w times its statistics, unless the background took it. What
    was taught is not known for rows with gaps, nor where it is more than its cluster has, as
    after a move that gave it to another one: these are scored as they are.
    """
    family, totals, recent = learner.family, learner.state.totals, learner.state.recent
    k, rows = len(totals), np.arange(X.shape[0])
    score, level = learner.next_point()
    within = narrowed(family, X)
    scores, T = observed_scores(family, score, within), to_dense(family.statistics(within))
    z = np.argmax(scores[:, :k], axis=1)
    taught = ~(scores[:, k + 1 :] > scores[rows, z][:, None]).any(axis=1)
    taught[gap_rows(family, X)] = False
    T[~taught] = 0.0
    without = totals[z] - (weight * taught)[:, None] * weighted_rows(family, T, totals, z)
    n = without[:, 0]
    alone = taught & (n < 0.5 * weight)
    without[alone] = 0.0
    with np.errstate(all="ignore"):  # other rows than its own were taken from some clusters
        own = own_predictives(family, without, T)
        own += np.log(recent[z] - weight) - np.log(recent.sum() + learner.alpha)
    known = taught & ~alone & np.isfinite(own)
    scores[rows, z] = np.where(alone, -np.inf, np.where(known, own, scores[rows, z]))
    return row_log_totals(scores) + family.log_base(X) + level
