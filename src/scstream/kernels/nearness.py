"""Compiled kernels for clusters of few rows: who is nearer than by chance, and what later rows say.

Few rows in many columns show no valley: along a direction that was fitted to them they part by
themselves. But clusters that are pieces of one class lie nearer to each other than clusters that
have nothing to do with each other would; and rows that come later, which the direction was not
fitted to, lie between pieces as they lie on them.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

from scstream.kernels.compiling import bare, brief, brief_part
from scstream.kernels.directions import factored, solve_back, white

NEIGHBOURS = 6  # of each cluster, whose distances say what is usual
# Among points that lie anywhere the logarithm of how many are within the distance of the j-th
# neighbour is digamma(j), in the mean. Of the neighbours 2 to 6 these have the mean below; that of
# the sixth exceeds those of 2 to 5 by the sum below. The nearest is left out: it may be a piece.
_WITHIN = 1.162784335098467
_EXCESS = 2.716666666666667
_MIDDLE = 1.0 / 6.0  # half the width of a window on a line, on which two means are 1 apart
_TINY = 1e-12  # of a squared distance: two clusters at one place


@brief
def by_chance(clusters: Any, few: float, room: Any, out: Any) -> Any:
    """Fill how many clusters would be as near to each as each other one is, by chance.

    Distances are in the deviations of all clusters' mean shape. How fast the number of neighbours
    grows with the distance, as a power of it, is that of all clusters' neighbours but the nearest.

    Parameters
    ----------
    clusters : tuple
        Counts (k,), means (k, d), covariances (k, d, d); k exceeds `NEIGHBOURS`.
    few : float
        The number is filled for pairs of fewer points than this; 0 for others.
    room : ndarray (NEIGHBOURS k + k,)
    out : tuple
        The number (k, k), the factor of the mean shape (d, d), and the means (k, d) in its
        deviations.

    Returns
    -------
    bool
        Whether there is such a number; False if the shape is flat, or means coincide.
    """
    number, L, place = out
    count, k = clusters[0], len(place)
    near, level = room[: NEIGHBOURS * k].reshape(k, NEIGHBOURS), room[NEIGHBOURS * k :]
    if not _place(clusters, L, place):
        return False
    _measure(place, number, near)
    excess = 0.0
    for j in range(k):
        last, level[j] = near[j, NEIGHBOURS - 1], 0.0
        if not last > 0.0:
            return False
        for i in range(1, NEIGHBOURS):
            each = log(max(near[j, i], _TINY * last))
            excess += log(last) - each
            level[j] += each / (NEIGHBOURS - 1.0)
    power = _EXCESS * k / max(excess, 1e-300)  # of the squared distance
    for a in range(k):
        number[a, a] = 0.0
        for b in range(a):
            square = max(number[a, b], _TINY * near[a, NEIGHBOURS - 1])
            here = 0.0
            if count[a] + count[b] < few:
                here = min(power * (log(square) - 0.5 * (level[a] + level[b])) + _WITHIN, 50.0)
                here = exp(here)
            number[a, b] = number[b, a] = here
    return True


@brief_part
def _place(clusters: Any, L: Any, place: Any) -> Any:
    """Fill the factor of the mean shape and the means in its deviations; False if it is flat."""
    count, mean, cov = clusters
    k, d = mean.shape
    for i in range(d):
        for c in range(i + 1):
            L[i, c] = 0.0
    for j in range(k):
        for i in range(d):
            place[j, i] = mean[j, i]
            for c in range(i + 1):
                L[i, c] += count[j] * cov[j, i, c]
    if not factored(L):
        return False
    for j in range(k):
        white(L, place[j])
    return True


@brief_part
def _measure(place: Any, square: Any, near: Any) -> None:
    """Fill the squared distances (k, k) of places (k, d), and the smallest of each, ascending."""
    k, d = place.shape
    for j in range(k):
        for i in range(NEIGHBOURS):
            near[j, i] = 1e300
    for a in range(k):
        for b in range(a):
            total = 0.0
            for i in range(d):
                total += (place[a, i] - place[b, i]) * (place[a, i] - place[b, i])
            square[a, b] = square[b, a] = total
            _insert(near[a], total)
            _insert(near[b], total)


@brief_part
def _insert(near: Any, square: float) -> None:
    """Put a number among the smallest ones, which ascend."""
    i = len(near) - 1
    if square >= near[i]:
        return
    while i > 0 and near[i - 1] > square:
        near[i] = near[i - 1]
        i -= 1
    near[i] = square


@brief
def draw_lines(pairs: Any, L: Any, place: Any, mean: Any, out: Any) -> None:
    """Fill lines through the means of two clusters each: directions (m, d) and offsets (m,).

    A place x is at ``direction . x - offset``: 0 at the first mean, 1 at the second. The direction
    is Fisher's, in the mean shape of all clusters, see `by_chance`.
    """
    direction, offset = out
    d = mean.shape[1]
    for m in range(len(pairs)):
        a, b = pairs[m, 0], pairs[m, 1]
        u, square, at = direction[m], 0.0, 0.0
        for i in range(d):
            u[i] = place[b, i] - place[a, i]
            square += u[i] * u[i]
        solve_back(L, u)
        for i in range(d):
            u[i] /= max(square, 1e-300)
            at += u[i] * mean[a, i]
        offset[m] = at


@bare
def look_along(rows: Any, lines: Any, out: Any) -> None:
    """Add the rows between two clusters, and those at the one and at the other.

    Parameters
    ----------
    rows : tuple
        Rows (n, w) and the ids of their clusters (n,). Those with gaps (NaN) do not count.
    lines : tuple
        Ids of two clusters each (m, 2), directions (m, w), offsets (m,).
    out : ndarray (m, 3)
        Rows in the middle third of the line, and in windows about the two ends. Each of these is
        as wide.
    """
    X, label = rows
    pairs, direction, offset = lines
    for m in range(len(pairs)):
        a, b = pairs[m, 0], pairs[m, 1]
        for r in range(len(label)):
            if label[r] != a and label[r] != b:
                continue
            at = -offset[m]
            for c in range(X.shape[1]):
                at += direction[m, c] * X[r, c]
            if abs(at - 0.5) < _MIDDLE:
                out[m, 0] += 1.0
            elif abs(at) < _MIDDLE:
                out[m, 1] += 1.0
            elif abs(at - 1.0) < _MIDDLE:
                out[m, 2] += 1.0
