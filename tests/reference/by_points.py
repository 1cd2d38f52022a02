"""Densities, marginals and ratios computed from the points themselves, without statistics.

Points are rows of ``X`` in the user's own units, ``w`` are their weights, a group of points is a
pair ``(X, w)``. Densities are true densities, with every constant in its place.
"""

from dataclasses import dataclass
from math import lgamma, log, log1p, pi

import numpy as np

# -- densities ----------------------------------------------------------------------------------


def log_normal(x, mean, cov):
    """Log density of a Gaussian."""
    off = x - mean
    return -0.5 * (
        len(x) * log(2 * pi) + np.linalg.slogdet(cov)[1] + off @ np.linalg.solve(cov, off)
    )


def log_multinomial(x, probabilities):
    """Log probability of counts."""
    out = log_coefficient(x)
    for count, p in zip(x, probabilities, strict=True):
        out += count * log(p)
    return out


def log_coefficient(x):
    """Log multinomial coefficient of counts."""
    return lgamma(sum(x) + 1) - sum(lgamma(count + 1) for count in x)


def log_student(x, dof, mean, scale):
    """Log density of a multivariate Student-t."""
    d, off = len(x), x - mean
    far = off @ np.linalg.solve(scale, off)
    out = lgamma((dof + d) / 2) - lgamma(dof / 2) - d / 2 * log(dof * pi)
    return out - 0.5 * np.linalg.slogdet(scale)[1] - (dof + d) / 2 * log1p(far / dof)


def log_multigamma(a, d):
    """Log of the multivariate gamma function."""
    return d * (d - 1) / 4 * log(pi) + sum(lgamma(a - i / 2) for i in range(d))


# -- clusters: a prior, what points make of it, and what it says of points ------------------------


@dataclass(frozen=True)
class NormalInverseWishart:
    """The prior of a Gaussian cluster, or what it has become; ``scatter`` is nu times Psi."""

    mean: np.ndarray
    kappa: float
    scatter: np.ndarray
    nu: float

    def posterior(self, X, w):
        n, s, ss = 0.0, 0.0 * self.mean, 0.0 * self.scatter
        for x, weight in zip(X, w, strict=True):
            n += weight
            s = s + weight * x
            ss = ss + weight * np.outer(x, x)
        kappa = self.kappa + n
        mean = (self.kappa * self.mean + s) / kappa
        scatter = (
            self.scatter
            + self.kappa * np.outer(self.mean, self.mean)
            + ss
            - kappa * np.outer(mean, mean)
        )
        return NormalInverseWishart(mean, kappa, scatter, self.nu + n)

    def log_marginal(self, X, w):
        d, new = len(self.mean), self.posterior(X, w)
        return (
            -sum(w) * d / 2 * log(pi)
            + log_multigamma(new.nu / 2, d)
            - log_multigamma(self.nu / 2, d)
            + self.nu / 2 * np.linalg.slogdet(self.scatter)[1]
            - new.nu / 2 * np.linalg.slogdet(new.scatter)[1]
            + d / 2 * (log(self.kappa) - log(new.kappa))
        )

    def log_predictive(self, x):
        dof = self.nu - len(self.mean) + 1
        scale = self.scatter * (self.kappa + 1) / (self.kappa * dof)
        return log_student(x, dof, self.mean, scale)


@dataclass(frozen=True)
class Dirichlet:
    """The prior of a multinomial cluster, or what it has become."""

    concentration: np.ndarray

    def posterior(self, X, w):
        total = self.concentration
        for x, weight in zip(X, w, strict=True):
            total = total + weight * x
        return Dirichlet(total)

    def log_marginal(self, X, w):
        new, out = self.posterior(X, w), 0.0
        for x, weight in zip(X, w, strict=True):
            out += weight * log_coefficient(x)
        out += lgamma(sum(self.concentration)) - lgamma(sum(new.concentration))
        for before, after in zip(self.concentration, new.concentration, strict=True):
            out += lgamma(after) - lgamma(before)
        return out

    def log_predictive(self, x):
        return self.log_marginal([x], [1.0])


# -- scores and ratios ----------------------------------------------------------------------------


def deterministic_scores(prior, groups, X, alpha):
    """Scores (n, k) and (n, k, 2) of the deterministic sweep.

    ``groups[k][j]`` are the points ``(X, w)`` of sub-cluster j of cluster k.
    """
    k = len(groups)
    counts = [[sum(w) for _, w in pair] for pair in groups]
    total = sum(sum(pair) for pair in counts)
    scores, sub_scores = np.zeros((len(X), k)), np.zeros((len(X), k, 2))
    for c, pair in enumerate(groups):
        whole = prior
        for part in pair:
            whole = whole.posterior(*part)
        for i, x in enumerate(X):
            scores[i, c] = log(sum(counts[c]) / (total + alpha)) + whole.log_predictive(x)
        for j, part in enumerate(pair):
            post = prior.posterior(*part)
            weight = (counts[c][j] + alpha / 2) / (sum(counts[c]) + alpha)
            for i, x in enumerate(X):
                sub_scores[i, c, j] = log(weight) + post.log_predictive(x)
    return scores, sub_scores


def restricted_scores(log_density, X, weights, parameters, sub_weights, sub_parameters):
    """Scores (n, k) and (n, k, 2) of a restricted sweep, given what it drew.

    ``log_density(x, *parameters[k])`` is a cluster's, ``sub_parameters[k][j]`` a sub-cluster's.
    """
    k = len(parameters)
    scores, sub_scores = np.zeros((len(X), k)), np.zeros((len(X), k, 2))
    for i, x in enumerate(X):
        for c in range(k):
            scores[i, c] = log(weights[c]) + log_density(x, *parameters[c])
            for j in range(2):
                density = log_density(x, *sub_parameters[c][j])
                sub_scores[i, c, j] = log(sub_weights[c][j]) + density
    return scores, sub_scores


def log_hastings_split(prior, alpha, first, second):
    """Log ratio for splitting a cluster into two groups of points ``(X, w)``."""
    whole = [*first[0], *second[0]], [*first[1], *second[1]]
    out = log(alpha) - lgamma(sum(whole[1])) - prior.log_marginal(*whole)
    for part in (first, second):
        out += lgamma(sum(part[1])) + prior.log_marginal(*part)
    return out


def log_posterior(prior, alpha, groups):
    """Log joint density of a partition into groups ``(X, w)`` and of the points in them."""
    out = lgamma(alpha) - lgamma(alpha + sum(sum(w) for _, w in groups))
    for X, w in groups:
        out += log(alpha) + lgamma(sum(w)) + prior.log_marginal(X, w)
    return out


def window_sum(weight, time, batches):
    """Statistics at a time: those of each batch ``(time, statistics)``, weighed by its age."""
    return sum(weight(time - when) * s for when, s in batches)
