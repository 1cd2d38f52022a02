"""Families of clusters: some written out, any other by the methods of its contract.

A cluster is the sum ``s`` (p,) of its points' statistics ``T(x)``, whose first entry is its count.
Densities leave out the base measure, which is the same for every cluster and cancels in every
ratio. What the user leaves open of a prior is set by the first batch (``prepare``, ``adapt``,
``settled``) and goes with the clusters afterwards (``follow``).
"""

from dataclasses import dataclass, field, replace
from math import exp, lgamma, log, sqrt

import numpy as np
from scipy.special import gammaln

from reference.cutting import log_gamma_draws, log_odds, normal_below
from reference.gaussian import Gaussian, most_probable
from reference.student import Student

__all__ = ["ByContract", "Gaussian", "Multinomial", "Poisson", "Student"]

# -- Poisson --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Poisson:
    """Columns of counts, independent, with gamma priors, all of them open: ``T = (1, x)``."""

    mean: np.ndarray | None = None
    shape: np.ndarray | None = None
    real = False

    def enough_rows(self, d):
        return max(20, 4 * d)

    def size(self):
        """Return how many numbers describe a cluster: columns have counts, entries may miss."""
        return 1 + 2 * len(self.mean)

    def points_for_a_shape(self):
        return 0

    def moving_columns(self):
        return 0

    def prepare(self, X):
        return Poisson(np.maximum(X.mean(axis=0), 1e-3), np.ones(X.shape[1]))

    def adapt(self, clusters):
        """For each column the mean and shape under which the clusters are the most probable."""
        total = sum(clusters)
        pooled = np.maximum((total[1:] + 0.5) / (total[0] + 0.5), 1e-3)
        trials = [
            Poisson(mean * pooled, np.full(len(pooled), shape))
            for mean in 2.0 ** np.arange(-3, 3)
            for shape in 2.0 ** np.arange(-4, 8)
        ]
        levels = np.array([sum(trial.log_marginals(s) for s in clusters) for trial in trials])
        best = [trials[i] for i in levels.argmax(axis=0)]
        return Poisson(
            np.array([trial.mean[j] for j, trial in enumerate(best)]),
            np.array([trial.shape[j] for j, trial in enumerate(best)]),
        )

    def settled(self, k):
        """From k clusters one cannot know more about how alike rates are."""
        return Poisson(self.mean, np.minimum(self.shape, k))

    def follow(self, clusters, latest):
        return self

    def reframed(self, s, before):
        return s

    def alike(self):
        return self

    def held(self, hold):
        return self

    def embed(self, X):
        return 2.0 * np.sqrt(X + 0.375)

    def statistics(self, X):
        return np.column_stack([np.ones(len(X)), X])

    def posterior(self, s):
        """Shapes and rates of the gamma densities."""
        return self.shape + s[1:], self.shape / self.mean + s[0]

    def log_marginals(self, s):
        """Column by column."""
        (shape, rate), (a, b) = self.posterior(s), self.posterior(0.0 * s)
        return gammaln(shape) - shape * np.log(rate) - gammaln(a) + a * np.log(b)

    def log_marginal(self, s):
        return self.log_marginals(s).sum()

    def log_predictive(self, T, s):
        shape, rate = self.posterior(s)
        x = T[:, 1:]
        each = gammaln(shape + x) - gammaln(shape)
        each = each + shape * np.log(rate) - (shape + x) * np.log(rate + 1.0)
        return each.sum(axis=1)

    def draw(self, rng, sums):
        posteriors = [self.posterior(s) for s in sums]
        shape, rate = (np.array(each) for each in zip(*posteriors, strict=True))
        return list(log_gamma_draws(rng, shape) - np.log(rate))

    def log_density(self, T, log_rate):
        return T[:, 1:] @ log_rate - np.exp(log_rate).sum()

    def direction(self, s, member, attempt):
        mean = s[1:] / max(s[0], 1e-300)
        normal = (member[1:] - member[0] * mean) / np.maximum(mean, 1e-12)
        return np.concatenate([[-normal @ mean], normal])

    def cut(self, past, first, second):
        """Return the part of a past on the first side, the log ratio of rates taken for normal."""
        (a1, b1), (a2, b2) = self.posterior(first), self.posterior(second)
        one, two = a1 / b1, a2 / b2
        normal, odds = np.log(two / one), log_odds(first, second)
        mean = past[1:] / max(past[0], 1e-300)
        level, variance = normal @ mean - (two - one).sum(), normal**2 @ mean
        if variance <= 1e-12 * (1.0 + level**2):
            return past / (1.0 + exp(-odds))
        _, share, hazard = normal_below((odds - level) / sqrt(variance))
        n = share * past[0]
        x = n * (mean - normal * mean * hazard / sqrt(variance))
        # neither part has less than a tenth of what it has on average
        x = np.clip(x, 0.1 * mean * n, past[1:] - 0.1 * mean * (past[0] - n))
        return np.concatenate([[n], x])


# -- multinomial ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Multinomial:
    """Rows of counts in categories with a Dirichlet prior, which is open: ``T = (1, x)``."""

    base: np.ndarray | None = None
    prior: np.ndarray | None = None
    repeats: float = 1.0  # the mean prior count that words repeated within rows suggest
    faint: bool = False  # whether that is the prior
    real = False
    sparse = True

    def enough_rows(self, d):
        return 20

    def size(self):
        return 1 + len(self.prior)

    def points_for_a_shape(self):
        return len(self.base) if self.faint else 0

    def moving_columns(self):
        return 0

    def prepare(self, X):
        base = frequencies(X)
        return Multinomial(base, len(base) * base, mean_by_rows(X, base))

    def suggested(self):
        """Return the family with the weak prior that repeated words suggest, None if they do not.

        Either rows are short and of clusters with words of their own, or words come in bursts.
        """
        if self.repeats >= 1.0:
            return None
        return replace(self, prior=self.repeats * len(self.base) * self.base, faint=True)

    def is_borne_out(self, X, z):
        """Whether rows of a cluster share words about as often as each repeats them: no bursts."""
        there = (X > 0).astype(float)
        clusters = np.array([there[z == c].sum(axis=0) for c in sorted(set(z.tolist()))])
        return mean_by_rows(clusters, frequencies(there)) <= 2.5 * self.repeats

    def weaker(self, X):
        """Return the family with ever weaker priors if rows say little, and repeat no words."""
        d = X.shape[1]
        means = [mean for mean in 0.25 ** np.arange(1, 20) if mean * d >= 16.0]
        if self.repeats < 1.0 or X.sum() > 32.0 * d:
            return []
        return [replace(self, prior=mean * d * self.base, faint=True) for mean in means]

    def adapt(self, clusters):
        if self.faint:
            return self
        d = len(self.base)
        trials = [replace(self, prior=count * d * self.base) for count in 2.0 ** np.arange(12)]
        return most_probable(trials, clusters)

    def settled(self, k):
        """From k clusters one cannot know more about how alike shares are; words in bursts say."""
        most = k * len(self.base) * self.base
        strong = self.prior.sum() > most.sum() and self.repeats >= 1.0
        return replace(self, prior=most) if strong else self

    def follow(self, clusters, latest):
        return self

    def reframed(self, s, before):
        return s

    def alike(self):
        return self

    def held(self, hold):
        return self

    def embed(self, X):
        return np.sqrt(X / np.maximum(X.sum(axis=1, keepdims=True), 1.0))

    def statistics(self, X):
        return np.column_stack([np.ones(len(X)), X])

    def log_marginal(self, s):
        counts = np.asarray(s[1:])
        new, old, met = self.prior + counts, self.prior, counts != 0.0
        rises = (gammaln(new[met]) - gammaln(old[met])).sum()
        return rises - (lgamma(new.sum()) - lgamma(old.sum()))

    def log_predictive(self, T, s):
        """Return the Dirichlet-multinomial at every row."""
        new = self.prior + s[1:]
        row, word = np.nonzero(T[:, 1:])
        rise = gammaln(new[word] + T[row, 1 + word]) - gammaln(new[word])
        rises = np.bincount(row, rise, minlength=len(T))
        return rises - gammaln(new.sum() + T[:, 1:].sum(axis=1)) + lgamma(new.sum())

    def draw(self, rng, sums):
        logs = log_gamma_draws(rng, np.array([self.prior + s[1:] for s in sums]))
        return [each - np.logaddexp.reduce(each) for each in logs]

    def log_density(self, T, log_probability):
        return T[:, 1:] @ log_probability

    def direction(self, s, member, attempt):
        mean = s / max(s[0], 1e-300)
        out = (member - mean) / (np.abs(mean) + 1e-12)
        out[0] = -out[1:] @ mean[1:]
        return out

    def cut(self, past, first, second):
        """Return the part of a past, seen as rows of one multinomial, before the discriminant."""
        a, b = self.prior + first[1:], self.prior + second[1:]
        normal = np.log(b / a) + log(a.sum() / b.sum())
        n, of_one = max(past[0], 1e-300), past[1:] @ normal / max(past[1:].sum(), 1e-300)
        level = past[1:] @ normal / n - log_odds(first, second)
        variance = past[1:] @ ((normal - of_one) * normal) / n
        sd = sqrt(max(variance, 1e-300))
        _, share, hazard = normal_below(-level / sd)
        x = share * past[1:] * (1.0 - (normal - of_one) * hazard / sd)
        return np.concatenate([[share * past[0]], np.clip(x, 0.0, past[1:])])


def frequencies(X):
    """Return the share (d,) of each word, each counted once more than it is."""
    total = X.sum(axis=0) + 1.0
    return total / total.sum()


def mean_by_rows(X, base):
    """Return the mean prior count under which rows (n, d) are most probable, each by itself.

    It is 1 unless another is so by more than a nat.
    """
    means = 2.0 ** np.arange(4.0, -10.25, -0.25)
    levels = [
        sum(Multinomial(base, mean * len(base) * base).log_marginal([1.0, *x]) for x in X)
        for mean in means
    ]
    best, usual = int(np.argmax(levels)), means.tolist().index(1.0)
    return float(means[best] if levels[best] > levels[usual] + 1.0 else 1.0)


# -- any other ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByContract:
    """A family of the package, used by nothing but the methods that its contract asks for."""

    family: object
    real: bool = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "real", self.family.real)

    @property
    def column_frame(self):
        return self.family.frame

    def enough_rows(self, d):
        return self.family.enough_rows(d)

    def size(self):
        return len(self.family.prior)

    def points_for_a_shape(self):
        return self.family.points_for_a_shape()

    def met(self, X, before):
        """Return the family when it has met rows: categories have places in the order met."""
        return ByContract(self.family.meet(X, before and before.family))

    def moving_columns(self):
        return self.family.moving_columns()

    def prepare(self, X):
        return ByContract(self.family.prepare(self.family.check(X)))

    def adapt(self, clusters):
        return ByContract(self.family.adapt(np.array(clusters)))

    def alike(self):
        new = self.family.alike()
        return self if new is self.family else ByContract(new)

    def held(self, hold):
        new = self.family.held(hold)
        return self if new is self.family else ByContract(new)

    def settled(self, k):
        return ByContract(self.family.settled(k))

    def reframed(self, s, before):
        return self.family.reframed(s[None], before.family)[0]

    def follow(self, clusters, latest):
        return ByContract(self.family.follow(np.array(clusters), np.array(latest)))

    def embed(self, X):
        return dense(self.family.embed(self.family.check(X)))

    def statistics(self, X):
        return dense(self.family.statistics(self.family.check(X)))

    def log_base(self, X):
        return self.family.log_base(self.family.check(X)).mean()

    def log_marginal(self, s):
        family = self.family
        return float(family.log_partition(family.prior + s) - family.log_partition(family.prior))

    def log_predictive(self, T, s):
        family, tau = self.family, self.family.prior + s
        return family.log_partition(tau + T) - family.log_partition(tau)

    def draw(self, rng, sums):
        return list(self.family.draw(rng, self.family.prior + np.array(sums)))

    def log_density(self, T, eta):
        return T @ eta

    def direction(self, s, member, attempt):
        return self.family.directions(s[None], member[None], np.array([attempt]))[0]

    def cut(self, past, first, second):
        family = self.family
        return family.divide(past[None], family.boundary(first[None], second[None]))[0]


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
