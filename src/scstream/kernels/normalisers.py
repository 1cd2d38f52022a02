"""Compiled log-normalisers of normal-inverse-Wishart densities, many `side_by_side`.

Statistics are packed as in `scstream.kernels.matrices`.
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, in_order_apart, part
from scstream.kernels.crew import Crew, for_each, on_threads, own_of
from scstream.kernels.elementary import log_gammas, logs
from scstream.kernels.side_by_side import (
    ROWS,
    factor,
    logarithms,
    multiply,
    rows_of,
    scatters,
)

FEW = 8  # log-normalisers that are worth a thread


def rooms(threads: int) -> NDArray[np.float64]:
    """Return room for each thread of `finish` to work in."""
    return for_each(threads, (ROWS * FEW,))


@bare
def log_partition(s: Any, prior: Any, more: float, d: int, room: Any, out: Any) -> Any:
    """Fill the log-normalisers (k,) of normal-inverse-Wishart densities at ``prior + s``.

    ``more`` is by how much the degrees of freedom exceed the count. NaN where the scatter is not
    positive definite; returns how often. There is room for p, d and `ROWS` more rows, see
    `side_by_side.rows_of`.
    """
    p, failed = len(prior), 0
    every, side = rows_of(room, p + d + ROWS)
    tau, L, rows = every[: 1 + d], every[1 + d : p], every[p + d :]
    inverse, groups = every[p : p + d], s.reshape(len(s), 1, p)
    for a in range(0, len(s), side):
        level = out[a : a + side]
        scatters(groups[a : a + side], np.int64(0), prior, d, tau, rows[0], L)
        failed += factor(L, d, inverse, rows[0], level)
        _finish(tau[0], more, d, rows, level)
    return failed


@bare
def finish(
    crew: Crew, kappa: Any, more: float, d: int, rooms: Any, taken: Any, out: Any
) -> None:  # fmt: skip
    """Replace log determinants (k,) of scatters by log-normalisers, see `log_partition`.

    How many runs of `FEW` are ``taken`` is counted there from 0.
    """
    on_threads(crew, _finish_share, (crew, kappa, more, d, rooms, taken, out))


@part
def _finish_share(thread: int, given: Any) -> None:
    crew, kappa, more, d, rooms, taken, out = given
    rows, _ = rows_of(own_of(rooms, thread, crew.threads), np.int64(ROWS))
    a = FEW * claim(taken, 0)
    while a < len(out):
        _finish(kappa[a : a + FEW], more, d, rows, out[a : a + FEW])
        a = FEW * claim(taken, 0)


@in_order_apart
def _finish(kappa: Any, more: float, d: int, rows: Any, out: Any) -> None:
    """Replace log determinants (m,) by log-normalisers."""
    m = len(out)
    gammas, product, of = rows[0], rows[1], rows[2]
    for r in range(m):
        nu = kappa[r] + more
        out[r] = 0.5 * nu * (d * log(2.0) - out[r])
        of[r] = nu - 1.0
        product[r] = kappa[r]
    logs(product, m)
    for r in range(m):
        out[r] -= 0.5 * d * product[r]
    if d % 2 == 1:  # sum over j < d of lgamma(nu / 2 - j / 2): in pairs
        for r in range(m):
            gammas[r] = 0.5 * (kappa[r] + more)
        log_gammas(gammas, m, rows[3:])
        for r in range(m):
            out[r] += gammas[r]
    if d > 1:
        for r in range(m):
            gammas[r] = of[r]
        log_gammas(gammas, m, rows[3:])
        for r in range(m):
            each = gammas[r] + 0.5 * log(pi) - (of[r] - 1.0) * log(2.0)
            out[r] += d // 2 * each
        _take_off(of, d, rows, out)


@in_order_apart
def _take_off(of: Any, d: int, rows: Any, out: Any) -> None:
    """Subtract the logarithms of ``of - 2 m`` ... ``of - 1``, halved, for every m up to ``d / 2``.

    What one m has, the next has too: so the product of all is one of products that grow.
    """
    m, product, level = len(out), rows[1], rows[0]
    factor, growing, grown = rows[3], rows[4], rows[5]
    for r in range(m):
        product[r] = growing[r] = 1.0
        level[r] = grown[r] = 0.0
    for j in range(2, d):
        for r in range(m):
            factor[r] = 0.5 * (of[r] + (1.0 - j))
        multiply(growing, factor, grown[:m])
        if (d - j) % 2 == 1:
            multiply(product, growing, level[:m])
            for r in range(m):
                level[r] += grown[r]
    logarithms(product, level[:m])
    for r in range(m):
        out[r] -= level[r]
