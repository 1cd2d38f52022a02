"""Compiled kernels of the families' scores."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from scstream.kernels.compiling import bare, helper, part
from scstream.kernels.elementary import log_gamma

_ONE = int(np.float64(1.0).view(np.int64))
_PER_BIT = 2.0**-52
_MANTISSA = 2**52 - 1
_LN2 = float(np.log(2.0))
_FAR = 40.0  # nats below the best component's score from where on another's adds nothing
FEW = 8.0  # counts up to which a rise is a product of so many factors
_SMALL, _LARGE = 1e-280, 1e280  # products between these have all their digits
_A, _B = 0.4231, 0.1681  # the tangent at 0.4 of (log2(1 + f) - f) / (f (1 - f)), a little lower


@bare
def products(T: Any, eta: Any, out: Any) -> None:
    """Fill ``out[i, c] = T[i] . eta[c]``; where a row stands among others changes no bit.

    Two rows and four components at a time; the last one is taken twice where there is no other.
    """
    n, p = T.shape
    k = len(eta)
    for i in range(0, n, 2):
        o = min(i + 1, n - 1)
        x, y = T[i], T[o]
        for c in range(0, k, 4):
            d, e, f = min(c + 1, k - 1), min(c + 2, k - 1), min(c + 3, k - 1)
            q, r, s, t = eta[c], eta[d], eta[e], eta[f]
            xq = xr = xs = xt = yq = yr = ys = yt = 0.0
            for j in range(p):
                xq += x[j] * q[j]
                xr += x[j] * r[j]
                xs += x[j] * s[j]
                xt += x[j] * t[j]
                yq += y[j] * q[j]
                yr += y[j] * r[j]
                ys += y[j] * s[j]
                yt += y[j] * t[j]
            out[i, c], out[i, d], out[i, e], out[i, f] = xq, xr, xs, xt
            out[o, c], out[o, d], out[o, e], out[o, f] = yq, yr, ys, yt


@bare
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


@bare
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


@bare
def student(q: Any, const: Any, power: Any) -> None:
    """Replace products (n, k) by ``const - power log(q)``, unless the power is 0.

    What rounding put below 1 is 1.
    """
    n, k = q.shape
    for i in range(n):
        for c in range(k):
            if power[c] > 0.0:
                q[i, c] = const[c] - power[c] * log(max(q[i, c], 1.0))


@helper
def student_bounds(q: Any, const: Any, power: Any, out: Any) -> None:
    """Fill upper bounds of scores ``const - power log(q)``.

    The bits of a float, read as a whole number, are e + f for ``2^e (1 + f)``; and
    ``log2(1 + f)`` is at least ``f + f (1 - f) (A - B f)``, and hardly more.
    """
    for c in range(len(q)):
        v = q[c] if q[c] > 1.0 else 1.0
        bits = np.float64(v).view(np.int64)
        f = np.int64((bits & _MANTISSA) | _ONE).view(np.float64) - 1.0
        x = np.float64(bits - _ONE) * _PER_BIT + f * (1.0 - f) * (_A - _B * f)
        out[c] = const[c] - power[c] * (_LN2 * x)


@bare
def student_pairs(q: Any, const: Any, power: Any, z: Any) -> None:
    """Do the same to the products (n, 2) of each row's own pair."""
    for i in range(len(z)):
        for b in range(2):
            r = 2 * z[i] + b
            q[i, b] = const[r] - power[r] * log(max(q[i, b], 1.0))


@bare
def log_totals(q: Any, const: Any, power: Any, room: Any, out: Any) -> None:
    """Fill ``out`` (n,) with the logs of sums over components of scores (n, k), which are logs.

    With levels and powers (k,), all positive, these are products, see `student`; those that are
    near the best become scores, and there is room for bounds (k,).
    """
    n, k = q.shape
    for i in range(n):
        near = k if len(power) == 0 else _near_scores(q[i], const, power, room)
        high = -np.inf
        for c in range(near):
            high = max(high, q[i, c])
        total = 0.0
        for c in range(near):
            if q[i, c] > high - _FAR:
                total += exp(q[i, c] - high)
        out[i] = high + log(total)


@part
def _near_scores(q: Any, const: Any, power: Any, bounds: Any) -> Any:
    """Replace the first products (k,) by the scores near the best, in order; returns how many.

    Who is far is known by bounds, and that takes no logarithm.
    """
    student_bounds(q, const, power, bounds)
    best, near = 0, 0
    for c in range(len(q)):
        best = c if bounds[c] > bounds[best] else best
    least = const[best] - power[best] * log(max(q[best], 1.0)) - _FAR
    for c in range(len(q)):
        if bounds[c] > least:
            q[near] = const[c] - power[c] * log(max(q[c], 1.0))
            near += 1
    return near


@part
def rising_product(a: float, count: float) -> float:
    """Return ``a (a + 1) ... (a + count - 1)``: gamma(a + count) over gamma(a)."""
    out = 1.0
    for i in range(int(count)):
        out *= a + i
    return out


@bare
def column_logs(
    T: Any, a: Any, b: Any, c: Any, power: Any, ends: Any, product: Any, out: Any
) -> None:  # fmt: skip
    """Subtract ``power log(a + b x + c y)``, (d, k) each, of every observed column of each row.

    Runs of columns, which end before ``ends``, have equal powers: their logs are taken together,
    as one of the ``product`` (k,), unless that is too large or too small.
    """
    d, k = a.shape
    for i in range(len(T)):
        first = 0
        for end in ends:
            for r in range(k):
                product[r] = 1.0
            for j in range(first, end):
                if T[i, 1 + j] > 0.0:
                    x = T[i, 1 + d + j]
                    y = T[i, 1 + 2 * d + j]
                    for r in range(k):
                        product[r] *= a[j, r] + b[j, r] * x + c[j, r] * y
            for r in range(k):
                if _SMALL < product[r] < _LARGE:
                    out[i, r] -= power[first, r] * log(product[r])
                else:
                    for j in range(first, end):
                        if T[i, 1 + j] > 0.0:
                            v = a[j, r] + b[j, r] * T[i, 1 + d + j] + c[j, r] * T[i, 1 + 2 * d + j]
                            out[i, r] -= power[j, r] * log(v)
            first = end


@bare
def column_logs_pairs(
    T: Any, a: Any, b: Any, c: Any, power: Any, ends: Any, z: Any, out: Any
) -> None:  # fmt: skip
    """Subtract the same, (k, d) each, under the components ``2 z[i]`` and ``2 z[i] + 1``."""
    d = a.shape[1]
    for i in range(len(T)):
        for h in range(2):
            r = 2 * z[i] + h
            s = 0.0
            first = 0
            for end in ends:
                product = 1.0
                for j in range(first, end):
                    if T[i, 1 + j] > 0.0:
                        x = T[i, 1 + d + j]
                        y = T[i, 1 + 2 * d + j]
                        product *= a[r, j] + b[r, j] * x + c[r, j] * y
                if _SMALL < product < _LARGE:
                    s += power[r, first] * log(product)
                else:
                    for j in range(first, end):
                        if T[i, 1 + j] > 0.0:
                            v = a[r, j] + b[r, j] * T[i, 1 + d + j] + c[r, j] * T[i, 1 + 2 * d + j]
                            s += power[r, j] * log(v)
                first = end
            out[i, h] -= s


@bare
def column_rises(
    T: Any, shape: Any, log_gammas: Any, together: int, product: Any, out: Any
) -> None:  # fmt: skip
    """Add ``lgamma(shape + x) - lgamma(shape)``, (d, k), of every column's count x of each row.

    Small counts are products of some factors: those of so many columns ``together`` are a number,
    whose log is taken once.
    """
    d, k = shape.shape
    for i in range(len(T)):
        waiting = 0
        for j in range(d + 1):
            x = T[i, 1 + d + j] if j < d else 0.0
            if x > FEW:
                for r in range(k):
                    out[i, r] += log_gamma(shape[j, r] + x) - log_gammas[j, r]
            elif x > 0.0:
                for r in range(k):
                    factor = rising_product(shape[j, r], x)
                    product[r] = factor if waiting == 0 else product[r] * factor
                waiting += 1
            if waiting == together or (j == d and waiting > 0):
                for r in range(k):
                    out[i, r] += log(product[r])
                waiting = 0


@bare
def column_rises_pairs(T: Any, shape: Any, together: int, z: Any, out: Any) -> None:
    """Add the same, (k, d), under the components ``2 z[i]`` and ``2 z[i] + 1``."""
    d = shape.shape[1]
    for i in range(len(T)):
        for h in range(2):
            r = 2 * z[i] + h
            product = 1.0
            waiting = 0
            for j in range(d):
                x = T[i, 1 + d + j]
                if x > FEW:
                    out[i, h] += log_gamma(shape[r, j] + x) - log_gamma(shape[r, j])
                elif x > 0.0:
                    product *= rising_product(shape[r, j], x)
                    waiting += 1
                    if waiting == together:
                        out[i, h] += log(product)
                        product = 1.0
                        waiting = 0
            out[i, h] += log(product)
