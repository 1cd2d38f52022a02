"""Parts of kernels: the far side of a cluster at a seam, which other clusters may cut off."""

from __future__ import annotations

from math import erf, exp, log, pi, sqrt
from typing import Any

from scstream.kernels.compiling import brief_part
from scstream.kernels.directions import deviation

_LEAST = 1e-300
_FREE = 3.0  # deviations from which on a far side ends by itself
_NEAREST = 0.8  # those at which it is cut off at the nearest: so little says next to nothing
_BESIDE = 1.0  # those by which a cluster that cuts it off is further out; others are beside it
_STRIP = 4.0 / 3.0  # mean square over squared mean of the distances in an even strip
_BELL = 0.5 * pi  # the same in half a Gaussian
_LEAST_GAIN = 0.1  # of their difference that is left where a side is cut off very near


@brief_part
def cut(clusters: Any, a: int, b: int, u: Any, unit: float) -> Any:
    """Return where the far side of a cluster ends, in its deviations, since others begin there.

    It is seen along a direction on which its deviation is ``unit``, negative if the far side, away
    from the cluster b, is where numbers are larger. Others begin where they are as dense.
    """
    count, mean, cov, touch = clusters
    own, points, nearest = abs(unit), max(count[a], _LEAST), _FREE
    for c in range(len(count)):
        if c in (a, b) or touch[min(a, c), max(a, c)] < 0:
            continue
        away = 0.0
        for i in range(len(u)):
            away += u[i] * (mean[a, i] - mean[c, i])
        away /= unit
        if away > _BESIDE:
            width = deviation(cov, c, u) / own
            more = log(max(count[c], _LEAST) / points / width)
            nearest = min(nearest, _border(away, width, more))
    return max(nearest, _NEAREST)


@brief_part
def _border(away: float, width: float, more: float) -> Any:
    """Return where a Gaussian is as dense as a standard one, from 0 to where it is.

    It is so far away and so wide, and so much denser at its middle, in logarithms.
    """
    bend = 1.0 / (width * width)
    first, last = bend - 1.0, away * away * bend - 2.0 * more
    if last <= 0.0:
        return 0.0
    root = away * bend * away * bend - first * last
    if root < 0.0:
        return _FREE
    at = last / (away * bend + sqrt(root))  # the smaller of the two places, if both are positive
    return at if at > 0.0 else _FREE


@brief_part
def add_side(n: float, total: float, square: float, end: float, out: Any) -> None:
    """Add the rows of a far side: how many, and the sums of their distances and of the squares.

    Where others cut the side off, half a Gaussian is more like a strip: the mean square over the
    squared mean is less. It is stretched to what it would be without. Rows count for less then:
    the stretched number is less certain, and says less on which of the two it is.
    """
    if not (n > 0.0 and total > 0.0):
        return
    ratio, share = n * square / (total * total), 1.0
    if end < _FREE:
        gain = max((_cut_bell(end) - _STRIP) / (_BELL - _STRIP), _LEAST_GAIN)
        ratio, share = _STRIP + (ratio - _STRIP) / gain, gain**4
        ratio = min(max(ratio, 1.0), _STRIP + _BELL - 1.0)  # it cannot be less; more is as far
    out[0] += share * n
    out[1] += share * total
    out[2] += share * ratio * total * total / n


@brief_part
def _cut_bell(end: float) -> Any:
    """Return the mean square over the squared mean of half a Gaussian that another one cuts off.

    The other is its mirror image, and its rows up to the border count as those of the first.
    """
    top, border, far = 1.0, exp(-0.5 * end * end), exp(-2.0 * end * end)
    own, other = _below(end), _below(2.0 * end) - _below(end)
    first, second = far - border, other + end * border - 2.0 * end * far  # of the other, from it
    mean = top - border + first + 2.0 * end * other
    square = own - end * border + second + 4.0 * end * (first + end * other)
    return (own + other) * square / (mean * mean)


@brief_part
def _below(x: float) -> Any:
    """Return the integral of ``exp(-t t / 2)`` from 0 to x."""
    return sqrt(0.5 * pi) * erf(x / sqrt(2.0))
