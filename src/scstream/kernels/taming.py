"""Compiled kernels for rows of heavy-tailed clusters: how far they are, and their tails drawn in.

See `scstream.families.taming`. A frame has a centre (d,) and a functional (p,) of the statistics
that is ``q = 1 + far / df``, far being the squared distance of a row. Statistics are those of a
family with full covariances, ``(1, z, upper triangle of z z')``, or of one with independent
columns, ``(1, ones, z, squares of z)``. ``shape`` is a plain tuple: the degrees of freedom, their
strength, and whether covariances are full.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from scstream.kernels.compiling import bare, part

_NEAR = 1e-8  # of q - 1, where its logarithm is that number itself


@part
def shrinkage(q: float, df: float, strength: float) -> Any:
    """Return by what a row's distance from the centre is multiplied."""
    more = q - 1.0
    if not more > _NEAR:
        return sqrt(strength / df)
    return sqrt(strength * log(q) / (df * more))


@part
def product(row: Any, functional: Any) -> Any:
    total = 0.0
    for q in range(len(row)):
        total += row[q] * functional[q]
    return total


@part
def fill(row: Any, centre: Any, by: float, full: bool, out: Any) -> None:
    """Fill the statistics (p,) of a row whose distance from the centre is multiplied."""
    d = len(centre)
    at = 1 if full else 1 + d
    for i in range(at):
        out[i] = row[i]
    for i in range(d):
        out[at + i] = centre[i] + by * (row[at + i] - centre[i])
    e = at + d
    for i in range(d):
        for j in range(i, d if full else i + 1):
            out[e] = out[at + i] * out[at + j]
            e += 1


@bare
def tame(T: Any, z: Any, centre: Any, quad: Any, shape: Any, out: Any) -> None:
    """Fill the statistics (n, p) of rows ``T`` (n, p), each in the frame of its label."""
    df, strength, full = shape
    for i in range(len(T)):
        c = z[i]
        fill(T[i], centre[c], shrinkage(product(T[i], quad[c]), df, strength), full, out[i])


@bare
def distances(T: Any, z: Any, quad: Any, df: float, out: Any) -> None:
    """Fill the squared distances (n,) of rows in the frames of their labels."""
    for i in range(len(T)):
        out[i] = max(df * (product(T[i], quad[z[i]]) - 1.0), 0.0)


@bare
def add_joined(
    T: Any, weight: Any, z: Any, pairs: Any, centre: Any, quad: Any, shape: Any, room: Any,
    out: Any,
) -> None:  # fmt: skip
    """Add rows to the sums (m, 2, p) of pairs of clusters, each tamed in the frame of the pair.

    ``pairs`` are the pairs themselves (m, 2), those of cluster c being ``which[first[c] : first[c +
    1]]``, first and which. ``room`` is for one row (p,).
    """
    (df, strength, full), (pair, first, which) = shape, pairs
    for i in range(len(T)):
        c = z[i]
        if c < 0:
            continue
        for at in range(first[c], first[c + 1]):
            m = which[at]
            by = shrinkage(product(T[i], quad[m]), df, strength)
            fill(T[i], centre[m], by, full, room)
            side = 0 if pair[m, 0] == c else 1
            for q in range(len(room)):
                out[m, side, q] += weight[i] * room[q]


@bare
def log_likelihoods(far: Any, d: int, df: Any, level: Any, rounds: int, out: Any) -> None:
    """Fill the log-likelihoods (m,) of squared distances (n,) for each ``df`` (m,) and its level.

    Distances are known up to a scale, the best of which some rounds of EM (with an expanded
    parameter) find, beginning with that of the degrees of freedom tried before.
    """
    n, scale = len(far), 1.0
    for i in range(len(df)):
        for _ in range(rounds):
            total = near = 0.0
            for r in range(n):
                share = 1.0 / (df[i] * scale + far[r])
                near += share
                total += far[r] * share
            scale = max(total / (d * near), 1e-300)
        total = 0.0
        for r in range(n):
            total += log(1.0 + far[r] / (df[i] * scale))
        out[i] = n * (level[i] - 0.5 * d * log(scale)) - 0.5 * (df[i] + d) * total
