"""Gaussian clusters, see `families` for what a family is."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import lgamma, log, sqrt

import numpy as np

from reference.cutting import log_odds, normal_below
from reference.restraint import middles, restrained

FAR = log(4.0)  # by which the log determinant of an expected covariance may grow in a batch


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

    def size(self):
        """Return how many numbers describe a cluster."""
        d = len(self.m)
        return 1 + d + d * (d + 1) // 2

    def points_for_a_shape(self):
        d = len(self.m)
        return d if d >= 16 else 0

    def moving_columns(self):
        return len(self.m)

    # -- the prior

    def prepare(self, X):
        """Set the frame: each column's median and deviation, less where a few outliers made it."""
        d = X.shape[1]
        low, centre, high = np.percentile(X, [25.0, 50.0, 75.0], axis=0)
        deviation = np.sqrt(((X - centre) ** 2).mean(axis=0))
        scale = np.minimum(deviation, 30.0 * (high - low))
        return Gaussian(centre, scale, np.zeros(d), 0.01, d + 2.0, 0.1 * np.eye(d))

    def adapt(self, clusters):
        """Return the prior under which the given clusters (k, p) are the most probable.

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
        low = max(d + 2.0, self.least_nu)
        high = max(d + 2.0 + sum(s[0] for s in clusters), low)
        trials = [
            replace(self, kappa=kappa, psi=share * pooled, share=share).strengthened(
                clusters, low, high
            )
            for pooled in [self.pooled(some)[0] for some in restrained(np.array(clusters), d)]
            for share in (0.5, 1.0)
        ]
        return most_probable(trials, clusters)

    def strengthened(self, clusters, low, high):
        d = len(self.m)
        start = best = replace(self, nu=min(max(self.nu, low), high))
        level = best.level(clusters)
        for factor in (2.0, 0.5):
            while True:
                nu = min(max(d + factor * (best.nu - d), low), high)
                trial = replace(self, nu=nu)
                reached = trial.level(clusters)
                if nu == best.nu or not is_more(reached, level):
                    break
                best, level = trial, reached
            if best is not start:
                break
        return best

    def level(self, clusters):
        return sum(self.log_marginal(s) for s in clusters)

    def pooled(self, clusters):
        """Return the covariance within clusters, shrunk to its diagonal, and degrees of freedom."""
        d = len(self.m)
        scatter, n, k = np.zeros((d, d)), 0.0, 0
        for s in clusters:
            if s[0] > 0:
                scatter += unpacked(s[1 + d :], d) - np.outer(s[1 : 1 + d], s[1 : 1 + d]) / s[0]
                n, k = n + s[0], k + 1
        spare = max(n - k, 1.0)
        shrunk, little = float(d), 1e-6
        alike = len(restrained(np.array(clusters), d)) == 1
        if spare >= 10.0 * d and least_alone(scatter) * spare < d and alike:
            shrunk, little = 0.0, 1e-9
        out = scatter / (spare + shrunk)
        out[np.diag_indices(d)] = np.diag(scatter) / spare * (1.0 + little) + 1e-14
        return out, n - k

    def held(self, hold):
        return self

    def alike(self):
        """Clusters of fewer points than columns are taken for alike: a strong nu."""
        return replace(self, least_nu=len(self.m) * (len(self.m) + 1.0))

    def settled(self, k):
        """From k clusters one cannot know more about how alike covariances are."""
        d = len(self.m)
        return replace(self, nu=min(self.nu, d + 2.0 + (k - 1.0) * d))

    def follow(self, clusters, latest):
        """Let the expected mean and covariance go with the clusters.

        Where the covariance would grow a lot it must suit all that is remembered: a share of the
        step is tried, a quarter, a sixteenth, and so on.
        """
        d, total = len(self.m), sum(clusters)
        if total[0] < 1.0:
            return self
        trials = []
        for some in restrained(np.array(latest), d):
            pooled, spare = self.pooled(some)
            new = max(spare, 0.0)
            old = max(10.0 * (d + 2.0), new)
            psi = (old * self.psi + new * self.share * pooled) / (old + new)
            trials += [replace(self, m=m, psi=psi) for m in middles(np.array(clusters), d)]
        whole = new = most_probable(trials, latest)
        share = 1.0
        while np.linalg.slogdet(new.psi)[1] - np.linalg.slogdet(self.psi)[1] > FAR:
            share *= 0.25
            trial = replace(whole, psi=self.psi + share * (whole.psi - self.psi))
            if not is_more(trial.level(clusters), new.level(clusters)):
                break
            new = trial
        return new

    @property
    def column_frame(self):
        return self.shift, self.scale

    def reframed(self, s, before):
        """Return statistics of another frame in this one."""
        d, n = len(self.m), s[0]
        by, shift = before.scale / self.scale, (before.shift - self.shift) / self.scale
        z = by * s[1 : 1 + d]
        cross = np.outer(z, shift)
        square = unpacked(s[1 + d :], d) * np.outer(by, by) + cross + cross.T
        square += n * np.outer(shift, shift)
        return np.concatenate([[n], z + n * shift, square[upper(d)]])

    # -- densities

    def log_base(self, X):
        """Return the log of the base measure, which densities leave out."""
        return -np.log(sqrt(2.0 * np.pi) * self.scale).sum()

    def embed(self, X):
        return (X - self.shift) / self.scale

    def statistics(self, X):
        Z = self.embed(X)
        row, col = upper(Z.shape[1])
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

    @cached_property
    def log_normaliser_alone(self):
        return self.log_normaliser(np.zeros(self.size()))

    def log_normaliser(self, s):
        d = len(self.m)
        kappa, nu, _, scatter = self.posterior(s)
        gammas = sum(lgamma((nu - j) / 2) for j in range(d))
        log_det = np.linalg.slogdet(scatter)[1]
        return gammas - d / 2 * log(kappa) + nu / 2 * (d * log(2.0) - log_det)

    def log_marginal(self, s):
        return self.log_normaliser(s) - self.log_normaliser_alone

    def log_predictive(self, T, s):
        """Return a Student-t density at every row."""
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
        """Cut across a principal axis, the first four in turn, or towards a random point.

        In the deviations of the expected covariance, and next time in those of the columns.
        """
        d = len(self.m)
        mean, cov = moments(s, d)
        metric, axes = np.linalg.inv(self.psi), min(d, 4)
        metric = metric * d / np.trace(metric) if attempt % 16 < 8 else np.eye(d)
        if attempt % 2 == 0:
            normal = principal_axis(cov, metric, attempt % 8 // 2 % axes)
        else:
            normal = metric @ (member[1 : 1 + d] - mean)
        out = np.zeros(len(s))
        # a row at the mean, as one alone is, is on the first side
        out[0] = -normal @ mean - 1e-12 * np.abs(normal * mean).sum()
        out[1 : 1 + d] = normal
        return out

    def cut(self, past, first, second):
        """Return the part of a past, seen as one Gaussian, before Fisher's discriminant."""
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
        return past[0] * share * np.concatenate([[1.0], part, square[upper(d)]])


@cache
def upper(d):
    """Return the places of a matrix's upper triangle."""
    return np.triu_indices(d)


def unpacked(triangle, d):
    """Return the symmetric matrix of which the upper triangle is given."""
    out = np.zeros((d, d))
    out[upper(d)] = out.T[upper(d)] = triangle
    return out


def moments(s, d):
    """Mean and covariance of a group with statistics ``s``."""
    n = max(s[0], 1e-300)
    mean = s[1 : 1 + d] / n
    return mean, unpacked(s[1 + d :] / n, d) - np.outer(mean, mean)


def principal_axis(cov, metric, rank):
    """Return about the axis with ``rank`` others before it: at most 50 power iterations."""
    cov, whole = cov.copy(), np.trace(cov)
    for found in range(rank + 1):
        start = np.eye(len(cov))[np.argmax(np.diag(cov))]
        v, variance = start, 0.0
        for step in range(50):
            before, w = variance, cov @ v
            variance, v = w @ v, metric @ w
            if not w @ v > 0:
                v = start
                break
            v, w = v / sqrt(w @ v), w / sqrt(w @ v)
            if step > 1 and variance - before <= 1e-5 * variance:
                break
        if found < rank:
            cov -= variance * np.outer(w, w)
            if not np.trace(cov) > 1e-9 * whole:  # but for rounding nothing is left
                break
    return v


def most_probable(trials, clusters):
    """Return the prior under which clusters are the most probable, of equals the first."""
    levels = [sum(trial.log_marginal(s) for s in clusters) for trial in trials]
    best = 0
    for i, level in enumerate(levels):
        best = i if is_more(level, levels[best]) else best
    return trials[best]


def is_more(reached, level):
    """Whether a log evidence is larger than another by more than rounding may be."""
    return reached > level + 1e-6 + 1e-10 * abs(level)


def least_alone(scatter):
    """Return the least share of a column's square that the columns before it do not determine."""
    least = 1.0
    for j in range(len(scatter)):
        if scatter[j, j] > 0:
            before = np.linalg.lstsq(scatter[:j, :j], scatter[:j, j], rcond=None)[0]
            least = min(least, 1.0 - scatter[j, :j] @ before / scatter[j, j])
    return least
