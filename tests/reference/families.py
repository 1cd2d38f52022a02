"""Families of clusters: some written out, any other by the methods of its contract.

A cluster is the sum ``s`` (p,) of its points' statistics ``T(x)``, whose first entry is its count.
Densities leave out the base measure, which is the same for every cluster and cancels in every
ratio. What the user leaves open of a prior is set by the first batch (``prepare``, ``adapt``,
``settled``) and goes with the clusters afterwards (``follow``).
"""

from dataclasses import dataclass, field
from math import exp, lgamma, log, sqrt

import numpy as np
from scipy.special import gammaln

from reference.cutting import log_gamma_draws, log_odds, normal_below
from reference.gaussian import Gaussian
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
    real = False

    def enough_rows(self, d):
        return 20

    def size(self):
        return 1 + len(self.prior)

    def points_for_a_shape(self):
        return 0

    def moving_columns(self):
        return 0

    def prepare(self, X):
        total, d = X.sum(axis=0), X.shape[1]
        base = (total + 1.0) / (total.sum() + d)
        return Multinomial(base, d * base)

    def adapt(self, clusters):
        d = len(self.base)
        trials = [Multinomial(self.base, count * d * self.base) for count in 2.0 ** np.arange(12)]
        return max(trials, key=lambda trial: sum(trial.log_marginal(s) for s in clusters))

    def settled(self, k):
        """From k clusters one cannot know more about how alike shares are.

        Nor can one where rows repeat words in bursts, which those of the tests do not.
        """
        most = k * len(self.base) * self.base
        return self if self.prior.sum() <= most.sum() else Multinomial(self.base, most)

    def follow(self, clusters, latest):
        return self

    def alike(self):
        return self

    def held(self, hold):
        return self

    def embed(self, X):
        return np.sqrt(X / np.maximum(X.sum(axis=1, keepdims=True), 1.0))

    def statistics(self, X):
        return np.column_stack([np.ones(len(X)), X])

    def log_marginal(self, s):
        new, old = self.prior + s[1:], self.prior
        rises = (gammaln(new) - gammaln(old)).sum()
        return rises - (lgamma(new.sum()) - lgamma(old.sum()))

    def log_predictive(self, T, s):
        """Return the Dirichlet-multinomial at every row."""
        new = self.prior + s[1:]
        rises = (gammaln(new + T[:, 1:]) - gammaln(new)).sum(axis=1)
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


# -- any other ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByContract:
    """A family of the package, used by nothing but the methods that its contract asks for."""

    family: object
    real: bool = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "real", self.family.real)

    def enough_rows(self, d):
        return self.family.enough_rows(d)

    def size(self):
        return len(self.family.prior)

    def points_for_a_shape(self):
        return self.family.points_for_a_shape()

    def moving_columns(self):
        return self.family.moving_columns()

    def prepare(self, X):
        family = self.family.meet(X, None)
        return ByContract(family.prepare(family.check(X)))

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

    def follow(self, clusters, latest):
        return ByContract(self.family.follow(np.array(clusters), np.array(latest)))

    def embed(self, X):
        return dense(self.family.embed(self.family.check(X)))

    def statistics(self, X):
        return dense(self.family.statistics(self.family.check(X)))

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
