"""Compiled kernels for counts: compressed rows, marginals of clusters, cuts.

Rows come compressed, ``(1, x)`` each: the first column is not a category.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.compiling import bare, helper, part
from scstream.kernels.elementary import log_gamma

OCTAVES, PIECES = range(-4, 17), 16  # of the numbers for which polynomials follow log gamma
_SHIFT = 52 - 4  # bits of a float below those that tell the piece, 16 of them an octave
_FIRST = (1023 + OCTAVES.start) << 4
_LOW = (1 << _SHIFT) - 1
_ONE = int(np.float64(1.0).view(np.int64))
_MANTISSA = 2**52 - 1
_ROOT = int(np.sqrt(0.5).view(np.int64))
_LN2 = float(np.log(2.0))
_S0, _S1, _S2, _S3, _S4, _S5, _S6, _S7, _S8 = (2.0 / i for i in range(1, 18, 2))
_LEAST, _LIMIT = 2.0**OCTAVES.start, 2.0**OCTAVES.stop


@helper
def fast_log(x: float) -> Any:
    """Return the logarithm of a positive number to within 2e-15, without a branch or a table.

    Times a power of 2 it is between the roots of 1/2 and 2, where it is a short series in
    ``s = (m - 1) / (m + 1)``.
    """
    bits = np.float64(x).view(np.int64) - _ROOT
    m = np.int64((bits & _MANTISSA) + _ROOT).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    y = s * s
    v = y * y
    low = _S0 + y * _S1 + v * (_S2 + y * _S3)
    high = _S4 + y * _S5 + v * (_S6 + y * _S7 + v * _S8)
    return np.float64(bits >> 52) * _LN2 + s * (low + v * v * high)


@bare
def counts_marginal(
    s: Any, prior: Any, whole: float, log_gammas: Any, pieces: Any, room: Any, out: Any
) -> None:
    """Fill ``out`` (k,) with the log marginals of clusters (k, 1 + d) under a Dirichlet prior.

    Categories a cluster has not met add nothing. ``prior`` is (1 + d,), ``whole`` its sum, and
    ``log_gammas`` are those of its entries, and last of the sum. There is ``room`` (2, 1 + d).
    """
    for r in range(len(out)):
        out[r] = _marginal(s[r], prior, whole, log_gammas, pieces, room[0])


@bare
def joined_marginal(
    s: Any, a: Any, b: Any, prior: Any, whole: float, log_gammas: Any, pieces: Any, room: Any,
    out: Any,
) -> None:  # fmt: skip
    """Do the same for pairs (m,) of clusters (k, 1 + d) taken together."""
    both = room[1]
    for i in range(len(out)):
        one, other = s[a[i]], s[b[i]]
        for j in range(len(both)):
            both[j] = one[j] + other[j]
        out[i] = _marginal(both, prior, whole, log_gammas, pieces, room[0])


@part
def _marginal(row: Any, prior: Any, whole: float, log_gammas: Any, pieces: Any, x: Any) -> Any:
    """Return the log marginal of a cluster (1 + d,).

    The parameters of the categories that it has met are put next to one another first: which ones
    these are cannot be foreseen. Polynomials follow the log gamma function: the first bits of a
    float tell which piece it is on, the others where. A few numbers are beyond all pieces.
    """
    m, mass, level = 0, 0.0, 0.0
    for j in range(1, len(row)):
        x[m] = prior[j] + row[j]
        m += row[j] != 0.0
    for j in range(1, len(row)):
        mass += row[j]
        level -= log_gammas[j] if row[j] != 0.0 else 0.0
    beyond = 0
    for i in range(m):
        inside = _LEAST <= x[i] < _LIMIT
        beyond += not inside
        bits = np.float64(x[i] if inside else 1.0).view(np.int64)  # the log gamma of 1 is 0
        v = 2.0 * np.int64(((bits & _LOW) << 4) | _ONE).view(np.float64) - 3.0
        v2 = v * v
        a = pieces[np.uint64((bits >> _SHIFT) - _FIRST)]
        low, high = a[0] + v * a[1] + v2 * (a[2] + v * a[3]), a[4] + v * a[5]
        level += low + v2 * v2 * (high + v2 * (a[6] + v * a[7]))
    if beyond > 0:
        for i in range(m):
            level += log_gamma(x[i]) if not _LEAST <= x[i] < _LIMIT else 0.0
    # the large ones by themselves: next to them the others would lose digits
    return level - (log_gamma(whole + mass) - log_gammas[-1])


@bare
def faults(data: Any) -> Any:
    """Return how many numbers are no counts."""
    out = 0
    for q in range(len(data)):
        out += not (data[q] >= 0.0 and data[q] == np.floor(data[q]))
    return out


@bare
def compress(X: Any, data: Any, indices: Any, indptr: Any) -> None:
    """Fill the compressed form of dense rows, for which there is room, and one entry more."""
    at = 0
    for i in range(X.shape[0]):
        indptr[i] = at
        for j in range(X.shape[1]):  # without a branch: which ones are zero cannot be foreseen
            data[at] = X[i, j]
            indices[at] = j
            at += X[i, j] != 0.0
    indptr[X.shape[0]] = at


@bare
def put_ones_first(data: Any, indices: Any, indptr: Any, to: Any, places: Any, starts: Any) -> None:
    """Fill rows ``(1, x)``, for which there is room."""
    for i in range(len(indptr) - 1):
        first, stop = np.int64(indptr[i]), np.int64(indptr[i + 1])
        starts[i] = first + i
        to[first + i] = 1.0
        places[first + i] = 0
        run = slice(first + i + 1, stop + i + 1)
        one, x = to[run], data[first:stop]
        two, y = places[run], indices[first:stop]
        for q in range(len(x)):
            one[q] = x[q]
        for q in range(len(y)):
            two[q] = y[q] + 1
    starts[len(indptr) - 1] = len(to)


@bare
def take_rows(rows: Any, at: Any, to: Any) -> None:
    """Fill some compressed rows, in the order in which they are named, with room for them.

    Both are entries, their columns, and where rows begin; of those to be filled this is known.
    """
    data, indices, indptr = rows
    some, places, starts = to
    for i in range(len(at)):
        first, stop = np.int64(indptr[at[i]]), np.int64(indptr[at[i] + 1])
        x, y = data[first:stop], indices[first:stop]
        run = slice(np.int64(starts[i]), np.int64(starts[i]) + len(x))
        one, two = some[run], places[run]
        for q in range(len(x)):
            one[q] = x[q]
        for q in range(len(y)):
            two[q] = y[q]


@bare
def leans(past: Any, normal: Any, level: Any, variance: Any) -> None:
    """Fill means and variances (m,) of the discriminants (k, d) over pasts (m, 1 + d), k in turn.

    Rows of a past are seen as those of one multinomial.
    """
    for r in range(len(past)):
        row, along = past[r, 1:], normal[r % len(normal)]
        n, of_one = _of_one(past[r], along)
        s = v = 0.0
        for j in range(len(row)):
            s += row[j] * along[j]
            v += row[j] * (along[j] - of_one) * along[j]
        level[r], variance[r] = s / n, v / n


@bare
def parted(past: Any, normal: Any, share: Any, pull: Any, out: Any) -> None:
    """Fill shares (m,) of pasts (m, 1 + d), each moved against its discriminant by a pull (m,)."""
    for r in range(len(past)):
        row, along, to = past[r, 1:], normal[r % len(normal)], out[r, 1:]
        _, of_one = _of_one(past[r], along)
        out[r, 0] = past[r, 0] * share[r]
        for j in range(len(row)):
            v = share[r] * row[j] * (1.0 - (along[j] - of_one) * pull[r])
            v = v if v > 0.0 else 0.0
            to[j] = v if v < row[j] else row[j]


@helper
def _of_one(past: Any, along: Any) -> Any:
    """Return the count of a past, and the mean of the discriminant over single trials."""
    trials = s = 0.0
    for j in range(len(along)):
        trials += past[1 + j]
        s += past[1 + j] * along[j]
    return max(past[0], 1e-300), s / max(trials, 1e-300)
