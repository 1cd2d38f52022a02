"""Parts of kernels: the density of two Gaussians along the direction between them, in bins."""

from __future__ import annotations

from math import exp
from typing import Any

from scstream.kernels.compiling import brief_part

BINS = 48  # of a profile, from two deviations before the first to two behind the second
_REACH = 0.6  # deviations on either side of a mean that are its peak
_NONE = 1e-9  # rows that a profile counts as where there are none


@brief_part
def windows_of(profile: Any, ends: Any) -> Any:
    """Return the first and last bins of the valley and the two peaks; -1 if these are too near."""
    length, first, second = ends
    width = (length + 2.0 * (first + second)) / BINS
    i, j = int(2.0 * first / width), min(int((length + 2.0 * first) / width), BINS - 1)
    if j - i < 4:
        return -1, -1, -1, -1, -1, -1
    v = _lowest(profile, i, j)
    near = max(1, round((j - i) / 8))
    one, two = max(1, round(_REACH * first / width)), max(1, round(_REACH * second / width))
    return (
        max(v - near, i), min(v + near, j),
        max(i - one, 0), min(i + one, v - 1),
        max(j - two, v + 1), min(j + two, BINS - 1),
    )  # fmt: skip


@brief_part
def expect(
    profile: Any, windows: Any, which: int, rows: int, total: float, out: Any
) -> None:  # fmt: skip
    """Add what a profile expects in one of the windows, of so many rows in all bins."""
    low, high = windows[2 * which], windows[2 * which + 1]
    share = 0.0
    for i in range(low, high + 1):
        share += profile[i]
    out[3 + which] += share * rows / total
    out[6 + which] += share * (rows + _NONE) / (total * (high - low + 1))


@brief_part
def fill_profile(profile: Any, ends: Any, height: Any) -> Any:
    """Fill the density of two Gaussians with these heights in bins, and return the sum.

    ``ends`` are how far the second one is, and the two deviations.
    """
    length, first, second = ends
    low, width = -2.0 * first, (length + 2.0 * (first + second)) / BINS
    total = 0.0
    for i in range(BINS):
        at = low + (i + 0.5) * width
        one, two = at / first, (at - length) / second
        profile[i] = height[0] * exp(-0.5 * one * one) + height[1] * exp(-0.5 * two * two)
        total += profile[i]
    return total


@brief_part
def _lowest(profile: Any, i: int, j: int) -> int:
    """Return the bin of the valley between two bins; half way if there is none."""
    v = i
    for c in range(i, j + 1):
        if profile[c] < profile[v]:
            v = c
    return v if i < v < j else (i + j) // 2
