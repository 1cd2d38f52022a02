"""Parts of kernels: distances between Gaussians, and the direction that tells two apart."""

from __future__ import annotations

from math import sqrt
from typing import Any

from scstream.kernels.compiling import brief_part, part


@brief_part
def fisher(mean: Any, cov: Any, a: int, b: int, L: Any, u: Any) -> Any:
    """Fill Fisher's direction (d,) from a cluster to another, and return how far that one is."""
    d = len(u)
    length = sqrt(squared_distance(mean, cov, a, b, L, u))
    if length == 0.0:
        return length
    solve_back(L, u)
    for i in range(d):
        u[i] /= length
    return length


@brief_part
def squared_distance(mean: Any, cov: Any, a: int, b: int, L: Any, u: Any) -> Any:
    """Return the squared distance of two means in the deviations of both clusters' mean shape.

    It is 0 if that has none. Fills the factor of the shape, and the way from the first to the
    second in its deviations.
    """
    for i in range(len(u)):
        u[i] = mean[b, i] - mean[a, i]
        for j in range(i + 1):
            L[i, j] = 0.5 * (cov[a, i, j] + cov[b, i, j])
    return white(L, u) if factored(L) else 0.0


@part
def factored(L: Any) -> bool:
    """Make the lower triangle of a matrix its Cholesky factor; False if that cannot be."""
    for i in range(len(L)):
        for j in range(i + 1):
            s = L[i, j]
            for c in range(j):
                s -= L[i, c] * L[j, c]
            if j < i:
                L[i, j] = s / L[j, j]
            elif s > 1e-12 * L[i, i]:
                L[i, i] = sqrt(s)
            else:
                return False
    return True


@part
def white(L: Any, u: Any) -> Any:
    """Solve ``L x = u`` in place, and return the squared length of x."""
    total = 0.0
    for i in range(len(u)):
        for j in range(i):
            u[i] -= L[i, j] * u[j]
        u[i] /= L[i, i]
        total += u[i] * u[i]
    return total


@brief_part
def solve_back(L: Any, u: Any) -> None:
    """Solve ``L' x = u`` in place."""
    d = len(u)
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            u[i] -= L[j, i] * u[j]
        u[i] /= L[i, i]


@part
def deviation(cov: Any, which: int, u: Any) -> Any:
    """Return a cluster's deviation along a direction."""
    total = 0.0
    for i in range(len(u)):
        for j in range(len(u)):
            total += u[i] * cov[which, i, j] * u[j]
    return sqrt(max(total, 1e-300))
