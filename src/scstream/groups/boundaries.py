"""What rows show at the boundary between two clusters: in the valley, on peaks, on far sides.

The rows of two clusters are seen along Fisher's direction, on which the first cluster's mean is at
0 and the clusters' mean variance is 1.
"""

from __future__ import annotations

from math import pi

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from scstream.families.contract import Array
from scstream.groups.gaussians import deviations, fisher
from scstream.groups.shapes import Shapes

Ints = NDArray[np.int64]
SUMS = 15  # numbers of a boundary: see `look`
BINS = 48  # of a profile, from two deviations before the first to two behind the second
_REACH = 0.6  # deviations on either side of a mean that are its peak
_NONE = 1e-9  # rows that a profile counts as where there are none
_LEAST = 1e-300
_FREE = 3.0  # deviations from which on a far side ends by itself
_NEAREST = 0.8  # those at which it is cut off at the nearest: so little says next to nothing
_BESIDE = 1.0  # those by which a cluster that cuts it off is further out; others are beside it
_STRIP = 4.0 / 3.0  # mean square over squared mean of the distances in an even strip
_BELL = 0.5 * pi  # the same in half a Gaussian
_LEAST_GAIN = 0.1  # of their difference that is left where a side is cut off very near
_TURNED = np.array([0, 2, 1, 3, 5, 4, 6, 8, 7, 12, 13, 14, 9, 10, 11])


def touching(entropy: Array, count: Array, overlap: float, most: int) -> Ints:
    """Return the pairs (m, 2) of clusters that touch: their entropy is a share of the smaller."""
    smaller = np.minimum(count[:, None], count)
    a, b = np.nonzero(np.triu((entropy > 0.0) & (entropy >= overlap * smaller), 1))
    return np.column_stack([a[:most], b[:most]])


def turned(sums: Array, which: NDArray[np.bool_]) -> Array:
    """Return the sums (m, 15) of boundaries, of some of them with their two clusters swapped."""
    return np.where(which[:, None], sums[:, _TURNED], sums)


def look(rows: tuple[Array, Ints], shapes: Shapes, pairs: Ints) -> tuple[Array, Array]:
    """Return what rows (n, d) of clusters (n,) show at boundaries between pairs (m, 2).

    Returns
    -------
    sums : ndarray (m, 15)
        Rows in the valley and on the two peaks, how many were expected there, and the expected
        density; then, for the rows on the first cluster's far side, how many there are, and the
        sums of their distances from its mean and of the squares, in its deviations; and the same
        for the second one.
    square : ndarray (m,)
        Squared distances of the clusters' means.
    """
    sums = np.zeros((len(pairs), SUMS))
    u, square = fisher(shapes.mean, shapes.cov, pairs)
    length = np.sqrt(square)
    unit = deviations(shapes.cov, u.repeat(2, axis=0), pairs.ravel()).reshape(-1, 2)
    profile = _profile(length, unit, shapes.count[pairs] / unit)
    windows, apart = _windows(profile, length, unit)
    seen = np.flatnonzero(apart & (length > 1e-6) & (profile.sum(axis=1) > 0.0))
    if len(seen) == 0:
        return sums, square
    u, length, unit, profile = u[seen], length[seen], unit[seen], profile[seen]
    low, high = windows[seen].transpose(2, 0, 1)
    rows_in, sides = _count(rows, shapes, pairs[seen], (u, length, unit), (low, high))
    within = (np.arange(BINS) >= low[..., None]) & (np.arange(BINS) <= high[..., None])
    share = (within * profile[:, None]).sum(axis=2) / profile.sum(axis=1)[:, None]
    inside = rows_in[:, 3:]
    density = share * (inside + _NONE) / (high - low + 1)
    ends = _ends(shapes, pairs, seen, u, unit)
    far = _uncut(sides, ends).reshape(-1, 6)
    sums[seen] = np.concatenate([rows_in[:, :3], share * inside, density, far], axis=1)
    return sums, square


def _profile(length: Array, unit: Array, height: Array) -> Array:
    """Return the density (m, BINS) of two Gaussians with these deviations and heights (m, 2)."""
    low, width = _scale(length, unit)
    at = low[:, None] + (np.arange(BINS) + 0.5) * width[:, None]
    out = np.zeros(at.shape)
    for side in range(2):
        x = (at - side * length[:, None]) / unit[:, side, None]
        out += height[:, side, None] * np.exp(-0.5 * x * x)
    return out


def _scale(length: Array, unit: Array) -> tuple[Array, Array]:
    """Return where bins begin (m,), and how wide each is."""
    return -2.0 * unit[:, 0], (length + 2.0 * unit.sum(axis=1)) / BINS


def _windows(profile: Array, length: Array, unit: Array) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the first and last bins of the valley and the two peaks (m, 3, 2).

    Also whether the peaks are apart (m,): others have no windows.
    """
    low, width = _scale(length, unit)
    i = (-low / width).astype(np.int64)
    j = np.minimum(((length - low) / width).astype(np.int64), BINS - 1)
    bins = np.arange(BINS)
    between = (bins >= i[:, None]) & (bins <= j[:, None])
    v = np.where(between, profile, np.inf).argmin(axis=1)
    v = np.where((i < v) & (v < j), v, (i + j) // 2)
    near = np.maximum(np.rint((j - i) / 8).astype(np.int64), 1)
    one, two = np.maximum(np.rint(_REACH * unit.T / width).astype(np.int64), 1)
    first = np.maximum(v - near, i), np.maximum(i - one, 0), np.maximum(j - two, v + 1)
    last = np.minimum(v + near, j), np.minimum(i + one, v - 1), np.minimum(j + two, BINS - 1)
    return np.stack([np.stack(first, 1), np.stack(last, 1)], 2), j - i >= 4


def _count(
    rows: tuple[Array, Ints], shapes: Shapes, pairs: Ints, lines: tuple[Array, Array, Array],
    windows: tuple[Ints, Ints],
) -> tuple[Array, Array]:  # fmt: skip
    """Count the rows of two clusters in windows and in all bins (m, 4), and on far sides (m, 2, 3).

    ``lines`` are directions, lengths and deviations of the pairs; ``windows`` first and last bins.
    """
    u, length, unit = lines
    low, width = _scale(length, unit)
    edges = np.concatenate([windows[0], np.zeros((len(pairs), 1)), windows[1] + 1.0,
                            np.full((len(pairs), 1), float(BINS))], axis=1)  # fmt: skip
    first, last = edges[:, :4].T[:, None], edges[:, 4:].T[:, None]
    origin = (u * shapes.mean[pairs[:, 0]]).sum(axis=1)
    found, sides = np.zeros((4, len(pairs))), np.zeros((3, len(pairs), 2))
    X, label = rows
    order = np.argsort(label, kind="stable")
    begin, end = (np.searchsorted(label[order], shapes.ids, side) for side in ("left", "right"))
    for c in np.unique(pairs):
        own = order[begin[c] : end[c]]
        m, side = np.nonzero(pairs == c)
        at = (X[own] - shapes.frame[0]) / shapes.frame[1] @ u[m].T - origin[m]
        place = (at - low[m]) / width[m]
        found[:, m] += ((place >= first[..., m]) & (place < last[..., m])).sum(axis=1)
        far = (at - side * length[m]) / np.where(side, unit[m, 1], -unit[m, 0])
        far = np.where(far > 0.0, far, 0.0)
        sides[:, m, side] = (far > 0.0).sum(axis=0), far.sum(axis=0), (far * far).sum(axis=0)
    return found.T, sides.transpose(1, 2, 0)


def _ends(shapes: Shapes, pairs: Ints, seen: Ints, u: Array, unit: Array) -> Array:
    """Return where far sides (m, 2) end, in deviations, since other clusters begin there.

    Those cut a side off that touch its cluster, and begin where they are as dense.
    """
    k = len(shapes.count)
    touch = np.zeros((k, k), dtype=bool)
    touch[pairs[:, 0], pairs[:, 1]] = touch[pairs[:, 1], pairs[:, 0]] = True
    own, other = pairs[seen].ravel(), pairs[seen][:, ::-1].ravel()
    near = touch[own]
    near[np.arange(len(own)), other] = False
    side, c = np.nonzero(near)
    outwards = (unit * [1.0, -1.0]).ravel()
    away = (u[side // 2] * (shapes.mean[own[side]] - shapes.mean[c])).sum(axis=1) / outwards[side]
    side, c, away = (values[away > _BESIDE] for values in (side, c, away))
    width = deviations(shapes.cov, u[side // 2], c) / np.abs(outwards[side])
    points = np.maximum(shapes.count, _LEAST)
    out = np.full(len(own), _FREE)
    np.minimum.at(out, side, _border(away, width, np.log(points[c] / points[own[side]] / width)))
    ends: Array = np.maximum(out, _NEAREST).reshape(-1, 2)
    return ends


def _border(away: Array, width: Array, more: Array) -> Array:
    """Return where Gaussians are as dense as a standard one, from 0 to where it is.

    They are so far away and so wide, and so much denser at their middle, in logarithms.
    """
    bend = 1.0 / (width * width)
    last = away * away * bend - 2.0 * more
    root = (away * bend) ** 2 - (bend - 1.0) * last
    at = last / (away * bend + np.sqrt(np.maximum(root, 0.0)))  # the smaller of two places
    return np.where(last <= 0.0, 0.0, np.where((root < 0.0) | (at <= 0.0), _FREE, at))


def _uncut(sides: Array, ends: Array) -> Array:
    """Return far sides (..., 3) as they would be if no other cluster cut them off.

    Where others do, half a Gaussian is more like a strip: the mean square over the squared mean is
    less. It is stretched to what it would be without. Rows count for less then: the stretched
    number is less certain, and says less on which of the two it is.
    """
    n, total, square = np.moveaxis(sides, -1, 0)
    some = (n > 0.0) & (total > 0.0)
    n, total = np.where(some, n, 1.0), np.where(some, total, 1.0)
    ratio = n * square / (total * total)
    gain = np.maximum((_cut_bell(ends) - _STRIP) / (_BELL - _STRIP), _LEAST_GAIN)
    stretched = np.clip(_STRIP + (ratio - _STRIP) / gain, 1.0, _STRIP + _BELL - 1.0)
    cut = ends < _FREE
    share, ratio = np.where(cut, gain**4, 1.0), np.where(cut, stretched, ratio)
    out = np.stack([n, total, ratio * total * total / n], axis=-1)
    return np.where(some[..., None], share[..., None] * out, 0.0)


def _cut_bell(end: Array) -> Array:
    """Return the mean square over the squared mean of half a Gaussian that another one cuts off.

    The other is its mirror image, and its rows up to the border count as those of the first.
    """
    border, far = np.exp(-0.5 * end * end), np.exp(-2.0 * end * end)
    own = _below(end)
    other = _below(2.0 * end) - own
    first, second = far - border, other + end * border - 2.0 * end * far  # of the other, from it
    mean = 1.0 - border + first + 2.0 * end * other
    square = own - end * border + second + 4.0 * end * (first + end * other)
    out: Array = (own + other) * square / (mean * mean)
    return out


def _below(x: Array) -> Array:
    """Return the integral of ``exp(-t t / 2)`` from 0 to x."""
    out: Array = np.sqrt(0.5 * pi) * erf(x / np.sqrt(2.0))
    return out
