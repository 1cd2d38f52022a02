"""The mixture: weights drawn, ratios of splits, and which clusters are neighbours."""

from __future__ import annotations

from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def log_gammas(x: Floats, out: Floats) -> None:
    """Find the logarithms of gamma functions."""
    out[:] = [lgamma(each) for each in x.tolist()]


def log_weights(n: Floats, gamma: Floats, u: Floats, out: Floats) -> None:
    """Find log weights drawn from Dirichlets."""
    k = len(out) // 3
    drawn = np.log(np.maximum(gamma, 1e-300)) + np.log(np.maximum(1.0 - u, 1e-300)) / n
    out[:k] = drawn[:k] - np.logaddexp.reduce(np.append(drawn[:k], drawn[-1]))
    parts = drawn[k : 3 * k].reshape(k, 2)
    out[k:] = (parts - np.logaddexp(parts[:, :1], parts[:, 1:])).ravel()


def split_ratios(
    n: Floats, each: Floats, whole: Floats, entropy: Floats, alpha: float, least: float, out: Floats
) -> None:
    """Find the log ratios of splits."""
    gammas = np.empty((3, len(out)))
    possible = np.minimum(n[:, 0], n[:, 1]) > least
    counts = np.where(possible[:, None], n, 1.0)
    for i, count in enumerate([counts[:, 0], counts[:, 1], counts[:, 0] + counts[:, 1]]):
        log_gammas(count, gammas[i])
    # the sum of the two is the same whichever part comes first
    gain = (gammas[0] + each[:, 0]) + (gammas[1] + each[:, 1])
    out[:] = np.where(possible, log(alpha) + gain - gammas[2] - whole + entropy, -np.inf)


def neighbours(rivals: Ints, top: Ints, pairs: Ints) -> int:
    """Find pairs of clusters of which one is among the commonest rivals of the other."""
    common = rivals + rivals.T
    np.fill_diagonal(common, 0)
    found: list[tuple[int, int]] = []
    best = np.argsort(-common, axis=1, kind="stable")[:, : top.shape[1]]
    top[:] = np.where(np.take_along_axis(common, best, axis=1) > 0, best, -1)
    of = top.tolist()
    for a, rivals_of in enumerate(of):
        for b in rivals_of:
            if b >= 0 and (a < b or a not in of[b]):
                found.append((min(a, b), max(a, b)))
    pairs[: len(found)] = np.array(found, dtype=np.int64).reshape(-1, 2)
    return len(found)
