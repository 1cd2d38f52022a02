"""Student-t clusters as scale mixtures of Gaussian ones: latent weights of rows, and row scores.

A Student-t cluster has no sufficient statistics. Given a weight ``u`` for each row, it is Gaussian:
``x = m + (x' - m) / sqrt(u)``, where ``x'`` is normal with the same centre m and the same scale
matrix S. So the statistics of a cluster are the Gaussian ones of its rows ``x'``, here called
*weighted*. The weight of a row follows from its squared distance ``(x - m)' S^-1 (x - m)``: that of
``x'`` is the quantile of a chi-squared distribution that has the same probability.

A row's weight depends on its cluster, so it is found once the row has a label, as missing entries
are completed (`scstream.families.gaps`). Centre and scale come from the weighted rows themselves:
where both agree they are those of the Student-t density, nearly as in an EM algorithm. There the
logarithm of the Student-t likelihood of a cluster's rows is that of the weighted rows under a
Gaussian, and a number for each row that is on average the same for all clusters. So ratios of
splits and merges are those of Gaussian clusters of weighted rows, each with its own centre and
scale; for a merge the weights are found anew, by the centre and scale of both.

The expected weights of an EM algorithm, ``(df + d) / (df + distance)``, would draw rows in further,
to within ``sqrt(df + d)``. Such rows are flatter than Gaussian ones, and large clusters would be
split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betainc, digamma, gammainccinv, gammaincinv, gammaln

from scstream.families.packed import upper
from scstream.families.scores import Array, JoinedScore, Labels, Score, StudentScore

if TYPE_CHECKING:
    from scstream.families.contract import Family

_KNOTS = 65  # of the table of squared distances: a distance is right to a ten-thousandth
_LEAST = 1e-280  # a probability that is still a number
_NEAR = 1e-8  # squared distances, over the degrees of freedom, that are their logarithms


@lru_cache(maxsize=64)
def quantiles_of(df: float, d: int) -> tuple[float, Array, float, float]:
    """Return a table of normal quantiles for d columns: df, the table, its reach, a typical square.

    With ``l = log(1 + square / df)`` a row has the squared distance ``l w`` among normal rows, w
    being that of the table at ``l / (l + reach)``, from 0 to 1. The typical square becomes d.
    """
    reach = 4.0 * float(digamma(0.5 * (df + d)) - digamma(0.5 * df))
    place = np.arange(1, _KNOTS - 1) / (_KNOTS - 1.0)
    x = reach * place / (1.0 - place)  # logarithms of 1 + square / df
    below = betainc(0.5 * d, 0.5 * df, -np.expm1(-x))
    above = betainc(0.5 * df, 0.5 * d, np.exp(-x))
    near = 2.0 * gammaincinv(0.5 * d, np.minimum(below, 0.5))
    far = 2.0 * gammainccinv(0.5 * d, np.clip(above, _LEAST, 0.5))
    square = np.where(below < 0.5, near, far)
    last = int(np.count_nonzero(above > _LEAST)) - 1
    square[last:] = square[last] + df * (x[last:] - x[last])
    slope = 2.0 * np.exp(2.0 / d * (gammaln(0.5 * (df + d)) - gammaln(0.5 * df)))
    table = np.concatenate([[slope], square / x, [df]])
    typical = float(df * np.expm1(np.interp(d, square, x)))
    for _ in range(3):  # what the table makes of it must be d
        now = _normal_square(np.log1p(typical / df), table, reach)
        typical *= d / now
    return df, table, reach, max(typical, float(d))


def _normal_square(x: Any, table: Array, reach: float) -> Any:
    """Return squared distances among normal rows, given the logarithms of 1 + square / df."""
    return x * np.interp(x / (x + reach), np.linspace(0.0, 1.0, len(table)), table)


def level_of(df: Array | float, d: int) -> Any:
    """Return the logarithm of the Student-t density at the centre, scale and ``2 pi`` aside."""
    return gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(0.5 * df)


class Scatters(NamedTuple):
    """What the posteriors of k Gaussian clusters say of their centres and scale matrices.

    Attributes
    ----------
    centre : ndarray (k, d)
    distances : ndarray (k, p)
        ``T(x) @ distances`` is the squared distance from the centre by the scatter matrix.
    log_det : ndarray (k,)
        The log determinants of the scatter matrices.
    kappa, dof, spare : ndarray (k,)
        How many rows the centre is worth; the scatter over ``dof`` is the expected scale matrix,
        and a predictive has ``spare`` degrees of freedom.
    full : bool
        Whether scale matrices are full, or the columns independent.
    """

    centre: Array
    distances: Array
    log_det: Array
    kappa: Array
    dof: Array
    spare: Array
    full: bool


@dataclass(frozen=True)
class LocationScale:
    """Centres and scales of k clusters, by which rows are weighted.

    Attributes
    ----------
    centre : ndarray (k, d)
    quad : ndarray (k, p)
        ``T(x) @ quad`` is one plus the squared distance over the degrees of freedom.
    df : float
    full : bool
        Whether scale matrices are full, or the columns independent.
    """

    centre: Array
    quad: Array
    df: float
    full: bool

    @property
    def _quantiles(self) -> tuple[float, Array, float, float]:
        return quantiles_of(self.df, self.centre.shape[1])

    def weighted(self, T: Array, z: Labels) -> Array:
        """Return the statistics (n, p) of weighted rows (n, p), each in the cluster z (n,)."""
        df, table, reach, _ = self._quantiles
        more = self.distances(T, z) / df
        far = more > _NEAR
        safe = np.where(far, more, 1.0)
        square = np.where(far, _normal_square(np.log1p(safe), table, reach) / safe, table[0])
        d, root = self.centre.shape[1], np.sqrt(square / df)[:, None]
        at, (row, col) = self._entries()
        out, centre = np.empty(T.shape), self.centre[z]
        out[:, :at] = T[:, :at]
        new = out[:, at : at + d] = centre + root * (T[:, at : at + d] - centre)
        out[:, at + d :] = new[:, row] * new[:, col]
        return out

    def distances(self, T: Array, z: Labels) -> Array:
        """Return the squared distances (n,) of rows from the centres of their labels."""
        q = np.einsum("np,np->n", T, self.quad[z])
        out: Array = np.maximum(self.df * (q - 1.0), 0.0)
        return out

    def add_pairs(self, T: Array, weight: Array, z: Labels, pairs: Labels, out: Array) -> None:
        """Add rows (n, p), weighted by those of the pair, to the sums (m, 2, p) of m pairs."""
        for m, pair in enumerate(pairs):
            for side in range(2):
                mine = np.flatnonzero(z == pair[side])
                rows = self.weighted(T[mine], np.full(len(mine), m))
                out[m, side] += weight[mine] @ rows

    def _entries(self) -> tuple[int, tuple[Labels, Labels]]:
        """Return where numbers begin in statistics, and of which columns products follow them."""
        d = self.centre.shape[1]
        return (1, upper(d)) if self.full else (1 + d, (np.arange(d), np.arange(d)))

    def roots_of_sums(self, s: Array) -> Array:
        """Return the square roots (k, ...) of weights for earlier rows, weighted elsewhere before.

        Of such rows sums (k, ..., p) are left. They get the weight of one row at their mean squared
        distance, that before they were weighted the first time.
        """
        df, table, reach, typical = self._quantiles
        quad = np.expand_dims(self.quad, tuple(range(1, s.ndim - 1)))
        q = (s * quad).sum(axis=-1) / np.maximum(s[..., 0], 1e-300)
        inside = np.maximum(df * (q - 1.0), 1e-12)
        far = inside + (typical - self.centre.shape[1])
        root: Array = np.sqrt(_normal_square(np.log1p(far / df), table, reach) / inside)
        return np.minimum(root, 1.0)

    def scaled(self, s: Array, root: Array) -> Array:
        """Return the statistics (..., k, g, p) of g groups of rows about each of k centres.

        Their distances from these are multiplied by the roots (k, g) of weights.
        """
        c, by = self.centre[:, None], root[..., None]
        d = c.shape[-1]
        at, (row, col) = self._entries()
        out, n, z = s.copy(), s[..., :1], s[..., at : at + d]
        out[..., at : at + d] = by * z + (1.0 - by) * n * c
        cross = z[..., row] * c[..., col] + c[..., row] * z[..., col]
        square = n * c[..., row] * c[..., col]
        out[..., at + d :] = (
            by**2 * s[..., at + d :] + by * (1.0 - by) * cross + (1.0 - by) ** 2 * square
        )
        return out


@dataclass(frozen=True)
class RowScore(StudentScore):
    """Student-t densities of rows as they came, and the centres and scales that weight them."""

    places: LocationScale

    @staticmethod
    def predictive(of: Scatters, log_weight: Array, df: float) -> RowScore:
        """Return the predictives of Student-t clusters with such degrees of freedom.

        Given a scale, a row is Student-t with these; given weighted rows, it would be Student-t
        about an uncertain scale. The inverses of both degrees of freedom add up.
        """
        d = of.centre.shape[1]
        both = 1.0 / (1.0 / df + 1.0 / of.spare)
        tight = of.kappa / (of.kappa + 1.0) * of.spare  # the scale matrix is the scatter over this
        const = log_weight + level_of(both, d) + 0.5 * (d * np.log(tight) - of.log_det)
        quad = of.distances * (tight / both)[:, None]
        quad[:, 0] += 1.0
        return RowScore(quad, const, 0.5 * (both + d), location_scale(of, df))

    @staticmethod
    def drawn(eta: Array, level: Array, places: LocationScale) -> RowScore:
        """Return Student-t densities by natural parameters (k, p) of Gaussians with such scales.

        The level (k,) of these is the log weight and half of the log determinant of the precision.
        """
        d, df = places.centre.shape[1], places.df
        quad = eta * (-2.0 / df)
        quad[:, 0] += 1.0 + level * (2.0 / df)
        power = np.full(len(eta), 0.5 * (df + d))
        return RowScore(quad, level + level_of(df, d), power, places)


def location_scale(of: Scatters, df: float) -> LocationScale:
    """Return the centres and expected scales of clusters."""
    quad = of.distances * (of.dof / df)[:, None]
    quad[:, 0] += 1.0
    return LocationScale(of.centre, quad, df, of.full)


@dataclass(frozen=True)
class RowWeights:
    """Scores rows as they came, and weights them: a `scstream.families.gaps.Completion`."""

    score: Score
    places: LocationScale
    uniforms: int = 0

    @staticmethod
    def of(score: Score) -> RowWeights:
        """Return the weights by a score's centres and scales, whatever components are beside it."""
        first = score.parts[0] if isinstance(score, JoinedScore) else score
        assert isinstance(first, RowScore)
        return RowWeights(score, first.places)

    def block(self, T: Array) -> Array:
        """Return the scores (n, k) of rows as they came."""
        return self.score.block(T)

    def completed(self, T: Array, z: Labels, u: Array | None) -> Array:
        """Return the weighted statistics (n, p); nothing is drawn."""
        return self.places.weighted(T, z)


def weighted_rows(family: Family, T: Array, s: Array, z: Labels) -> Array:
    """Return what rows (n, p) in the clusters z (n,) add to the sums (k, p) of these."""
    tails = family.tails
    return T if tails is None or not tails.active else tails.location_scale(s).weighted(T, z)


def own_predictives(family: Family, s: Array, T: Array) -> Array:
    """Return the log predictives (n,) of rows (n, p), each under a cluster (n, p) of its own."""
    tails = family.tails
    if tails is None or not tails.active:
        return family.log_marginal(s + T) - family.log_marginal(s)
    score = tails.row_score(s, np.zeros(len(s)))
    out: Array = score.const - score.power * np.log(np.einsum("np,np->n", T, score.quad))
    return out


def row_score(family: Family, s: Array, log_weight: Array) -> Score:
    """Score rows as they came by the predictives of clusters (k, p), base measure aside.

    `Family.predictive_score` is that of rows as statistics hold them: the ratio of partitions.
    """
    tails = family.tails
    if tails is None or not tails.active:
        return family.predictive_score(s, log_weight)
    return tails.row_score(s, log_weight)
