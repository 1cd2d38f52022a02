"""Judge the boundaries between clusters: which of them are pieces of one group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from scstream.families.contract import Array
from scstream.groups.gaussians import fisher, squared_lengths, whiteners
from scstream.groups.near import Links as NearLinks
from scstream.groups.shapes import Shapes
from scstream.groups.tree import Joined, Links, join
from scstream.sampler.rules import Rules

Ints = NDArray[np.int64]
_LEAST = 1e-300
_MOST = 2.0  # deviations that a single far side counts among all


def judge(
    boundaries: tuple[Ints, Array, Array], shapes: Shapes, whole: Ints, near: NearLinks,
    rules: Rules,
) -> Joined:  # fmt: skip
    """Return which clusters are joined.

    Parameters
    ----------
    boundaries : tuple
        Pairs of places (m, 2), sums (m, 15) and squared distances (m,), see
        `scstream.groups.boundaries.look`.
    shapes : Shapes
    whole : ndarray (k,)
        What each cluster was a part of before, -1 if that is not known.
    near : tuple
        Of clusters of few rows: the least height (k, k) at which two may be joined, or (0, 0) if
        there are none; pairs of places (e, 2) that are joined whether they touch or not, and what
        their boundaries have of the lower peak (e,).
    rules : Rules
    """
    W, volume = whiteners(shapes.cov)
    pairs, ratio = boundaries[0], _ratios(boundaries, shapes, (W, volume), whole, rules)
    least, others, between = near
    if len(least):
        ratio = np.minimum(ratio, 1.0 - least[pairs[:, 0], pairs[:, 1]])
    few = _few(shapes, W, volume, rules)
    pairs = np.concatenate([pairs, others, few])
    ratio = np.concatenate([ratio, between, np.ones(len(few))])
    peak = np.log(np.maximum(shapes.count, _LEAST)) - volume
    return join(Links(pairs, ratio, peak), _level(rules), rules.group_bridge)


def _level(rules: Rules) -> float:
    return min(max(rules.group_level, 1e-6), 1.0 - 1e-6)


def _ratios(
    boundaries: tuple[Ints, Array, Array], shapes: Shapes, sizes: tuple[Array, Array], whole: Ints,
    rules: Rules,
) -> Array:  # fmt: skip
    """Return how much of the lower peak each boundary (m,) has; 1 if nothing separates the two."""
    pairs, sums, square = boundaries
    W, volume = sizes
    d = shapes.mean.shape[1]
    size = np.log(np.maximum(shapes.count, _LEAST)) - min(d, 3) * volume / d
    one, two = pairs.T
    z = _bells(pairs, sums, len(shapes.count), rules)
    seen, enough = sums[:, 1] + sums[:, 2], rules.group_seen_rows * (d - 1)
    z -= rules.group_bells * (seen - enough) / (seen + enough + _LEAST)  # presumed to be one
    z -= rules.group_tail * np.maximum(np.abs(size[one] - size[two]) - rules.group_tail_from, 0.0)
    known = (whole[one] >= 0) & (whole[two] >= 0)
    z += known * np.where(whole[one] != whole[two], rules.group_lasting, -rules.group_lasting)
    wider = np.where(volume[one] > volume[two], one, two)
    far = squared_lengths(W, shapes.mean[one] - shapes.mean[two], wider)
    apart = ndtr(z) ** (np.log(_level(rules)) / np.log(0.5))
    apart = np.where(np.maximum(far, square) >= rules.group_around**2, apart, 0.0)
    more = rules.group_flat_deviations * np.clip(-0.5 * z, 0.0, 1.0)
    return np.minimum(_valleys(sums, rules, rules.group_deviations + more), 1.0 - apart)


def _bells(pairs: Ints, sums: Array, k: int, rules: Rules) -> Array:
    """Return by how many deviations the two of each pair (m,) look like Gaussians.

    The mean square of distances on a far side over the square of their mean is 1.57 for half a
    Gaussian, 1.33 where rows end as an even strip does, 2 and more for tails. Few rows say little.
    Beside the far side at this boundary the mean of the cluster's others counts for a share, and
    that of all sides, none of which counts more than two deviations, beside some that are neither
    flat nor a Gaussian's.
    """
    n, total, square = np.moveaxis(sums[:, 9:].reshape(-1, 2, 3), 2, 0)
    rows = n + rules.group_side_rows
    some = (n > 0.0) & (total > 0.0)
    r = (
        n * n * square / np.where(some, total * total, 1.0)
        + rules.group_side_rows * rules.group_flat
    )
    r = np.where(some, r / rows, rules.group_flat)
    bell = np.minimum(r - rules.group_flat, rules.group_heavy - r)
    bell *= np.sqrt(rows) / rules.group_spread
    sides = rules.group_all_sides + (n / rows).sum()
    usual = rules.group_all_share * np.sqrt(2.0) * np.clip(bell, -_MOST, _MOST).sum() / sides
    of_cluster = np.bincount(pairs.ravel(), bell.ravel(), k)[pairs]
    others = np.bincount(pairs.ravel(), minlength=k)[pairs] - 1
    mean = (of_cluster - bell) / np.maximum(others, 1)
    shape = (bell + rules.group_others * mean) / (1.0 + rules.group_others)
    out: Array = np.where(others > 0, shape, bell).sum(axis=1) / np.sqrt(2.0) + usual
    return out


def _valleys(sums: Array, rules: Rules, deviations: Array) -> Array:
    """Return the density in valleys (m,) over that of the lower peak, at most 1; 1 if unknown.

    The fit counts as some rows beside those seen. The valley is taken for shallower, by so many
    deviations of the estimate.
    """
    rows = rules.group_prior_rows
    level = sums[:, 6:9] * (sums[:, :3] + rows) / (sums[:, 3:6] + rows)
    first = level[:, 1] < level[:, 2]
    lower, seen = np.where(first, level[:, 1], level[:, 2]), np.where(first, sums[:, 1], sums[:, 2])
    noise = np.sqrt(1.0 / (sums[:, 0] + 1.0) + 1.0 / (seen + 1.0))
    known = lower > 0.0
    share = level[:, 0] / np.where(known, lower, 1.0) * np.exp(deviations * noise)
    return np.where(known, np.minimum(share, 1.0), 1.0)


def _few(shapes: Shapes, W: Array, volume: Array, rules: Rules) -> Ints:
    """Return pairs (f, 2): clusters of too few points, each with the one that is nearest.

    That is the larger one that its place is most probable under, if it is within reach.
    """
    few = shapes.count < rules.group_points
    small, large = np.flatnonzero(few), np.flatnonzero(~few)
    if len(small) == 0 or len(large) == 0:
        return np.zeros((0, 2), dtype=np.int64)
    gap = (shapes.mean[small][:, None] - shapes.mean[large]).reshape(-1, shapes.mean.shape[1])
    far = squared_lengths(W, gap, np.tile(large, len(small))).reshape(len(small), -1)
    level = np.log(shapes.count[large]) - volume[large] - 0.5 * far
    pairs = np.column_stack([small, large[level.argmax(axis=1)]])
    return pairs[fisher(shapes.mean, shapes.cov, pairs)[1] <= rules.group_reach**2]
