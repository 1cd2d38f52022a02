"""Families of clusters: three written out, and any other by the methods that its contract asks for.

A cluster is the sum ``s`` (p,) of its points' statistics ``T(x)``, whose first entry is its count.
Densities leave out the base measure, which is the same for every cluster and cancels in every
ratio. What the user leaves open of a prior is set by the first batch (``prepare``, ``adapt``,
``settled``) and goes with the clusters afterwards (``follow``).
"""

from dataclasses import dataclass, field, replace
from math import erfc, exp, lgamma, log, pi, sqrt

import numpy as np
from scipy.special import gammaln

CERTAIN = 6.0  # standard deviations beyond which a past lies on one side of a boundary


def normal_below(t):
    """Mass of a standard normal below t, and by how much its mean lies below 0."""
    t = min(max(t, -CERTAIN), CERTAIN)
    share = 0.5 * erfc(-t / sqrt(2.0))
    return t, share, exp(-0.5 * t * t) / (sqrt(2.0 * pi) * share)


def log_gamma_draws(rng, shape):
    """Logarithms of gamma draws with the given shapes (m, d), without underflow for small ones."""
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log(1.0 - rng.random(shape.shape)) / shape


def log_odds(first, second):
    """Log odds of the first of two groups, by their counts."""
    return log((first[0] + 0.5) / (second[0] + 0.5))


# -- Gaussian -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gaussian:
    """Full covariances under a normal-inverse-Wishart prior, all of it open.

    Rows are seen in a frame ``z = (x - shift) / scale``; ``T = (1, z, upper triangle of z z')``.
    """

    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    m: np.ndarray | None = None
    kappa: float = 0.01
    nu: float = 0.0
    psi: np.ndarray | None = None
    share: float = 1.0  # of the covariance within clusters that is expected
    least_nu: float = 0.0
    real = True

    def enough_rows(self, d):
        return max(20, 4 * d)

    def points_for_a_shape(self):
        d = len(self.m)
        return d if d >= 16 else 0

    # -- the prior

    def prepare(self, X):
        """The frame: each column's median and deviation, cut down where a few outliers made it."""
        d = X.shape[1]
        low, centre, high = np.percentile(X, [25.0, 50.0, 75.0], axis=0)
        deviation = np.sqrt(((X - centre) ** 2).mean(axis=0))
        scale = np.minimum(deviation, 30.0 * (high - low))
        return Gaussian(centre, scale, np.zeros(d), 0.01, d + 2.0, 0.1 * np.eye(d))

    def adapt(self, clusters):
        """The prior under which the given clusters (k, p) are the most probable.

        Kappa takes one step of EM. The expected covariance is the one pooled within the clusters,
        or half of it; nu - d is doubled, or halved, while that helps.
        """
        k, d = len(clusters), len(self.m)
        spread = 0.0
        for s in clusters:
            kappa, nu, mean, scatter = self.posterior(s)
            off = mean - self.m
            spread += nu * (off @ np.linalg.solve(scatter, off)) + d / kappa
        kappa = min(max((k * d + 2.0) / (spread + 200.0), 0.003), 10.0)
        pooled, _ = self.pooled(clusters)
        low = max(d + 2.0, self.least_nu)
        high = max(d + 2.0 + sum(s[0] for s in clusters), low)
        trials = [
            replace(self, kappa=kappa, psi=share * pooled, share=share).strengthened(
                clusters, low, high
            )
            for share in (0.5, 1.0)
        ]
        return max(trials, key=lambda trial: trial.level(clusters))

    def strengthened(self, clusters, low, high):
        d = len(self.m)
        start = best = replace(self, nu=min(max(self.nu, low), high))
        for factor in (2.0, 0.5):
            while True:
                nu = min(max(d + factor * (best.nu - d), low), high)
                trial = replace(self, nu=nu)
                if nu == best.nu or trial.level(clusters) <= best.level(clusters):
                    break
                best = trial
            if best is not start:
                break
        return best

    def level(self, clusters):
        return sum(self.log_marginal(s) for s in clusters)

    def pooled(self, clusters):
        """The covariance within clusters, shrunk to its diagonal; and its degrees of freedom."""
        d = len(self.m)
        scatter, n, k = np.zeros((d, d)), 0.0, 0
        for s in clusters:
            if s[0] > 0:
                scatter += unpacked(s[1 + d :], d) - np.outer(s[1 : 1 + d], s[1 : 1 + d]) / s[0]
                n, k = n + s[0], k + 1
        spare = max(n - k, 1.0)
        out = scatter / (spare + d)
        out[np.diag_indices(d)] = np.diag(scatter) / spare * (1.0 + 1e-6) + 1e-14
        return out, n - k

    def alike(self):
        """Clusters of fewer points than columns are taken for alike: a strong nu."""
        return replace(self, least_nu=len(self.m) * (len(self.m) + 1.0))

    def settled(self, k):
        """From k clusters one cannot know more about how alike covariances are."""
        d = len(self.m)
        return replace(self, nu=min(self.nu, d + 2.0 + (k - 1.0) * d))

    def follow(self, clusters, latest):
        """The expected mean and covariance go with the clusters."""
        d, total = len(self.m), sum(clusters)
        if total[0] < 1.0:
            return self
        pooled, spare = self.pooled(latest)
        new = max(spare, 0.0)
        old = max(10.0 * (d + 2.0), new)
        psi = (old * self.psi + new * self.share * pooled) / (old + new)
        return replace(self, m=total[1 : 1 + d] / total[0], psi=psi)

    # -- densities

    def embed(self, X):
        return (X - self.shift) / self.scale

    def statistics(self, X):
        Z = self.embed(X)
        row, col = np.triu_indices(Z.shape[1])
        return np.column_stack([np.ones(len(Z)), Z, Z[:, row] * Z[:, col]])

    def posterior(self, s):
        """Kappa, nu, mean and scatter, which is nu times the paper's Psi, mended."""
        d, n = len(self.m), s[0]
        kappa = self.kappa + n
        mean = (self.kappa * self.m + s[1 : 1 + d]) / kappa
        scatter = (
            self.nu * self.psi
            + self.kappa * np.outer(self.m, self.m)
            + unpacked(s[1 + d :], d)
            - kappa * np.outer(mean, mean)
        )
        return kappa, self.nu + n, mean, scatter

    def log_normaliser(self, s):
        d = len(self.m)
        kappa, nu, _, scatter = self.posterior(s)
        gammas = sum(lgamma((nu - j) / 2) for j in range(d))
        log_det = np.linalg.slogdet(scatter)[1]
        return gammas - d / 2 * log(kappa) + nu / 2 * (d * log(2.0) - log_det)

    def log_marginal(self, s):
        return self.log_normaliser(s) - self.log_normaliser(0.0 * s)

    def log_predictive(self, T, s):
        """A Student-t density, at every row."""
        d = len(self.m)
        kappa, nu, mean, scatter = self.posterior(s)
        off = T[:, 1 : 1 + d] - mean
        far = (off * np.linalg.solve(scatter, off.T).T).sum(axis=1)
        level = lgamma((nu + 1) / 2) - lgamma((nu + 1 - d) / 2)
        level += 0.5 * (d * log(2 * kappa / (kappa + 1)) - np.linalg.slogdet(scatter)[1])
        return level - (nu + 1) / 2 * np.log(1.0 + kappa / (kappa + 1) * far)

    def draw(self, rng, sums):
        """Means and precisions of each posterior: a Wishart by Bartlett's factors, then the mean.

        First all chi-squares are drawn, then all normals: d for a mean, the rest for a factor.
        """
        m, d = len(sums), len(self.m)
        squares = rng.chisquare([[s[0] + self.nu - i for i in range(d)] for s in sums])
        normals = rng.standard_normal((m, d * (d + 1) // 2))
        out = []
        for s, square, normal in zip(sums, squares, normals, strict=True):
            kappa, _, mean, scatter = self.posterior(s)
            L = np.linalg.cholesky(scatter)
            B = np.diag(np.sqrt(square))
            B[np.tril_indices(d, -1)] = normal[d:]
            M = np.linalg.solve(L.T, B)
            shift = L @ np.linalg.solve(B.T, normal[:d]) / sqrt(kappa)
            out.append((mean + shift, M @ M.T))
        return out

    def log_density(self, T, parameters):
        mean, precision = parameters
        off = T[:, 1 : 1 + len(mean)] - mean
        far = (off * (off @ precision)).sum(axis=1)
        return 0.5 * (np.linalg.slogdet(precision)[1] - far)

    # -- divisions in two

    def direction(self, s, member, attempt):
        """Cut across a principal axis, the first four in turn, or towards a random point."""
        d = len(self.m)
        mean, cov = moments(s, d)
        if attempt % 2 == 0:
            normal = principal_axis(cov, attempt // 2 % min(d, 4))
        else:
            normal = member[1 : 1 + d] - mean
        out = np.zeros(len(s))
        out[0], out[1 : 1 + d] = -normal @ mean, normal
        return out

    def cut(self, past, first, second):
        """The part of a past, seen as one Gaussian, on the first side of Fisher's discriminant."""
        d = len(self.m)
        _, nu1, mean1, scatter1 = self.posterior(first)
        _, nu2, mean2, scatter2 = self.posterior(second)
        normal = (nu1 + nu2) * np.linalg.solve(scatter1 + scatter2, mean2 - mean1)
        offset = normal @ (mean1 + mean2) / 2 + log_odds(first, second)
        mean, cov = moments(past, d)
        variance = max(normal @ cov @ normal, 1e-300)
        if not (past[0] > 1e-6 and variance > 1e-12 * (normal @ mean) ** 2):
            return 0.5 * past
        t, share, hazard = normal_below((offset - normal @ mean) / sqrt(variance))
        along = cov @ normal
        part = mean - along * hazard / sqrt(variance)
        square = cov - hazard * (t + hazard) / variance * np.outer(along, along)
        square += np.outer(part, part)
        return past[0] * share * np.concatenate([[1.0], part, square[np.triu_indices(d)]])


def unpacked(triangle, d):
    """The symmetric matrix of which the upper triangle is given."""
    out = np.zeros((d, d))
    out[np.triu_indices(d)] = triangle
    return out + out.T - np.diag(np.diag(out))


def moments(s, d):
    """Mean and covariance of a group with statistics ``s``."""
    n = max(s[0], 1e-300)
    mean = s[1 : 1 + d] / n
    return mean, unpacked(s[1 + d :] / n, d) - np.outer(mean, mean)


def principal_axis(cov, rank):
    """The axis with ``rank`` others before it, nearly: by power iteration, at most 50 rounds."""
    cov = cov.copy()
    for found in range(rank + 1):
        v = np.zeros(len(cov))
        v[np.argmax(np.diag(cov))] = 1.0
        variance = 0.0
        for _ in range(50):
            before, w = variance, cov @ v
            variance = w @ v
            if not w @ w > 0:
                break
            v = w / sqrt(w @ w)
            if variance - before <= 1e-5 * variance:
                break
        if found < rank:
            cov -= variance * np.outer(v, v)
    return v


# -- Poisson --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Poisson:
    """Columns of counts, independent, with gamma priors, all of them open: ``T = (1, x)``."""

    mean: np.ndarray | None = None
    shape: np.ndarray | None = None
    real = False

    def enough_rows(self, d):
        return max(20, 4 * d)

    def points_for_a_shape(self):
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
        return self

    def follow(self, clusters, latest):
        return self

    def alike(self):
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
        """The part of a past on the first side, the log ratio of the rates taken for normal."""
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

    def points_for_a_shape(self):
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
        return self

    def follow(self, clusters, latest):
        return self

    def alike(self):
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
        """The Dirichlet-multinomial's, at every row."""
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
        """The part of a past, seen as rows of one multinomial, on the discriminant's first side."""
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

    def points_for_a_shape(self):
        return self.family.points_for_a_shape()

    def prepare(self, X):
        family = self.family.meet(X, None)
        return ByContract(family.prepare(family.check(X)))

    def adapt(self, clusters):
        return ByContract(self.family.adapt(np.array(clusters)))

    def alike(self):
        new = self.family.alike()
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
