"""ScStream in plain NumPy: slow and obvious, what the package is compared with.

Section 2 of the design, sentence by sentence. Points are rows of ``X`` in the user's own units,
``w`` are their weights, a group of points is a pair ``(X, w)``. Densities are true densities, with
every constant in its place. Nothing here comes from the package.
"""

from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p, pi

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


# -- the data pass --------------------------------------------------------------------------------


def most_probable(scores):
    """Return the best of the log-probabilities; of equals the first."""
    return max(range(len(scores)), key=lambda c: (scores[c], -c))


def drawn(scores, u):
    """Return the label at which the cumulated probabilities pass the uniform."""
    weight = [exp(s - max(scores)) for s in scores]
    passed = 0.0
    for c, part in enumerate(weight):
        passed += part
        if u * sum(weight) < passed:
            return c
    raise AssertionError("a uniform is less than 1")


def against(chosen, other):
    """Minus the log-probability of one of two labels, by their log-probabilities."""
    return -chosen + max(chosen, other) + log1p(exp(-abs(chosen - other)))


@dataclass(frozen=True)
class Labelling:
    """Labels and what a sweep says about them, row by row."""

    z: np.ndarray
    sub: np.ndarray
    second: np.ndarray  # the best other label, -1 if there is none
    doubt: np.ndarray  # minus the log-probability of the label against that one
    sub_doubt: np.ndarray  # the same of the sub-label


def label(scores, sub_scores, u=None):
    """Label every row by its scores (n, k), then within the cluster by its pair of (n, k, 2).

    With uniforms (2, n) labels are drawn, without them the best are taken. Components beyond the
    k of the sub-scores take points away from the clusters: label -1, sub-label 0.
    """
    n, k = sub_scores.shape[:2]
    out = Labelling(*(np.zeros(n, dtype=kind) for kind in (int, int, int, float, float)))
    for i in range(n):
        z = most_probable(scores[i]) if u is None else drawn(scores[i], u[0][i])
        out.second[i] = -1
        if len(scores[i]) > 1:
            others = [-inf if c == z else s for c, s in enumerate(scores[i])]
            out.second[i] = most_probable(others)
            out.doubt[i] = against(scores[i][z], max(others))
        if z >= k:
            out.z[i] = -1
            continue
        # of two sub-labels the second is drawn where the uniform is below its probability
        pair = sub_scores[i, z]
        sub = most_probable(pair) if u is None else 1 - drawn(pair[::-1], u[1][i])
        out.z[i], out.sub[i] = z, sub
        out.sub_doubt[i] = against(pair[sub], pair[1 - sub])
    return out


def statistics(T, w, z, sub, k):
    """Weighted sums (k, 2, p) of the rows of ``T`` by label and sub-label."""
    out = np.zeros((k, 2, T.shape[1]))
    for i in range(len(T)):
        if z[i] >= 0:
            out[z[i], sub[i]] += w[i] * T[i]
    return out


def row_counts(z, sub, k):
    """Numbers of rows (k, 2) by label and sub-label."""
    out = np.zeros((k, 2), dtype=int)
    for a, b in zip(z, sub, strict=True):
        if a >= 0:
            out[a, b] += 1
    return out


def rivals(labelling, k):
    """How many rows of each cluster have each other cluster as second choice, (k, k)."""
    out = np.zeros((k, k), dtype=int)
    for a, b in zip(labelling.z, labelling.second, strict=True):
        if a >= 0 and 0 <= b < k:
            out[a, b] += 1
    return out


def doubts(labelling, w, k):
    """Weighted doubts (k, k): between two clusters, over the rows of either; within one."""
    out = np.zeros((k, k))
    for i, (a, b) in enumerate(zip(labelling.z, labelling.second, strict=True)):
        if a < 0:
            continue
        out[a, a] += w[i] * labelling.sub_doubt[i]
        if 0 <= b < k:
            out[a, b] += w[i] * labelling.doubt[i]
            out[b, a] += w[i] * labelling.doubt[i]
    return out


# -- the sampler ----------------------------------------------------------------------------------


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


# -- random numbers -------------------------------------------------------------------------------


def philox(counter, key):
    """Philox 4x32 with ten rounds (Salmon et al. 2011): four words from four and two."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def uniforms(seed, batch, sweep, first, n):
    """Two uniforms (2, n) a row, keyed by (seed, batch, sweep, row)."""
    out = np.zeros((2, n))
    for i in range(n):
        high, low = divmod(first + i, 2**32)
        words = philox([low, high, sweep, batch], [seed % 2**32, seed // 2**32])
        out[0, i] = ((words[0] * 2**32 + words[1]) >> 11) / 2**53
        out[1, i] = ((words[2] * 2**32 + words[3]) >> 11) / 2**53
    return out
