"""Compiled kernels for rows of counts: their compressed form, Dirichlet-multinomials, marginals.

Rows come compressed, ``(1, x)`` each: the first column is not a category.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from scstream._compile import helper, kernel

EIGHT = 8  # terms that are added up at a time
FACTORS = 16  # of a rising factorial that are multiplied, at most
OCTAVES, PIECES = range(2, 17), 16  # of the numbers for which polynomials follow log gamma
_SHIFT = 52 - 4  # bits of a float below those that tell the piece, 16 of them an octave
_FIRST = (1023 + OCTAVES.start) << 4
_LOW = (1 << _SHIFT) - 1
_ONE = int(np.float64(1.0).view(np.int64))
_MANTISSA = 2**52 - 1
_LN2 = float(np.log(2.0))
_SHARES = 128  # of an octave, in each of which one number is near all
_INVERSE = (1.0 / (1.0 + (np.arange(_SHARES) + 0.5) / _SHARES)).astype(np.float32).astype(float)
_LOG = -np.log(_INVERSE)
_LIMIT = 2.0**OCTAVES.stop - 4.0


@kernel
def stirling(x: Any) -> Any:
    """Return ``lgamma(x)`` to rounding, for x of 8 or more."""
    w = 1.0 / x
    v = w * w
    tail = 1.0 / 1188.0 - v * (691.0 / 360360.0 - v / 156.0)
    tail = 1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0 - v * tail)))
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + w * tail


@kernel
def eight_factors(x: Any) -> Any:
    """Return ``x (x + 1) ... (x + 7)``: the ends of the product taken together in pairs."""
    u = x * (x + 7.0)
    return u * (u + 6.0) * ((u + 10.0) * (u + 12.0))


@kernel
def log_gamma(x: Any) -> Any:
    """Return ``lgamma(x)`` of a positive number, several times faster than the library."""
    if x < 8.0:
        return stirling(x + 8.0) - log(eight_factors(x))
    return stirling(x)


@kernel
def counts_marginal(
    s: Any, prior: Any, whole: float, log_gammas: Any, pieces: Any, out: Any
) -> None:
    """Fill ``out`` (k,) with the log marginals of clusters (k, 1 + d) under a Dirichlet prior.

    Categories a cluster has not met add nothing. ``prior`` is (1 + d,), ``whole`` its sum, and
    ``log_gammas`` are those of its entries, and last of the sum. Arguments are moved up by 4, to
    where polynomials follow the log gamma function; the factors that takes are multiplied, with a
    logarithm now and then. The first bits of a float tell which piece it is on, the others where.
    """
    k, p = s.shape
    for r in range(k):
        mass = 0.0
        level = 0.0
        product = 1.0
        for j in range(1, p):
            count = s[r, j]
            if count == 0.0:
                continue
            mass += count
            level -= log_gammas[j]
            x = prior[j] + count
            if not 0.0 < x < _LIMIT:
                level += stirling(x)
                continue
            bits = np.float64(x + 4.0).view(np.int64)
            i = (bits >> _SHIFT) - _FIRST
            v = 2.0 * np.int64(((bits & _LOW) << 4) | _ONE).view(np.float64) - 3.0
            v2 = v * v
            a = pieces[i]
            low, high = a[0] + v * a[1] + v2 * (a[2] + v * a[3]), a[4] + v * a[5]
            level += low + v2 * v2 * (high + v2 * (a[6] + v * a[7]))
            u = x * (x + 3.0)
            product *= u * (u + 2.0)
            if product < 1e-8 or product > 1e280:
                level -= log(product)
                product = 1.0
        # the large ones by themselves: next to them the others would lose digits
        out[r] = level - log(product) - (log_gamma(whole + mass) - log_gammas[p])


@kernel
def faults(data: Any) -> Any:
    """Return how many numbers are no counts."""
    out = 0
    for q in range(len(data)):
        out += not (data[q] >= 0.0 and data[q] == np.floor(data[q]))
    return out


@kernel
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


@kernel
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


@kernel
def totals(data: Any, indptr: Any, out: Any) -> None:
    """Fill the sums (n,) of the rows' counts."""
    for i in range(len(out)):
        s = 0.0
        for count in data[np.int64(indptr[i]) + 1 : indptr[i + 1]]:
            s += count
        out[i] = s


@kernel
def number(
    data: Any, indices: Any, indptr: Any, total: Any, sums: Any, found: Any, first: Any, which: Any,
    terms: Any,
) -> Any:  # fmt: skip
    """Give numbers to the terms of rows' scores; return how many are sums, and how many all.

    A term is a category and a count, or category 0 and the row's sum: those come first. ``terms``
    (m, 2) takes them, in order as far as ``sums`` (.,) and ``found`` (1 + d, .), which are zeros,
    have room for the sum or count: larger ones get a number each time. ``which`` takes the numbers
    of a row's terms from ``first[i]`` on, the sum's first, filled up to a multiple of eight by the
    number that comes next to all.
    """
    n, width = len(total), found.shape[1]
    flat = found.reshape(-1)
    at = 0
    for i in range(n):  # where the number of each term will be found
        first[i] = at
        if total[i] < len(sums):
            sums[int(total[i])] = 1
        counts, places = _of_row(data, indices, indptr, i)
        keys = which[at + 1 : at + 1 + len(counts)]
        for q in range(len(counts)):
            keys[q] = places[q] * width + int(counts[q]) if counts[q] < width else -1
        for q in range(len(keys)):
            if keys[q] >= 0:
                flat[keys[q]] = 1
        at += 1 + len(counts)
        at += -at % EIGHT
    first[n] = at
    met = 0
    for c in range(len(sums)):
        if sums[c] > 0:
            sums[c] = met
            terms[met, 0], terms[met, 1] = 0, c
            met += 1
    for i in range(n):
        if total[i] < len(sums):
            which[first[i]] = sums[int(total[i])]
        else:
            which[first[i]] = met
            terms[met, 0], terms[met, 1] = 0, int(total[i])
            met += 1
    n_sums = met
    for key in range(len(flat)):
        if flat[key] > 0:
            flat[key] = met
            terms[met, 0], terms[met, 1] = key // width, key % width
            met += 1
    for i in range(n):
        counts, places = _of_row(data, indices, indptr, i)
        keys = which[first[i] + 1 : first[i] + 1 + len(counts)]
        for q in range(len(counts)):
            if keys[q] >= 0:
                keys[q] = flat[keys[q]]
            else:
                keys[q] = met
                terms[met, 0], terms[met, 1] = places[q], int(counts[q])
                met += 1
    for i in range(n):
        for q in range(first[i] + indptr[i + 1] - indptr[i], first[i + 1]):
            which[q] = met
    return n_sums, met


@kernel
def fill_terms(terms: Any, conc: Any, factors: int, out: Any) -> None:
    """Fill ``lgamma(conc[j] + c) - lgamma(conc[j])`` (m, k) for terms (j, c).

    Small counts take a product, of ``factors`` at most, which goes on from that of a smaller count
    if there was one just before.
    """
    m, k = out.shape
    product, log_gammas = np.empty(k), np.empty(k)
    last, done, known = -1, 0, -1
    for t in range(m):
        j, c = terms[t, 0], terms[t, 1]
        here, to = conc[j], out[t]
        if c > factors:
            if known != j:
                known = j
                for r in range(k):
                    log_gammas[r] = log_gamma(here[r])
            for r in range(k):
                to[r] = log_gamma(here[r] + c) - log_gammas[r]
            continue
        if last != j or done > c:
            last, done = j, 0
            for r in range(k):
                product[r] = 1.0
        for i in range(done, c):
            for r in range(k):
                product[r] *= here[r] + i
        done = c
        for r in range(k):
            to[r] = _log(product[r])


@helper
def _log(x: float) -> Any:
    """Return the logarithm of a positive number to within 2e-15, faster than the library.

    It is that of a number nearby plus a series in what is left, less than 1/256.
    """
    bits = np.float64(x).view(np.int64)
    i = np.uint64((bits >> 45) & (_SHARES - 1))
    f = np.int64((bits & _MANTISSA) | _ONE).view(np.float64) * _INVERSE[i] - 1.0
    v = f * f
    series = f + v * (f / 3.0 - 0.5 + v * (f / 5.0 - 0.25 - v / 6.0))
    return np.float64((bits >> 52) - 1023) * _LN2 + _LOG[i] + series


@kernel
def add_terms(which: Any, first: Any, table: Any, out: Any) -> None:
    """Fill sums (n, k) of rows of a table (., k), each row's by their numbers, eight at a time."""
    n, k = out.shape
    for i in range(n):
        row = out[i]
        for r in range(k):
            row[r] = 0.0
        for q in range(first[i], first[i + 1], EIGHT):
            a, b, c, d = _four(table, which, q)
            e, f, g, h = _four(table, which, q + 4)
            for r in range(k):
                row[r] += ((a[r] + b[r]) + (c[r] + d[r])) + ((e[r] + f[r]) + (g[r] + h[r]))


@helper
def _four(table: Any, which: Any, q: int) -> Any:
    return table[which[q]], table[which[q + 1]], table[which[q + 2]], table[which[q + 3]]


@kernel
def counts_pairs(
    data: Any, indices: Any, indptr: Any, total: Any, conc: Any, level: Any, z: Any, out: Any
) -> None:
    """Score counts under the Dirichlet-multinomials ``2 z[i]`` and ``2 z[i] + 1`` of each row.

    The concentrations are (2 k, 1 + d), their sums in front, and ``level`` (2 k,) is the log weight
    plus the log gamma of the sum. Factors are multiplied, the first three of a count without a
    branch, since counts cannot be foreseen, and with a logarithm now and then.
    """
    for i in range(len(z)):
        one, two = conc[2 * z[i]], conc[2 * z[i] + 1]
        v, w = level[2 * z[i]], level[2 * z[i] + 1]
        p = q = 1.0
        counts, places = _of_row(data, indices, indptr, i)
        for at in range(len(counts)):
            c, j = counts[at], np.uint32(places[at])
            x, y = one[j], two[j]
            p *= _three_factors(x, c)
            q *= _three_factors(y, c)
            if c > FACTORS:
                v += log_gamma(x + c) - log_gamma(x + 3.0)
                w += log_gamma(y + c) - log_gamma(y + 3.0)
            elif c > 3.0:
                for f in range(3, int(c)):
                    p *= x + f
                    q *= y + f
            if not (1e-60 < p < 1e60 and 1e-60 < q < 1e60):  # a count's factors fit in the rest
                v, w, p, q = v + log(p), w + log(q), 1.0, 1.0
        out[i, 0] = v + log(p) - log_gamma(one[0] + total[i])
        out[i, 1] = w + log(q) - log_gamma(two[0] + total[i])


@helper
def _three_factors(x: float, c: float) -> Any:
    """Return ``x (x + 1) (x + 2)``, of which only c factors count."""
    one, two = x if c > 0.0 else 1.0, x + 1.0 if c > 1.0 else 1.0
    return one * two * (x + 2.0 if c > 2.0 else 1.0)


@helper
def _of_row(data: Any, indices: Any, indptr: Any, i: int) -> Any:
    """Return the counts of a row and their categories; whose places cannot be negative."""
    start, stop = np.int64(indptr[i]) + 1, np.int64(indptr[i + 1])
    return data[start:stop], indices[start:stop]
