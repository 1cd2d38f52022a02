"""Compiled kernels of the families' scores."""

from __future__ import annotations

from math import lgamma, log
from typing import Any

from scstream._compile import kernel


@kernel
def pair_products(T: Any, eta: Any, z: Any, out: Any) -> None:
    """Fill ``out[i, j] = T[i] . eta[2 z[i] + j]``."""
    n, p = T.shape
    for i in range(n):
        r = 2 * z[i]
        a = 0.0
        b = 0.0
        for c in range(p):
            a += T[i, c] * eta[r, c]
            b += T[i, c] * eta[r + 1, c]
        out[i, 0] = a
        out[i, 1] = b


@kernel
def pair_products_csr(data: Any, indices: Any, indptr: Any, eta: Any, z: Any, out: Any) -> None:
    """Fill ``out[i, j] = T[i] . eta[2 z[i] + j]`` for statistics in compressed rows."""
    for i in range(len(indptr) - 1):
        r = 2 * z[i]
        a = 0.0
        b = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            a += data[q] * eta[r, indices[q]]
            b += data[q] * eta[r + 1, indices[q]]
        out[i, 0] = a
        out[i, 1] = b


@kernel
def student(q: Any, const: Any, power: Any) -> None:
    """Replace products (n, k) by ``const - power log(q)``; what rounding put below 1 is 1."""
    n, k = q.shape
    for i in range(n):
        for c in range(k):
            q[i, c] = const[c] - power[c] * log(max(q[i, c], 1.0))


@kernel
def student_pairs(q: Any, const: Any, power: Any, z: Any) -> None:
    """Do the same to the products (n, 2) of each row's own pair."""
    for i in range(len(z)):
        for b in range(2):
            r = 2 * z[i] + b
            q[i, b] = const[r] - power[r] * log(max(q[i, b], 1.0))


@kernel
def rising(a: Any, count: Any) -> Any:
    """Return ``lgamma(a + count) - lgamma(a)`` for a whole count, small ones by products."""
    if count > 8.0:
        return lgamma(a + count) - lgamma(a)
    out = 1.0
    for i in range(int(count)):
        out *= a + i
    return log(out)


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
    ``log_gammas`` are those of its entries, and last of the sum. Arguments below 32 are moved up
    by 4, to where polynomials follow the log gamma function, a piece for each quarter; the
    factors that takes are multiplied, with a logarithm now and then.
    """
    k, p = s.shape
    for r in range(k):
        mass = 0.0
        level = 0.0
        product = 1.0
        for j in range(1, p):
            if s[r, j] == 0.0:
                continue
            mass += s[r, j]
            level -= log_gammas[j]
            x = prior[j] + s[r, j]
            if not 0.0 < x < 32.0:
                level += stirling(x)
                continue
            i = int(4.0 * x)
            v = 8.0 * x - 2.0 * i - 1.0
            v2 = v * v
            low = pieces[i, 0] + v * pieces[i, 1] + v2 * (pieces[i, 2] + v * pieces[i, 3])
            high = pieces[i, 4] + v * pieces[i, 5] + v2 * (pieces[i, 6] + v * pieces[i, 7])
            level += low + v2 * v2 * high
            u = x * (x + 3.0)
            product *= u * (u + 2.0)
            if product < 1e-8 or product > 1e290:
                level -= log(product)
                product = 1.0
        # the large ones by themselves: next to them the others would lose digits
        out[r] = level - log(product) - (log_gamma(whole + mass) - log_gammas[p])


@kernel
def rising_row(a: Any, count: Any, log_gammas: Any, out: Any) -> None:
    """Fill ``out = lgamma(a + count) - lgamma(a)`` for a whole count, small ones by products.

    ``log_gammas`` are those of ``a``, needed for counts above 16.
    """
    if count > 16:
        for r in range(len(a)):
            out[r] = log_gamma(a[r] + count) - log_gammas[r]
        return
    for r in range(len(a)):
        out[r] = 1.0
    for i in range(min(count, 8)):
        for r in range(len(a)):
            out[r] *= a[r] + i
    for r in range(len(a)):
        out[r] = log(out[r])
    if count > 8:
        for r in range(len(a)):
            rest = a[r] + 8.0
            for i in range(9, count):
                rest *= a[r] + i
            out[r] += log(rest)


@kernel
def number_counts(
    data: Any, rows: Any, starts: Any, found: Any, end: Any, trials: Any, which: Any, terms: Any
) -> Any:
    """Find the pairs of a category and a count that occur, and return how many there are.

    The counts come in compressed columns, the first of which is not theirs. ``terms`` (2, m)
    takes the pairs, ``which`` their numbers row by row, from ``end[i]`` on, which moves up behind
    the last, and ``trials`` (n,) the rows' sums. ``found`` is scratch space, -1 everywhere: counts
    beyond it get a number each time.
    """
    met = 0
    for j in range(1, len(starts) - 1):
        first = met
        for q in range(starts[j], starts[j + 1]):
            i, c = rows[q], int(data[q])
            t = found[c] if c < len(found) else -1
            if t < 0:
                t = met
                terms[0, t], terms[1, t] = j, c
                met += 1
                if c < len(found):
                    found[c] = t
            which[end[i]] = t
            end[i] += 1
            trials[i] += data[q]
        for t in range(first, met):
            if terms[1, t] < len(found):
                found[terms[1, t]] = -1
    return met


@kernel
def counts_block(
    which: Any, start: Any, end: Any, terms: Any, trials: Any, order: Any, conc: Any, mass: Any,
    const: Any, table: Any, out: Any,
) -> None:  # fmt: skip
    """Score numbered counts under Dirichlet-multinomials with concentrations (1 + d, k).

    Every pair of a category and a count that occurs is scored once for all rows. The table
    (m + 2, w) holds these terms for w of the components at a time, and two rows of scratch. Rows
    are taken in an order in which those with as many trials follow one another.
    """
    k = out.shape[1]
    m, width = len(table) - 2, table.shape[1]
    for a in range(0, k, width):
        b = min(a + width, k)
        log_gammas, one = table[m, : b - a], table[m + 1, : b - a]
        last = -1
        for t in range(m):
            here = conc[terms[0, t], a:b]
            if terms[1, t] > 16 and terms[0, t] != last:
                last = terms[0, t]
                for r in range(b - a):
                    log_gammas[r] = log_gamma(here[r])
            rising_row(here, terms[1, t], log_gammas, table[t, : b - a])
        for r in range(b - a):
            log_gammas[r] = log_gamma(mass[a + r])
            one[r] = 0.0
        before = 0.0
        for i in order:
            if trials[i] != before:
                before = trials[i]
                rising_row(mass[a:b], int(before), log_gammas, one)
            row = out[i, a:b]
            for r in range(b - a):
                row[r] = const[a + r] - one[r]
            q, last = start[i], end[i]
            while q + 8 <= last:  # several at a time, since reading and writing a sum takes longer
                t0, t1, t2, t3 = which[q], which[q + 1], which[q + 2], which[q + 3]
                t4, t5, t6, t7 = which[q + 4], which[q + 5], which[q + 6], which[q + 7]
                for r in range(b - a):
                    more = (table[t0, r] + table[t1, r]) + (table[t2, r] + table[t3, r])
                    row[r] += more + ((table[t4, r] + table[t5, r]) + (table[t6, r] + table[t7, r]))
                q += 8
            for at in range(q, last):
                for r in range(b - a):
                    row[r] += table[which[at], r]


@kernel
def counts_pairs(
    data: Any, indices: Any, indptr: Any, conc: Any, mass: Any, const: Any, z: Any, out: Any
) -> None:
    """Score counts under the Dirichlet-multinomials ``2 z[i]`` and ``2 z[i] + 1`` of each row.

    The counts come in compressed rows with a first column that is not theirs, the
    concentrations (2 k, 1 + d) likewise. Factors are multiplied, with a logarithm now and then.
    """
    for i in range(len(indptr) - 1):
        for b in range(2):
            a = 2 * z[i] + b
            level = const[a]
            product = 1.0
            trials = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                if indices[q] == 0:
                    continue
                c = data[q]
                x = conc[a, indices[q]]
                trials += c
                if c > 16.0:
                    level += log_gamma(x + c) - log_gamma(x)
                    continue
                for f in range(int(c)):
                    product *= x + f
                if not 1e-60 < product < 1e60:  # a count's own factors fit in what is left
                    level += log(product)
                    product = 1.0
            if trials > 0.0:
                level -= log_gamma(mass[a] + trials) - log_gamma(mass[a])
            out[i, b] = level + log(product)


@kernel
def column_logs(T: Any, a: Any, b: Any, c: Any, power: Any, out: Any) -> None:
    """Subtract ``power log(a + b x + c y)``, (d, k) each, of every observed column of each row."""
    d, k = a.shape
    for i in range(len(T)):
        for j in range(d):
            if T[i, 1 + j] > 0.0:
                x = T[i, 1 + d + j]
                y = T[i, 1 + 2 * d + j]
                for r in range(k):
                    out[i, r] -= power[j, r] * log(a[j, r] + b[j, r] * x + c[j, r] * y)


@kernel
def column_logs_pairs(T: Any, a: Any, b: Any, c: Any, power: Any, z: Any, out: Any) -> None:
    """Subtract the same, (k, d) each, under the components ``2 z[i]`` and ``2 z[i] + 1``."""
    d = a.shape[1]
    for i in range(len(T)):
        for h in range(2):
            r = 2 * z[i] + h
            s = 0.0
            for j in range(d):
                if T[i, 1 + j] > 0.0:
                    x = T[i, 1 + d + j]
                    y = T[i, 1 + 2 * d + j]
                    s += power[r, j] * log(a[r, j] + b[r, j] * x + c[r, j] * y)
            out[i, h] -= s


@kernel
def column_rises(T: Any, shape: Any, log_gamma: Any, out: Any) -> None:
    """Add ``lgamma(shape + x) - lgamma(shape)``, (d, k), of every column's count x of each row."""
    d, k = shape.shape
    for i in range(len(T)):
        for j in range(d):
            x = T[i, 1 + d + j]
            if x > 8.0:
                for r in range(k):
                    out[i, r] += lgamma(shape[j, r] + x) - log_gamma[j, r]
            elif x > 0.0:
                for r in range(k):
                    out[i, r] += rising(shape[j, r], x)


@kernel
def column_rises_pairs(T: Any, shape: Any, z: Any, out: Any) -> None:
    """Add the same, (k, d), under the components ``2 z[i]`` and ``2 z[i] + 1``."""
    d = shape.shape[1]
    for i in range(len(T)):
        for h in range(2):
            r = 2 * z[i] + h
            for j in range(d):
                x = T[i, 1 + d + j]
                if x > 0.0:
                    out[i, h] += rising(shape[r, j], x)
