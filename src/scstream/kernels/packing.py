"""Compiled: what goes to a GPU for passes over rows of few columns, and what comes back.

Forms are laid out as `torch_few_kernels` takes them: centre (d), value there, power, const, slopes
(d), coefficients. What is sent is float32, and everything is about the centre that was sent.
"""

from __future__ import annotations

from typing import Any

from scstream.kernels.compiling import bare, part

ROOM = 96  # numbers that forms are worked on in


@bare
def forms(
    eta: Any, power: Any, const: Any, d: int, room: Any, to: Any, step: int, centre: Any
) -> None:  # fmt: skip
    """Fill the numbers of forms (k, p): of each in turn, or with a ``step`` one after the other.

    Also their centres (k, d), as far as there is room for them.
    """
    k, width = len(power), 3 + d + eta.shape[1] - 1
    for c in range(k):
        at = c if step > 1 else c * width
        _form(eta[c], power[c], const[c], d, room, to, at, step)
        if len(centre) >= k * d:
            for i in range(d):
                centre[c * d + i] = to[at + i * step]


@bare
def trial(
    eta: Any, power: Any, const: Any, which: Any, sums: Any, d: int, room: Any, to: Any,
    centre: Any, rank: Any,
) -> None:  # fmt: skip
    """Fill the numbers of the pairs of the clusters ``which`` (m,), of forms (2 k, p).

    Also about where these clusters are, by sums (k, 2, 1 + d), and which of the m each one is, from
    1 on, or 0.
    """
    m = len(which)
    for r in range(len(sums)):
        rank[r] = 0
    for i in range(m):
        r = which[i]
        rank[r] = i + 1
        n = sums[r, 0, 0] + sums[r, 1, 0]
        for j in range(d):
            whole = sums[r, 0, 1 + j] + sums[r, 1, 1 + j]
            centre[i * d + j] = whole / n if n > 1e-9 else 0.0
        for j in range(2):
            c = 2 * r + j
            _form(eta[c], power[c], const[c], d, room, to, 2 * i + j, 2 * m)


@part
def _form(
    eta: Any, power: float, const: float, d: int, room: Any, to: Any, at: int, step: int
) -> None:  # fmt: skip
    """Fill the numbers of a form (p,), ``step`` apart.

    One without a centre, as it is not curved or not the same way in all directions, is taken
    about 0.
    """
    A, x, slope = room[: d * d].reshape(d, d), room[d * d : d * d + d], room[d * d + d :]
    sign = 1.0 if power > 0 else -1.0
    q = 1 + d
    for i in range(d):
        x[i] = -0.5 * sign * eta[1 + i]
        for j in range(i, d):
            A[i, j] = A[j, i] = sign * eta[q] * (1.0 if i == j else 0.5)
            q += 1
    definite = True
    for i in range(d):  # elimination, whose pivots are positive if there is a centre
        if not A[i, i] > 1e-12 * abs(eta[1 + d + i * d - i * (i - 1) // 2]):
            definite = False
            break
        for r in range(i + 1, d):
            factor = A[r, i] / A[i, i]
            x[r] -= factor * x[i]
            for j in range(i, d):
                A[r, j] -= factor * A[i, j]
    for i in range(d - 1, -1, -1):
        if not definite:
            x[i] = 0.0
            continue
        for j in range(i + 1, d):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    for i in range(d):
        to[at + i * step] = x[i]
        x[i] = to[at + i * step]  # as it is rounded
        slope[i] = eta[1 + i]
    value = eta[0] - (1.0 if power > 0 else 0.0)
    q = 1 + d
    for i in range(d):
        value += eta[1 + i] * x[i]
        for j in range(i, d):
            value += eta[q] * x[i] * x[j]
            slope[i] += eta[q] * x[j]
            slope[j] += eta[q] * x[i]
            to[at + (d + 2 + q) * step] = eta[q]
            q += 1
    for i in range(d):
        to[at + (d + 3 + i) * step] = slope[i]
    to[at + d * step] = value
    to[at + (d + 1) * step] = power
    to[at + (d + 2) * step] = const


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
