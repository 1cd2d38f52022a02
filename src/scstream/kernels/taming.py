"""Compiled kernels for rows of heavy-tailed clusters: how far they are, and their tails drawn in.

See `scstream.families.taming`. A frame has a centre (d,) and a functional (p,) of the statistics
that is ``q = 1 + far / df``, far being the squared distance of a row.
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
def fill_tamed(row: Any, centre: Any, by: float, out: Any) -> None:
    """Fill the statistics (p,) of a row whose distance from the centre is multiplied."""
    d = len(centre)
    out[0] = row[0]
    for i in range(d):
        out[1 + i] = centre[i] + by * (row[1 + i] - centre[i])
    e = 1 + d
    for i in range(d):
        for j in range(i, d):
            out[e] = out[1 + i] * out[1 + j]
            e += 1


@part
def _product(row: Any, functional: Any) -> Any:
    total = 0.0
    for q in range(len(row)):
        total += row[q] * functional[q]
    return total


@bare
def tame(T: Any, z: Any, centre: Any, quad: Any, df: float, strength: float, out: Any) -> None:
    """Fill the statistics (n, p) of rows ``T`` (n, p), each in the frame of its label."""
    for i in range(len(T)):
        c = z[i]
        q = _product(T[i], quad[c])
        fill_tamed(T[i], centre[c], shrinkage(q, df, strength), out[i])


@bare
def distances(T: Any, z: Any, quad: Any, df: float, out: Any) -> None:
    """Fill the squared distances (n,) of rows in the frames of their labels."""
    for i in range(len(T)):
        out[i] = max(df * (_product(T[i], quad[z[i]]) - 1.0), 0.0)


@bare
def add_joined(
    T: Any, weight: Any, z: Any, pairs: Any, first: Any, member: Any, centre: Any, quad: Any,
    shape: Any, out: Any,
) -> None:  # fmt: skip
    """Add rows to the sums (m, 2, p) of pairs (m, 2) of clusters, each in the frame of the pair.

    The pairs of cluster c are ``member[first[c]:first[c + 1]]``. ``shape`` holds the degrees of
    freedom, their strength, and a row (p,) of room.
    """
    df, strength, tamed = shape
    for i in range(len(T)):
        c = z[i]
        if c < 0:
            continue
        for at in range(first[c], first[c + 1]):
            m = member[at]
            by = shrinkage(_product(T[i], quad[m]), df, strength)
            fill_tamed(T[i], centre[m], by, tamed)
            side = 0 if pairs[m, 0] == c else 1
            for q in range(len(tamed)):
                out[m, side, q] += weight[i] * tamed[q]
