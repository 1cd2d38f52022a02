"""Compiled kernels that cut Gaussian clusters in two: axes, boundaries, and a past cut along them.

Rows of statistics are packed as in `scstream.kernels.matrices`.
"""

from __future__ import annotations

from math import erfc, exp, log, pi, sqrt
from typing import Any

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import brief, brief_part, part
from scstream.kernels.crew import Crew, on_threads, own_of
from scstream.kernels.directions import factored, solve_back, white

OF_A_KIND = 8
_BESIDE = 1e-12  # of its distance from the origin that a plane is beside the mean
_ROUNDS = 50  # power iterations for one axis, at most
_LEFT = 1e-9  # of the variance of all columns that is more than rounding
_GROWTH = 1e-5  # relative growth of the variance along an axis below which it is found


@brief
def between(both: Any, prior: Any, more: float, out: Any, middle: Any, dof: Any) -> None:
    """Fill the differences (k, d) of the posterior means of pairs (k, 2, p), and their middles.

    ``dof`` (k,) become the degrees of freedom of both together.
    """
    k, d = out.shape
    for r in range(k):
        a, b = prior[0] + both[r, 0, 0], prior[0] + both[r, 1, 0]
        dof[r] = a + b + 2.0 * more
        for i in range(1, 1 + d):
            one = (prior[i] + both[r, 0, i]) / a
            other = (prior[i] + both[r, 1, i]) / b
            out[r, i - 1] = other - one
            middle[r, i - 1] = 0.5 * (one + other)


@brief
def discriminant(factors: Any, dof: Any, middle: Any, both: Any, normal: Any, offset: Any) -> None:
    """Fill normals (k, d) and offsets (k,) of Fisher's discriminants of pairs (k, 2, p).

    The rows ``(n, t, L)`` of factors hold ``t = L^-1`` times the difference of the means.
    """
    k, d = normal.shape
    for r in range(k):
        x = normal[r]
        for i in range(d):
            x[i] = factors[r, 1 + i]
        q = factors.shape[1] - 1
        offset[r] = log((both[r, 0, 0] + 0.5) / (both[r, 1, 0] + 0.5))
        for back in range(d):  # x = L'^-1 t
            i = d - 1 - back
            x[i] /= factors[r, q]
            q -= i
            for j in range(i):
                x[j] -= x[i] * factors[r, q + j]
            q -= 1
            x[i] *= dof[r]
            offset[r] += x[i] * middle[r, i]


@brief
def directions(
    s: Any, member: Any, attempt: Any, axes: int, prior: Any, d: int, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill functionals (k, p) whose sign cuts groups ``s`` (k, p) in two through their means.

    Even attempts cut across a principal axis, the first ``axes`` in turn, odd ones towards the
    given member (k, p). The first attempts do so in the deviations of the covariance that the prior
    (p,) expects, in which directions of noise are as short as any other, the next ones in those of
    the columns, and so on. A row at the mean, as one alone is, is on the first side whatever the
    rounding.
    """
    room = _begun(prior, d, room)
    for r in range(len(s)):
        _direct(s[r], member[r], attempt[r], axes, room, out[r])


@brief
def shared_directions(
    crew: Crew, s: Any, member: Any, attempt: Any, axes: int, prior: Any, d: int, rooms: Any,
    taken: Any, out: Any,
) -> None:  # fmt: skip
    """Fill `directions` on threads; how many groups are ``taken`` is counted there from 0."""
    given = crew, s, member, attempt, axes, prior, d, rooms, taken, out
    on_threads(crew, _directions_share, given)


@brief_part
def _directions_share(thread: int, given: Any) -> None:
    crew, s, member, attempt, axes, prior, d, rooms, taken, out = given
    r = claim(taken, 0)
    if r >= len(s):
        return
    room = _begun(prior, d, own_of(rooms, thread, crew.threads))
    while r < len(s):
        _direct(s[r], member[r], attempt[r], axes, room, out[r])
        r = claim(taken, 0)


@brief_part
def _begun(prior: Any, d: int, room: Any) -> Any:
    """Return room for a covariance, the metric that a prior expects, and room for a direction."""
    cov, metric = room[: d * d].reshape(d, d), room[d * d : 2 * d * d].reshape(d, d)
    _metric(prior, cov, metric)
    return cov, metric, room[2 * d * d : 2 * d * d + d]


@brief_part
def _direct(s: Any, member: Any, attempt: int, axes: int, room: Any, out: Any) -> None:
    """Fill the functional (p,) of a group."""
    cov, metric, w = room
    d, n = len(w), max(s[0], 1e-300)
    for q in range(len(out)):
        out[q] = 0.0
    normal = out[1 : 1 + d]
    in_columns = attempt % (2 * OF_A_KIND) >= OF_A_KIND
    if attempt % 2 == 0:
        _covariance(s, cov)
        rank = attempt % OF_A_KIND // 2 % axes
        _principal_axis(cov, metric, in_columns, rank, w, normal)
    else:
        for i in range(d):
            w[i] = member[1 + i] - s[1 + i] / n
        _measured(metric, in_columns, w, normal)
    for i in range(d):
        level = normal[i] * s[1 + i] / n
        out[0] -= level + _BESIDE * abs(level)


@brief_part
def _metric(prior: Any, L: Any, out: Any) -> None:
    """Fill the inverse (d, d) of the scatter at a prior, the identity if there is none; L is room.

    Its size is that of the identity.
    """
    d, q, total = len(L), 1 + len(L), 0.0
    for i in range(d):
        for j in range(i, d):
            L[j, i] = prior[q] - prior[1 + i] * prior[1 + j] / prior[0]
            q += 1
    fine = factored(L)
    for c in range(d):
        x = out[c]
        for i in range(d):
            x[i] = 1.0 if i == c else 0.0
        if fine:
            white(L, x)
            solve_back(L, x)
        total += x[c]
    for i in range(d):
        for j in range(d):
            out[i, j] *= d / total


@brief_part
def _measured(metric: Any, in_columns: bool, w: Any, out: Any) -> None:
    """Fill the functional (d,) that a direction (d,) is, in a metric or as it is."""
    if not in_columns:
        _times(metric, w, out)
        return
    for i in range(len(w)):
        out[i] = w[i]


@brief_part
def _principal_axis(cov: Any, metric: Any, in_columns: bool, rank: int, w: Any, v: Any) -> None:
    """Fill ``v`` (d,) with the principal axis that has ``rank`` others before it; w is room.

    The axes are sought by power iteration from the column of largest variance; one that was found
    is taken out of the covariance before the next. If nothing but rounding is left, as of two rows,
    it is the last one.
    """
    d, whole = len(v), 0.0
    for i in range(d):
        whole += cov[i, i]
    for found in range(rank + 1):
        start = 0
        for i in range(d):
            v[i] = 0.0
            if cov[i, i] > cov[start, start]:
                start = i
        v[start] = 1.0
        variance = 0.0
        for step in range(_ROUNDS):
            before = variance
            variance = size = 0.0
            _times(cov, v, w)
            for i in range(d):
                variance += w[i] * v[i]
            _measured(metric, in_columns, w, v)
            for i in range(d):
                size += w[i] * v[i]
            if not size > 0.0:
                for i in range(d):
                    v[i] = 1.0 if i == start else 0.0
                break
            for i in range(d):
                v[i] /= sqrt(size)
                w[i] /= sqrt(size)
            if step > 1 and variance - before <= _GROWTH * variance:
                break
        if found < rank:
            left = 0.0
            for i in range(d):
                for j in range(d):
                    cov[i, j] -= variance * w[i] * w[j]
                left += cov[i, i]
            if not left > _LEFT * whole:
                break


@brief
def truncate(
    past: Any, normal: Any, offset: Any, certain: float, room: Any, out: Any
) -> None:  # fmt: skip
    """Fill rows (m, p) with what of the past (m, p), seen as Gaussians, is below a boundary.

    Row r is cut where ``normal[r % k] . z = offset[r % k]``, or ``certain`` deviations from the
    mean if that is nearer. Too little past, or none to speak of across the boundary, is halved.
    """
    k, d = normal.shape
    cov, rows = room[: d * d].reshape(d, d), room[d * d : d * d + 3 * d].reshape(3, d)
    mean, along, part = rows[0], rows[1], rows[2]
    for r in range(len(past)):
        n, b = past[r, 0], r % k
        _covariance(past[r], cov)
        level = var = 0.0
        _times(cov, normal[b], along)
        for i in range(d):
            mean[i] = past[r, 1 + i] / max(n, 1e-300)
            var += along[i] * normal[b, i]
            level += mean[i] * normal[b, i]
        var = max(var, 1e-300)
        if not (n > 1e-6 and var > 1e-12 * level * level):
            for i in range(past.shape[1]):
                out[r, i] = 0.5 * past[r, i]
            continue
        t = min(max((offset[b] - level) / sqrt(var), -certain), certain)
        share = 0.5 * erfc(-t / sqrt(2.0))
        hazard = exp(-0.5 * t * t) / (sqrt(2.0 * pi) * share)
        shrink = hazard * (t + hazard) / var
        out[r, 0] = n * share
        for i in range(d):
            part[i] = mean[i] - along[i] * hazard / sqrt(var)
            out[r, 1 + i] = n * share * part[i]
        q = 1 + d
        for i in range(d):
            for j in range(i, d):
                second = cov[i, j] - shrink * along[i] * along[j] + part[i] * part[j]
                out[r, q] = n * share * second
                q += 1


@part
def _times(matrix: Any, vector: Any, out: Any) -> None:
    """Fill the product (d,) of a matrix (d, d) and a vector."""
    whole = len(out) - len(out) % 4
    for i in range(0, whole, 4):  # four rows at a time, or one sum would wait for itself
        a, b, c, e = 0.0, 0.0, 0.0, 0.0
        for j in range(len(vector)):
            a += matrix[i, j] * vector[j]
            b += matrix[i + 1, j] * vector[j]
            c += matrix[i + 2, j] * vector[j]
            e += matrix[i + 3, j] * vector[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, e
    for i in range(whole, len(out)):
        out[i] = 0.0
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]


@brief_part
def _covariance(row: Any, out: Any) -> None:
    """Fill the covariance (d, d) of a group with the given statistics."""
    d = len(out)
    n = max(row[0], 1e-300)
    q = 1 + d
    for i in range(d):
        mean = row[1 + i] / n
        for j in range(i, d):
            out[i, j] = (row[q] - mean * row[1 + j]) / n
            out[j, i] = out[i, j]
            q += 1
