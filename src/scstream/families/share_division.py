"""How clusters of categories and of counts are divided: by log ratios of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scstream.families.division import Division, Projection, Side
from scstream.families.scores import Array

if TYPE_CHECKING:
    from scstream.families.categorical import Categorical

_TINY = 1e-300
_IN_CACHE = 2**15  # entries of clusters that are worked on while they are at hand


class CategoricalDivision(Division):
    """Cuts clusters of categories, independent columns of them."""

    def __init__(self, family: Categorical) -> None:
        self._family = family

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut by likeness to a random point: in how many columns they agree."""
        share = self._frequencies(s)
        same = member[:, 1:]
        agreeing = self._family.totals(same * share)
        # the chance to agree, which is 0 where nothing is observed
        weight = 1.0 / np.sqrt(np.maximum(agreeing * (1.0 - agreeing), 0.01))
        seen = self._family.totals(same)
        out = np.zeros(s.shape)
        out[:, 1:] = same * np.repeat(weight, self._family.widths, axis=1)
        out[:, 1:] -= np.repeat(weight * seen * agreeing, self._family.widths, axis=1)
        return out

    def _frequencies(self, s: Array) -> Array:
        total = np.maximum(self._family.totals(s[..., 1:]), _TINY)
        out: Array = s[..., 1:] / np.repeat(total, self._family.widths, axis=-1)
        return out

    def discriminant(self, first: Array, second: Array) -> Array:
        """Return the log ratio of the groups' probabilities (k, p - 1)."""
        a, b = (self._family.shares(self._family.prior + s) for s in (first, second))
        return np.log(b) - np.log(a)

    def project(self, past: Array, discriminant: Array) -> Projection:
        """Return mean and variance of the log ratio over the past (..., k, p)."""
        share = self._frequencies(past)
        level = self._family.totals(share * discriminant)
        variance = self._family.totals(share * discriminant**2) - level**2
        return Projection(level.sum(axis=-1), variance.sum(axis=-1))

    def cut(self, past: Array, discriminant: Array, side: Side) -> Array:
        """Return the part of the past on the first side."""
        level = self._family.totals(self._frequencies(past) * discriminant)
        off = discriminant - np.repeat(level, self._family.widths, axis=-1)
        out = past * side.share[..., None]
        moved = out[..., 1:] * (1.0 - off * side.pull[..., None])
        out[..., 1:] = np.clip(moved, 0.0, past[..., 1:])
        return out


class CountDivision(Division):
    """Cuts clusters of counts, given the Dirichlet parameters behind a count of 0."""

    def __init__(self, prior: Array) -> None:
        self._prior = prior

    def discriminant(self, first: Array, second: Array) -> Array:
        """Return the log ratio of the groups' expected probabilities (k, d)."""
        prior, normal = self._prior[1:], np.empty((len(first), first.shape[1] - 1))
        step = max(1, _IN_CACHE // normal.shape[1])
        for start in range(0, len(first), step):
            rows = slice(start, start + step)
            a, b = first[rows, 1:] + prior, np.add(second[rows, 1:], prior, out=normal[rows])
            mass = a.sum(axis=1, keepdims=True) / b.sum(axis=1, keepdims=True)
            b /= a
            np.log(b, out=b)
            b += np.log(mass)
        return normal

    def project(self, past: Array, discriminant: Array) -> Projection:
        """Return how rows of one multinomial with the past's (..., k, p) shares lie."""
        n, rest = np.maximum(past[..., 0], _TINY), self._from_middle(past, discriminant)
        mean = (past[..., 1:] * discriminant).sum(axis=-1) / n
        return Projection(mean, (past[..., 1:] * rest * discriminant).sum(axis=-1) / n)

    def cut(self, past: Array, discriminant: Array, side: Side) -> Array:
        """Return a share of the past; only what goes along with the discriminant changes."""
        x, share, pull = past[..., 1:], side.share[..., None], side.pull[..., None]
        moved = share * x * (1.0 - self._from_middle(past, discriminant) * pull)
        return np.concatenate([past[..., :1] * share, np.clip(moved, 0.0, x)], axis=-1)

    def _from_middle(self, past: Array, discriminant: Array) -> Array:
        """Return the discriminant (..., k, d) of categories from its mean over single trials."""
        x = past[..., 1:]
        trials = np.maximum(x.sum(axis=-1, keepdims=True), _TINY)
        out: Array = discriminant - (x * discriminant).sum(axis=-1, keepdims=True) / trials
        return out
