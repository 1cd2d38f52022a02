"""Scores of rows under independent blocks of columns, with or without gaps in some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.gaps import Completion, filled_rows, gap_rows
from scstream.families.scores import JoinedScore, Labels, LinearScore, Points, Score


@dataclass(frozen=True)
class SumScore:
    """The sum of a linear score and of other scores on parts of the statistics."""

    linear: LinearScore
    others: Sequence[tuple[Score, slice]]

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        out = self.linear.block(T)
        for score, part in self.others:
            out += score.block(_own(T, part))
        return out

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        out = self.linear.pairs(T, z)
        for score, part in self.others:
            out += score.pairs(_own(T, part), z)
        return out


@dataclass(frozen=True)
class ProductCompletion:
    """Completes the blocks that have gaps; the other blocks are scored as they are."""

    rest: SumScore
    blocks: Sequence[tuple[Completion, slice]]

    @property
    def uniforms(self) -> int:
        """What all blocks need."""
        return sum(block.uniforms for block, _ in self.blocks)

    def block(self, T: Array) -> Array:
        """Return the scores (n, k)."""
        plain = T.copy()
        for _, part in self.blocks:
            plain[:, part] = 0.0
        out = self.rest.block(plain)
        for block, part in self.blocks:
            out += block.block(_own(T, part))
        return out

    def completed(self, T: Array, z: Labels, u: Array | None) -> Array:
        """Return the statistics (n, p) without gaps."""
        out, used = T.copy(), 0
        for block, part in self.blocks:
            mine = None if u is None else u[:, used : used + block.uniforms]
            used += block.uniforms
            out[:, part] = block.completed(_own(T, part), z, mine)[:, 1:]
        return out


@dataclass(frozen=True)
class JoinedCompletion:
    """The components of several side by side; labels are of the first."""

    parts: Sequence[Completion]

    @property
    def uniforms(self) -> int:
        """What the first needs."""
        return self.parts[0].uniforms

    def block(self, T: Array) -> Array:
        """Return the scores (n, sum of k)."""
        return np.concatenate([part.block(T) for part in self.parts], axis=1)

    def completed(self, T: Array, z: Labels, u: Array | None) -> Array:
        """Return the statistics (n, p) without gaps."""
        return self.parts[0].completed(T, z, u)


@dataclass(frozen=True)
class JoinedImputation:
    """Completes rows part by part, in those parts whose families do so."""

    families: Sequence[Family]
    columns: Sequence[slice]
    parts: Sequence[slice]

    def rows(self, X: Array) -> NDArray[np.int64]:
        """Return the rows that have gaps in some part."""
        each = zip(self.families, self.columns, strict=True)
        return np.unique(np.concatenate([gap_rows(f, X[:, c]) for f, c in each]))

    def filled(self, X: Array) -> Array:
        """Return rows with a first guess in place of the parts' gaps."""
        if len(self.rows(X)) == 0:
            return X
        out = X.copy()
        for family, columns in zip(self.families, self.columns, strict=True):
            out[:, columns] = filled_rows(family, X[:, columns])
        return out

    def completion(self, score: Score) -> Completion:
        """Return what scores and completes rows with gaps, part by part."""
        return completion_of(score, self.families, self.parts)


def completion_of(score: Score, families: Sequence[Family], parts: Sequence[slice]) -> Completion:
    """Return what scores rows with gaps as a score of a `Product` does others."""
    if isinstance(score, JoinedScore):
        return JoinedCompletion([completion_of(each, families, parts) for each in score.parts])
    summed = score if isinstance(score, SumScore) else None
    linear = score if summed is None else summed.linear
    assert isinstance(linear, LinearScore)
    own = {} if summed is None else {part.start: other for other, part in summed.others}
    eta, blocks, rest = linear.eta.copy(), [], []
    for family, part in zip(families, parts, strict=True):
        other = own.get(part.start)
        imputation = family.imputation
        if imputation is not None:
            if other is None:  # its constant is in that of all: the weights of these take it back
                other = LinearScore(np.concatenate([0.0 * eta[:, :1], eta[:, part]], axis=1))
                eta[:, part] = 0.0
            blocks.append((imputation.completion(other), part))
        elif other is not None:
            rest.append((other, part))
    return ProductCompletion(SumScore(LinearScore(eta), rest), blocks)


def _own(T: Points, part: slice) -> Points:
    """Return the columns of a block, the count in front."""
    if isinstance(T, np.ndarray):
        return np.concatenate([T[:, :1], T[:, part]], axis=1)
    return T[:, [0, *range(part.start, part.stop)]]
