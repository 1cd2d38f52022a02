"""Compiled kernels for rows of heavy-tailed clusters: how far they are, and their tails drawn in.

See `scstream.families.taming`. A frame has a centre (d,) and a functional (p,) of the statistics
that is ``q = 1 + far / df``, far being the squared distance of a row. Statistics are those of a
family with full covariances, ``(1, z, upper triangle of z z')``, or of one with independent
columns, ``(1, ones, z, squares of z)``.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple

from scstream.kernels.arguments import Floats
from scstream.kernels.compiling import bare, part

_NEAR = 1e-8  # of q - 1, where its logarithm is that number itself


class Tails(NamedTuple):
    """How heavy tails are.

    A row with the logarithm l of q has the squared distance ``l w`` among normal rows, w being
    that of the table (m,) at ``l / (l + reach)``, from 0 to 1. The distance ``typical`` becomes d.
    """

    df: float
    table: Floats
    reach: float
    typical: float


@part
def tamed_square(log_q: float, tails: Tails) -> Any:
    """Return the squared distance among normal rows, given the logarithm of q."""
    last = len(tails.table) - 1
    at = last * (log_q / (log_q + tails.reach))
    i = min(int(at), last - 1)
    low = tails.table[i]
    return log_q * (low + (at - i) * (tails.table[i + 1] - low))


@part
def shrinkage(q: float, tails: Tails) -> Any:
    """Return by what a row's distance from the centre is multiplied."""
    more = q - 1.0
    if not more > _NEAR:
        return sqrt(tails.table[0] / tails.df)
    return sqrt(tamed_square(log(q), tails) / (tails.df * more))


@part
def product(row: Any, functional: Any) -> Any:
    """Return the product of two vectors (p,)."""
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


@part
def tame_row(row: Any, centre: Any, quad: Any, tails: Tails, full: bool, out: Any) -> None:
    """Fill the statistics (p,) of a row in a frame."""
    fill(row, centre, shrinkage(product(row, quad), tails), full, out)


@bare
def tame(T: Any, z: Any, centre: Any, quad: Any, tails: Any, full: bool, out: Any) -> None:
    """Fill the statistics (n, p) of rows ``T`` (n, p), each in the frame of its label."""
    tails = Tails(*tails)
    for i in range(len(T)):
        c = z[i]
        tame_row(T[i], centre[c], quad[c], tails, full, out[i])


@bare
def distances(T: Any, z: Any, quad: Any, df: float, out: Any) -> None:
    """Fill the squared distances (n,) of rows in the frames of their labels."""
    for i in range(len(T)):
        out[i] = max(df * (product(T[i], quad[z[i]]) - 1.0), 0.0)


@bare
def add_joined(
    T: Any, weight: Any, z: Any, pairs: Any, frames: Any, tails: Any, room: Any, out: Any
) -> None:  # fmt: skip
    """Add rows to the sums (m, 2, p) of pairs of clusters, each tamed in the frame of the pair.

    ``pairs`` are the pairs themselves (m, 2), those of cluster c being ``which[first[c] : first[c +
    1]]``, first and which. ``frames`` are centres, functionals, and whether covariances are full.
    ``room`` is for one row (p,).
    """
    tails, (pair, first, which), (centre, quad, full) = Tails(*tails), pairs, frames
    for i in range(len(T)):
        c = z[i]
        if c < 0:
            continue
        for at in range(first[c], first[c + 1]):
            m = which[at]
            tame_row(T[i], centre[m], quad[m], tails, full, room)
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
