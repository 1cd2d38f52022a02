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
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from scstream.families.scores import Array, JoinedScore, Labels, Score, StudentScore
from scstream.kernels import taming

_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


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
    """

    centre: Array
    quad: Array
    df: float

    @property
    def strength(self) -> float:
        """What the logarithm of the distance is multiplied by."""
        return strength_of(self.df, self.centre.shape[1])

    def tamed(self, T: Array, z: Labels) -> Array:
        """Return the statistics (n, p) of rows (n, p), each in the frame of its label (n,)."""
        out = np.empty(T.shape)
        taming.tame(T, z, self.centre, self.quad, self.df, self.strength, out)
        return out

    def distances(self, T: Array, z: Labels) -> Array:
        """Return the squared distances (n,) of rows in the frames of their labels."""
        out = np.empty(len(T))
        taming.distances(T, z, self.quad, self.df, out)
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

    def judged(self, score: Score, seen: Array, done: Array) -> Array:
        """Return the scores (n, k) that say how sure labels are: those of rows as they came."""
        return self.score.block(seen)
