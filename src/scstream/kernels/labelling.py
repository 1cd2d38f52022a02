"""Compiled kernels of the data pass: uniforms, sub-labels, new names, and sums by label.

Labels themselves are the business of `scstream.core`.

What gap between log-probabilities is taken for certainty says `elementary`.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, helper, kernel, part
from scstream.kernels.elementary import CERTAIN, POSSIBLE

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_S11 = np.uint64(11)
_UNIT = 2.0**-53


Floats = NDArray[np.float64]


class Pairs(NamedTuple):
    """What scores rows under the two sub-clusters of each cluster, by products.

    Attributes
    ----------
    eta : ndarray (2 k, p)
    const, power : ndarray (2 k,)
        Scores are ``const - power log(T @ eta)``, or ``T @ eta`` where these are empty.
    """

    eta: Floats
    const: Floats
    power: Floats


@bare
def uniforms(seed: Any, batch: Any, sweep: Any, first: Any, out: Any) -> None:
    """Fill ``out`` (2, n) with uniforms in [0, 1) keyed by (seed, batch, sweep, row)."""
    first_uniforms(seed, batch, sweep, first, out.shape[1], out)


@part
def first_uniforms(seed: Any, batch: Any, sweep: Any, first: Any, n: int, out: Any) -> None:
    """Fill the first n columns of ``out``.

    Philox 4x32 with ten rounds: the counter is (row, sweep, batch), the key is the seed. Each word
    of 32 bits has one of 64 to itself, and no round is a turn of a loop: so several rows are taken
    at a time.
    """
    for i in range(n):
        row, key = np.uint64(first + i), np.uint64(seed)
        words = row & _LOW, row >> _S32, np.uint64(sweep) & _LOW, np.uint64(batch) & _LOW
        half = _five_rounds(*words, key & _LOW, key >> _S32)
        a, b, c, d, _, _ = _five_rounds(*half)
        out[0, i], out[1, i] = _unit(a, b), _unit(c, d)


@part
def _five_rounds(a: Any, b: Any, c: Any, d: Any, k: Any, m: Any) -> Any:
    """Return the words and the key of Philox five rounds later."""
    a, b, c, d, k, m = _round(a, b, c, d, k, m)
    a, b, c, d, k, m = _round(a, b, c, d, k, m)
    a, b, c, d, k, m = _round(a, b, c, d, k, m)
    a, b, c, d, k, m = _round(a, b, c, d, k, m)
    return _round(a, b, c, d, k, m)


@part
def _round(a: Any, b: Any, c: Any, d: Any, k: Any, m: Any) -> Any:
    """Return the words and the key a round later."""
    p, q = _M0 * a, _M1 * c
    next_key = (k + _W0) & _LOW, (m + _W1) & _LOW
    return (q >> _S32) ^ b ^ k, q & _LOW, (p >> _S32) ^ d ^ m, p & _LOW, *next_key


@part
def _unit(high: Any, low: Any) -> Any:
    """Return the number in [0, 1) that two words of 32 bits are."""
    return np.float64(((high << _S32) | low) >> _S11) * _UNIT


@helper
def certainty(gap: Any) -> Any:
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    if gap < POSSIBLE:
        return 0.0
    if gap > CERTAIN:
        return gap
    return log(1.0 + exp(gap))


@bare
def draw_pair(pairs: Any, u: Any, sub: Any, doubt: Any) -> None:
    """Draw one of two sub-labels with probability proportional to ``exp(pairs[i])``."""
    for i in range(len(pairs)):
        gap = pairs[i, 1] - pairs[i, 0]
        if not POSSIBLE < gap < CERTAIN:
            sub[i] = gap > 0.0
            doubt[i] = 0.0
        else:
            odds = exp(gap)
            one = u[i] * (1.0 + odds) < odds
            sub[i] = one
            doubt[i] = log(1.0 + (1.0 / odds if one else odds))


@bare
def best_pair(pairs: Any, sub: Any, doubt: Any) -> None:
    """Take the better of two sub-labels."""
    for i in range(len(pairs)):
        gap = pairs[i, 1] - pairs[i, 0]
        sub[i] = 1 if gap > 0.0 else 0
        doubt[i] = certainty(-abs(gap))


@bare
def share_pair(pairs: Any, sub: Any, share: Any, doubt: Any) -> None:
    """Take the better of two sub-labels, and fill the probability of the second one.

    The doubt is that expected of a sub-label drawn so: the entropy.
    """
    for i in range(len(pairs)):
        gap = pairs[i, 1] - pairs[i, 0]
        better = gap > 0.0
        sub[i] = better
        less = 0.0
        if POSSIBLE < gap < CERTAIN:
            odds = exp(-abs(gap))
            less = odds / (1.0 + odds)
            doubt[i] = log(1.0 + odds) + less * abs(gap)
        else:
            doubt[i] = 0.0
        share[i] = 1.0 - less if better else less


@bare
def tally(
    z: Any, sub: Any, second: Any, doubt: Any, sub_doubt: Any, weight: Any, rows: Any,
    rivals: Any, between: Any,
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


@bare
def add_doubts(z: Any, weight: Any, doubt: Any, out: Any) -> None:
    """Add ``weight[i] doubt[i]`` to ``out[z[i]]``, labels of -1 left out."""
    for i in range(len(z)):
        if z[i] >= 0:
            out[z[i]] += weight[i] * doubt[i]


@bare
def take_trial(chosen: Any, trial: Any, z: Any, sub: Any, rows: Any) -> None:
    """Take the tried sub-labels of the chosen clusters, and count rows (k, 2) anew."""
    for i in range(len(z)):
        a = z[i]
        if a >= 0:
            if chosen[a]:
                sub[i] = trial[i]
            rows[a, sub[i]] += 1


@bare
def named(labels: Any, ids: Any, out: Any) -> None:
    """Fill the ids of labels; a label of -1 stays that."""
    for i in range(len(labels)):
        out[i] = ids[labels[i]] if labels[i] >= 0 else -1


@bare
def rename(label: Any, sublabel: Any, z: Any, sub: Any) -> None:
    """Rename pairs of label and sub-label by the tables (k, 2) each; -1 stays."""
    for i in range(len(z)):
        a, b = z[i], sub[i]
        if a >= 0:
            z[i] = label[a, b]
            sub[i] = sublabel[a, b]


@kernel
def least(seed: Any, batch: Any, sweep: Any, first: Any, z: Any, row: Any, low: Any) -> None:
    """Fill ``row[c]`` with the row of cluster c that has the least uniform, ``low[c]``."""
    u = np.empty((2, 256))
    for start in range(0, len(z), 256):
        uniforms(seed, batch, sweep, first + start, u)
        for i in range(start, min(start + 256, len(z))):
            c = z[i]
            if c >= 0 and (row[c] < 0 or u[0, i - start] < low[c]):
                row[c] = i
                low[c] = u[0, i - start]


@bare
def take_csr(data: Any, indices: Any, indptr: Any, row: Any, out: Any) -> None:
    """Fill zeros (k, p) with the given rows (k,) of compressed ones, -1 for none."""
    for c in range(len(row)):
        if row[c] >= 0:
            for q in range(indptr[row[c]], indptr[row[c] + 1]):
                out[c, indices[q]] = data[q]


@bare
def add_by_label(T: Any, w: Any, z: Any, sub: Any, out: Any) -> None:
    """Add ``w[i] T[i]`` to ``out[z[i], sub[i]]``, rows with labels out of range left out."""
    n, p = T.shape
    for i in range(n):
        a = z[i]
        if 0 <= a < len(out):
            b = sub[i]
            for c in range(p):
                out[a, b, c] += w[i] * T[i, c]


@bare
def add_by_share(T: Any, w: Any, z: Any, share: Any, out: Any) -> None:
    """Add ``w[i] T[i]`` to both sides of ``out[z[i]]``, ``share[i]`` of it to the second."""
    n, p = T.shape
    for i in range(n):
        a = z[i]
        if 0 <= a < len(out):
            two = w[i] * share[i]
            one = w[i] - two
            for c in range(p):
                out[a, 0, c] += one * T[i, c]
                out[a, 1, c] += two * T[i, c]


@bare
def add_by_label_csr(
    data: Any, indices: Any, indptr: Any, w: Any, z: Any, sub: Any, out: Any
) -> None:
    """Add ``w[i] T[i]`` to ``out[z[i], sub[i]]`` for statistics in compressed rows."""
    for i in range(len(indptr) - 1):
        if 0 <= z[i] < len(out):
            to, weight = out[z[i], sub[i]], w[i]
            for q in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
                to[np.uint32(indices[q])] += weight * data[q]  # a place is not negative


@bare
def resplit_block(
    T: Any, w: Any, z: Any, chosen: Any, pairs: Pairs, doubts: bool, trial: Any, current: Any,
    doubt: Any,
) -> None:  # fmt: skip
    """Try the better sub-labels for points of the chosen clusters, and add up."""
    n, p = T.shape
    eta, const, power, plain = pairs.eta, pairs.const, pairs.power, len(pairs.power) == 0
    for i in range(n):
        c = z[i]
        if c < 0 or not chosen[c]:
            continue
        a, b = 0.0, 0.0
        for j in range(p):
            a += T[i, j] * eta[2 * c, j]
            b += T[i, j] * eta[2 * c + 1, j]
        if not plain:
            a = const[2 * c] - power[2 * c] * log(max(a, 1.0))
            b = const[2 * c + 1] - power[2 * c + 1] * log(max(b, 1.0))
        j = 1 if b > a else 0
        trial[i] = j
        if doubts:
            doubt[c] += w[i] * certainty(-abs(b - a))
        for q in range(p):
            current[c, j, q] += w[i] * T[i, q]
