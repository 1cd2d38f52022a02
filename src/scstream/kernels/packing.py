"""Compiled: what goes to a GPU for passes over rows of few columns, and what comes back.

Forms are laid out as `torch_few_kernels` takes them: centre (d), value there, power, const, slopes
(d), coefficients. What is sent is float32, and everything is about the centre that was sent.
"""

from __future__ import annotations

from typing import Any

from scstream.kernels.compiling import bare, in_order
from scstream.kernels.side_by_side import ROWS, SIDE, add, rows_of, subtract

MOST = 8  # columns that forms may have
ROOM = SIDE * (
    MOST * (MOST + 1) // 2 + MOST * (MOST + 3) + ROWS
)  # numbers that they are worked on in


@bare
def forms(
    eta: Any, power: Any, const: Any, which: Any, d: int, room: Any, to: Any, step: int, centre: Any
) -> None:  # fmt: skip
    """Fill the numbers of the forms ``which`` (m,) of k, (k, p): of each in turn, or side by side.

    Those of one are ``step`` apart: 1, or m. Also fills their centres (m, d), as far as there is
    room for them.
    """
    m, width = len(which), 3 + d + eta.shape[1] - 1
    apart = 1 if step > 1 else width
    half = d * (d + 1) // 2
    rows, side = rows_of(room, half + d * d + 3 * d + ROWS)
    A, x = rows[half:], rows[half + d * d :]
    for a in range(0, m, side):
        some, there = which[a : a + side], to[a * apart :]
        _read_forms(eta, power, some, d, rows, A, x)
        _find_centres(rows, A, d, len(some), x)
        for i in range(d):
            for r in range(len(some)):
                there[r * apart + i * step] = x[i, r]
                x[i, r] = there[r * apart + i * step]  # as it is rounded
        _about_centres(eta, some, d, rows, x)
        for r in range(len(some)):
            at, c = r * apart, some[r]
            there[at + d * step] = x[2 * d, r] - (1.0 if power[c] > 0 else 0.0)
            there[at + (d + 1) * step], there[at + (d + 2) * step] = power[c], const[c]
        for q in range(d + half):
            row = x[d + q] if q < d else rows[q - d]
            for r in range(len(some)):
                there[r * apart + (d + 3 + q) * step] = row[r]
        if len(centre) >= m * d:
            for i in range(d):
                for r in range(len(some)):
                    centre[(a + r) * d + i] = x[i, r]


@in_order
def _read_forms(
    eta: Any, power: Any, which: Any, d: int, rows: Any, A: Any, x: Any
) -> None:  # fmt: skip
    """Put coefficients side by side, and what is solved for the centres: matrices, vectors."""
    m, q = len(which), 0
    for i in range(d):
        for r in range(m):
            sign = 1.0 if power[which[r]] > 0 else -1.0
            x[i, r] = -0.5 * sign * eta[which[r], 1 + i]
        for j in range(i, d):
            to, row, times = A[i * d + j], rows[q], 1.0 if i == j else 0.5
            for r in range(m):
                sign = 1.0 if power[which[r]] > 0 else -1.0
                row[r] = eta[which[r], 1 + d + q]
                to[r] = times * sign * row[r]
            q += 1


@in_order
def _find_centres(rows: Any, A: Any, d: int, m: int, x: Any) -> None:
    """Solve for the centres by elimination, whose pivots are positive if there is one.

    A form without, as it is not curved or not the same way in all directions, is taken about 0.
    """
    definite, by, at = x[d], x[d + 1], 0
    for r in range(m):
        definite[r] = 1.0
    for i in range(d):
        pivot, square = A[i * d + i], rows[at]
        for r in range(m):
            fine = pivot[r] > 1e-12 * abs(square[r])
            definite[r] = definite[r] if fine else 0.0
            pivot[r] = pivot[r] if fine else 1.0
        for c in range(i + 1, d):
            first = A[i * d + c]
            for r in range(m):
                by[r] = first[r] / pivot[r]
            subtract(x[c], by, x[i], m)
            for j in range(c, d):
                subtract(A[c * d + j], by, A[i * d + j], m)
        at += d - i
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            subtract(x[i], A[i * d + j], x[j], m)
        to, pivot = x[i], A[i * d + i]
        for r in range(m):
            to[r] = to[r] / pivot[r] if definite[r] > 0.0 else 0.0


@in_order
def _about_centres(eta: Any, which: Any, d: int, rows: Any, x: Any) -> None:
    """Fill slopes (d rows) and values of forms at their centres x, behind these."""
    m, value, q = len(which), x[2 * d], 0
    for r in range(m):
        value[r] = eta[which[r], 0]
    for i in range(d):
        slope, here = x[d + i], x[i]
        for r in range(m):
            slope[r] = eta[which[r], 1 + i]
        add(value, slope, here, m)
    for i in range(d):
        for j in range(i, d):
            row, one, other, here, there = rows[q], x[d + i], x[d + j], x[i], x[j]
            for r in range(m):
                value[r] += row[r] * here[r] * there[r]
            add(one, row, there, m)
            add(other, row, here, m)
            q += 1


@bare
def trial(which: Any, sums: Any, d: int, centre: Any, rank: Any) -> None:
    """Fill about where the clusters ``which`` (m,) are, by the sums (k, 2, 1 + d) of all.

    Also which of the m each cluster is, from 1 on, or 0.
    """
    for r in range(len(sums)):
        rank[r] = 0
    for i in range(len(which)):
        r = which[i]
        rank[r] = i + 1
        n = sums[r, 0, 0] + sums[r, 1, 0]
        for j in range(d):
            whole = sums[r, 0, 1 + j] + sums[r, 1, 1 + j]
            centre[i * d + j] = whole / n if n > 1e-9 else 0.0


@bare
def sums(values: Any, columns: int, which: Any, current: Any, rows: Any, own: Any) -> None:
    """Read sums (k, 2, p), rows (k, 2) and doubts (k,) of the clusters ``which``; 0 for others."""
    k, _, p = current.shape
    for r in range(k):
        own[r] = 0.0
        for j in range(2):
            rows[r, j] = 0
            for q in range(p):
                current[r, j, q] = 0.0
    for i in range(len(which)):
        r, at = which[i], 2 * i * columns
        for j in range(2):
            for q in range(p):
                current[r, j, q] = values[at + q]
            rows[r, j] = int(values[at + p])
            own[r] += values[at + p + 1]
            at += columns


@bare
def tables(values: Any, own: Any, rivals: Any, doubt: Any) -> None:
    """Read rivals (k, k) and doubts (k, k), those of labels on either side, and their ``own``."""
    k = len(own)
    between = values[k * k :]
    for r in range(k):
        for s in range(k):
            rivals[r, s] = int(values[r * k + s])
            doubt[r, s] = between[r * k + s] + between[s * k + r]
        doubt[r, r] = own[r]


@bare
def points(values: Any, n: int, d: int, out: Any) -> None:
    """Fill statistics (k, p) of rows that came with their numbers; 0 for those not below n."""
    for r in range(len(out)):
        at = r * (1 + d)
        here = 1.0 if values[at] < n else 0.0
        out[r, 0] = here
        q = 1 + d
        for i in range(d):
            x = values[at + 1 + i] if here > 0.0 else 0.0
            out[r, 1 + i] = x
            for j in range(i, d):
                out[r, q] = x * values[at + 1 + j] if here > 0.0 else 0.0
                q += 1


@bare
def adopted(names: Any, chosen: Any, out: Any) -> None:
    """Fill names (k, 2, 2), see `torch_batch.Batch`, with those last tried where ``chosen``."""
    for r in range(len(names)):
        for i in range(2):
            for j in range(2):
                name = names[r, i, j]
                taken = name >= 0 and chosen[name >> 1]
                out[r, i, j] = (name & -2) + j if taken else name


@bare
def renamed(names: Any, label: Any, sublabel: Any, out: Any) -> None:
    """Fill names (k, 2, 2) with the new ones that the tables (m, 2) have for them."""
    for r in range(len(names)):
        for i in range(2):
            for j in range(2):
                name = names[r, i, j]
                if name >= 0:
                    a, b = name >> 1, name & 1
                    name = 2 * label[a, b] + sublabel[a, b]
                out[r, i, j] = name


@bare
def ids(names: Any, known: Any, out: Any) -> None:
    """Fill twice the id, of ``known``, plus the sub-label that each name stands for."""
    at = 0
    for r in range(len(names)):
        for i in range(2):
            for j in range(2):
                name = names[r, i, j]
                out[at] = 2 * known[name >> 1] + (name & 1) if name >= 0 else -2
                at += 1


@bare
def read_codes(codes: Any, ids: Any, sublabels: Any) -> None:
    """Read ids and sub-labels (n,) of codes, twice the id plus the sub-label; -2 is nobody's."""
    for i in range(len(codes)):
        ids[i] = codes[i] >> 1
        sublabels[i] = codes[i] & 1


@bare
def moved(label: Any, sublabel: Any, rows: Any, sums: Any, new_rows: Any, new_sums: Any) -> None:
    """Add up rows and sums by new names (k, 2); of later clusters they may not be known."""
    for r in range(len(new_sums)):
        for j in range(2):
            new_rows[r, j] = 0
            for q in range(new_sums.shape[2]):
                new_sums[r, j, q] = 0.0
    for r in range(len(label)):
        for j in range(2):
            a, b = label[r, j], sublabel[r, j]
            if a >= 0 and r < len(rows):
                new_rows[a, b] += rows[r, j]
            if a >= 0 and r < len(sums):
                for q in range(new_sums.shape[2]):
                    new_sums[a, b, q] += sums[r, j, q]
