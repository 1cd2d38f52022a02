"""Compiled kernels for Student-t predictives of many columns, by triangular solutions.

Components are rows ``(n, L^-1 mean, L)`` of factors (k, p), L packed row after row, and points rows
``(1, z, ...)``. The score is ``const - power log(1 + g |L^-1 (z - mean)|^2)``, ``g = n / (n + 1)``.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, kernel, part
from scstream.kernels.scores import student_bounds

REACH = 37.0  # nats below the best from which a component does not matter
_NEARLY = 25.0  # nats from which its score matters, but not the rounding of single precision
_PATIENCE, _SHARE = 2, 5  # rows after which more than one component in so many is too many
_MORE = 8  # such rows where a component is often ruled out by a part of its solution


Floats = NDArray[np.float64]


class Students(NamedTuple):
    """Components.

    Attributes
    ----------
    factors : ndarray (k, p)
    inverse : ndarray (k, d)
        One over the diagonals of L.
    const, power : ndarray (k,)
    """

    factors: Floats
    inverse: Floats
    const: Floats
    power: Floats


class Predictives(NamedTuple):
    """Components, and the forms of their first columns alone: lower bounds of the whole.

    Attributes
    ----------
    known : Students
    columns : int
        How many these are.
    narrow : ndarray (k, .)
        The forms less 1 in single precision, as `nearby.multiply` takes them.
    reach : ndarray (.,)
        How far products with them are off, for each statistic's size.
    """

    known: Students
    columns: int
    narrow: NDArray[np.float32]
    reach: NDArray[np.float32]


@bare
def leading(T: Any, d: int, m: int, out: Any) -> None:
    """Fill the statistics (n, .) of the first m of d columns."""
    for i in range(len(T)):
        for j in range(1 + m):
            out[i, j] = T[i, j]
        to, at = 1 + m, 1 + d
        for j in range(m):
            for q in range(m - j):
                out[i, to + q] = T[i, at + q]
            to += m - j
            at += d - j


@bare
def widths(s: Any, prior: Any, d: int, mean: Any, out: Any) -> None:
    """Fill the means (k, d) of posteriors, and bounds (k,) of their scatters' eigenvalues.

    A matrix has none that is further from their mean than its distance from as much of the
    identity (Frobenius).
    """
    for r in range(len(s)):
        n = prior[0] + s[r, 0]
        for i in range(d):
            mean[r, i] = (prior[1 + i] + s[r, 1 + i]) / n
        trace = square = 0.0
        at = 1 + d
        for i in range(d):
            m = n * mean[r, i]
            v = prior[at] + s[r, at] - m * mean[r, i]
            trace += v
            square += v * v
            for j in range(1, d - i):
                v = prior[at + j] + s[r, at + j] - m * mean[r, i + j]
                square += 2.0 * v * v
            at += d - i
        level = trace / d
        out[r] = level + sqrt(max(square - d * level * level, 0.0))


@kernel
def best_students(known: Students, T: Any, q: Any, z: Any) -> Any:
    """Fill the best components (n,) of points, given lower bounds ``q`` (n, k) of their forms.

    Returns how many rows were done: it stops where too many components are left.
    """
    n, k = q.shape
    for i in range(n):
        student_bounds(q[i], known.const, known.power, q[i])
    order = _by_best(q, z)
    y = np.empty(known.inverse.shape[1])
    scored = 0
    for at in range(n):
        i = order[at]
        first = z[i]
        top = score_of(known, first, T[i], np.inf, y)
        for c in range(k):
            if q[i, c] >= top and c != first:
                far = exp((known.const[c] - top) / known.power[c])
                v = score_of(known, c, T[i], far, y)
                if v > top or (v == top and c < z[i]):
                    z[i], top = c, v
                scored += 1
                if scored * _SHARE > (at + _MORE) * k:
                    return at
    return n


@kernel
def _by_best(scores: Any, z: Any) -> Any:
    """Fill the best components (n,) of rows by scores (n, k), and return the rows in their order.

    Who goes through them so finds factors in cache: reading one takes as long as solving with it.
    """
    n, k = scores.shape
    start, order = np.zeros(k + 1, np.int64), np.empty(n, np.int64)
    for i in range(n):
        z[i] = 0
        for c in range(k):
            if scores[i, c] > scores[i, z[i]]:
                z[i] = c
        start[z[i] + 1] += 1
    for c in range(k):
        start[c + 1] += start[c]
    for i in range(n):
        order[start[z[i]]] = i
        start[z[i]] += 1
    return order


@kernel
def students(known: Students, T: Any, out: Any) -> Any:
    """Replace forms of the first columns (n, k) by scores, or bounds of such as do not matter.

    Returns how many rows were done: it stops where too many components are left.
    """
    n, k = out.shape
    y = np.empty(known.inverse.shape[1])
    scored = 0
    for i in range(n):
        best = 0
        for c in range(k):
            out[i, c] = known.const[c] - known.power[c] * log(max(out[i, c], 1.0))
            if out[i, c] > out[i, best]:
                best = c
        more = score_near(known, T[i], best, out[i], y, i, scored)
        if more < 0:
            return i
        scored += more
    return n


@part
def score_near(
    known: Students, point: Any, best: int, score: Any, y: Any, rows: int, scored: int
) -> int:
    """Replace upper bounds (k,) by scores, first the best, then those that are within its reach.

    Returns how many these are, -1 if there are too many for a row after so many ``rows`` under
    which so many were ``scored``.
    """
    k, more = len(score), 0
    top = score_of(known, best, point, np.inf, y)
    score[best] = top
    for c in range(k):
        if score[c] > top - REACH and c != best:
            far = exp((known.const[c] - top + REACH) / known.power[c])
            score[c] = score_of(known, c, point, far, y)
            top = max(top, score[c])
            more += 1
            if (scored + more) * _SHARE > (rows + _PATIENCE) * k:
                return -1
    return more


@kernel
def refine(known: Students, T: Any, q: Any, base: Any, error: Any, size: Any, out: Any) -> None:
    """Fill scores (n, k) by forms ``base + q`` known up to ``size[i] error[c]``, or not at all.

    Scores whose error could matter, and the best two unless it is plain which they are, are
    computed once more; of the others it is an upper bound.
    """
    n, k = q.shape
    y = np.empty(known.inverse.shape[1])
    exact = np.empty(k, np.bool_)
    for i in range(n):
        for c in range(k):
            form = base[c] + q[i, c] - size[i] * error[c] if size[i] < np.inf else 1.0
            out[i, c] = known.const[c] - known.power[c] * log(max(form, 1.0))
    first = np.empty(n, np.int64)
    for i in _by_best(out, first):
        if _plain(known, q[i], base, size[i], error, first[i], out[i]):
            continue
        exact[:] = False
        top = second = -np.inf  # of those that are exact
        while True:
            best = -1
            for c in range(k):
                if not exact[c] and (best < 0 or out[i, c] > out[i, best]):
                    best = c
            if best < 0 or (out[i, best] <= second and out[i, best] <= top - _NEARLY):
                break
            exact[best] = True
            v = score_of(known, best, T[i], np.inf, y)
            out[i, best] = v
            top, second = max(top, v), max(second, min(top, v))


@part
def _plain(
    known: Students, q: Any, base: Any, size: float, error: Any, best: int, score: Any
) -> Any:
    """Whether bounds tell the best two of a row, of which the second is out of the best's reach."""
    other = -1
    third = -np.inf
    for c in range(len(score)):
        if c != best and (other < 0 or score[c] > third):
            if other < 0 or score[c] > score[other]:
                third = score[other] if other >= 0 else third
                other = c
            else:
                third = score[c]
    if other < 0:
        return True
    top = known.const[best] - known.power[best] * log(
        max(base[best] + q[best] + size * error[best], 1.0)
    )
    if not score[other] < top - _NEARLY:
        return False
    form = base[other] + q[other] + size * error[other]
    return known.const[other] - known.power[other] * log(max(form, 1.0)) > third


@kernel
def student_pairs(known: Students, T: Any, z: Any, order: Any, out: Any) -> None:
    """Fill the scores (n, 2) of points under their own pairs ``2 z[i]``, ``2 z[i] + 1``.

    In an order that goes cluster by cluster, see `_by_best`.
    """
    y = np.empty(known.inverse.shape[1])
    for i in order:
        for b in range(2):
            c = 2 * z[i] + b
            out[i, b] = score_of(known, c, T[i], np.inf, y)


@part
def score_of(known: Students, c: int, point: Any, far: float, y: Any) -> Any:
    """Return the score of a point, or an upper bound if ``1 + g |L^-1 (z - mean)|^2 > far``."""
    row = known.factors[c]
    g = row[0] / (row[0] + 1.0)
    square = _distance(row, known.inverse[c], point, (far - 1.0) / g, y)
    return known.const[c] - known.power[c] * log(1.0 + g * square)


@part
def _distance(row: Any, inverse: Any, point: Any, far: float, y: Any) -> Any:
    """Return ``|L^-1 (z - mean)|^2`` of a point from a component, or a part beyond ``far``.

    Four columns at a time; ``y`` becomes ``L^-1 z``, and ``inverse`` is one over L's diagonal.
    """
    d = len(y)
    square = 0.0
    q = 1 + d
    for j in range(0, d - d % 4, 4):
        l0 = row[q : q + j]
        q1 = q + j + 1
        l1 = row[q1 : q1 + j + 1]
        q2 = q1 + j + 2
        l2 = row[q2 : q2 + j + 2]
        q3 = q2 + j + 3
        l3 = row[q3 : q3 + j + 3]
        s0 = s1 = s2 = s3 = 0.0
        for a in range(j):
            s0 += l0[a] * y[a]
            s1 += l1[a] * y[a]
            s2 += l2[a] * y[a]
            s3 += l3[a] * y[a]
        y0 = (point[1 + j] - s0) * inverse[j]
        y1 = (point[2 + j] - s1 - l1[j] * y0) * inverse[j + 1]
        y2 = (point[3 + j] - s2 - l2[j] * y0 - l2[j + 1] * y1) * inverse[j + 2]
        s3 += l3[j] * y0 + l3[j + 1] * y1 + l3[j + 2] * y2
        y3 = (point[4 + j] - s3) * inverse[j + 3]
        y[j], y[j + 1], y[j + 2], y[j + 3] = y0, y1, y2, y3
        e0, e1, e2, e3 = y0 - row[1 + j], y1 - row[2 + j], y2 - row[3 + j], y3 - row[4 + j]
        square += e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3
        if square > far:
            return square
        q = q3 + j + 4
    for j in range(d - d % 4, d):
        s0 = 0.0
        for a in range(j):
            s0 += row[q + a] * y[a]
        y[j] = (point[1 + j] - s0) * inverse[j]
        e0 = y[j] - row[1 + j]
        square += e0 * e0
        q += j + 1
    return square
