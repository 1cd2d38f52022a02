"""Heavy-tailed clusters whose statistics are a Gaussian's: rows with their tails drawn in.

A Student-t cluster has no sufficient statistics. But its rows become those of a Gaussian cluster
with the same centre m and the same scale matrix S if each moves along its ray from the centre, to
where a normal row of the same rank would be. With the squared distance ``far = (x - m)' S^-1
(x - m)`` the row x becomes

    m + (x - m) sqrt(strength log(1 + far / df) / far)

and is called *tamed*. ``log(1 + far / df)`` is minus the logarithm of a Beta variable. So
``strength`` times it has the mean d of a chi-squared one if ``strength = d / (digamma((df + d) /
2) - digamma(df / 2))``. In two columns it is chi-squared exactly, in others nearly so.

What a row's tamed statistics are depends on its cluster, so they are made once it has a label, as
missing entries are completed (`scstream.families.gaps`). Centre and scale come from the tamed rows
themselves: where both agree they are those of the Student-t density, as in an EM algorithm. There
the logarithm of the Student-t likelihood of a cluster's rows, at its best, is that of the tamed
rows under a Gaussian and the same number for each row, whatever the cluster. So ratios of splits
and merges are those of Gaussian clusters of tamed rows, each cluster in its own frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from scstream.families.scores import Array, JoinedScore, Labels, Score, StudentScore
from scstream.kernels import taming


@lru_cache(maxsize=8)
def strength_of(df: float, d: int) -> float:
    """Return what makes ``log(1 + far / df)`` have the mean of a squared distance of d normals."""
    return float(d / (digamma(0.5 * (df + d)) - digamma(0.5 * df)))


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

    @cached_property
    def shape(self) -> tuple[float, float, bool]:
        """What kernels take: the degrees of freedom, their strength, and whether it is full."""
        return self.df, strength_of(self.df, self.centre.shape[1]), self.full

    def tamed(self, T: Array, z: Labels) -> Array:
        """Return the statistics (n, p) of rows (n, p), each in the frame of its label (n,)."""
        out = np.empty(T.shape)
        taming.tame(T, z, self.centre, self.quad, self.shape, out)
        return out

    def distances(self, T: Array, z: Labels) -> Array:
        """Return the squared distances (n,) of rows in the frames of their labels."""
        out = np.empty(len(T))
        taming.distances(T, z, self.quad, self.df, out)
        return out

    def add_joined(self, T: Array, weight: Array, z: Labels, pairs: Joint, out: Array) -> None:
        """Add rows (n, p) to the sums (m, 2, p) of pairs of clusters, whose frames these are."""
        room = np.empty(T.shape[1])
        taming.add_joined(
            T, weight, z, tuple(pairs), self.centre, self.quad, self.shape, room, out
        )  # fmt: skip

    def of_sums(self, s: Array) -> Array:
        """Return what distances of earlier rows, tamed elsewhere, are multiplied by: (k, ...).

        Of such rows sums (k, ..., p) are left. They are tamed as one row at their mean squared
        distance, that before they were tamed the first time.
        """
        df, strength, _ = self.shape
        quad = self.quad.reshape(len(self.quad), *(1,) * (s.ndim - 2), -1)
        q = (s * quad).sum(axis=-1) / np.maximum(s[..., 0], 1e-300)
        inside = np.maximum(df * (q - 1.0), 1e-12)
        lost = df * np.expm1(self.centre.shape[1] / strength) - self.centre.shape[1]
        by: Array = np.sqrt(strength * np.log1p((inside + lost) / df) / inside)
        return np.minimum(by, 1.0)

    def moved(self, s: Array, by: Array) -> Array:
        """Return the statistics (..., k, g, p) of rows, their distances from the centres multiplied.

        Of g groups for each of k centres, by numbers (k, g).
        """
        c, by = self.centre[:, None], by[..., None]
        d = c.shape[-1]
        at = 1 if self.full else 1 + d
        out, n, z = s.copy(), s[..., :1], s[..., at : at + d]
        out[..., at : at + d] = by * z + (1.0 - by) * n * c
        row, col = np.triu_indices(d) if self.full else (np.arange(d), np.arange(d))
        cross = z[..., row] * c[..., col] + c[..., row] * z[..., col]
        square = n * c[..., row] * c[..., col]
        out[..., at + d :] = (
            by**2 * s[..., at + d :] + by * (1.0 - by) * cross + (1.0 - by) ** 2 * square
        )
        return out


class Joint(NamedTuple):
    """Pairs (m, 2) of clusters; those of cluster c are ``which[first[c] : first[c + 1]]``."""

    pairs: Labels
    first: Labels
    which: Labels

    @staticmethod
    def of(pairs: Labels, k: int) -> Joint:
        """Return pairs of k clusters."""
        flat = np.ascontiguousarray(pairs).ravel()
        first = np.searchsorted(np.sort(flat), np.arange(k + 1))
        return Joint(np.ascontiguousarray(pairs), first, np.argsort(flat, kind="stable") // 2)


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

    def judged(self, score: Score, seen: Array, done: Array) -> Array:
        """Return the scores (n, k) that say how sure labels are: those of rows as they came."""
        return self.score.block(seen)
