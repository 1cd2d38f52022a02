"""Compiled kernels for scores of rows of counts: Dirichlet-multinomials, term by term.

Rows come compressed, ``(1, x)`` each: the first column is not a category.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, helper, in_order, kernel
from scstream.kernels.counts import fast_log
from scstream.kernels.elementary import log_gamma

EIGHT = 8  # terms that are added up at a time
FACTORS = 16  # of a rising factorial that are multiplied, at most
_LEAST = int(np.float64(2.0**-256).view(np.int64))


class Dirichlets(NamedTuple):
    """The parameters of k components, ``prior + sums``.

    Attributes
    ----------
    prior : ndarray (1 + d,)
        Its first entry is not read.
    sums : ndarray (k, 1 + d)
        Of which the first column is not read.
    whole : ndarray (k,)
        The sums of each component's parameters.
    """

    prior: NDArray[np.float64]
    sums: NDArray[np.float64]
    whole: NDArray[np.float64]


@bare
def wholes(prior: Any, sums: Any, out: Any) -> None:
    """Fill the sums (k,) of the components' parameters, see `Dirichlets`."""
    for r in range(len(out)):
        s, row = 0.0, sums[r]
        for j in range(1, len(row)):
            s += prior[j] + row[j]
        out[r] = s


@bare
def totals(data: Any, indptr: Any, out: Any) -> None:
    """Fill the sums (n,) of the rows' counts."""
    for i in range(len(out)):
        s = 0.0
        for count in data[np.int64(indptr[i]) + 1 : indptr[i + 1]]:
            s += count
        out[i] = s


@bare
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
                flat[np.uint32(keys[q])] = 1
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
                keys[q] = flat[np.uint32(keys[q])]
            else:
                keys[q] = met
                terms[met, 0], terms[met, 1] = places[q], int(counts[q])
                met += 1
    for i in range(n):
        for q in range(first[i] + indptr[i + 1] - indptr[i], first[i + 1]):
            which[q] = met
    return n_sums, met


@kernel
def fill_terms(terms: Any, own: Dirichlets, log_weight: Any, factors: int, out: Any) -> None:
    """Fill ``lgamma(conc[j] + c) - lgamma(conc[j])`` (m, k) for terms (j, c).

    Those of category 0, the rows' sums, are taken off the log weights (k,). Small counts take a
    product, of ``factors`` at most, which goes on from that of a smaller count if there was one
    just before.
    """
    m, k = out.shape
    product, log_gammas, here = np.empty(k), np.empty(k), np.empty(k)
    last, done, known, loaded = -1, 0, -1, -1
    for t in range(m):
        j, c, to = terms[t, 0], terms[t, 1], out[t]
        if loaded != j:
            loaded = j
            for r in range(k):
                here[r] = own.prior[j] + own.sums[r, j] if j > 0 else own.whole[r]
        if c > factors:
            if known != j:
                known = j
                for r in range(k):
                    log_gammas[r] = log_gamma(here[r])
            for r in range(k):
                to[r] = log_gamma(here[r] + c) - log_gammas[r]
        else:
            if last != j or done > c:
                last, done = j, 0
                for r in range(k):
                    product[r] = 1.0
            for i in range(done, c):
                for r in range(k):
                    product[r] *= here[r] + i
            done = c
            for r in range(k):
                to[r] = fast_log(product[r])
        if j == 0:
            for r in range(k):
                to[r] = log_weight[r] - to[r]


@bare
def add_terms(which: Any, first: Any, table: Any, out: Any) -> None:
    """Fill sums (n, k) of rows of a table (., k), each row's by their numbers."""
    for i in range(len(out)):
        add_row(which, first[i], first[i + 1], table, out[i])


@in_order
def add_row(which: Any, start: int, stop: int, table: Any, out: Any) -> None:
    """Fill the sum (k,) of the rows of a table with the numbers in a run, eight at a time.

    The order of the sum is always this one, also in `sum_at`: rows are scored in several ways.
    """
    for r in range(len(out)):
        out[r] = 0.0
    for q in range(start, stop, EIGHT):
        a, b, c, d = _four(table, which, q)
        e, f, g, h = _four(table, which, q + 4)
        for r in range(len(out)):
            out[r] += ((a[r] + b[r]) + (c[r] + d[r])) + ((e[r] + f[r]) + (g[r] + h[r]))


@in_order
def sum_at(which: Any, start: int, stop: int, table: Any, c: int) -> Any:
    """Return the entry c of that sum."""
    total = 0.0
    for q in range(start, stop, EIGHT):
        a, b, d, e = (
            table[which[q], c],
            table[which[q + 1], c],
            table[which[q + 2], c],
            table[which[q + 3], c],
        )
        f, g, h, i = (
            table[which[q + 4], c],
            table[which[q + 5], c],
            table[which[q + 6], c],
            table[which[q + 7], c],
        )
        total += ((a + b) + (d + e)) + ((f + g) + (h + i))
    return total


@helper
def _four(table: Any, which: Any, q: int) -> Any:
    return table[which[q]], table[which[q + 1]], table[which[q + 2]], table[which[q + 3]]


@bare
def counts_pairs(
    data: Any, indices: Any, indptr: Any, total: Any, own: Dirichlets, level: Any, z: Any, out: Any
) -> None:
    """Score counts under the Dirichlet-multinomials ``2 z[i]`` and ``2 z[i] + 1`` of each row.

    ``level`` (2 k,) is the log weight plus the log gamma of a component's whole. Factors are
    multiplied, the first three of a count without a branch, since counts cannot be foreseen, and
    with a logarithm now and then.
    """
    for i in range(len(z)):
        one, two = own.sums[2 * z[i]], own.sums[2 * z[i] + 1]
        v, w = level[2 * z[i]], level[2 * z[i] + 1]
        p = q = 1.0
        counts, places = _of_row(data, indices, indptr, i)
        for at in range(len(counts)):
            c, j = counts[at], np.uint32(places[at])
            x, y = own.prior[j] + one[j], own.prior[j] + two[j]
            p *= _three_factors(x, c)
            q *= _three_factors(y, c)
            if c > 3.0:
                if c > FACTORS:
                    v += log_gamma(x + c) - log_gamma(x + 3.0)
                    w += log_gamma(y + c) - log_gamma(y + 3.0)
                else:
                    for f in range(3, int(c)):
                        p *= x + f
                        q *= y + f
            if not _in_the_middle(p, q):  # a count's factors fit in the rest
                v, w, p, q = v + fast_log(p), w + fast_log(q), 1.0, 1.0
        out[i, 0] = v + fast_log(p) - log_gamma(own.whole[2 * z[i]] + total[i])
        out[i, 1] = w + fast_log(q) - log_gamma(own.whole[2 * z[i] + 1] + total[i])


@bare
def counts_left_out(
    data: Any, indices: Any, indptr: Any, total: Any, weight: Any, own: Dirichlets, level: Any,
    z: Any, out: Any,
) -> None:  # fmt: skip
    """Score counts under their own Dirichlet-multinomials z (n,) without what they taught them.

    ``level`` (k,) is the log weight; a row taught its weight (n,) times its counts. NaN where that
    is more than there is.
    """
    for i in range(len(z)):
        mine, w = own.sums[z[i]], weight[i]
        v, p = level[z[i]], 1.0
        counts, places = _of_row(data, indices, indptr, i)
        for at in range(len(counts)):
            c = counts[at]
            j = np.uint32(places[at])
            x = (own.prior[j] + mine[j]) - w * c
            if not x > 0.0:
                v = np.nan
                break
            p *= _three_factors(x, c)
            if c > FACTORS:
                v += log_gamma(x + c) - log_gamma(x + 3.0)
            else:
                for f in range(3, int(c)):
                    p *= x + f
            if not _in_the_middle(p, p):
                v, p = v + fast_log(p), 1.0
        whole = own.whole[z[i]] - w * total[i]
        out[i] = v + fast_log(p) + log_gamma(whole) - log_gamma(whole + total[i])


@helper
def _three_factors(x: float, c: float) -> Any:
    """Return ``x (x + 1) (x + 2)``, of which only c factors count."""
    one = x if c > 0.0 else 1.0
    two, three = 1.0 if c > 1.0 else 0.0, 1.0 if c > 2.0 else 0.0
    return one * ((1.0 + two * x) * (1.0 + three * (x + 1.0)))


@helper
def _in_the_middle(p: float, q: float) -> Any:
    """Whether two positive numbers are between 1e-77 and 1e77, which the first bits tell."""
    over = (np.float64(p).view(np.int64) - _LEAST) | (np.float64(q).view(np.int64) - _LEAST)
    return over >> 61 == 0


@helper
def _of_row(data: Any, indices: Any, indptr: Any, i: int) -> Any:
    """Return the counts of a row and their categories; whose places cannot be negative."""
    start, stop = np.int64(indptr[i]) + 1, np.int64(indptr[i + 1])
    return data[start:stop], indices[start:stop]
