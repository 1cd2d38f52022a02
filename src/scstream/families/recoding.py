"""Codes of one encoder as those of another: what two models learned from first rows of their own.

A unit, or what is added to shares, follows from the first rows. So two models of one stream have
codes that differ a little. Where one is a straight line in the other, as logarithms of different
units are, sums of one are sums of the other. That is judged at places where rows are, against the
deviation that clusters usually have.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from scstream.encoders import Encoder
from scstream.families.contract import Array, Family

_LEVELS = ndtri((np.arange(9) + 0.5) / 9)  # deviations of rows from their middle
_OFF = 0.2  # deviations within clusters that codes may be off a straight line, in the mean


class Line(NamedTuple):
    """The codes of a block as straight lines of others: ``shift + slope * code``."""

    shift: Array  # (d,)
    slope: Array

    def carried(self, family: Family) -> Family:
        """Return a family of the other codes as one of these."""
        if family.space is not None or (not self.shift.any() and np.all(self.slope == 1.0)):
            return family
        new = copy.copy(family)
        shift, scale = family.frame
        new._shift, new._scale = self.shift + self.slope * shift, self.slope * scale
        return new


def lines(now: Encoder, before: Encoder, families: Sequence[Family]) -> list[Line] | str:
    """Return for each block how codes of ``before`` become those of ``now``, or why they do not.

    ``families`` are those of the blocks before.
    """
    if now.widths != before.widths:
        return "one model describes totals by a column of their own, the other does not"
    codes = _places(families, before.widths)
    after = now.encode(before.decode(codes))
    out, start = [], 0
    for family, width in zip(families, before.widths, strict=True):
        block = slice(start, start + width)
        own = _line(codes[:, block], after[:, block], family)
        if isinstance(own, str):
            return own
        out.append(own)
        start += width
    return out


def _line(x: Array, y: Array, family: Family) -> Line | str:
    """Return the codes y (n, d) as straight lines of the codes x, or how they differ."""
    d = x.shape[1]
    plain = Line(np.zeros(d), np.ones(d))
    spread = _deviation(family)
    if spread is None:
        return plain if np.array_equal(x, y) else "the common value of a column differs"
    seen = ~(np.isnan(x) | np.isnan(y))
    n = np.maximum(seen.sum(axis=0), 1)
    x, y = np.where(seen, x, 0.0), np.where(seen, y, 0.0)
    middle = x.sum(axis=0) / n
    away = np.where(seen, x - middle, 0.0)
    slope = (away * y).sum(axis=0) / np.maximum((away * away).sum(axis=0), 1e-300)
    line = Line(y.sum(axis=0) / n - slope * middle, slope)
    off = np.where(seen, x - (y - line.shift) / np.maximum(slope, 1e-300), 0.0) / spread
    if family.space is not None:
        line, off = plain, np.where(seen, x - y, 0.0) / spread.mean()
    off = np.sqrt((off * off).sum(axis=0) / n)
    j = int(np.argmax(off))
    most = float(off[j])
    if not most <= _OFF:
        return (
            f"the scales of their column {j}, which follow from the first rows, differ by "
            f"{most:.2g} deviations; give both models the same"
        )
    return line


def _places(families: Sequence[Family], widths: Sequence[int]) -> Array:
    """Return codes (n, sum of widths) as rows have them, each column by itself and all together."""
    blocks = []
    for family, width in zip(families, widths, strict=True):
        if _deviation(family) is None:
            yes = np.ones((len(_LEVELS), width))
            blocks.append([0.0 * yes, yes])
            continue
        shift, scale = (np.zeros(width) + part for part in _frame(family))
        here = shift + _LEVELS[:, None] * scale
        blocks.append([np.full(here.shape, np.nan), here])
    rows = [np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True)]
    if len(blocks) > 1:
        return np.concatenate(rows)
    every, out = rows[1], [rows[1]]
    for j in range(every.shape[1]):
        one = np.repeat(every[len(_LEVELS) // 2][None], len(every), axis=0)
        one[:, j] = every[:, j]
        out.append(one)
    return np.concatenate(out)


def _frame(family: Family) -> tuple[Any, Any]:
    return (0.0, 1.0) if family.space is not None else family.frame


def _deviation(family: Family) -> Array | None:
    """Return the usual deviation (d,) within clusters, None of yes and no."""
    about = family.describe(family.prior[None])
    if "covariance" in about:
        return np.asarray(np.sqrt(np.diagonal(about["covariance"][0])))
    return np.asarray(np.sqrt(about["variance"][0])) if "variance" in about else None
