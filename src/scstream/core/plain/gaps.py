"""Rows with missing entries under components with full covariances."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scstream.core import Floats, Ints

_LEAST = 1e-12  # of a variance that rounding may leave of it


def score_observed(
    rows: Floats, patterns: tuple[Ints, Ints], components: tuple[Floats, Floats],
    level: Floats, power: Floats, out: Floats,
) -> None:  # fmt: skip
    """Score rows by what is observed of them."""
    (order, starts), (centre, matrix) = patterns, components
    for a, b in pairwise(starts.tolist()):
        mine = order[a:b]
        at = np.flatnonzero(~np.isnan(rows[mine[0]]))
        L, log_det = factors(matrix[:, at][:, :, at])
        q = len(at)
        y = deviations(L[:, None], rows[mine][:, at] - centre[:, None, at])
        far = (y**2).sum(axis=2).T
        fall = np.where(power[q] == 0.0, 0.5 * far, power[q] * np.log(1.0 + far))
        out[mine] = level[q] - 0.5 * log_det - fall


def complete_rows(
    rows: Floats, z: Ints, components: tuple[Floats, Floats, Floats],
    draws: tuple[Floats, Floats], out: Floats,
) -> None:  # fmt: skip
    """Complete the statistics of rows."""
    (centre, matrix, dof), (normal, chi) = components, draws
    gaps, d = np.isnan(rows), rows.shape[1]
    i, j = np.triu_indices(d)
    for pattern in np.unique(gaps, axis=0):
        mine = np.flatnonzero((gaps == pattern).all(axis=1))
        at = np.concatenate([np.flatnonzero(~pattern), np.flatnonzero(pattern)[::-1]])
        q, c = int((~pattern).sum()), z[mine]
        L = factors(matrix[:, at][:, :, at])[0][c]
        y = deviations(L[:, :q, :q], rows[mine][:, at[:q]] - centre[c][:, at[:q]])
        far = (y**2).sum(axis=1)
        below = chi[mine] if len(normal) else np.maximum(dof[c] + q - 2.0, 1.0)
        spread = np.where(dof[c] > 0.0, (1.0 + far) / below, 1.0)
        last, x, more = L[:, q:, q:], rows[mine], np.zeros((len(mine), d, d))
        x[:, at[q:]] = centre[c][:, at[q:]] + (L[:, q:, :q] @ y[:, :, None])[:, :, 0]
        if len(normal):
            noise = (last @ normal[mine][:, q:, None])[:, :, 0]
            x[:, at[q:]] += np.sqrt(spread)[:, None] * noise
        else:
            left = np.ix_(np.arange(len(mine)), at[q:], at[q:])
            more[left] = spread[:, None, None] * (last @ last.transpose(0, 2, 1))
        out[mine] = np.column_stack([np.ones(len(mine)), x, x[:, i] * x[:, j] + more[:, i, j]])


def factors(matrix: Floats) -> tuple[Floats, Floats]:
    """Return Cholesky factors (k, q, q) and log determinants; rounding is mended."""
    L, log_det = np.zeros(matrix.shape), np.zeros(len(matrix))
    for i in range(matrix.shape[1]):
        for j in range(i):
            rest = matrix[:, i, j] - (L[:, i, :j] * L[:, j, :j]).sum(axis=1)
            L[:, i, j] = rest / L[:, j, j]
        rest = matrix[:, i, i] - (L[:, i, :i] ** 2).sum(axis=1)
        rest = np.maximum(rest, _LEAST * matrix[:, i, i])
        L[:, i, i] = np.sqrt(rest)
        log_det += np.log(rest)
    return L, log_det


def deviations(L: Floats, x: Floats) -> Floats:
    """Return the solutions y (..., q) of ``L y = x``."""
    y = np.array(x)
    for i in range(x.shape[-1]):
        y[..., i] = (y[..., i] - (L[..., i, :i] * y[..., :i]).sum(axis=-1)) / L[..., i, i]
    return y
