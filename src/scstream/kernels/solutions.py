"""Distances of some points from a component at a time, by triangular solutions.

A point alone waits for each entry of its solution before the next, see `pruning`. Here every
operation is a loop over points that stand side by side, `LANES` of them: it becomes vector code,
and numbers of the triangle are read once for all. No sum is reordered: a point has the same
distance wherever it stands, and whoever stands beside it.
"""

from __future__ import annotations

from scstream.kernels.compiling import in_order, part
from scstream.kernels.elementary import logs
from scstream.kernels.pruning import Floats, Students

LANES = 16  # points side by side
_STEP = 4  # entries that are solved for together


@part
def side_by_side(rows: Floats, n: int, columns: Floats) -> None:
    """Fill columns (d LANES,) with those of n rows (LANES, d); what stands beside them stays."""
    d = rows.shape[1]
    for a in range(d):
        to = columns[LANES * a : LANES * (a + 1)]
        for i in range(n):
            to[i] = rows[i, a]


@part
def student_scores(known: Students, c: int, columns: Floats, y: Floats, out: Floats) -> None:
    """Fill the scores (LANES,) of points under component c; ``y`` is room for their solutions."""
    row = known.factors[c]
    g = row[0] / (row[0] + 1.0)
    squares(row, known.inverse[c], columns, y, out)
    for i in range(LANES):
        out[i] = 1.0 + g * out[i]
    logs(out, LANES)
    for i in range(LANES):
        out[i] = known.const[c] - known.power[c] * out[i]


@in_order
def squares(row: Floats, inverse: Floats, columns: Floats, y: Floats, out: Floats) -> None:
    """Fill ``|L^-1 (z - mean)|^2`` (LANES,) of points from a component ``(n, L^-1 mean, L)``.

    Points are given by columns (d LANES,), and ``inverse`` is one over the diagonal of L; ``y``
    (d LANES,) becomes ``L^-1 z``.
    """
    d, q = len(inverse), 1 + len(inverse)
    whole = d - d % _STEP
    for i in range(LANES):
        out[i] = 0.0
    for i in range(LANES * d):
        y[i] = columns[i]
    for j in range(0, whole, _STEP):
        to = y[LANES * j : LANES * (j + _STEP)]
        for a in range(0, j, _STEP):
            _subtract(row, q + a, j, y[LANES * a : LANES * (a + _STEP)], to)
        _finish(row, q + j, j, inverse, to, out)
        q += _STEP * j + _STEP * (_STEP + 1) // 2
    for j in range(whole, d):
        to = y[LANES * j : LANES * (j + 1)]
        for a in range(j):
            known, by = y[LANES * a : LANES * (a + 1)], row[q + a]
            for i in range(LANES):
                to[i] -= by * known[i]
        by, mean = inverse[j], row[1 + j]
        for i in range(LANES):
            to[i] *= by
            out[i] += (to[i] - mean) * (to[i] - mean)
        q += j + 1


@in_order
def _subtract(row: Floats, q: int, j: int, known: Floats, to: Floats) -> None:
    """Subtract four entries that are known from the next four to be solved for, times L's.

    Rows j and the next three of the triangle are j + 1 numbers and more apart.
    """
    r, s, t = q + j + 1, q + 2 * j + 3, q + 3 * j + 6
    a0, a1, a2, a3 = row[q], row[q + 1], row[q + 2], row[q + 3]
    b0, b1, b2, b3 = row[r], row[r + 1], row[r + 2], row[r + 3]
    e0, e1, e2, e3 = row[s], row[s + 1], row[s + 2], row[s + 3]
    f0, f1, f2, f3 = row[t], row[t + 1], row[t + 2], row[t + 3]
    for i in range(LANES):
        x0, x1 = known[i], known[LANES + i]
        x2, x3 = known[2 * LANES + i], known[3 * LANES + i]
        to[i] = to[i] - a0 * x0 - a1 * x1 - a2 * x2 - a3 * x3
        to[LANES + i] = to[LANES + i] - b0 * x0 - b1 * x1 - b2 * x2 - b3 * x3
        to[2 * LANES + i] = to[2 * LANES + i] - e0 * x0 - e1 * x1 - e2 * x2 - e3 * x3
        to[3 * LANES + i] = to[3 * LANES + i] - f0 * x0 - f1 * x1 - f2 * x2 - f3 * x3


@in_order
def _finish(row: Floats, q: int, j: int, inverse: Floats, to: Floats, out: Floats) -> None:
    """Solve for four entries, of which what was known before is subtracted; add their squares."""
    r, s, t = q + j + 1, q + 2 * j + 3, q + 3 * j + 6
    b0, e0, e1 = row[r], row[s], row[s + 1]
    f0, f1, f2 = row[t], row[t + 1], row[t + 2]
    i0, i1, i2, i3 = inverse[j], inverse[j + 1], inverse[j + 2], inverse[j + 3]
    m0, m1, m2, m3 = row[1 + j], row[2 + j], row[3 + j], row[4 + j]
    for i in range(LANES):
        y0 = to[i] * i0
        y1 = (to[LANES + i] - b0 * y0) * i1
        y2 = (to[2 * LANES + i] - e0 * y0 - e1 * y1) * i2
        y3 = (to[3 * LANES + i] - f0 * y0 - f1 * y1 - f2 * y2) * i3
        to[i], to[LANES + i], to[2 * LANES + i], to[3 * LANES + i] = y0, y1, y2, y3
        y0, y1, y2, y3 = y0 - m0, y1 - m1, y2 - m2, y3 - m3
        out[i] = out[i] + y0 * y0 + y1 * y1 + y2 * y2 + y3 * y3
