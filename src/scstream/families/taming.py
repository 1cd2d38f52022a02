"""Heavy-tailed clusters whose statistics are a Gaussian's: rows with their tails drawn in.

A Student-t cluster has no sufficient statistics. But its rows become those of a Gaussian cluster
with the same centre m and the same scale matrix S if each moves along its ray from the centre, to
where a normal row of the same rank would be. The squared distance ``(x - m)' S^-1 (x - m)`` of a
row is that of a Student-t one; it becomes the quantile of a chi-squared distribution that has the
same probability. Such a row is called *tamed*.

What a row's tamed statistics are depends on its cluster, so they are made once it has a label, as
missing entries are completed (`scstream.families.gaps`). Centre and scale come from the tamed rows
themselves: where both agree they are those of the Student-t density, nearly as in an EM algorithm.
There the logarithm of the Student-t likelihood of a cluster's rows is that of the tamed rows under
a Gaussian, and a number for each row that is on average the same for all clusters. So ratios of
splits and merges are those of Gaussian clusters of tamed rows, each cluster in its own frame.

The weights of an EM algorithm, ``(df + d) / (df + far)``, would draw rows in further, to within
``sqrt(df + d)``. Such rows are flatter than Gaussian ones, and large clusters would be split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betainc, digamma, gammainccinv, gammaincinv, gammaln

from scstream.families.packed import upper
from scstream.families.scores import Array, JoinedScore, Labels, Score, StudentScore

_KNOTS = 65  # of the table of squared distances: a distance is right to a ten-thousandth
_LEAST = 1e-280  # a probability that is still a number
_NEAR = 1e-8  # squared distances, over the degrees of freedom, that are their logarithms


@lru_cache(maxsize=64)
def tails_of(df: float, d: int) -> tuple[float, Array, float, float]:
    """Return how heavy tails are in d columns: df, a table, its reach and a typical distance.

    With ``l = log(1 + far / df)`` a row has the squared distance ``l w`` among normal rows, w being
    that of the table at ``l / (l + reach)``, from 0 to 1. The typical distance becomes d.
    """
    reach = 4.0 * float(digamma(0.5 * (df + d)) - digamma(0.5 * df))
    place = np.arange(1, _KNOTS - 1) / (_KNOTS - 1.0)
    x = reach * place / (1.0 - place)  # logarithms of 1 + far / df
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
        now = _tamed_square(np.log1p(typical / df), table, reach)
        typical *= d / now
    return df, table, reach, max(typical, float(d))


def _tamed_square(x: Any, table: Array, reach: float) -> Any:
    """Return squared distances among normal rows, given the logarithms of 1 + far / df."""
    return x * np.interp(x / (x + reach), np.linspace(0.0, 1.0, len(table)), table)


def level_of(df: Array | float, d: int) -> Any:
    """Return the logarithm of the Student-t density at the centre, scale and ``2 pi`` aside."""
    return gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(0.5 * df)


@dataclass(frozen=True)
class Frames:
    """Centres and scales of k clusters in which rows are tamed.

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
    def tails(self) -> tuple[float, Array, float, float]:
        """How heavy tails are, see `tails_of`."""
        return tails_of(self.df, self.centre.shape[1])

    def tamed(self, T: Array, z: Labels) -> Array:
        """Return the statistics (n, p) of rows (n, p), each in the frame of its label (n,)."""
        df, table, reach, _ = self.tails
        more = self.distances(T, z) / df
        far = more > _NEAR
        safe = np.where(far, more, 1.0)
        square = np.where(far, _tamed_square(np.log1p(safe), table, reach) / safe, table[0])
        d, by = self.centre.shape[1], np.sqrt(square / df)[:, None]
        at, (row, col) = self._entries()
        out, centre = np.empty(T.shape), self.centre[z]
        out[:, :at] = T[:, :at]
        new = out[:, at : at + d] = centre + by * (T[:, at : at + d] - centre)
        out[:, at + d :] = new[:, row] * new[:, col]
        return out

    def distances(self, T: Array, z: Labels) -> Array:
        """Return the squared distances (n,) of rows in the frames of their labels."""
        q = np.einsum("np,np->n", T, self.quad[z])
        out: Array = np.maximum(self.df * (q - 1.0), 0.0)
        return out

    def add_joined(self, T: Array, weight: Array, z: Labels, pairs: Labels, out: Array) -> None:
        """Add rows (n, p) to the sums (m, 2, p) of pairs of clusters, whose frames these are."""
        for m, pair in enumerate(pairs):
            for side in range(2):
                mine = np.flatnonzero(z == pair[side])
                rows = self.tamed(T[mine], np.full(len(mine), m))
                out[m, side] += weight[mine] @ rows

    def _entries(self) -> tuple[int, tuple[Labels, Labels]]:
        """Return where numbers begin in statistics, and of which columns products follow them."""
        d = self.centre.shape[1]
        return (1, upper(d)) if self.full else (1 + d, (np.arange(d), np.arange(d)))

    def of_sums(self, s: Array) -> Array:
        """Return what distances of earlier rows, tamed elsewhere, are multiplied by: (k, ...).

        Of such rows sums (k, ..., p) are left. They are tamed as one row at their mean squared
        distance, that before they were tamed the first time.
        """
        df, table, reach, typical = self.tails
        quad = np.expand_dims(self.quad, tuple(range(1, s.ndim - 1)))
        q = (s * quad).sum(axis=-1) / np.maximum(s[..., 0], 1e-300)
        inside = np.maximum(df * (q - 1.0), 1e-12)
        far = inside + (typical - self.centre.shape[1])
        by: Array = np.sqrt(_tamed_square(np.log1p(far / df), table, reach) / inside)
        return np.minimum(by, 1.0)

    def moved(self, s: Array, by: Array) -> Array:
        """Return the statistics (..., k, g, p) of g groups of rows about each of k centres.

        Their distances from these are multiplied by numbers (k, g).
        """
        c, by = self.centre[:, None], by[..., None]
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
class HeavyScore(StudentScore):
    """Student-t densities of rows as they came, and the frames in which these are tamed."""

    frames: Frames


@dataclass(frozen=True)
class Taming:
    """Scores rows as they came, and tames them: a `scstream.families.gaps.Completion`."""

    score: Score
    frames: Frames
    uniforms: int = 0

    @staticmethod
    def of(score: Score) -> Taming:
        """Return what tames rows by the frames of a score, whatever components are beside it."""
        first = score.parts[0] if isinstance(score, JoinedScore) else score
        assert isinstance(first, HeavyScore)
        return Taming(score, first.frames)

    def block(self, T: Array) -> Array:
        """Return the scores (n, k) of rows as they came."""
        return self.score.block(T)

    def completed(self, T: Array, z: Labels, u: Array | None) -> Array:
        """Return the tamed statistics (n, p); nothing is drawn."""
        return self.frames.tamed(T, z)
