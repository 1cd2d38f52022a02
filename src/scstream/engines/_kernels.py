"""Compiled kernels of the data pass: counter-based draws, best labels and sums by label.

A gap of 36 between log-probabilities (a factor of 4e15) is taken for certainty.
"""

from __future__ import annotations

from math import exp, log1p
from typing import Any

import numpy as np

from scstream._compile import kernel

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_S11 = np.uint64(11)
_UNIT = 2.0**-53


@kernel
def uniforms(seed: Any, batch: Any, sweep: Any, first: Any, out: Any) -> None:
    """Fill ``out`` (2, n) with uniforms in [0, 1) keyed by (seed, batch, sweep, row).

    Philox 4x32 with ten rounds: the counter is (row, sweep, batch), the key is the seed.
    """
    for i in range(out.shape[1]):
        row = np.uint64(first + i)
        c0 = row & _LOW
        c1 = row >> _S32
        c2 = np.uint64(sweep) & _LOW
        c3 = np.uint64(batch) & _LOW
        k0 = np.uint64(seed) & _LOW
        k1 = np.uint64(seed) >> _S32
        for _ in range(10):
            p0 = _M0 * c0
            p1 = _M1 * c2
            c0 = (p1 >> _S32) ^ c1 ^ k0
            c2 = (p0 >> _S32) ^ c3 ^ k1
            c1 = p1 & _LOW
            c3 = p0 & _LOW
            k0 = (k0 + _W0) & _LOW
            k1 = (k1 + _W1) & _LOW
        out[0, i] = np.float64(((c0 << _S32) | c1) >> _S11) * _UNIT
        out[1, i] = np.float64(((c2 << _S32) | c3) >> _S11) * _UNIT


@kernel
def certainty(gap: Any) -> Any:
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    if gap < -36.0:
        return 0.0
    if gap > 36.0:
        return gap
    return log1p(exp(gap))


@kernel
def draw(scores: Any, u: Any, z: Any, second: Any, doubt: Any) -> None:
    """Draw ``z[i]`` with probability proportional to ``exp(scores[i])``.

    ``second`` becomes the best other label, -1 if there is none, and ``doubt`` minus the
    log-probability of the drawn label against that one.
    """
    n, k = scores.shape
    for i in range(n):
        top = -np.inf
        for c in range(k):
            top = max(top, scores[i, c])
        total = 0.0
        for c in range(k):
            gap = scores[i, c] - top
            if gap > -36.0:
                total += exp(gap)
        left = u[i] * total
        pick = 0
        for c in range(k):
            gap = scores[i, c] - top
            if gap > -36.0:
                pick = c
                left -= exp(gap)
                if left < 0.0:
                    break
        other = -1
        best = -np.inf
        for c in range(k):
            if c != pick and scores[i, c] > best:
                best = scores[i, c]
                other = c
        z[i] = pick
        second[i] = other
        doubt[i] = certainty(best - scores[i, pick])


@kernel
def best(scores: Any, z: Any, second: Any, doubt: Any) -> None:
    """Take the best label of each row, the smaller of equals; the rest as in `draw`."""
    n, k = scores.shape
    for i in range(n):
        pick = 0
        top = scores[i, 0]
        other = -1
        runner = -np.inf
        for c in range(1, k):
            v = scores[i, c]
            if v > top:
                other = pick
                runner = top
                pick = c
                top = v
            elif v > runner:
                other = c
                runner = v
        z[i] = pick
        second[i] = other
        doubt[i] = certainty(runner - top)


@kernel
def draw_pair(pairs: Any, u: Any, sub: Any, doubt: Any) -> None:
    """Draw one of two sub-labels with probability proportional to ``exp(pairs[i])``."""
    for i in range(len(pairs)):
        gap = pairs[i, 1] - pairs[i, 0]
        if gap > 36.0 or (gap > -36.0 and u[i] * (1.0 + exp(-gap)) < 1.0):
            sub[i] = 1
            doubt[i] = certainty(-gap)
        else:
            sub[i] = 0
            doubt[i] = certainty(gap)


@kernel
def best_pair(pairs: Any, sub: Any, doubt: Any) -> None:
    """Take the better of two sub-labels."""
    for i in range(len(pairs)):
        gap = pairs[i, 1] - pairs[i, 0]
        sub[i] = 1 if gap > 0.0 else 0
        doubt[i] = certainty(-abs(gap))


@kernel
def tally(
    z: Any, sub: Any, second: Any, doubt: Any, sub_doubt: Any, weight: Any, rivals: Any,
    between: Any, rows: Any,
) -> None:  # fmt: skip
    """Count rows, second choices and doubts by cluster; labels out of range become -1."""
    k = len(rows)
    for i in range(len(z)):
        a = z[i]
        if a >= k:
            z[i] = -1
            sub[i] = 0
            continue
        rows[a, sub[i]] += 1
        between[a, a] += weight[i] * sub_doubt[i]
        b = second[i]
        if 0 <= b < k:
            rivals[a, b] += 1
            between[a, b] += weight[i] * doubt[i]


@kernel
def least(z: Any, u: Any, row: Any) -> None:
    """Fill ``row[c]`` with the row of cluster c that has the least ``u``."""
    for i in range(len(z)):
        c = z[i]
        if c >= 0 and (row[c] < 0 or u[i] < u[row[c]]):
            row[c] = i


@kernel
def add_by_label(T: Any, w: Any, z: Any, sub: Any, out: Any) -> None:
    """Add ``w[i] T[i]`` to ``out[z[i], sub[i]]``, rows with labels out of range left out."""
    n, p = T.shape
    for i in range(n):
        a = z[i]
        if 0 <= a < len(out):
            b = sub[i]
            for c in range(p):
                out[a, b, c] += w[i] * T[i, c]


@kernel
def add_by_label_csr(
    data: Any, indices: Any, indptr: Any, w: Any, z: Any, sub: Any, out: Any
) -> None:
    """Add ``w[i] T[i]`` to ``out[z[i], sub[i]]`` for statistics in compressed rows."""
    for i in range(len(indptr) - 1):
        a = z[i]
        if 0 <= a < len(out):
            for q in range(indptr[i], indptr[i + 1]):
                out[a, sub[i], indices[q]] += w[i] * data[q]
