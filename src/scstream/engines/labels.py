"""Labels of blocks of rows by any score: the score's form is matched once, for a whole pass."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.left_out import LeftOutScore, Members
from scstream.families.scores import (
    Labels,
    Opaque,
    Points,
    Products,
    Score,
    SumsOfTable,
    fast_scores,
    form_of,
)
from scstream.kernels import screened_blocks, screened_tiles
from scstream.kernels.labelling import Pairs
from scstream.kernels.screened_blocks import Scored
from scstream.kernels.screened_tiles import MOST, TOO_LARGE

_LN2 = float(np.log(2.0))
_HALF = 2.0**-24  # the relative rounding of float32
_WIDER = 2.0**-29  # that of float64 against it
_LOOSE = 0.25  # an error that leaves little certain
_FEW = 0.125  # the share of rows that may have such errors
_LONG = 512  # statistics of which float32 would lose too much for draws

Floats = NDArray[np.float32]
_NO_LABELS = np.zeros(0, dtype=np.int64)
_NONE, _NONE_BY, _NARROW = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0), dtype=np.float32)
_NARROW_LINE = np.zeros(0, dtype=np.float32)
_NOTHING = Scored(
    0, _NONE_BY, _NONE_BY, _NONE, _NONE, _NARROW, _NONE, _NARROW_LINE, _NARROW_LINE, _NONE_BY,
    np.zeros(0, dtype=np.int32), _NO_LABELS, _NONE_BY, _NARROW, _NONE, _NO_LABELS, _NONE,
)  # fmt: skip


class Labeller(ABC):
    """Scores blocks of rows for the kernels that label them."""

    @abstractmethod
    def scored(self, T: Points) -> Scored:
        """Return a block of rows (n, p) as the kernels take it."""

    def draw(self, T: Points, u: Array, z: Labels, second: Labels, doubt: Array) -> None:
        """Draw labels (n,) by uniforms, and find the best others and the doubts."""
        screened_blocks.label_rows(self.scored(T), u, z, second, doubt)

    def best(self, T: Points, z: Labels, second: Labels, doubt: Array) -> None:
        """Take the best labels (n,), and find the best others and the doubts."""
        screened_blocks.label_rows(self.scored(T), _NONE, z, second, doubt)

    def best_alone(self, T: Points) -> Labels:
        """Return the best labels (n,), and mind nothing else."""
        z = np.empty(T.shape[0], dtype=np.int64)
        self.best(T, z, _NO_LABELS, _NONE)
        return z


class Screen(Labeller):
    """Proposes labels by products in float32, which are padded to a multiple of 4 components.

    Products are taken in float64 where the error, which is bounded for each row, would be too
    large. Scores are in units of log 2, a number for each row aside.
    """

    def __init__(self, form: Products) -> None:
        self._exact, self._const, self._power = form.eta, form.const, form.power
        k, p = self._exact.shape
        self._padded = k + -k % 4
        self._level = self._slope = _NARROW_LINE
        self._rounding, self._loose = 0.0, _LOOSE
        with np.errstate(all="ignore"):  # what float32 cannot hold has an error without bound
            size = self._fill_student() if form.student else self._fill_linear()
            self._narrow = self._eta.astype(np.float32)
            # two factors are rounded, and p products and sums, in whatever order; what float32
            # can hardly hold has an error that is too large
            reach = np.maximum(size * (1.1 * (p + 3) * _HALF), TOO_LARGE / MOST)
            self._reach = np.where(size < MOST, reach, np.inf)

    def _fill_linear(self) -> Array:
        """Take parameters to units of log 2; returns how large they are, (p,)."""
        self._eta = self._exact / _LN2
        size: Array = np.abs(self._eta).max(axis=0)
        return size

    def _fill_student(self) -> Array:
        """Do the same where some components, or all, are Student-t densities."""
        k, slope, best = len(self._power), self._power / _LN2, float(self._const.max())
        self._eta, by = self._exact, np.maximum(slope, 1.0)
        linear = self._power <= 0.0
        if linear.any():
            self._eta, best = np.where(linear[:, None], self._exact / _LN2, self._exact), 0.0
        self._level = np.full(self._padded, -np.inf, dtype=np.float32)
        self._level[:k] = (self._const - best) / _LN2  # what all have in common may go
        self._level[~(self._level < MOST)] = -np.inf  # and none is NaN
        self._slope = np.zeros(self._padded, dtype=np.float32)
        self._slope[:k] = self._power
        self._slope[~(self._slope < MOST)] = 0.0
        self._rounding, self._loose = float(slope.max()) * _HALF, _LOOSE / _LN2
        size: Array = (np.abs(self._eta) * by[:, None]).max(axis=0)
        return size

    def products(self, T: Array) -> tuple[Floats, Array]:
        """Return the products (k or more, n), and by how much scores may be wrong (n,)."""
        n, k = len(T), len(self._eta)
        small, off = np.empty(T.shape, dtype=np.float32), np.empty(n)
        loose = screened_tiles.narrow(T, self._reach, self._loose, small, off)
        S = np.empty((self._padded, n), dtype=np.float32)
        S[k:] = -np.inf
        if loose <= _FEW * n:
            np.dot(self._narrow, small.T, out=S[:k])
            return S, off
        self._fill_wide(T, S[:k])
        return S, off * _WIDER + self._rounding

    def _fill_wide(self, T: Array, S: Floats) -> None:
        with np.errstate(all="ignore"):
            wide = self._eta @ T.T
            if len(self._power) == 0:
                wide -= wide.max(axis=0)
            S[:] = wide

    def scored(self, T: Points) -> Scored:
        """Return rows with the products in float32."""
        S, off = self.products(T)
        return _NOTHING._replace(
            k=len(self._exact), T=T, eta=self._exact, const=self._const, power=self._power,
            products=S, off=off, level=self._level, slope=self._slope,
        )  # fmt: skip


class _Finished(Labeller):
    """Has scores by the score's own method, or by BLAS."""

    def __init__(self, score: Score, form: Products | None) -> None:
        self._score, self._form = score, form

    def scored(self, T: Points) -> Scored:
        form = self._form
        scores = self._score.block(T) if form is None else fast_scores(form, T)
        return _NOTHING._replace(k=scores.shape[1], scores=scores)


class _Summed(Labeller):
    """Adds up the rows of a table, in float32 at first."""

    def __init__(self, score: Score, form: SumsOfTable) -> None:
        self._form, self._finished = form, _Finished(score, None)

    def scored(self, T: Points) -> Scored:
        terms = self._form.terms(T)
        if terms is None:
            return self._finished.scored(T)
        return _NOTHING._replace(k=terms.table.shape[1], **terms._asdict())


def label_scores(scores: Array, u: Array, z: Labels, second: Labels, doubt: Array) -> None:
    """Draw labels (n,) by uniforms, or take the best if there are none, by scores (n, k)."""
    scored = _NOTHING._replace(k=scores.shape[1], scores=np.ascontiguousarray(scores))
    screened_blocks.label_rows(scored, u, z, second, doubt)


def label_members(
    score: LeftOutScore, rows: Members, u: Array, second: Labels, doubt: Array
) -> None:
    """Do the same with rows that are in clusters, whose labels become the new ones.

    A block is always to be cut at the same rows.
    """
    form = form_of(score.score)
    terms = form.terms(rows.T) if isinstance(form, SumsOfTable) else None
    if terms is None:
        label_scores(score.of_members(*rows), u, rows.z, second, doubt)
        return
    was, own = rows.z.copy(), score.own(rows)
    k = terms.table.shape[1]
    scored = _NOTHING._replace(k=k, **terms._asdict(), own=was, own_score=own)
    screened_blocks.label_rows(scored, u, rows.z, second, doubt)


def labeller(score: Score, points: Points, *, drawn: bool) -> Labeller:
    """Return what labels rows such as these points by a score."""
    dense = isinstance(points, np.ndarray)
    match form_of(score):
        case Products(pruning=None) as form if dense:
            long = drawn and form.eta.shape[1] > _LONG
            return _Finished(score, form) if long else Screen(form)
        case Products() as form:
            return _Finished(score, form)
        case SumsOfTable() as form:
            return _Summed(score, form)
        case Opaque():
            return _Finished(score, None)


def pair_products(sub: Score, points: Points) -> Pairs | None:
    """Return what kernels need to score rows under their own pairs, None if they cannot."""
    match form_of(sub):
        case Products(solves_pairs=False) as form if isinstance(points, np.ndarray):
            return Pairs(form.eta, form.const, form.power)
    return None
